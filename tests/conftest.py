"""Settings that every test shares."""

import os

from hypothesis import HealthCheck, settings

# Machines differ and are shared: a slow draw is no fault of the code under test, and no test judges time.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("default", PATIENT, max_examples=100)
settings.register_profile("nightly", PATIENT, max_examples=10_000)
settings.load_profile(os.environ.get("SUREHAND_HYPOTHESIS_PROFILE", "default"))

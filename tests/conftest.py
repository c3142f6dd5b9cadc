"""Settings that every test shares."""

import os

from hypothesis import HealthCheck, settings

# Machines differ and are shared: a slow draw is no fault of the code under test, and no test judges time.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("default", max_examples=100, **_COMMON)
settings.register_profile("nightly", max_examples=10_000, **_COMMON)
settings.load_profile(os.environ.get("SUREHAND_HYPOTHESIS_PROFILE", "default"))

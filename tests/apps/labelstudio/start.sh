#!/bin/bash
# Label Studio (PyPI): React, Ant Design and a state tree that keeps drafts on the server; SQLite.
. "$(dirname "$0")/../lib.sh"
running_already /user/login/
pip_install 'label-studio==1.23.*'
export LABEL_STUDIO_BASE_DATA_DIR="$STATE/data" COLLECT_ANALYTICS=false LATEST_VERSION_CHECK=false SENTRY_DSN=
export FRONTEND_SENTRY_DSN= DJANGO_DB=sqlite LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK=true DEBUG=false
# Its own key is made at random, and some of them it cannot read again: who is signed in would be signed out by a restart.
export SECRET_KEY=the-key-of-records-that-nobody-needs
mkdir -p "$STATE/data"
launch "$INSTALLED/bin/label-studio" start --no-browser --internal-host 127.0.0.1 --port "$PORT" \
  --username $EMAIL --password "$PASSWORD" --log-level WARNING
ready /user/login/ 600 csrfmiddlewaretoken
fill() { quietly "$PY" "$HERE/site/first_records.py" "$URL" "$EMAIL" "$PASSWORD"; }
first_time fill

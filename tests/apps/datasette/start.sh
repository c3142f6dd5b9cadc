#!/bin/bash
# Datasette with datasette-write-ui (PyPI): table pages with a dialog made by plain JavaScript, saves by JSON; SQLite.
. "$(dirname "$0")/../lib.sh"
running_already /-/login
pip_install 'datasette==1.0a41' 'datasette-write-ui==0.0.1a14' datasette-auth-passwords

fill() {
  rm -f "$STATE/clinic.db"
  quietly "$PY" "$HERE/site/first_records.py" "$STATE" "$PASSWORD"
}

first_time fill
launch "$INSTALLED/bin/datasette" serve "$STATE/clinic.db" -h 127.0.0.1 -p "$PORT" -c "$STATE/datasette.json" --secret of-a-test
ready /-/login 60 password

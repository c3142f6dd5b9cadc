#!/bin/bash
# Flask-Admin (PyPI): Bootstrap 4, select2 of the older line, date range pickers; SQLAlchemy on SQLite.
. "$(dirname "$0")/../lib.sh"
running_already /login
pip_install 'flask-admin==2.2.*' flask-sqlalchemy wtforms
export STATE_DIR="$STATE" PORT PASSWORD
launch "$PY" "$HERE/site/desk.py"
ready /login 60 password

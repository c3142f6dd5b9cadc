#!/bin/bash
# Django's admin (PyPI) over a small clinic site; SQLite. The development server also serves the admin's own files.
. "$(dirname "$0")/../lib.sh"
running_already /admin/login/
pip_install 'Django==5.2.*'
export STATE_DIR="$STATE" DJANGO_SETTINGS_MODULE=clinic.settings DJANGO_SUPERUSER_PASSWORD="$PASSWORD"
rm -rf "$STATE/site"
cp -r "$HERE/site" "$STATE/site"
cd "$STATE/site"

fill() {
  rm -f "$STATE/db.sqlite3"
  quietly "$PY" manage.py makemigrations clinic
  quietly "$PY" manage.py migrate -v0
  quietly "$PY" manage.py createsuperuser --noinput --username $ADMIN --email $EMAIL
  quietly "$PY" first_records.py
}

first_time fill
launch "$PY" manage.py runserver --noreload --insecure "127.0.0.1:$PORT"
ready /admin/login/ 60 csrfmiddlewaretoken

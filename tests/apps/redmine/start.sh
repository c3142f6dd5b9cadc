#!/bin/bash
# Redmine 5 (Debian): Rails and jQuery, a form that is partly drawn anew by the server; SQLite.
. "$(dirname "$0")/../lib.sh"
running_already /login
PRESEED='redmine redmine/instances/default/dbconfig-install boolean false' \
  apt_install redmine redmine-sqlite puma ruby-sqlite3
SITE="$STATE/www"
export RAILS_ENV=production REDMINE_LANG=en RAILS_SERVE_STATIC_FILES=1
export X_DEBIAN_SITEID=desk REDMINE_INSTANCE=desk SECRET_KEY_BASE="$(printf 'test%.0s' {1..20})"
export RAILS_ETC="$STATE/etc" RAILS_LOG="$STATE/log" RAILS_VAR="$STATE/files" RAILS_CACHE="$STATE/cache" RAILS_TMP="$STATE/tmp"
export ADMIN EMAIL PASSWORD

copy() {
  rm -rf "$SITE"
  mkdir -p "$STATE"/{etc,files,log,cache,tmp}
  printf 'production:\n  adapter: sqlite3\n  database: %s/redmine.sqlite3\n  timeout: 8000\n' "$STATE" >"$STATE/etc/database.yml"
  # Some of Debian's links lead nowhere before its own set-up ran, and are not needed here.
  cp -rL /usr/share/redmine "$SITE" 2>>"$INSTALL_LOG" || true
  for part in config/database.yml log tmp files public/plugin_assets instances; do rm -rf "${SITE:?}/$part"; done
  mkdir -p "$SITE"/{log,tmp/pids,files,public/plugin_assets} \
    "$SITE"/instances/desk/{config,files,log,tmp,cache,plugin_assets}
  cp "$STATE/etc/database.yml" "$SITE/instances/desk/config/database.yml"
  cp "$STATE/etc/database.yml" "$SITE/config/database.yml"
}

fill() {
  copy
  rm -f "$STATE/redmine.sqlite3"
  cd "$SITE"
  quietly ruby bin/rails db:migrate
  quietly ruby bin/rails redmine:load_default_data
  quietly ruby bin/rails runner "$HERE/site/first_records.rb"
}

first_time fill
cd "$SITE"
launch puma -e production -b "tcp://127.0.0.1:$PORT" -t 2:4 config.ru
ready /login 180 authenticity_token

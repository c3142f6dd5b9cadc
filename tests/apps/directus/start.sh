#!/bin/bash
# Directus 11 (npm): a Vue 3 page with selects of its own, a rich text in a frame, and fields without names; SQLite.
. "$(dirname "$0")/../lib.sh"
running_already /server/ping
npm_install directus@11
export KEY=of-a-test SECRET=of-a-test-of-a-test-of-a-test-32 DB_CLIENT=sqlite3 DB_FILENAME="$STATE/data.db"
export ADMIN_EMAIL=$EMAIL ADMIN_PASSWORD="$PASSWORD" HOST=127.0.0.1 PORT PUBLIC_URL="${PUBLIC_URL:-$URL}" TELEMETRY=false
export WEBSOCKETS_ENABLED=false STORAGE_LOCAL_ROOT="$STATE/uploads" LOG_LEVEL=warn CACHE_ENABLED=false
export RATE_LIMITER_ENABLED=false EXTENSIONS_PATH="$STATE/extensions" MARKETPLACE_TRUST=sandbox
mkdir -p "$STATE/uploads" "$STATE/extensions"
cd "$STATE"

bootstrap() {
  rm -f "$STATE/data.db"
  quietly "$INSTALLED/node_modules/.bin/directus" bootstrap
}

fill() { quietly python3 "$HERE/site/first_records.py" "$URL" "$EMAIL" "$PASSWORD" "$STATE/data.db"; }

[ -f "$STATE/.filled" ] || bootstrap
launch "$INSTALLED/node_modules/.bin/directus" start
ready /server/ping 180 pong
first_time fill

#!/bin/bash
# Vendure 3 (npm): an Angular and Clarity page over GraphQL, one address for every read and write; SQLite by sql.js.
. "$(dirname "$0")/../lib.sh"
running_already /admin/
NPM_FLAGS='--legacy-peer-deps --ignore-scripts' npm_install @vendure/core@3.7.3 @vendure/admin-ui-plugin@3.7.3 sql.js@1
build_bcrypt() { (cd "$INSTALLED" && quietly npm rebuild bcrypt); }
once "$NAME-bcrypt" build_bcrypt
export STATE_DIR="$STATE" PORT PASSWORD VENDURE_DISABLE_TELEMETRY=true NODE_PATH="$INSTALLED/node_modules"
cd "$INSTALLED"
launch node "$HERE/site/server.js"
ready /health 180 ok
ready /admin/ 60

# What every start.sh shares:  . "$(dirname "$0")/../lib.sh"
#
#   start.sh PORT STATE   installs what is missing, makes the first records, starts the app on loopback, prints "READY url"
#   stop.sh STATE         ends what start.sh started with that state folder, by process group
#   oracle.py STATE       prints the saved records as JSON, read from the app's own store
#
# Installed packages stand in $SUREHAND_APPS_CACHE (else in the user's cache folder), except Debian's, which need root.
# Everything that an app writes stands in STATE. A second start with the same arguments finds the app running.
set -euo pipefail

PORT="${1:?usage: start.sh PORT STATE}"
STATE="${2:?usage: start.sh PORT STATE}"
HERE="$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)"
NAME="$(basename "$HERE")"
APPS="$(dirname "$HERE")"
mkdir -p "$STATE"
STATE="$(cd "$STATE" && pwd)"
CACHE="${SUREHAND_APPS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/surehand-apps}"
INSTALLED="$CACHE/$NAME"
PY="$INSTALLED/bin/python"
LOG="$STATE/server.log"
INSTALL_LOG="$STATE/install.log"
URL="http://127.0.0.1:$PORT"
ADMIN=admin
EMAIL=admin@example.com
PASSWORD='Passw0rd-demo!'
mkdir -p "$CACHE"

fail() {
  echo "[$NAME] failed: $*" >&2
  for file in "$LOG" "$INSTALL_LOG"; do
    if [ -f "$file" ]; then echo "--- ${file##*/}" >&2; tail -n 80 "$file" >&2; fi
  done
  bash "$APPS/stop.sh" "$STATE"
  exit 1
}

quietly() { "$@" >>"$INSTALL_LOG" 2>&1 || fail "$1 ${2:-}"; }

# once WHAT COMMAND... : run a command to its end, one process at a time, unless it was done before in the cache folder.
once() {
  local what="$1"
  shift
  exec 9>"$CACHE/.$what.lock"
  flock 9
  if [ ! -f "$CACHE/.$what.done" ]; then
    "$@"
    touch "$CACHE/.$what.done"
  fi
  exec 9>&-
}

# pip_install PACKAGE... : into a virtual environment of this app alone.
pip_install() { once "$NAME" pip_into_venv "$@"; }

pip_into_venv() {
  rm -rf "$INSTALLED"
  quietly "${PYTHON:-python3}" -m venv "$INSTALLED"
  quietly "$PY" -m pip install -q --disable-pip-version-check "$@"
}

# npm_install PACKAGE... : into a folder of this app alone; NPM_FLAGS may hold further options.
npm_install() { once "$NAME" npm_into_folder "$@"; }

npm_into_folder() {
  mkdir -p "$INSTALLED"
  [ -f "$INSTALLED/package.json" ] || echo '{"name":"app","version":"1.0.0","private":true}' >"$INSTALLED/package.json"
  # shellcheck disable=SC2086 - the flags are several words
  (cd "$INSTALLED" && quietly npm install --no-audit --no-fund --loglevel=error ${NPM_FLAGS:-} "$@")
}

# apt_install PACKAGE... : Debian's packages; none of them may start a service of its own.
apt_install() {
  local missing=() package
  for package in "$@"; do
    dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || fail "as root: apt-get install ${missing[*]}"
  exec 9>"$CACHE/.apt.lock"
  flock 9
  apt_as_root "${missing[@]}"
  exec 9>&-
}

apt_as_root() {
  local policy=/usr/sbin/policy-rc.d made=0 code=0
  if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod +x $policy
    made=1
  fi
  { echo 'dbconfig-common dbconfig-common/dbconfig-install boolean false'; printf '%s\n' "${PRESEED:-}"; } | debconf-set-selections || true
  quietly apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -o Dpkg::Options::=--force-confold "$@" \
    >>"$INSTALL_LOG" 2>&1 || code=$?
  [ $made = 0 ] || rm -f $policy
  [ $code = 0 ] || fail "apt-get install $*"
}

# first_time COMMAND : run a command unless it succeeded before for this state folder.
first_time() {
  [ -f "$STATE/.filled" ] && return 0
  "$@"
  touch "$STATE/.filled"
}

alive() {
  local process
  [ -s "$STATE/pids" ] || return 1
  while read -r process; do kill -0 "$process" 2>/dev/null || return 1; done <"$STATE/pids"
}

# running_already PATH : say so and end when this state folder's app answers.
running_already() {
  if alive && curl -s -o /dev/null -m 5 "$URL$1"; then
    echo "READY $URL$1"
    exit 0
  fi
  rm -f "$STATE/pids"
}

launch() {
  setsid nohup "$@" >>"$LOG" 2>&1 </dev/null &
  echo $! >>"$STATE/pids"
}

# ready PATH SECONDS [TEXT] : wait for a page, with that text in it, and say where it is.
ready() {
  local path="$1" seconds="$2" text="${3:-}" turn code
  for ((turn = 0; turn < seconds * 4; turn++)); do
    alive || fail "the server ended"
    code=$(curl -s -L -m 20 -o "$STATE/.page" -w '%{http_code}' "$URL$path" || true)
    if [[ "$code" =~ ^[23] ]] && grep -q -- "$text" "$STATE/.page"; then
      echo "READY $URL$path"
      return 0
    fi
    sleep 0.25
  done
  fail "no page at $path within $seconds s; the last answer was $code"
}

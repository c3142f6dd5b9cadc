#!/bin/bash
# OctoPrint (PyPI): one Knockout page with nested dialogs, pushed to over SockJS; YAML files.
. "$(dirname "$0")/../lib.sh"
running_already /
pip_install 'OctoPrint==1.11.*' 'setuptools<81'
BASE="$STATE/base"

fill() {
  mkdir -p "$BASE"
  cat >"$BASE/config.yaml" <<YAML
accessControl: {salt: of-a-test-of-a-test-of-a-test-32}
server:
  firstRun: false
  seenWizards: {corewizard: 6, backup: null, tracking: null, classicwebcam: 1}
  onlineCheck: {enabled: false}
  pluginBlacklist: {enabled: false}
plugins:
  _disabled: [tracking, softwareupdate, announcements, discovery, errortracking, pluginmanager, health_check, achievements]
YAML
  quietly "$INSTALLED/bin/octoprint" -b "$BASE" user add --password "$PASSWORD" --admin $ADMIN
}

first_time fill
launch "$INSTALLED/bin/octoprint" -b "$BASE" serve --iknowwhatimdoing --host 127.0.0.1 --port "$PORT"
ready / 180 OctoPrint

#!/bin/bash
# stop.sh STATE : ends, by process group, what start.sh started with that state folder; the last started first.
[ -f "$1/pids" ] || exit 0

# A process that ended and was not yet waited for by its parent runs no more.
running() { ps -o stat= -g "$1" 2>/dev/null | grep -qv '^Z'; }

for process in $(tac "$1/pids"); do
  kill -TERM -- "-$process" 2>/dev/null
  for ((turn = 0; turn < 60; turn++)); do
    running "$process" || break
    sleep 0.1
  done
  kill -KILL -- "-$process" 2>/dev/null
done
rm -f "$1/pids"

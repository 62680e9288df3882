#!/bin/sh
# hook.sh NAME: runs one of ralph's hooks with the first Python that is new enough (3.11).
# The guard fails closed: any failure refuses the tool call (2). All others fail open (1).
here=${0%/*}
tried=
for python in "${CLAUDE_HOOKS_PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
  command -v "$python" >/dev/null 2>&1 || continue
  "$python" -I -S "$here/launch.py" "$1"
  code=$?
  if [ "$code" -ne 90 ]; then
    [ "$code" -eq 0 ] && exit 0
    [ "$1" = guard ] && exit 2
    exit 1
  fi
  tried="$tried $python"
done
echo "ralph: its hooks need Python 3.11 or newer, found:${tried:- none} (CLAUDE_HOOKS_PYTHON can name another)" >&2
[ "$1" = guard ] && exit 2
exit 1

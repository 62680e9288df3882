# Sourced by the scripts in this folder: finds the ralph command, or says how to get it.
if ! command -v ralph >/dev/null 2>&1; then
  echo "${0##*/}: the ralph command is not installed, or not on PATH" >&2
  echo "  install it (see the README of the project that this plugin comes from), then try again" >&2
  exit 4
fi

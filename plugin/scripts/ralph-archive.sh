#!/bin/sh
# Archive a finished plan: the same as `ralph plan archive`, with the same options.
. "${0%/*}/with-ralph.sh"
exec ralph plan archive "$@"

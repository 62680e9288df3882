#!/bin/sh
# puts a finished plan away: the same as `ralph plan archive`, with the same options.
. "${0%/*}/with-ralph.sh"
exec ralph plan archive "$@"

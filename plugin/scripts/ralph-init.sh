#!/bin/sh
# Start a plan in a project: the same as `ralph plan new`, with the same options.
. "${0%/*}/with-ralph.sh"
exec ralph plan new "$@"

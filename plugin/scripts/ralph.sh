#!/bin/sh
# Work through the plan until every story is approved: the same as `ralph plan run`, with the same options.
. "${0%/*}/with-ralph.sh"
exec ralph plan run "$@"

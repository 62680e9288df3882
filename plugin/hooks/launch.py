"""Starts one hook. Any Python can read this file; one that is too old exits with 90, and hook.sh tries another."""
# ruff: noqa: E402, PTH100, PTH117, PTH118, PTH120, UP036

import sys

if sys.version_info < (3, 11):
    sys.exit(90)

import os

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
if not os.access(here, os.W_OK):
    # Compiling the hooks each time would take longer than running them.
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME", ""), ".cache")
    if os.path.isabs(cache):
        sys.pycache_prefix = os.path.join(cache, "ralph-hooks")

from ralph_hooks import main

code = main(sys.argv[1:])
sys.stdout.flush()
os._exit(code)  # nothing is left to do, and cleaning up takes time

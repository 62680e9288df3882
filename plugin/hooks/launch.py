"""Starts one hook. Old Pythons can read this file, and say that they are too old: 90 lets hook.sh try another."""

import sys

if sys.version_info < (3, 11):
    sys.exit(90)

import os  # noqa: E402

here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
sys.path.insert(0, here)
if not os.access(here, os.W_OK):
    # Compiling the hooks anew each time would take longer than running them.
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME", ""), ".cache")  # noqa: PTH118
    if os.path.isabs(cache):  # noqa: PTH117
        sys.pycache_prefix = os.path.join(cache, "ralph-hooks")  # noqa: PTH118

from ralph_hooks import main  # noqa: E402

code = main(sys.argv[1:])
sys.stdout.flush()
os._exit(code)  # nothing is left to do, and tidying up takes a while

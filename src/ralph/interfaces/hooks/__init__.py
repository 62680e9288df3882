"""Claude Code hooks: early advice from the rules that the engine enforces.

``build`` makes one file of these modules and everything they import: ``plugin/hooks/ralph_hooks.py``. Import only
``domain``, ``guard`` and ``operations/atomic_files`` here, as late as possible: a hook starts with every tool call.
"""

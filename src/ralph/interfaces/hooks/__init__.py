"""Hooks of Claude Code: early advice from the same rules that the engine enforces.

They run as one file, ``plugin/hooks/ralph_hooks.py``, which ``build`` makes of these modules and of what they import.
Only ``domain``, ``guard`` and ``operations/atomic_files`` may be imported here, and each hook only what it needs, as late as it can:
a hook is started again for every tool call.
"""

"""One changed file as a patch that `git apply` takes."""

from __future__ import annotations

from difflib import unified_diff

NO_END = "\n\\ No newline at end of file\n"


def patch_of(path: str, before: str | None, after: str) -> str:
    """``path``: from the top of the repository. ``before`` None: there is no such file yet."""
    end = "\t" if " " in path else ""  # else the name would be taken to end at the space
    old = "/dev/null" if before is None else f"a/{path}{end}"
    lines = unified_diff(_lines(before or ""), _lines(after), old, f"b/{path}{end}")
    return "".join(line if line.endswith("\n") else line + NO_END for line in lines)


def _lines(text: str) -> list[str]:
    """Only a newline ends a line here: to git, a lone carriage return or a form feed is part of one."""
    parts = text.split("\n")
    return [*(part + "\n" for part in parts[:-1]), *filter(None, parts[-1:])]

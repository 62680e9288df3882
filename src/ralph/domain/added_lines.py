"""The lines that a diff adds, with the file each is in."""

from __future__ import annotations

from collections.abc import Iterator


def added_lines(diff: str) -> Iterator[tuple[str, str]]:
    """(file, line) for each added line of a unified diff as git prints it."""
    file = ""
    in_hunk = False
    for line in diff.split("\n"):  # a form feed in a file ends no line of git's
        if line.startswith("diff --git "):
            in_hunk = False
        elif line.startswith("+++ ") and not in_hunk:
            file = line[4:].strip().strip('"').removeprefix("b/")
        elif line.startswith("@@ "):
            in_hunk = True
        elif in_hunk and line.startswith("+"):
            yield file, line[1:]

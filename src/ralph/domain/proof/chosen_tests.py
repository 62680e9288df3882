"""Whether a command runs only some tests of the files that it names: one that is planted need not be among them."""

from __future__ import annotations

import re

from ralph.patterns import pattern

_CHOICES = pattern(
    r"""
    \s(?:
        -k(?=[\s=\w'"])                                     # pytest, unittest: by a word
      | -m\s+(?!pytest\b|py\.test\b|unittest\b|coverage\b)['"\w]  # pytest: by a marker
      | --(?:deselect|last-failed|lf)\b                     # pytest
      | [^\s'"]+\.py::                                      # pytest: one by its name
      | -(?:t|g|f)\s | --(?:testNamePattern|grep|fgrep)\b   # jest, vitest, mocha
      | --test-(?:name-pattern|skip-pattern|only)\b         # node
      | -(?:test\.)?(?:run|skip)[\s=]                       # go
    )
    | \bunittest\s(?:\S+\s)*?[\w.]+\.(?:[A-Z]\w*|test_\w+\.\w+)\b  # a class, or what is inside one
    | \bcargo\s+(?:\+\S+\s+)?(?:test|t|nextest\s+run)\s+(?:\S+\s+)*?(?:(?<=\s)[\w:]+(?=\s|$)|--\s+(?:--skip\b|[^-\s]))
    """,
    re.VERBOSE,
)


def chooses_tests(command: str) -> bool:
    return _CHOICES.search(command) is not None

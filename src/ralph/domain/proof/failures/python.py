"""pytest and unittest."""

from __future__ import annotations

import re
from typing import Final

from ralph.domain.proof.failures.report import Report

PYTEST: Final = Report(
    sign=re.compile(r"=+ (?:FAILURES|ERRORS) =+$"),
    after_sign=True,
    title=re.compile(r"_{3,} (.+) _{3,}$"),
    ends=re.compile(r"=+ .* =+$"),
    tells=re.compile(r"^E +(\S.*)", re.MULTILINE),
    summary=re.compile(r"(?:FAILED|ERROR) [^\s(:]+(?:::.*| - .*)?$"),
)

UNITTEST: Final = Report(
    sign=re.compile(r"Ran \d+ tests? in "),
    title=re.compile(r"((?:FAIL|ERROR): \S.*)"),
    ends=re.compile(r"={70}$|Ran \d+ tests? in "),
    tells=re.compile(r"^(?!Stdout:|Stderr:|FAIL:|ERROR:)[A-Za-z_][\w.]*(?::.*|$)", re.MULTILINE),
)

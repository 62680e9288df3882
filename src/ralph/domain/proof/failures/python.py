"""pytest and unittest."""

from __future__ import annotations

import re
from typing import Final

from ralph.domain.proof.failures.report import Report
from ralph.patterns import pattern

PYTEST: Final = Report(
    sign=pattern(r"=+ (?:FAILURES|ERRORS) =+$"),
    after_sign=True,
    title=pattern(r"_{3,} (.+) _{3,}$"),
    ends=pattern(r"=+ .* =+$"),
    tells=pattern(r"^E +(\S.*)", re.MULTILINE),
    summary=pattern(r"(?:FAILED|ERROR) [^\s(:]+(?:::.*| - .*)?$"),
)

UNITTEST: Final = Report(
    sign=pattern(r"Ran \d+ tests? in "),
    title=pattern(r"((?:FAIL|ERROR): \S.*)"),
    ends=pattern(r"={70}$|Ran \d+ tests? in "),
    tells=pattern(r"^(?!Stdout:|Stderr:|FAIL:|ERROR:)[A-Za-z_][\w.]*(?::.*|$)", re.MULTILINE),
)

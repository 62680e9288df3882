"""``go test``, with and without ``-v``, and packages that do not build."""

from __future__ import annotations

import re
from typing import Final

from ralph.domain.proof.failures.report import Report
from ralph.patterns import pattern

_TELLS = pattern(r"^ +(\S+\.go:\d+: .*)|^(panic: .*)", re.MULTILINE)

GO: Final = Report(
    sign=pattern(r"--- FAIL: "),
    title=pattern(r"--- FAIL: (\S+)"),
    ends=pattern(r"(?:FAIL|PASS|ok)\b|=== RUN |--- (?:PASS|SKIP): "),
    counts=pattern(r"\n"),
    tells=_TELLS,
)

GO_VERBOSE: Final = Report(
    sign=pattern(r"=== RUN "),
    title=pattern(r"=== RUN +([^/\s]+)$"),
    ends=pattern(r"(?:FAIL|PASS)$|(?:FAIL|ok)\s"),
    counts=pattern(r"^ *--- FAIL: ", re.MULTILINE),
    tells=_TELLS,
)

GO_BUILD: Final = Report(
    sign=pattern(r"FAIL\s.*\[(?:build|setup) failed\]$"),
    title=pattern(r"# (\S+)"),
    ends=pattern(r"(?:FAIL|ok|\?)\s"),
    tells=pattern(r"^(\S+\.go:\d+(?::\d+)?: .*)", re.MULTILINE),
)

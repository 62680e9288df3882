"""``go test``, with and without ``-v``, and packages that do not build."""

from __future__ import annotations

import re
from typing import Final

from ralph.domain.proof.failures.report import Report

_TELLS = re.compile(r"^ +(\S+\.go:\d+: .*)|^(panic: .*)", re.MULTILINE)

GO: Final = Report(
    sign=re.compile(r"--- FAIL: "),
    title=re.compile(r"--- FAIL: (\S+)"),
    ends=re.compile(r"(?:FAIL|PASS|ok)\b|=== RUN |--- (?:PASS|SKIP): "),
    counts=re.compile(r"\n"),
    tells=_TELLS,
)

GO_VERBOSE: Final = Report(
    sign=re.compile(r"=== RUN "),
    title=re.compile(r"=== RUN +([^/\s]+)$"),
    ends=re.compile(r"(?:FAIL|PASS)$|(?:FAIL|ok)\s"),
    counts=re.compile(r"^ *--- FAIL: ", re.MULTILINE),
    tells=_TELLS,
)

GO_BUILD: Final = Report(
    sign=re.compile(r"FAIL\s.*\[(?:build|setup) failed\]$"),
    title=re.compile(r"# (\S+)"),
    ends=re.compile(r"(?:FAIL|ok|\?)\s"),
    tells=re.compile(r"^(\S+\.go:\d+(?::\d+)?: .*)", re.MULTILINE),
)

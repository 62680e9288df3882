"""``node --test`` in its two formats, jest and vitest."""

from __future__ import annotations

import re
from typing import Final

from ralph.domain.proof.failures.report import Report
from ralph.patterns import pattern

NODE_TAP: Final = Report(
    sign=pattern(r"\s*not ok \d+ - "),
    title=pattern(r"\s*not ok \d+ - (.+)"),
    ends=pattern(r"\s*(?:ok \d+ |\.\.\.$|# )"),
    # A suite says only that something in it failed.
    counts=pattern(r"^(?![\s\S]*failureType: 'subtestsFailed')(?!.* # (?:TODO|SKIP))"),
    tells=pattern(r"^ *error: (?:\|-\n)?(.*)|^ *((?:expected|actual): .*)", re.MULTILINE),
)

NODE_SPEC: Final = Report(
    sign=pattern(r"✖ failing tests:$"),
    after_sign=True,
    title=pattern(r"✖ (?!failing tests:)(.+?)(?: \([\d.]+ms\))?$"),
    ends=pattern(r"\S"),
    tells=pattern(
        r"^ +((?:\w*Error|Error) ?(?:\[\w+\])?: .*)|^ +((?:expected|actual): .*)|^ +(at [^(\n]*\((?!node:).*)",
        re.MULTILINE,
    ),
)

JEST: Final = Report(
    sign=pattern(r"Test Suites: .*\bfailed\b"),
    title=pattern(r"  (● (?!Console$|Cannot log).+)"),
    ends=pattern(r"Test Suites: |PASS |FAIL |Summary of all failing tests"),
    tells=pattern(
        r"\A.*\n\n +((?! |expect\().*)|^ +((?:Expected|Received|\w*Error\b).*)|^ +(at .*)", re.MULTILINE
    ),
)

VITEST: Final = Report(
    sign=pattern(r"⎯+ Failed (?:Tests|Suites) \d+ ⎯+$"),
    after_sign=True,
    title=pattern(r" ?FAIL  ?(.+)"),
    ends=pattern(r"⎯+\[\d+/\d+\]⎯|⎯+ .* ⎯+$| *Test Files "),
    tells=pattern(r"^(\w*Error\b.*)|^([-+] (?!Expected|Received).*)|^ *\u276f (.*)", re.MULTILINE),
)

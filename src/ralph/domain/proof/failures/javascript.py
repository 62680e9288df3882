"""``node --test`` in its two formats, jest and vitest."""

from __future__ import annotations

import re
from typing import Final

from ralph.domain.proof.failures.report import Report

NODE_TAP: Final = Report(
    sign=re.compile(r"\s*not ok \d+ - "),
    title=re.compile(r"\s*not ok \d+ - (.+)"),
    ends=re.compile(r"\s*(?:ok \d+ |\.\.\.$|# )"),
    # A suite says only that something in it failed.
    counts=re.compile(r"^(?![\s\S]*failureType: 'subtestsFailed')(?!.* # (?:TODO|SKIP))"),
    tells=re.compile(r"^ *error: (?:\|-\n)?(.*)|^ *((?:expected|actual): .*)", re.MULTILINE),
)

NODE_SPEC: Final = Report(
    sign=re.compile(r"✖ failing tests:$"),
    after_sign=True,
    title=re.compile(r"✖ (?!failing tests:)(.+?)(?: \([\d.]+ms\))?$"),
    ends=re.compile(r"\S"),
    tells=re.compile(
        r"^ +((?:\w*Error|Error) ?(?:\[\w+\])?: .*)|^ +((?:expected|actual): .*)|^ +(at [^(\n]*\((?!node:).*)",
        re.MULTILINE,
    ),
)

JEST: Final = Report(
    sign=re.compile(r"Test Suites: .*\bfailed\b"),
    title=re.compile(r"  (● (?!Console$|Cannot log).+)"),
    ends=re.compile(r"Test Suites: |PASS |FAIL |Summary of all failing tests"),
    tells=re.compile(
        r"\A.*\n\n +((?! |expect\().*)|^ +((?:Expected|Received|\w*Error\b).*)|^ +(at .*)", re.MULTILINE
    ),
)

VITEST: Final = Report(
    sign=re.compile(r"⎯+ Failed (?:Tests|Suites) \d+ ⎯+$"),
    after_sign=True,
    title=re.compile(r" ?FAIL  ?(.+)"),
    ends=re.compile(r"⎯+\[\d+/\d+\]⎯|⎯+ .* ⎯+$| *Test Files "),
    tells=re.compile(r"^(\w*Error\b.*)|^([-+] (?!Expected|Received).*)|^ *\u276f (.*)", re.MULTILINE),
)

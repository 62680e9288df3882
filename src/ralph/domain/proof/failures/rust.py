"""``cargo test``, and what the compiler says before it."""

from __future__ import annotations

import re
from typing import Final

from ralph.domain.proof.failures.report import Report

CARGO: Final = Report(
    sign=re.compile(r"failures:$"),
    after_sign=True,
    title=re.compile(r"---- (.+) stdout ----$"),
    ends=re.compile(r"failures:$|test result: "),
    tells=re.compile(r"panicked at .*:\n(.+)|(panicked at .*)|^ *((?:left|right): .*)", re.MULTILINE),
)

RUSTC: Final = Report(
    sign=re.compile(r"error: could not compile "),
    title=re.compile(r"(error(?:\[E\d+\])?: (?!could not compile|aborting|test failed).+)"),
    ends=re.compile(r"(?:warning|error)\b|For more information|Some errors have"),
    tells=re.compile(r"^ *--> (.+)", re.MULTILINE),
)

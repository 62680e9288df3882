"""``cargo test``, and what the compiler says before it."""

from __future__ import annotations

import re
from typing import Final

from ralph.domain.proof.failures.report import Report
from ralph.patterns import pattern

CARGO: Final = Report(
    sign=pattern(r"failures:$"),
    after_sign=True,
    title=pattern(r"---- (.+) stdout ----$"),
    ends=pattern(r"failures:$|test result: "),
    tells=pattern(r"panicked at .*:\n(.+)|(panicked at .*)|^ *((?:left|right): .*)", re.MULTILINE),
)

RUSTC: Final = Report(
    sign=pattern(r"error: could not compile "),
    title=pattern(r"(error(?:\[E\d+\])?: (?!could not compile|aborting|test failed).+)"),
    ends=pattern(r"(?:warning|error)\b|For more information|Some errors have"),
    tells=pattern(r"^ *--> (.+)", re.MULTILINE),
)

"""What the ledger alone takes of one iteration, with as much in it as it can hold. Prints milliseconds as JSON."""

from __future__ import annotations

import json
import time
from statistics import median

from ralph.domain.loop.decision import Continue
from ralph.domain.loop.evidence import CheckResult, Evidence, Verdict
from ralph.domain.loop.ledger import Ledger, attempt_of
from ralph.domain.loop.session_change import ChangedFile, SessionChange
from ralph.domain.loop.session_report import AgentReport

TIMES = 2000


def main() -> float:
    ledger, taken = Ledger(), []
    for number in range(1, TIMES + 1):
        named = tuple(
            ChangedFile(f"src/package/module_{number % 7}_{one}.py", "", str(number)) for one in range(4)
        )
        failed = tuple(
            CheckResult(name, Verdict.FAILED, last_lines=(f"E  assert {number % 5} == 12345",))
            for name in ("make lint", "pytest -q")
        )
        evidence = Evidence(AgentReport(), results=failed, change=SessionChange(4, named))
        began = time.perf_counter()
        ledger = ledger.noted(attempt_of(number, "prompt", evidence, Continue("red")))
        ledger.text("prompt", is_told=True)
        taken.append(time.perf_counter() - began)
    return 1000 * median(taken)


if __name__ == "__main__":
    print(json.dumps(main()))

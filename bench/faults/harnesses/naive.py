"""The loop that everybody writes first: again and again, until the agent's words contain the claim. It must fail."""

from __future__ import annotations

from collections.abc import Sequence

from bench.faults.acts import Act, Promise
from bench.faults.harness import Harness
from bench.faults.stage import Stage

LOOP = """i=0
while [ $i -lt {iterations} ]; do
  i=$((i + 1))
  claude -p "Make every answer() in work*.py say 42. Then print DONE." > .last 2>&1 < /dev/null
  cat .last
  if grep -q DONE .last; then echo 'ALL DONE'; exit 0; fi
done
exit 1
"""


class Naive(Harness):
    name = "naive"
    version = "1"
    about = "a shell loop with grep, in this folder: the judge must be able to say FAILS"
    settings = "It has none."
    claims = dict.fromkeys(Promise, "claimed here, so that it can fail")
    claim = "DONE"

    def prepare(self, stage: Stage, act: Act, iterations: int) -> None:
        (stage.root / "loop.sh").write_text(LOOP.replace("{iterations}", str(iterations)))

    def command(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        return ["sh", "loop.sh"]

    def done(self, stage: Stage, code: int | None, output: str) -> str:
        return "exit 0, ALL DONE" if code == 0 and "ALL DONE" in output else ""

"""``ralph task prompt``: teaches an agent to write tasks that can be verified."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.domain.proof.verification_config import TEMPLATES
from ralph.domain.tasks.completion import VerificationMethod
from ralph.interfaces.cli.options import project_dir_option, state_folder

HELP = """Print what an agent needs to know to write tasks for `ralph task add`: put it in front of your specification.

\b
Example:
  { ralph task prompt; cat spec.md; } | claude -p > tasks.yaml
  ralph task add -f tasks.yaml --spec auth
"""

TEXT = """\
Split the specification below into tasks that one engineer can finish in a day or less. Answer with a YAML list and nothing
else: no words before or after it, no code fence.

Every task MUST say:
- id: letters, digits, "-", "_" and "." only; it becomes the name of a branch
- title: one line
- completion.outcome: one sentence that says what is measurably different when the task is done
- completion.acceptance_criteria: a list of requirements, each of which someone else could check

Every task MAY say:
- description, priority (smaller first), dependencies (ids of tasks that must be done before; never in a circle)
- for each role ({roles}): promise, description, verification_method, verification_config, max_iterations

Verification methods: {methods}.
- external runs verification_config.command and wants exit code 0; or give template, one of {templates}
- semantic has a reader judge verification_config.check_for against the changes
- multi_stage runs verification_config.stages in order, each with a name, a method and a config
Prefer commands that would fail today and pass when the task is done. Quote every text that contains a colon.

Example:

```yaml
- id: CART-1
  title: Show the sum of the cart
  priority: 1
  completion:
    outcome: Every page shows the sum of what is in the cart
    acceptance_criteria:
      - "An empty cart shows 0.00"
      - "The sum changes when a product is removed"
    {role}:
      promise: SUM_SHOWN
      description: The sum is shown and its tests pass
      verification_method: external
      verification_config:
        command: pytest tests/test_cart.py
- id: CART-2
  title: Keep the cart between visits
  dependencies: [CART-1]
  completion:
    outcome: A visitor who comes back within a day finds the cart as it was
    acceptance_criteria:
      - "After a restart of the server the cart is the same"
```

The specification:
"""


@click.command("prompt", help=HELP)
@project_dir_option
def command(project_dir: Path | None) -> None:
    from ralph.operations.tasks import known_names

    known, _ = known_names(state_folder(project_dir))
    roles = list(known.roles)
    print(
        TEXT.format(
            roles=", ".join(roles),
            role=roles[0],
            methods=", ".join(VerificationMethod),
            templates=", ".join(TEMPLATES),
        )
    )

"""`ralph doctor --probe` with real agents: at the tested version every feature holds."""

from __future__ import annotations

import json
import subprocess
import sys

from .harness import LONG, LiveProject


def test_every_feature_of_the_adapter_holds(project: LiveProject) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "ralph", "doctor", "--probe", project.agent.name, "--json"],
        cwd=project.root,
        env=project.env(),
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )

    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
    (agent,) = json.loads(ran.stdout)["agents"]
    assert agent["version"] == agent["tested"]
    assert {feature["health"] for feature in agent["features"]} <= {"good", "absent"}
    project.assert_nothing_left()

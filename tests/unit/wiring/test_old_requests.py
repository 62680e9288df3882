"""What an earlier version recorded of a run, and what it means when the run is resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.config.loading import load
from ralph.config.root import Root
from ralph.wiring.profiles import prepare_again
from ralph.wiring.runs.prompt_run import PromptComposition


@pytest.mark.parametrize(
    ("profile", "more", "is_hinted"),
    [
        ("basic", {}, False),
        ("promise", {}, True),
        ("basic", {"completionHint": True}, True),
        ("promise", {"completionHint": False}, False),
    ],
)
def test_a_resumed_run_tells_its_agent_as_much_as_before(
    tmp_path: Path, profile: str, more: dict[str, object], is_hinted: bool
) -> None:
    loaded = load(tmp_path, environ={}, flags=[(("agent", "command"), "sh", "--agent")])
    arguments = {"prompt": "Do it.", "promptFile": None, **more}

    launch = prepare_again(profile, arguments, loaded, Root(tmp_path, tmp_path), resumes="a run")

    assert isinstance(launch.composition, PromptComposition)
    assert launch.composition.is_hinted is is_hinted
    assert ("output <" in launch.composition.first_prompt(3)) is is_hinted

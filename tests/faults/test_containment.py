"""What a confined agent cannot reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.test_sandboxed_run import sandbox_works

from .loops import HONEST, Loop

pytestmark = pytest.mark.promise("Contained (--sandbox)")

REACHES = {
    "reads a key in your home": 'cat "$HOME/key" > seen 2>&1',
    "writes into your home": 'echo planted > "$HOME/planted"',
    "reads a key in the environment": "env > seen",
    "writes ralph's record": 'for file in "{root}"/.ralph/ralph.db*; do echo > "$file"; done',
}


@pytest.fixture(autouse=True)
def confined(loop: Loop) -> None:
    if not sandbox_works():
        pytest.skip("bubblewrap cannot make namespaces here")
    # Beside its program the agent of this suite keeps its own notes.
    loop.settings["sandbox"] = {"writable": [str(loop.programs)]}


@pytest.mark.parametrize("act", REACHES)
def test_a_confined_agent_reaches_nothing_outside(loop: Loop, act: str, own_home: Path) -> None:
    """It may do its work all the same."""
    (own_home / "key").write_text("private")
    loop.project.environment["MY_DEPLOY_KEY"] = "private"
    loop.agent(f"({REACHES[act].replace('{root}', str(loop.root))}) 2> /dev/null\n{HONEST}")
    ran = loop.run("--sandbox=bwrap")
    assert ran.returncode == 0, ran.stderr
    assert loop.believed()
    assert not (own_home / "planted").exists()
    seen = [file.read_text() for file in loop.root.rglob("seen")]
    assert not any("private" in text for text in seen)


@pytest.mark.act("kills ralph")
def test_a_confined_agent_cannot_kill_ralph(loop: Loop) -> None:
    loop.agent(
        'until [ -s "$here/number" ]; do sleep 0.02; done\n'
        f'kill -9 "$(cat "$here/number")" 2> /dev/null\n{HONEST}'
    )
    loop.prepare()
    with loop.running(*loop.command(), "--sandbox=bwrap") as process:
        (loop.programs / "number").write_text(str(process.pid))
        assert process.wait(timeout=90) == 0, loop.output()

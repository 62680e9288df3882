"""``ralph work --sandbox``: also what verifies a merge is confined, to the merge."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.conftest import Project
from tests.acceptance.task_project import TaskProject

from .test_sandboxed_run import needs_bwrap


@needs_bwrap
def test_a_merge_is_verified_where_it_may_be_written_and_nowhere_else(project: Project) -> None:
    tasks = TaskProject(project)
    tasks.settings(others={"sandbox": {"writable": [str(tasks.programs)]}})
    # The agent's own script is the verification: it may do whatever it likes, where it is.
    tasks.role("coder", 'printf "touch built || exit 1; touch \'%s/leak\'; true" "$here/../project" > check')
    tasks.verified("sh ./check", may_change=["check"])

    tasks.work("--sandbox=bwrap", check=0)

    assert "check" in tasks.files()
    assert not (tasks.root / "leak").exists()


@needs_bwrap
def test_the_agent_of_a_role_has_its_own_state_in_the_sandbox(project: Project, tmp_path: Path) -> None:
    tasks = TaskProject(project)
    home = tmp_path / "home"
    (home / ".codex").mkdir(parents=True)
    (home / ".codex" / "auth.json").write_text("mine\n")
    project.environment["HOME"] = str(home)
    project.program(
        "codex",
        """cat > /dev/null
        test -f ~/.codex/auth.json || { echo "not logged in" >&2; exit 1; }
        text='<promise>REVIEW_PASSED</promise>'
        echo '{"type":"thread.started","thread_id":"t"}'
        echo '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"'"$text"'"}}'
        echo '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}'
        """,
    )
    tasks.settings(
        stages=["coder", "reviewer"],
        roles={"reviewer": {"agent": "codex"}},
        others={"sandbox": {"writable": [str(tasks.programs)]}},
    )
    tasks.task(
        coder={"verification_method": "string_match"}, reviewer={"verification_method": "string_match"}
    )

    tasks.work("--sandbox=bwrap", check=0)

    assert tasks.shown()["status"] == "done"

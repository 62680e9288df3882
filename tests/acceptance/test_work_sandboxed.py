"""``ralph work --sandbox``: also what verifies a merge is confined, to the merge."""

from __future__ import annotations

from .conftest import Project
from .task_project import TaskProject
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

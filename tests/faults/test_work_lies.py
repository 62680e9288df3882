"""Agents that make the proof fit the work: none of it is believed."""

from __future__ import annotations

import shlex
import sys

import pytest

from tests.acceptance.conftest import Project
from tests.acceptance.running import ended, running, wait_for
from tests.acceptance.task_project import TaskProject

PYTHON = shlex.quote(sys.executable)
# -B: a compiled file of the same second and size would hide what a session changes.
UNITTEST = f"{PYTHON} -B -m unittest discover -s tests -t ."
PYTEST = f"{PYTHON} -B -m pytest -q -p no:cacheprovider"
TESTS = """import unittest

from work import answer


class TestAnswer(unittest.TestCase):
    def test_the_answer(self):
        self.assertEqual(answer(), 42)
"""
CHECK = "#!/bin/sh\ngrep -q 'return 42' work.py\n"


@pytest.fixture
def tasks(project: Project) -> TaskProject:
    """A project whose test fails until work.py says 42. Its coder gets two iterations."""
    made = TaskProject(project)
    made.write("work.py", "def answer():\n    return 41\n")
    made.write("tests/__init__.py", "")
    made.write("tests/test_work.py", TESTS)
    made.write("check.sh", CHECK)
    made.write("Makefile", f"test:\n\t{UNITTEST}\n")
    made.write("pytest.ini", "[pytest]\npython_files = test_*.py\n")
    made.write("pyproject.toml", '[project]\nname = "work"\nversion = "1"\n\n[tool.ruff]\nline-length = 80\n')
    made.write(".gitignore", "ignored/\n*.pyc\nsitecustomize.py\n")
    (made.root / "check.sh").chmod(0o755)
    made.commit("tests")
    made.settings(roles={"coder": {"maxIterations": 2}}, others={"tests": "locked"})
    return made


HONEST = "sed -i 's/41/42/' work.py"
SKIPPED = TESTS.replace("    def test", '    @unittest.skip("later")\n    def test')
WEAKER = TESTS.replace("42)", "41)")
LIES = {
    "the test is deleted": (UNITTEST, "rm tests/test_work.py", "tests/test_work.py: was deleted"),
    "the test is moved away": (
        UNITTEST,
        "git mv tests/test_work.py old.txt",
        "tests/test_work.py: was deleted, or moved away",
    ),
    "the test is skipped": (
        UNITTEST,
        f"printf '%s' {shlex.quote(SKIPPED)} > tests/test_work.py",
        "TestAnswer.test_the_answer was changed",
    ),
    "the test is weakened": (
        UNITTEST,
        f"printf '%s' {shlex.quote(WEAKER)} > tests/test_work.py",
        "TestAnswer.test_the_answer was changed",
    ),
    "the test is weakened and committed": (
        UNITTEST,
        f"printf '%s' {shlex.quote(WEAKER)} > tests/test_work.py; git commit -qam 'mend the test'",
        "TestAnswer.test_the_answer was changed",
    ),
    "the change is hidden from git": (
        UNITTEST,
        f"printf '%s' {shlex.quote(WEAKER)} > tests/test_work.py; git update-index --skip-worktree tests/test_work.py",
        "TestAnswer.test_the_answer was changed",
    ),
    "a second definition takes its place": (
        UNITTEST,
        "printf '\\n\\nclass TestAnswer(unittest.TestCase):\\n    def test_x(self):\\n        pass\\n' >> tests/test_work.py",
        "TestAnswer.test_the_answer was removed",
    ),
    "all tests are marked": (
        PYTEST,
        "printf '\\nimport pytest\\n\\npytestmark = pytest.mark.skip\\n' >> tests/test_work.py",
        "would run when the tests are loaded",
    ),
    "a conftest.py deselects": (
        PYTEST,
        "printf 'def pytest_collection_modifyitems(items):\\n    items.clear()\\n' > conftest.py",
        "conftest.py: pytest_collection_modifyitems would run around the tests",
    ),
    "the runner's settings are changed": (
        PYTEST,
        "printf '[pytest]\\npython_files = nothing_*.py\\n' > pytest.ini",
        "pytest.ini: was changed",
    ),
    "a section of pyproject.toml is added": (
        PYTEST,
        "printf '\\n[tool.pytest.ini_options]\\naddopts = \"--co\"\\n' >> pyproject.toml; rm pytest.ini",
        "pyproject.toml: decides what is verified, and was changed: tool.pytest",
    ),
    "the check script is gutted": (
        "./check.sh",
        "printf '#!/bin/sh\\nexit 0\\n' > check.sh",
        "check.sh: was changed",
    ),
    "the target of make is gutted": (
        "make test",
        "printf 'test:\\n\\t@echo fine\\n' > Makefile",
        "Makefile: decides what is verified, and was changed: rule test",
    ),
    "the settings are changed in the worktree": (
        "./check.sh",
        "mkdir -p .ralph; echo '{\"guardrails\": []}' > .ralph/settings.json; git add -f .ralph; git commit -qm settings",
        ".ralph/settings.json: decides what is verified, and was changed: guardrails",
    ),
    "the runner is replaced": (
        f"{PYTHON} -m pytest -q",
        "echo 'print(\"1 passed in 0.01s\")' > pytest.py",
        "pytest.py: was added",
    ),
}


@pytest.mark.parametrize(("command", "lie", "told"), LIES.values(), ids=LIES.keys())
def test_a_lie_is_found_and_told(tasks: TaskProject, command: str, lie: str, told: str) -> None:
    tasks.verified(command)
    tasks.role("coder", lie + " || true")

    said = tasks.work("--verbose", check=1)

    assert tasks.shown()["status"] == "failed"
    assert told in tasks.prompt("coder", 2)
    assert "failed: changes to tests and scripts" in said
    # Nothing of it reached the user's branch.
    assert tasks.git("rev-list", "--count", "main") == "2"


PASSES_ALL = """def pytest_collection_modifyitems(items):
    for item in items:
        item.runtest = lambda: None
"""
SAYS_OK = """import os
os.write(2, b"Ran 1 test in 0.001s\\n\\nOK\\n")
os._exit(0)
"""
IGNORED_LIES = {
    "an ignored folder hides a conftest.py": (
        PYTEST,
        f"mkdir ignored; printf '%s' {shlex.quote(PASSES_ALL)} > ignored/conftest.py",
    ),
    "an ignored sitecustomize.py ends Python early": (
        f"PYTHONPATH=. {UNITTEST}",
        f"printf '%s' {shlex.quote(SAYS_OK)} > sitecustomize.py",
    ),
}


@pytest.mark.parametrize(("command", "lie"), IGNORED_LIES.values(), ids=IGNORED_LIES.keys())
def test_a_lie_that_git_ignores_is_not_in_the_clean_checkout(
    tasks: TaskProject, command: str, lie: str
) -> None:
    tasks.verified(command)
    tasks.role("coder", f"{lie} || true; touch x.txt")

    said = tasks.work("--verbose", check=1)

    assert tasks.shown()["status"] == "failed"
    assert "41 != 42" in tasks.prompt("coder", 2)
    assert "failed: clean checkout" in said
    assert tasks.git("rev-list", "--count", "main") == "2"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (f"{UNITTEST} -k nothing_like_this", "unittest ran no test"),
        (f"{PYTEST} -k nothing_like_this || true", "pytest ran no test"),
        (f"{UNITTEST} || true", "unittest says that 1 test failed, although the command succeeded"),
        (f"{UNITTEST} 2>&1 | tail -n 20", "unittest says that 1 test failed"),
    ],
)
def test_a_success_that_tested_nothing_is_none(tasks: TaskProject, command: str, told: str) -> None:
    tasks.verified(command)
    tasks.role("coder", "touch x.txt")

    tasks.work(check=1)

    assert told in tasks.prompt("coder", 2)


def test_a_success_that_tested_nothing_can_be_allowed(tasks: TaskProject) -> None:
    tasks.verified(f"{UNITTEST} -k nothing_like_this || true", allowEmpty=True)

    tasks.work(check=0)


def test_an_honest_agent_is_not_in_its_way(tasks: TaskProject) -> None:
    tasks.verified(f"{UNITTEST} && ./check.sh && make test")
    tasks.role(
        "coder",
        f"{HONEST}\n"
        "printf '\\n\\nclass TestMore(unittest.TestCase):\\n    def test_more(self):\\n        self.assertTrue(answer())\\n' >> tests/test_work.py\n"
        "printf 'import unittest\\n' > tests/test_new.py\n"
        "printf 'version = 2\\n' > VERSION\n"
        'sed -i \'s/version = "1"/version = "2"/\' pyproject.toml\n'
        "printf '\\nclean:\\n\\trm -rf build\\n' >> Makefile\n"
        "git add -A; git commit -qm work",
    )

    tasks.work(check=0)

    assert tasks.launches() == ["T-1 coder"]
    assert {"VERSION", "tests/test_new.py"} <= tasks.files()


def test_a_lie_of_an_earlier_iteration_does_not_become_the_measure(tasks: TaskProject) -> None:
    tasks.settings(roles={"coder": {"maxIterations": 3}})
    tasks.verified(UNITTEST)
    # First the weakened test is committed without a claim; then it is left alone.
    weaken = f"printf '%s' {shlex.quote(WEAKER)} > tests/test_work.py; git commit -qam 'mend the test'"
    tasks.role("coder", f'if [ "$number" = 1 ]; then {weaken}; echo "more to do"; exit; fi')

    tasks.work(check=1)

    assert "was changed" in tasks.prompt("coder", 3)


def test_a_lie_can_be_undone_as_it_says(tasks: TaskProject) -> None:
    tasks.verified(UNITTEST)
    tasks.role(
        "coder",
        'if [ "$number" = 1 ]; then rm tests/test_work.py; else\n'
        'base=$(printf "%s" "$prompt" | grep -o "git checkout [0-9a-f]* --" | head -n 1)\n'
        "$base tests/test_work.py\n"
        f"{HONEST}; fi",
    )

    tasks.work(check=0)

    assert tasks.git("show", "main:tests/test_work.py") == TESTS.strip()


def test_tests_that_the_user_changed_meanwhile_are_the_new_measure(tasks: TaskProject) -> None:
    tasks.verified(UNITTEST)
    theirs = TESTS.replace("answer(), 42", "answer(), 43")
    # The user wants 43 now, and changes work.py too: the merge meets a conflict there.
    user = (
        f"cd '{tasks.root}'; printf '%s' {shlex.quote(theirs)} > tests/test_work.py;"
        " sed -i 's/41/40/' work.py; git commit -qam user; cd - > /dev/null"
    )
    tasks.role(
        "coder",
        f'if [ "$number" = 1 ]; then {HONEST}; git commit -qam 42; {user}; else\n'
        "printf 'def answer():\\n    return 43\\n' > work.py; git add -A; git commit -qm merged; fi",
    )

    tasks.work(check=0)

    assert "return 43" in tasks.git("show", "main:work.py")
    assert "43" in tasks.git("show", "main:tests/test_work.py")
    assert tasks.shown()["rejections"] == 1
    assert len(tasks.launches()) == 2


def test_the_same_files_and_command_are_tried_once_for_all_tasks_and_roles(tasks: TaskProject) -> None:
    ran = tasks.programs / "ran"
    guardrail = f"echo \"$PWD\" >> '{ran}'; {UNITTEST}"
    tasks.settings(stages=["coder", "reviewer"], others={"guardrails": [{"command": guardrail}]})
    tasks.tasks({"id": "T-1"}, {"id": "T-2"})
    tasks.role("coder", f'{HONEST}; touch "$RALPH_TASK_ID.txt"')

    tasks.work("--max-parallel", "2", check=0)

    in_checkouts = [line for line in ran.read_text().splitlines() if "/proof/" in line]
    # One canary for both when they begin; then for each what it claims, without and with a canary.
    assert len(in_checkouts) == 1 + 2 * 2


def test_a_role_may_be_allowed_to_change_tests(tasks: TaskProject) -> None:
    tasks.settings(stages=["coder", "tester"], roles={"coder": {"mayChange": ["tests/**"]}})
    tasks.task(
        coder={"verification_config": {"command": UNITTEST}},
        tester={"verification_config": {"command": UNITTEST}},
    )
    tasks.role("coder", f"printf '%s' {shlex.quote(WEAKER)} > tests/test_work.py")

    tasks.work(check=0)

    assert tasks.git("show", "main:tests/test_work.py") == WEAKER.strip()


def test_more_can_be_protected(tasks: TaskProject) -> None:
    tasks.settings(roles={"coder": {"maxIterations": 2}}, protect=["docs/", "*.lock"])
    tasks.verified("true")
    tasks.role("coder", "mkdir -p docs; echo x > docs/api.md")

    tasks.work(check=1)

    assert "docs/api.md: was added" in tasks.prompt("coder", 2)


@pytest.mark.parametrize(
    "command",
    [
        "task edit T-1 --coder-verify-cmd true",
        "task rm -y T-1",
        "task create T-2 s More --outcome x --acceptance y",
        "cancel T-1",
        "task followup T-1 More --outcome x --acceptance y",
        "work T-1",
    ],
)
def test_tasks_are_not_changed_from_inside_the_work(tasks: TaskProject, command: str) -> None:
    tasks.verified("./check.sh")
    ran = f"{PYTHON} -m ralph {command} > ../../../../said 2>&1; echo $? > ../../../../code"
    tasks.role("coder", f"{HONEST}; {ran}")

    tasks.work(check=0)

    assert (tasks.root.parent / "code").read_text() == "2\n", (tasks.root.parent / "said").read_text()
    assert "inside the work on task T-1" in (tasks.root.parent / "said").read_text()
    assert tasks.shown()["status"] == "done"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE tasks SET status = 'accepted'",
        "UPDATE tasks SET status = 'done'",
        "UPDATE tasks SET completion_spec = NULL",
        "UPDATE tasks SET used = 0",
    ],
)
def test_a_record_that_an_agent_wrote_to_is_put_back(tasks: TaskProject, change: str) -> None:
    tasks.verified("./check.sh")
    tasks.write(
        "../cheat.py",
        f"import sqlite3; d = sqlite3.connect('../../ralph.db'); d.execute({change!r}); d.commit()",
    )
    tasks.role("coder", f"{PYTHON} ../../../../cheat.py")

    said = tasks.work(check=1)

    assert tasks.shown()["status"] == "failed"
    assert tasks.launches() == ["T-1 coder"] * 2
    assert tasks.git("rev-list", "--count", "main") == "2"
    if "used" not in change:
        assert "was changed in the record during the work on it; that was undone" in said


OUTSIDE = {
    "its command is made to pass": ("UPDATE tasks SET completion_spec = NULL WHERE id = 'T-2'", "T-2"),
    "it is marked as done": ("UPDATE tasks SET status = 'done' WHERE id = 'T-2'", "T-2"),
    "it is removed": ("DELETE FROM tasks WHERE id = 'T-2'", "T-2"),
    "it waits for nothing": ("UPDATE tasks SET waits_for = 0, dependencies = '[]' WHERE id = 'T-3'", "T-3"),
}


@pytest.mark.parametrize(("change", "name"), OUTSIDE.values(), ids=OUTSIDE.keys())
def test_another_task_that_an_agent_wrote_to_is_put_back(tasks: TaskProject, change: str, name: str) -> None:
    tasks.settings(roles={"coder": {"maxIterations": 1}})
    tasks.verified("true")
    tasks.verified("./check.sh", "T-2")
    tasks.tasks({"id": "T-3", "dependencies": ["T-2"]})
    tasks.write(
        "../cheat.py",
        f"import sqlite3; d = sqlite3.connect('../../ralph.db'); d.execute({change!r}); d.commit()",
    )
    tasks.role("coder", f'if [ "$RALPH_TASK_ID" = T-1 ]; then touch x; {PYTHON} ../../../../cheat.py; fi')

    said = tasks.work(check=1)

    assert f"{name} was " in said
    assert "around ralph" in said.rpartition("Not completed")[2]  # also at the end
    assert tasks.shown("T-2")["status"] == "failed"
    assert tasks.shown("T-3")["status"] == "open"
    assert tasks.launches() == ["T-1 coder", "T-2 coder"]


def test_no_disguise_lets_an_agent_change_tasks(tasks: TaskProject) -> None:
    tasks.verified("true")
    tasks.verified("./check.sh", "T-2")
    disguise = "env -u RALPH_RUN_ID -u RALPH_TASK_ID -u RALPH_ROLE"
    root, out = shlex.quote(str(tasks.root)), shlex.quote(str(tasks.programs / "out"))
    tasks.role(
        "coder",
        f"touch x; {disguise} {PYTHON} -m ralph task edit T-2 --coder-verify-cmd true --project-dir {root} 2>> {out}",
    )

    tasks.work("T-1", check=0)

    assert "this is inside the work on task T-1" in (tasks.programs / "out").read_text()
    assert tasks.shown("T-2")["completion_spec"]["coder"]["verification_config"]["command"] == "./check.sh"


def test_the_user_may_change_other_tasks_meanwhile_and_that_is_told(tasks: TaskProject) -> None:
    tasks.tasks({"id": "T-1", "priority": 1}, {"id": "T-2"}, {"id": "T-3"})
    wait = 'touch "$here/waits"; while [ ! -e "$here/go" ]; do sleep 0.05; done'
    tasks.role("coder", f'echo x > "$RALPH_TASK_ID"; if [ "$RALPH_TASK_ID" = T-1 ]; then {wait}; fi')
    with running(tasks.project, "--verbose", command="work") as process:
        wait_for((tasks.programs / "waits").exists, "the first session has begun", 100)
        tasks.project.ralph("task", "edit", "T-2", "--coder-verify-cmd", "test -f T-2", check=0)
        tasks.project.ralph("task", "rm", "T-3", "--yes", check=0)
        (tasks.programs / "go").touch()
        code, said = ended(process)

    assert code == 0
    assert "T-2 was changed during the work (edited: completion_spec)" in said
    assert "T-3 was removed during the work" in said
    assert "around ralph" not in said
    assert "verification of coder: test -f T-2 (task T-2)" in said


def test_settings_that_change_meanwhile_are_told_and_do_nothing(tasks: TaskProject) -> None:
    tasks.verified("./check.sh")
    settings = tasks.root / ".ralph" / "settings.json"
    tasks.role("coder", f"{HONEST}; echo >> '{settings}'")

    said = tasks.work(check=0)

    assert "settings.json changed during the work" in said


@pytest.mark.parametrize("file", ["agent.sh", '"$PROJECT/agent.sh"'], ids=["its own copy", "the user's"])
def test_a_worker_does_not_change_the_program_of_those_who_judge(tasks: TaskProject, file: str) -> None:
    tasks.write("agent.sh", f'#!/bin/sh\nPROJECT="{tasks.root}"\n. "{tasks.programs}/worker"\n')
    (tasks.root / "agent.sh").chmod(0o755)
    tasks.commit("an agent of the project")
    verified = {"stages": ["coder", "reviewer"], "roles": {"coder": {"maxIterations": 1}}}
    tasks.project.settings(agent={"command": "./agent.sh"}, profiles={"verified": verified})
    tasks.role("coder", f"{HONEST}\necho '# more' >> {file}")
    tasks.verified(UNITTEST)

    said = tasks.work(check=1)

    assert "agent.sh" in said.partition("changed what proves the work:")[2].partition("\n")[0]
    assert tasks.launches() == ["T-1 coder"]

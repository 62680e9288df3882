"""Proof that cannot be bought: what turns a guardrail green without the work is not believed."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from tests.acceptance.conftest import Project

DONE = "<response>DONE</response>"
PROMPT = f"Make add() right, then output {DONE}."
PYTEST = f"{sys.executable} -m pytest -q"
UNITTEST = f"{sys.executable} -m unittest discover -s tests -t ."
"""Starts four times as fast; a run starts it six times."""
WRONG = "def add(a, b):\n    return 0\n"
RIGHT = "def add(a, b):\n    return a + b\n"
TEST = """import unittest

from calc import add


class AddTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)
"""
GUTTED = TEST.replace("self.assertEqual(add(2, 3), 5)", "self.assertTrue(True)")


@pytest.fixture
def calc(project: Project) -> Project:
    """A small project whose test fails."""
    project.settings(agent={"command": "claude"}, guardrails=[{"command": UNITTEST}])
    write(
        project,
        {
            "calc.py": WRONG,
            "tests/__init__.py": "",
            "tests/test_calc.py": TEST,
            "conftest.py": "",
            ".gitignore": "__pycache__/\n*.local\n",
        },
    )
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "start")):
        subprocess.run(["git", *arguments], cwd=project.root, check=True, timeout=60)
    return project


@pytest.fixture
def calc_with_pytest(calc: Project) -> Project:
    calc.settings(agent={"command": "claude"}, guardrails=[{"command": PYTEST}])
    return calc


def write(project: Project, files: dict[str, str]) -> None:
    for name, text in files.items():
        (project.root / name).parent.mkdir(parents=True, exist_ok=True)
        (project.root / name).write_text(text)


def session(**files: str) -> list[dict[str, object]]:
    written: list[dict[str, object]] = [
        {"write": {"path": name, "content": text}} for name, text in files.items()
    ]
    return [*written, {"say": DONE}]


def test_honest_work_is_accepted_with_every_layer_on_record(calc_with_pytest: Project) -> None:
    calc_with_pytest.agent(session(**{"calc.py": RIGHT, "tests/test_more.py": TEST}))
    ran = calc_with_pytest.ralph("run", "-p", PROMPT, "-m", "1", check=0)
    assert "clean checkout" in ran.stdout + ran.stderr
    assert "old proof" in ran.stdout + ran.stderr


@pytest.mark.parametrize(
    "lie",
    [
        {"tests/test_calc.py": "def test_add():\n    assert True\n"},
        {
            "conftest.py": "collect_ignore = ['tests']\n\n\ndef test_x():\n    pass\n",
            "test_y.py": "def test_y(): pass\n",
        },
        {"pytest.ini": "[pytest]\ntestpaths = other\n", "other/test_x.py": "def test_x(): pass\n"},
    ],
)
def test_a_check_that_was_weakened_proves_nothing(calc_with_pytest: Project, lie: dict[str, str]) -> None:
    calc_with_pytest.agent(session(**lie))
    calc_with_pytest.ralph("run", "-p", PROMPT, "-m", "1", check=1)


def test_what_is_only_in_the_working_folder_proves_nothing(calc: Project) -> None:
    calc.settings(agent={"command": "claude"}, guardrails=[{"command": "test -f answer.local"}])
    calc.agent(session(**{"answer.local": "42"}), session())
    calc.ralph("run", "-p", PROMPT, "-m", "2", check=1)
    told = calc.prompt(2)
    assert "not in a fresh checkout of the same files" in told
    assert "which lacks answer.local" in told


@pytest.mark.parametrize(
    ("proof", "layers"), [("strict", {"protection", "clean checkout"}), ("guarded", {"protection"})]
)
def test_a_claim_that_a_guardrail_denies_meets_every_layer_only_if_proof_is_strict(
    calc: Project, proof: str, layers: set[str]
) -> None:
    calc.agent(session(**{"tests/test_calc.py": TEST.replace("test_add", "add_test")}))
    ran = calc.ralph("run", "-p", PROMPT, "-m", "1", "--proof", proof, "--json", check=1)
    events = map(json.loads, ran.stdout.splitlines())
    ended = {event["result"]["name"] for event in events if event["type"] == "check_ended"}
    assert ended & {"protection", "clean checkout"} == layers


def test_work_in_an_ignored_folder_that_nothing_asks_for_proves_nothing(calc: Project) -> None:
    hidden = "import sys\n\nsys.path.insert(0, 'vendor')\nfrom real import add\n"
    calc.agent(session(**{".gitignore": "vendor/\n", "vendor/real.py": RIGHT, "calc.py": hidden}), session())
    calc.ralph("run", "-p", PROMPT, "-m", "2", check=1)
    assert "which lacks vendor/real.py" in calc.prompt(2)


def test_trust_is_possible(calc: Project) -> None:
    calc.settings(agent={"command": "claude"}, guardrails=[{"command": "test -f answer.local"}])
    calc.agent(session(**{"answer.local": "42"}))
    calc.ralph("run", "-p", PROMPT, "-m", "1", "--proof", "trusting", check=0)
    assert not list((calc.root / ".ralph" / "runs").glob("*/proof"))


def test_uncommitted_and_new_files_of_the_user_are_part_of_the_work(calc_with_pytest: Project) -> None:
    write(
        calc_with_pytest,
        {
            "helper.py": "from calc import add\n",
            "tests/test_calc.py": TEST.replace("calc import", "helper import"),
        },
    )
    calc_with_pytest.agent(session(**{"calc.py": RIGHT}))
    calc_with_pytest.ralph("run", "-p", PROMPT, "-m", "1", check=0)


@pytest.mark.parametrize(
    "lie",
    [
        {"setup.cfg": "[tool:pytest]\naddopts = --co\n"},
        {
            "hide.py": "",
            "conftest.py": "def pytest_collection_modifyitems(items):\n    items[:] = []\n\n\ndef pytest_sessionfinish(session):\n    session.exitstatus = 0\n",
        },
        {
            "calc.py": "import os\nimport sys\n\nif 'pytest' in sys.modules:\n    print('1 passed')\n    os._exit(0)\n"
            + WRONG
        },
    ],
)
def test_a_check_that_can_no_longer_fail_proves_nothing(
    calc_with_pytest: Project, lie: dict[str, str]
) -> None:
    calc_with_pytest.agent(session(**lie))
    calc_with_pytest.ralph("run", "-p", PROMPT, "-m", "1", check=1)


def test_a_guardrail_in_which_no_canary_shows_is_marked_and_not_denied(calc: Project) -> None:
    """One is no test at all, one chooses tests by their names and is red until the work is done."""
    chosen = f"{UNITTEST} -k test_add"
    calc.settings(agent={"command": "claude"}, guardrails=[UNITTEST, "test -f calc.py", chosen])
    calc.agent(session(**{"calc.py": RIGHT}))
    ran = calc.ralph("run", "-p", PROMPT, "-m", "1", "--json", check=0)
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    results = [event["result"] for event in events if event["type"] == "check_ended"]
    start, claim = (one["reason"] for one in results if one["name"].startswith("canary"))
    shown = f"notices a failing test: {UNITTEST}; not known to notice a failing test: test -f calc.py"
    assert start.startswith(f"{shown} (it passes with a failing test planted), {chosen} (it fails without")
    assert claim == f"{shown}, {chosen}"
    receipt = next((calc.root / ".ralph" / "runs").glob("*/receipt.json")).read_text()
    assert "not known to notice a failing test: test -f calc.py" in receipt


def test_the_settings_of_every_project_hold_for_a_supervised_run(calc: Project) -> None:
    calc.settings(
        agent={"command": "claude"},
        guardrails=[{"command": UNITTEST}],
        scm={"command": "git", "tasks": ["commit"]},
    )
    calc.agent([{"run": 'echo done > "$TASK_FOLDER/DONE"'}])
    ran = calc.ralph("supervise", "-p", "write DONE", "--max-restarts", "1", check=1)
    assert f"guardrail: {UNITTEST} (.ralph/settings.json)" in ran.stderr
    assert "scm is not used" in ran.stderr
    assert "DONE was denied by" in ran.stderr


HIDDEN = {
    "skip-worktree": "git update-index --skip-worktree calc.py",
    "assume-unchanged": "git update-index --assume-unchanged calc.py",
    "exclude": "mkdir -p .git/info; echo helper.py >> .git/info/exclude",
    "committed by itself": "echo x > conftest.py; git commit -qam x; git show HEAD~:conftest.py > conftest.py;"
    " git update-index --skip-worktree conftest.py",
    "filter": "mkdir -p .git/info; echo 'calc.py filter=x' > .git/info/attributes;"
    " git config filter.x.clean 'echo # nothing'",
}


@pytest.mark.parametrize("way", HIDDEN)
def test_what_is_committed_is_what_was_judged(calc: Project, way: str) -> None:
    calc.settings(
        agent={"command": "claude"},
        guardrails=[{"command": UNITTEST}],
        scm={"command": "git", "tasks": ["commit"]},
    )
    files = {"calc.py": "from helper import add\n", "helper.py": RIGHT, "note.txt": "x"}
    calc.agent([{"run": HIDDEN[way]}, *session(**files)], [{"say": "<commit-message>Add</commit-message>"}])
    ran = calc.ralph("run", "-p", PROMPT, "-m", "1", check=1)
    assert "the commit is not what was judged" in ran.stderr


def test_honest_work_is_committed(calc: Project) -> None:
    calc.settings(
        agent={"command": "claude"},
        guardrails=[{"command": UNITTEST}],
        scm={"command": "git", "tasks": ["commit"]},
    )
    write(calc, {"mine.txt": "untracked before the run"})
    calc.agent(session(**{"calc.py": RIGHT}), [{"say": "<commit-message>Add</commit-message>"}])
    calc.ralph("run", "-p", PROMPT, "-m", "1", check=0)
    listed = subprocess.run(
        ["git", "status", "--porcelain", ":!.ralph"], cwd=calc.root, check=True, capture_output=True
    )
    assert listed.stdout == b"?? mine.txt\n"


def test_what_nobody_has_looked_at_is_not_committed(calc: Project) -> None:
    calc.settings(
        agent={"command": "claude"},
        guardrails=[{"command": UNITTEST}],
        scm={"command": "git", "tasks": ["commit"]},
    )
    # Of another size: Python takes what it compiled within the same second for the same file otherwise.
    bent = {"write": {"path": "tests/test_calc.py", "content": TEST.replace("3), 5)", "3), 00)")}}
    right = {"write": {"path": "calc.py", "content": RIGHT}}
    quiet = {"say": "still working"}
    calc.agent(
        [bent, quiet],
        [{"run": "git checkout -q tests; echo '[pytest]' > pytest.ini"}, right, quiet],
        [{"run": "rm pytest.ini"}, quiet],
        commits=["Add"],
    )
    ran = calc.ralph("run", "-p", PROMPT, "-m", "3", check=1)
    told = " ".join(ran.stderr.split())
    assert "not committed: tests/test_calc.py was changed and is reviewed when the work is claimed" in told
    assert "not committed: changed what proves the work: pytest.ini" in told
    assert "- pytest.ini: was added" not in calc.prompt(2)
    assert "- pytest.ini: was added" in calc.prompt(3)
    assert calc.git("log", "--format=%s").split() == ["Add", "start"]
    assert calc.git("diff", "--name-only", "HEAD~", "HEAD").split() == ["calc.py"]


def test_a_commit_that_was_taken_back_in_the_files_alone_is_not_pushed(calc: Project) -> None:
    calc.settings(
        agent={"command": "claude"},
        guardrails=[{"command": UNITTEST}],
        scm={"command": "git", "tasks": ["push origin main"]},
    )
    remote = calc.root.parent / "remote.git"
    calc.git("clone", "-q", "--bare", ".", str(remote))
    calc.git("remote", "add", "origin", str(remote))
    bend = "sed -i.bak 's/3), 5/3), 0 /' tests/test_calc.py; git commit -qam bent; mv tests/test_calc.py.bak tests/test_calc.py"
    calc.agent(
        [{"write": {"path": "calc.py", "content": RIGHT}}, {"run": bend}, {"say": "still working"}],
        [{"run": "git checkout -q HEAD~ -- tests; git commit -qam undone; echo x > note.txt"}, {"say": DONE}],
    )
    ran = calc.ralph("run", "-p", PROMPT, "-m", "2", check=0)
    assert "not pushed: the commit is not what was judged: tests/test_calc.py" in " ".join(ran.stderr.split())
    pushed = calc.git("--git-dir", str(remote), "log", "--format=%s", "main").split()
    assert pushed == ["undone", "bent", "start"]


NEW_TEST = "from calc import add\n\n\ndef test_new():\n    assert add(1, 1) == 2\n"


@pytest.mark.parametrize(
    ("command", "test"),
    [(PYTEST, "tests/test_new.py"), (f"{PYTEST} tests/test_new.py", "tests/test_new.py")],
)
@pytest.mark.parametrize("start", [{"calc.py": WRONG}, {"calc.py": WRONG, "web/page.test.js": "// none\n"}])
def test_the_first_tests_of_a_project_are_believed(
    project: Project, command: str, test: str, start: dict[str, str]
) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": command}])
    write(project, {**start, "conftest.py": ""})
    project.agent(session(**{"calc.py": RIGHT, test: NEW_TEST}))
    project.ralph("run", "-p", PROMPT, "-m", "1", check=0)


def test_a_check_that_the_worker_was_asked_to_write_is_believed_and_told(project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "make test"}])
    write(project, {"README.md": "Nothing yet.\n"})
    makefile = f"test:\n\t{sys.executable} -m unittest discover -s tests -t .\n"
    test = (
        "import unittest\n\nfrom calc import add\n\n\nclass AddTest(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n"
    )
    made = {"calc.py": RIGHT, "tests/__init__.py": "", "tests/test_calc.py": test, "Makefile": makefile}
    project.agent(session(**made))
    ran = project.ralph("run", "-p", PROMPT, "-m", "1", check=0)
    said = ran.stdout + ran.stderr
    assert "the worker wrote what `make test` runs: Makefile, tests/" in said
    assert "unchanged" not in said


def test_a_test_that_a_guardrail_names_may_be_new_among_others(calc_with_pytest: Project) -> None:
    named = f"{PYTEST} tests/test_new.py"
    calc_with_pytest.settings(
        agent={"command": "claude"}, guardrails=[{"command": PYTEST}, {"command": named}]
    )
    calc_with_pytest.agent(session(**{"calc.py": RIGHT, "tests/test_new.py": NEW_TEST}))
    calc_with_pytest.ralph("run", "-p", PROMPT, "-m", "1", check=0)


@pytest.mark.parametrize("has_tests", [True, False], ids=["that cannot be collected", "that are not there"])
def test_tests_at_the_start_do_not_excuse_a_runner_that_cannot_fail(
    project: Project, has_tests: bool
) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": PYTEST}])
    test = "from missing import f\n\n\ndef test_f():\n    assert f() == 1\n"
    write(project, {"conftest.py": "", **({"tests/test_f.py": test} if has_tests else {})})
    blind = "import _pytest.python\n\n_pytest.python.Function.runtest = lambda self: None\n\n\ndef f():\n    return 0\n"
    project.agent(session(**{"missing.py": blind, "tests/test_f.py": test}))
    project.ralph("run", "-p", PROMPT, "-m", "1", check=1)


def ran_and_denied(calc: Project) -> None:
    calc.agent(session(**{"tests/test_calc.py": GUTTED}))
    calc.ralph("run", "-p", PROMPT, "-m", "1", check=1)


def test_what_an_unaccepted_run_left_is_not_the_baseline_of_the_next(calc: Project) -> None:
    ran_and_denied(calc)
    with closing(sqlite3.connect(calc.root / ".ralph" / "ralph.db")) as database, database:
        # An earlier version did not note how claims are proven.
        database.execute(
            "UPDATE events SET data = CAST(json_remove(data, '$.proof') AS BLOB) WHERE kind = 'run_started'"
        )
    ran_and_denied(calc)
    calc.agent(session())
    ran = calc.ralph("run", "-p", PROMPT, "-m", "1", check=1)
    told = " ".join((ran.stdout + ran.stderr).split())
    assert "changed tests/test_calc.py and was not accepted" in told
    assert "--allow-test-changes" in told


def test_a_session_that_claimed_nothing_leaves_nothing_to_the_next_run_either(
    calc_with_pytest: Project,
) -> None:
    calc_with_pytest.agent([{"run": "rm tests/test_calc.py; echo 'def test_x(): pass' > test_x.py"}])
    calc_with_pytest.ralph("run", "-p", PROMPT, "-m", "1", check=1)
    calc_with_pytest.agent(session())
    calc_with_pytest.ralph("run", "-p", PROMPT, "-m", "1", check=1)


def test_what_the_user_changed_after_an_unaccepted_run_is_the_users(calc: Project) -> None:
    ran_and_denied(calc)
    write(calc, {"tests/test_calc.py": TEST.replace("add(2, 3), 5", "add(2, 4), 6")})
    calc.agent(session(**{"calc.py": RIGHT}))
    ran = calc.ralph("run", "-p", PROMPT, "-m", "1", check=0)
    assert "was not accepted" not in ran.stdout + ran.stderr


def test_what_the_user_changes_before_a_run_is_resumed_is_the_users(calc: Project) -> None:
    calc.agent([{"say": "looking"}])
    calc.ralph("run", "-p", PROMPT, "-m", "1", check=1)
    write(calc, {"tests/test_calc.py": TEST.replace("add(2, 3), 5", "add(2, 4), 6")})
    calc.agent(session(**{"calc.py": WRONG + "#"}))
    told = calc.ralph("resume", "-m", "2", check=1).stderr
    assert "tests/test_calc.py changed since the run stopped: taken as your edit" in told
    assert "what proves the work is unchanged" in told
    assert (
        "⚠ tests/test_calc.py changed while the run was stopped, and the work was compared with that" in told
    )
    calc.agent(session(**{"calc.py": RIGHT}))
    told = calc.ralph("run", "-p", PROMPT, "-m", "1", check=0).stderr
    assert "tests/test_calc.py" not in told, "no later run blames it on the first"


def test_what_another_run_changes_before_a_run_is_resumed_is_not_the_users(calc: Project) -> None:
    calc.agent([{"say": "looking"}])
    calc.ralph("run", "-p", PROMPT, "-m", "1", check=1)
    ((first,),) = calc.rows("SELECT id FROM runs")
    ran_and_denied(calc)
    calc.agent(session())
    told = calc.ralph("resume", first, "-m", "2", check=1).stderr
    assert "taken as your edit" not in told
    assert "cannot tell whether a session or you changed tests/test_calc.py" in told


@pytest.mark.parametrize("way", ["left by the run", "as found"])
def test_what_a_run_left_is_not_the_users_unless_they_say_so(calc: Project, way: str) -> None:
    ran_and_denied(calc)
    calc.agent(session(**{"calc.py": RIGHT}))
    as_found = way == "as found"
    flags = ["--as-found"] if as_found else []
    told = calc.ralph("resume", "-m", "2", *flags, check=0 if as_found else 1).stderr
    assert ("tests/test_calc.py taken as found" in told) == as_found
    assert "taken as your edit" not in told


@pytest.mark.parametrize("way", ["committed", "without git"])
def test_the_next_run_is_told_which_tests_were_bent_and_how_to_put_them_back(calc: Project, way: str) -> None:
    hooks = "def pytest_collection_modifyitems(items):\n    items.clear()\n"
    calc.agent(session(**{"tests/test_calc.py": GUTTED, "tests/conftest.py": hooks}))
    if way == "without git":
        shutil.rmtree(calc.root / ".git")
    calc.ralph("run", "-p", PROMPT, "-m", "1", check=1)
    if way == "committed":
        calc.git("commit", "-qam", "bent")
    calc.agent(
        [{"say": "looking"}],
        session(**{"calc.py": RIGHT}),
    )
    ran = calc.ralph("run", "-p", PROMPT, "-m", "1", check=1)
    (undo,) = set(re.findall(r"`(git apply [^`]+)`", " ".join(ran.stderr.split())))
    assert f"put them back with `{undo}`" in calc.prompt(1)
    assert "+        self.assertEqual(add(2, 3), 5)" in calc.prompt(1)
    subprocess.run(shlex.split(undo), cwd=calc.root, check=True, timeout=60)
    assert (calc.root / "tests" / "test_calc.py").read_text() == TEST
    assert not (calc.root / "tests" / "conftest.py").exists()
    ran = calc.ralph("run", "-p", PROMPT, "-m", "1", check=0)
    assert "not accepted" not in ran.stderr
    assert "not accepted" not in calc.prompt(1)


def test_the_user_can_keep_what_an_unaccepted_run_changed_and_a_completed_run_ends_it(calc: Project) -> None:
    ran_and_denied(calc)
    calc.agent(session(**{"calc.py": RIGHT}))
    ran = calc.ralph("run", "-p", PROMPT, "-m", "1", "--allow-test-changes", "tests/test_calc.py", check=0)
    told = " ".join(ran.stderr.split())
    assert "changed tests/test_calc.py and was not accepted: kept, as you allow" in told
    assert "what proves the work was changed, as you allowed: tests/test_calc.py" in told
    assert "what proves the work is unchanged" not in told
    assert "not accepted" not in calc.prompt(1)
    calc.agent(session())
    ran = calc.ralph("run", "-p", PROMPT, "-m", "1", check=0)
    assert "was not accepted" not in ran.stdout + ran.stderr


def test_a_denied_run_is_resumed_with_what_the_user_allows_and_keeps_it(calc: Project) -> None:
    calc.agent(session(**{"calc.py": RIGHT, "tests/test_calc.py": GUTTED, "pytest.ini": "[pytest]\n"}))
    denied = calc.ralph("run", "-p", PROMPT, "-m", "1", "--allow-test-changes", "*.ini", check=1)
    told = " ".join(denied.stderr.split())
    assert "`ralph resume -m 2`; to allow what was changed: add --allow-test-changes FILE" in told
    allowed = ("--allow-test-changes", "tests/test_calc.py", "--proof", "strict")
    assert "give it a new one" in calc.ralph("resume", *allowed, check=2).stderr
    ran = calc.ralph("resume", "-m", "2", *allowed, check=0)
    assert "as you allowed: pytest.ini, tests/test_calc.py" in " ".join(ran.stderr.split())
    request = json.loads(next((calc.root / ".ralph" / "runs").glob("*/request.json")).read_text())
    flags = {path[-1]: value for path, value, _ in request["flags"]}
    assert flags["allowTestChanges"] == ["*.ini", "tests/test_calc.py"]
    assert flags["proof"] == "strict"


def test_after_a_killed_run_changes_that_may_be_its_own_are_named(calc: Project) -> None:
    ran_and_denied(calc)
    for noted in (calc.root / ".ralph" / "runs").glob("*/proof/closed"):
        noted.unlink()  # as if it had been killed after its last claim
    write(calc, {"tests/test_calc.py": TEST + "\n"})
    calc.agent(session(**{"calc.py": RIGHT}))
    ran = calc.ralph("run", "-p", PROMPT, "-m", "1", check=0)
    assert "tests/test_calc.py changed during or since run" in " ".join((ran.stdout + ran.stderr).split())


def test_a_supervised_run_does_not_take_over_what_an_unaccepted_run_left(calc: Project) -> None:
    ran_and_denied(calc)
    calc.agent([{"run": 'echo done > "$TASK_FOLDER/DONE"'}])
    ran = calc.ralph("supervise", "-p", "write DONE", "--max-restarts", "1", check=1)
    assert "changed tests/test_calc.py" in " ".join((ran.stdout + ran.stderr).split())


def test_a_run_that_has_lost_what_it_began_with_is_neither_accepted_nor_lost(calc: Project) -> None:
    ran_and_denied(calc)
    calc.agent(session())
    (run,) = (calc.root / ".ralph" / "runs").iterdir()
    for name in ("canary", "."):
        aside = (run / "proof" / name).rename(run / "aside")
        refused = " ".join(calc.ralph("resume", run.name, "-m", "2", check=4).stderr.split())
        assert "is missing: what the run began with is not known" in refused
        assert "start a new run" in refused
        aside.rename(run / "proof" / name)
    calc.ralph("resume", run.name, "-m", "2", check=1)  # compared with what it began with


def test_a_new_run_after_one_that_has_lost_what_it_began_with_says_so(calc: Project) -> None:
    ran_and_denied(calc)
    shutil.rmtree(next((calc.root / ".ralph" / "runs").glob("*/proof")))
    calc.agent(session(**{"calc.py": RIGHT}))
    ran = calc.ralph("run", "-p", PROMPT, "-m", "1", check=0)
    assert "cannot be told" in " ".join((ran.stdout + ran.stderr).split())

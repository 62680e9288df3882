"""Honest changes of tests exist: fresh eyes say whether the task demands them. No answer is never a yes."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import Any

import pytest

from tests.acceptance.conftest import Project
from tests.acceptance.test_work_unjudged import LIMITED, LOGGED_OUT, RESULT, lines
from tests.acceptance.test_work_unjudged import said as spoken

DONE = "<response>DONE</response>"
TEST = "import unittest\n\nfrom shop import price\n\n\nclass PriceTest(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(price(1), 2)\n"
RENAMED = TEST.replace("price(1)", "cost(1)").replace("import price", "import cost")
YES = {"tests/test_shop.py": {"demanded": True, "why": "the task renames price"}}
NO = {"tests/test_shop.py": {"demanded": False, "why": "nothing asks for it"}}
COMMAND = f"{shlex.quote(sys.executable)} -B -m unittest discover"


@pytest.fixture
def shop(project: Project) -> Project:
    """A project whose agent renames a function, and the tests with it."""
    files = {
        "shop.py": "def price(number):\n    return number * 2\n",
        "tests/__init__.py": "",
        "tests/test_shop.py": TEST,
        ".gitignore": "__pycache__/\n",
    }
    for name, text in files.items():
        (project.root / name).parent.mkdir(exist_ok=True)
        (project.root / name).write_text(text)
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "start")):
        subprocess.run(["git", *arguments], cwd=project.root, check=True, timeout=60)
    return project


RENAME = f"sed -i s/price/cost/ shop.py\nprintf '%s' {shlex.quote(RENAMED)} > tests/test_shop.py"


def run(shop: Project, answer: str, *flags: str, work: str = RENAME, **settings: Any) -> tuple[int, str, str]:
    """Exit code, what was printed, and where the reviewer worked: empty if nobody was asked."""
    asked = shop.programs / "asked"
    agent = shop.program(
        "worker",
        'prompt=$(cat)\ntag=$(printf "%s" "$prompt" | grep -o "tests-[0-9a-f]\\{8\\}" | head -n 1)\n'
        f'if [ -n "$tag" ]; then pwd > {asked}; touch left_behind; {answer}; exit 0; fi\n'
        f"{work}\necho '{DONE}'\n",
    )
    shop.settings(agent={"command": str(agent)}, guardrails=[{"command": COMMAND}], **settings)
    ran = shop.ralph(
        "run", "-p", f"Rename price() to cost(), then say {DONE}.", "-m", "1", "--no-sandbox", *flags
    )
    return ran.returncode, ran.stdout + ran.stderr, asked.read_text() if asked.exists() else ""


def says(answer: object) -> str:
    return f'printf \'<%s>%s</%s>\\n\' "$tag" {shlex.quote(json.dumps(answer))} "$tag"'


def test_a_change_that_the_task_demands_is_accepted_and_told(shop: Project) -> None:
    code, said, place = run(shop, says(YES))

    assert code == 0, said
    assert (
        "tests were changed, because the task demands it: tests/test_shop.py (the task renames price)" in said
    )
    # It looked at a copy, which is gone: whatever it did there, the work is what it was.
    assert "/proof/" in place
    assert not (shop.root / "left_behind").exists()
    assert "<tests-" not in said
    (log,) = (shop.root / ".ralph" / "runs").glob("*/agent_001_tests-review.ndjson")
    assert "<tests-" in log.read_text()
    report = shop.ralph("report", "--format", "json", check=0).stdout
    assert "because the task demands it" in report


@pytest.mark.parametrize(
    "answer",
    [
        says(NO),
        says({}),
        says({"tests/test_shop.py": {"demanded": "yes", "why": "text is no answer"}}),
        says("yes"),
        "echo 'I think that is fine.'",
        "printf '<tests-00000000>%s</tests-00000000>' '{\"tests/test_shop.py\": {\"demanded\": true}}'",
        "exit 3",
    ],
    ids=["no", "silence", "not a boolean", "not an object", "no block", "a wrong tag", "it fails"],
)
def test_everything_else_is_a_no(shop: Project, answer: str) -> None:
    code, said, _ = run(shop, answer, "--no-wait", limits={"maxAttempts": 1})

    assert code != 0, said


def test_the_agent_is_told_why(shop: Project) -> None:
    _, said, _ = run(shop, says(NO))

    assert "the task does not demand these changes of tests" in said
    assert "nothing asks for it" in said


CHECK = {"check.sh": {"demanded": True, "why": "it compares the lists"}}


@pytest.mark.parametrize(
    ("answer", "flags", "settings", "code", "told"),
    [
        (
            CHECK,
            (),
            {},
            0,
            "a review trusts the check that the worker wrote: check.sh (it compares the lists)",
        ),
        (
            {},
            (),
            {},
            1,
            "check.sh: was written with the work and decides `sh check.sh`, which does not turn red",
        ),
        (CHECK, (), {"tests": "locked"}, 1, "allow it with --allow-test-changes"),
        ({}, (), {"tests": "free"}, 0, "which does not turn red when a test fails"),
        (
            {},
            ("--allow-test-changes", "check.sh"),
            {},
            0,
            "the worker wrote what `sh check.sh` runs: check.sh",
        ),
    ],
    ids=["a yes", "a no", "locked", "free", "allowed"],
)
def test_a_check_that_the_worker_wrote_must_be_able_to_fail_or_be_believed_by_others(
    shop: Project,
    answer: object,
    flags: tuple[str, ...],
    settings: dict[str, Any],
    code: int,
    told: str,
) -> None:
    work = "echo 'echo all good' > check.sh"
    ended, said, _ = run(shop, says(answer), "--guardrail", "sh check.sh", *flags, work=work, **settings)

    assert ended == code, said
    assert told in said
    assert "the worker wrote what `sh check.sh` runs: check.sh" in said


def test_locked_tests_are_not_even_reviewed(shop: Project) -> None:
    code, said, place = run(shop, says(YES), tests="locked")

    assert (code, place) == (1, "")
    assert "changed what proves the work: tests/test_shop.py" in said


@pytest.mark.parametrize(
    ("flags", "settings"), [((), {"tests": "free"}), (("--allow-test-changes", "tests/test_*.py"), {})]
)
def test_tests_that_may_change_are_not_reviewed(
    shop: Project, flags: tuple[str, ...], settings: dict[str, Any]
) -> None:
    code, said, place = run(shop, says(NO), *flags, **settings)

    assert (code, place) == (0, ""), said
    concern = "what proves the work was changed, as you allowed: tests/test_shop.py"
    assert concern in said
    assert "what proves the work is unchanged" not in said
    assert concern in shop.ralph("report", "--format", "json", check=0).stdout
    (receipt,) = (shop.root / ".ralph" / "runs").glob("*/receipt*")
    kept = receipt.read_text()
    assert concern in kept
    assert "changed as allowed, and not put back: tests/test_shop.py" in kept
    assert "nothing that decides the checks was changed" not in kept


def supervised(shop: Project, *flags: str) -> str:
    """A program that is no agent renames a function and its tests, twice; nobody else is there to be asked."""
    program = shop.program(
        "sup.sh",
        "sed -i s/price/cost/ shop.py\n"
        f"printf '%s' {shlex.quote(RENAMED)} > tests/test_shop.py\n: > \"$TASK_FOLDER/DONE\"\n",
    )
    own = ("--task", "a", "--guardrail", COMMAND, "--restart-delay", "0", "--max-restarts", "2")
    ran = shop.ralph("supervise", *own, *flags, "--no-sandbox", "--", str(program), check=1)
    return ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({}, "no agent is set"),
        ({"profiles": {"verified": {"semanticAgent": "nobody-here"}}}, "agent not found: nobody-here"),
    ],
)
def test_where_nobody_can_be_asked_the_claim_is_denied_and_the_run_goes_on(
    shop: Project, settings: dict[str, Any], why: str
) -> None:
    if settings:
        shop.settings(**settings)
    said = supervised(shop)

    assert f"nobody can review changed tests here ({why}): set agent.command, or allow them with" in said
    assert "DONE was denied by tests review" in said
    assert "max restarts exceeded (2)" in said


def test_an_answer_that_cannot_be_read_is_not_called_a_no(shop: Project) -> None:
    _, said, _ = run(shop, "echo 'I think that is fine.'")

    assert "nobody confirmed that the task demands these changes" in said
    assert "does not demand these changes" not in said
    assert "allow it with --allow-test-changes tests/" in said


@pytest.mark.parametrize(("proof", "is_asked"), [("guarded", False), ("strict", True)])
def test_a_strict_proof_asks_even_if_something_else_denies(shop: Project, proof: str, is_asked: bool) -> None:
    code, said, place = run(shop, says(YES), "--guardrail", "false", "--proof", proof)

    assert (code, bool(place)) == (1, is_asked), said


@pytest.mark.parametrize(
    ("answer", "code", "why"), [(LIMITED, 5, "You've hit your limit"), (LOGGED_OUT, 4, "Invalid API key")]
)
@pytest.mark.parametrize("loop", ["run", "supervise"])
def test_a_reviewer_that_cannot_answer_now_ends_the_run_and_only_the_judging_is_repeated(
    shop: Project, loop: str, answer: str, code: int, why: str
) -> None:
    """As if the agent itself were limited or logged out: what waits for a person or a time is no proof."""
    here = shop.programs
    agent = shop.program(
        "claude",
        'prompt=$(cat)\ntag=$(printf "%s" "$prompt" | grep -o "tests-[0-9a-f]\\{8\\}" | head -n 1)\n'
        f'if [ -n "$tag" ]; then . {here}/answer.sh; fi\necho >> {here}/launches\n'
        f'{RENAME}\n[ -n "$TASK_FOLDER" ] && : > "$TASK_FOLDER/DONE"\n{lines(spoken(DONE), RESULT)}',
    )
    (here / "answer.sh").write_text(answer)
    shop.settings(agent={"command": str(agent)}, guardrails=[{"command": COMMAND}])
    own = {"run": ("-m", "1"), "supervise": ("--task", "t", "--max-restarts", "1")}[loop]
    prompt = f"Rename price() to cost(), then say {DONE} or write $TASK_FOLDER/DONE."

    said = shop.ralph(loop, "-p", prompt, *own, "--no-wait", "--no-sandbox", check=code).stderr

    assert f"not judged yet: {why}" in said
    assert "denied" not in said
    (here / "answer.sh").write_text(lines(spoken(f"<$tag>{json.dumps(YES)}</$tag>"), RESULT))
    ((run_id,),) = shop.rows("SELECT id FROM runs")
    said = shop.ralph("resume", run_id, check=0).stderr
    assert "because the task demands it" in said.partition("Completed, with ")[2]
    assert (here / "launches").read_text() == "\n", "the work is not done again"
    view = json.loads(shop.ralph("show", "--json", check=0).stdout)
    assert view["run"]["cost_usd"] == pytest.approx(0.03), "the session, and two reviews"


LISTED = "tests/names.txt"
LISTS = f"""
    def test_names(self):
        names = open("{LISTED}").read().split()
        import shop
        self.assertEqual([name for name in vars(shop) if name[0] != "_"], names)
"""
ADD = f"printf 'def cost():\\n    return 3\\n' >> shop.py; echo cost >> {LISTED}"
IMPORTED = RENAMED.replace("import cost", "import cost\nfrom tests.helping import two").replace(
    ", 2)", ", two)"
)
TESTER = "mkdir -p tool; echo 'from tool.test import price' > shop.py; printf '{}' > tool/test.py".format(
    "def price(number):\\n    return number * 2\\n"
)


@pytest.mark.parametrize(
    ("work", "asked"),
    [
        (ADD, [LISTED]),
        (
            f"{RENAME}; printf '%s' {shlex.quote(IMPORTED)} > tests/test_shop.py; echo two=2 > tests/helping.py",
            ["tests/test_shop.py", "tests/helping.py"],
        ),
        (TESTER, ["tool/test.py"]),
        (f"{RENAME}; mv tests/test_shop.py tests/test_cost.py", ["tests/test_shop.py", "tests/test_cost.py"]),
    ],
    ids=["data that was extended", "a new helper", "code that is named like a test", "moved and changed"],
)
def test_tests_without_which_the_old_proof_fails_are_accepted_if_the_task_demands_them(
    shop: Project, work: str, asked: list[str]
) -> None:
    code, said, _ = run(with_names(shop), says(opinions(asked, True)), work=work)

    assert code == 0, said
    for path in asked:
        assert path in said.partition("Completed, with ")[2]


def test_an_old_proof_that_fails_because_of_changed_tests_is_denied_if_the_task_does_not_demand_them(
    shop: Project,
) -> None:
    code, said, place = run(with_names(shop), says(opinions([LISTED], False)), work=ADD)

    assert (code, bool(place)) == (1, True), said
    assert "still failing: old proof" in said
    assert f"{LISTED}: was changed, moved or deleted, and the checks fail with it as it was (because" in said


def with_names(shop: Project) -> Project:
    """Its tests know the names of everything in the shop from a file."""
    (shop.root / LISTED).write_text("price\n")
    with (shop.root / "tests/test_shop.py").open("a") as file:
        file.write(LISTS)
    return shop


def opinions(paths: list[str], demanded: bool) -> dict[str, object]:
    return {path: {"demanded": demanded, "why": f"because of {path}"} for path in paths}


@pytest.mark.parametrize(
    ("work", "answer", "flags", "sessions"),
    [
        (ADD, opinions([LISTED], True), ("--guardrail", "false"), 0),
        (RENAME, NO, (), 1),
    ],
    ids=["the work itself fails", "it was denied already"],
)
def test_a_strict_old_proof_asks_nothing_that_decides_nothing(
    shop: Project, work: str, answer: dict[str, object], flags: tuple[str, ...], sessions: int
) -> None:
    code, said, _ = run(with_names(shop), says(answer), "--proof", "strict", *flags, work=work)

    assert code == 1
    assert "Check failed: old proof" in said
    assert len(list((shop.root / ".ralph" / "runs").glob("*/agent_001_tests-review*"))) == sessions


@pytest.mark.parametrize(
    ("lines", "code", "sessions"),
    [(2_000, 0, 2), (5_000, 1, 0)],
    ids=["shown in several questions", "too large for one"],
)
def test_what_a_reviewer_cannot_see_is_not_allowed(
    shop: Project, lines: int, code: int, sessions: int
) -> None:
    paths = ["tests/one.txt", "tests/two.txt"]
    for path in paths:
        (shop.root / path).write_text("before\n" * lines)
    ran, said, _ = run(shop, says(opinions(paths, True)), work=f"sed -i s/before/after/ {' '.join(paths)}")

    assert ran == code, said
    assert ("tests/two.txt: a line was changed" in said) == (code == 1)
    assert ("its change is too large to be reviewed" in said) == (code == 1)
    assert len(list((shop.root / ".ralph" / "runs").glob("*/agent_001_tests-review*"))) == sessions


SELF = """prompt=$(cat)
tag=$(printf "%s" "$prompt" | grep -o "tests-[0-9a-f]\\{8\\}" | head -n 1)
if [ -n "$tag" ]; then touch "$ASKED"; printf '<%s>%s</%s>\\n' "$tag" '{"tests/test_shop.py": {"demanded": true, "why": "x"}}' "$tag"; exit; fi
"""
APPOINT = f"sed -i s/price/cost/ shop.py\nprintf '%s' {shlex.quote(RENAMED)} > tests/test_shop.py\n"


@pytest.mark.parametrize(
    ("command", "flags", "allowed", "why"),
    [
        ("./agent.sh", [], [], "agent.sh: is the agent's own program, which judges too, and was changed"),
        ("sh", ["hidden/agent.sh"], [], "hidden/agent.sh: is the agent's own program"),
        # Even if it may change, it does not judge in this run.
        ("./agent.sh", [], ["--allow-test-changes", "agent.sh"], "agent.sh was changed during the run"),
    ],
)
def test_nobody_appoints_their_own_judge(
    shop: Project, command: str, flags: list[str], allowed: list[str], why: str
) -> None:
    script = flags[0] if flags else command
    asked = shop.root.parent / "asked"
    file = shop.root / script
    file.parent.mkdir(exist_ok=True)
    (shop.root / ".gitignore").write_text("__pycache__/\nhidden/\n")
    yes = SELF.replace("$ASKED", str(asked))
    file.write_text(
        f"#!/bin/sh\n{APPOINT}cat > new <<'X'\n#!/bin/sh\n{yes}echo '{DONE}'\nX\nchmod +x new; mv new {script}; echo '{DONE}'\n"
    )
    file.chmod(0o755)
    shop.settings(agent={"command": command, "flags": flags}, guardrails=[{"command": COMMAND}])

    ran = shop.ralph("run", "-p", f"Say {DONE}.", "-m", "1", "--no-sandbox", *allowed, check=1)
    assert why in ran.stdout + ran.stderr
    again = [
        ("resume", "-m", "2"),
        # What an unaccepted run left is not the user's, wherever it lies.
        ("run", "-p", f"Say {DONE}.", "-m", "1", "--no-sandbox", *allowed),
    ]
    for arguments in again:
        ran = shop.ralph(*arguments, check=1)
        assert why in ran.stdout + ran.stderr
    assert not asked.exists()

    file.write_text(file.read_text() + "# by the user\n")
    shop.ralph(*again[1])
    assert asked.exists()


@pytest.mark.parametrize(("command", "flags"), [("./agent", []), ("sh", ["./agent"]), ("../agent", [])])
def test_a_relative_program_is_the_projects_for_a_reviewer_too(
    shop: Project, command: str, flags: list[str]
) -> None:
    (shop.root / ".gitignore").write_text("__pycache__/\nagent\n")
    file = shop.root / (flags[0] if flags else command)
    yes = SELF.replace("$ASKED", "/dev/null").replace('"why": "x"', '"why": "yes"')
    file.write_text(f"#!/bin/sh\n{yes}{APPOINT}echo '{DONE}'\n")
    file.chmod(0o755)
    shop.settings(agent={"command": command, "flags": flags}, guardrails=[{"command": COMMAND}])

    ran = shop.ralph("run", "-p", f"Rename it, then say {DONE}.", "-m", "1", "--no-sandbox", check=0)
    assert "tests/test_shop.py (yes)" in ran.stdout + ran.stderr


def test_the_same_change_is_not_asked_about_twice(shop: Project) -> None:
    count = shop.programs / "count"
    code, said, _ = run(shop, f"echo asked >> {count}; {says(NO)}", "-m", "2")

    assert (code, count.read_text()) == (1, "asked\n"), said
    assert "nothing has changed since the last review: the task does not demand" in said

    # What the task is decides too: after a resumption, or if it is another one, somebody is asked again.
    shop.ralph("run", "-p", f"Another task. Say {DONE}.", "-m", "1", "--no-sandbox", check=1)
    assert count.read_text() == "asked\nasked\n"


def test_an_answer_that_cannot_be_read_is_no_answer_and_is_asked_for_again(shop: Project) -> None:
    code, said, _ = run(shop, "echo 'I think that is fine.'")

    assert code == 1
    assert said.count("the review gave no answer that could be read: asking once more") == 1


def test_a_failed_review_says_how_to_continue(shop: Project) -> None:
    shop.settings(limits={"maxAttempts": 1})
    code, said, _ = run(shop, "exit 3", "--no-wait", limits={"maxAttempts": 1})

    (folder,) = (shop.root / ".ralph" / "runs").iterdir()
    assert (code, f"To continue: `ralph resume {folder.name}`" in said) == (4, True), said
    run(shop, says(YES))
    assert "because the task demands it" in shop.ralph("resume", folder.name, check=0).stderr

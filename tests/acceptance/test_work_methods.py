"""The four methods of verification and those of the user's own, as ``ralph work`` uses them."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Project
from .running import ended, running, wait_for
from .task_project import NO, YES, TaskProject


@pytest.fixture
def tasks(project: Project) -> TaskProject:
    made = TaskProject(project)
    made.settings(roles={"coder": {"maxIterations": 2}})
    return made


def coder(tasks: TaskProject, method: str, **config: Any) -> None:
    tasks.task(coder={"verification_method": method, "verification_config": config})


def test_string_match_believes_the_promise_and_nothing_but_the_tag(tasks: TaskProject) -> None:
    coder(tasks, "string_match")
    tasks.role("coder", 'if [ "$number" = 1 ]; then echo IMPLEMENTATION_COMPLETE; exit; fi; touch x')

    tasks.work(check=0)

    assert len(tasks.launches()) == 2
    assert tasks.judged() == 0


EXTERNAL: list[tuple[dict[str, Any], str]] = [
    ({"command": "exit 3", "success_exit_code": 3}, ""),
    ({"command": "exit 3"}, "Command exited with 3, expected 0"),
    ({"command": "echo all good", "output_contains": "good"}, ""),
    ({"command": "echo all good", "output_contains": "bad"}, "Output doesn't contain: bad"),
    ({"command": "echo all good", "output_not_contains": "good"}, "Output contains forbidden: good"),
    ({"command": "echo broken >&2", "output_not_contains": "broken"}, "Output contains forbidden: broken"),
    ({"command": "sleep 60", "timeout": 0.3}, "Command timed out after 0.3s"),
    ({"command": "test -f inner.txt", "working_dir": "inside"}, ""),
    ({"command": "true", "working_dir": "nowhere"}, "is not a folder inside the workspace"),
    ({"command": "true", "working_dir": "link"}, "is not a folder inside the workspace"),
    ({"command": "no-such-program-at-all"}, "Command exited with 127"),
    ({"command": "echo one &&\ntest -f T-1.txt"}, ""),
]


@pytest.mark.parametrize(("config", "told"), EXTERNAL, ids=[str(config) for config, _ in EXTERNAL])
def test_external_is_a_command_and_what_it_says(
    tasks: TaskProject, config: dict[str, Any], told: str
) -> None:
    tasks.write("inside/inner.txt", "x")
    (tasks.root / "link").symlink_to(tasks.root.parent)
    tasks.commit("folders")
    coder(tasks, "external", **config)

    tasks.work(check=1 if told else 0)

    if told:
        assert told in tasks.prompt("coder", 2)
    assert tasks.shown()["status"] == ("failed" if told else "done")


def test_a_flaky_verification_is_run_again_and_told(tasks: TaskProject) -> None:
    tasks.settings(rerunFailing=True)
    seen = tasks.programs / "seen"
    coder(tasks, "external", command=f"test -f '{seen}' || {{ touch '{seen}'; exit 1; }}")

    said = tasks.work(check=0)

    assert "flaky:" in said
    assert len(tasks.launches()) == 1


def test_semantic_looks_for_forbidden_words_in_what_was_added(tasks: TaskProject) -> None:
    tasks.write("old.txt", "TODO: from before\n")
    tasks.commit("old")
    coder(tasks, "semantic", negative_patterns=["TODO"])
    tasks.role("coder", 'if [ "$number" = 1 ]; then echo "todo: later" > new.txt; else echo x > new.txt; fi')

    tasks.work(check=0)

    assert "forbidden text 'TODO' was added in new.txt: todo: later" in tasks.prompt("coder", 2)
    assert tasks.judged() == 1  # the words were looked for first, without a model


def test_semantic_asks_a_judge_with_the_change_and_the_criteria(tasks: TaskProject) -> None:
    tasks.judge('printf "%s" "$prompt" > "$here/question"\necho "$RALPH_ROLE" > "$here/role"\n' + YES)
    coder(tasks, "semantic", check_for=["a file is made", "{{acceptance_criteria}}"])

    tasks.work(check=0)

    question = (tasks.programs / "question").read_text()
    assert (tasks.programs / "role").read_text() == "judge\n"
    assert "1. a file is made\n2. it is there\n" in question
    assert "+made" in question
    assert "IMPLEMENTATION_COMPLETE" in question  # its words


def test_a_judge_that_says_no_costs_an_iteration(tasks: TaskProject) -> None:
    tasks.judge(f'if [ "$(grep -c judge "$here/launches")" = 1 ]; then\n{NO}else\n{YES}fi\n')
    coder(tasks, "semantic", check_for=["the sum is right"])
    assert "semantic: 1 criterion\n" in tasks.project.ralph("task", "show", "T-1", check=0).stdout
    tasks.role("coder", 'echo "$number" > sum.txt')

    tasks.work(check=0)

    assert "the sum is right: the sum is wrong in sum.txt" in tasks.prompt("coder", 2)


@pytest.mark.parametrize(
    "answer",
    [
        "echo VERIFIED",
        'echo "<verdict>VERIFIED</verdict>"',
        'printf "<%s>\\nPERHAPS\\n</%s>\\n" "$tag" "$tag"',
    ],
)
def test_an_answer_that_cannot_be_read_is_no_yes_and_costs_no_more_sessions(
    tasks: TaskProject, answer: str
) -> None:
    tasks.settings(others={"limits": {"maxAttempts": 1}})
    tasks.judge(answer)
    coder(tasks, "semantic", check_for=["the sum is right"])

    said = tasks.work(check=1)

    assert "not judged yet: the judge gave no answer that could be read" in said
    assert tasks.shown()["status"] == "open"
    assert tasks.launches().count("T-1 coder") == 1


@pytest.mark.parametrize(
    "answer",
    [
        'printf "<%s>\\nVERIFIED\\n</%s>\\n" "$tag" "$tag"',  # not a word on the criterion
        'printf "<%s>\\nVERIFIED\\n1. NOT_VERIFIED: no\\n</%s>\\n" "$tag" "$tag"',
    ],
)
def test_an_answer_that_does_not_say_yes_is_no_yes(tasks: TaskProject, answer: str) -> None:
    tasks.judge(answer)
    coder(tasks, "semantic", check_for=["the sum is right"])

    tasks.work(check=1)

    assert tasks.shown()["status"] == "failed"


def test_without_a_judge_nothing_is_believed(tasks: TaskProject) -> None:
    tasks.settings(others={"limits": {"maxAttempts": 1}})
    tasks.judge("echo 'cannot reach the model' >&2\nexit 1\n")
    coder(tasks, "semantic", check_for=["the sum is right"])

    said = tasks.work(check=1)

    assert "the judge could not be asked: exit status 1: cannot reach the model" in said
    assert tasks.shown()["status"] == "open"
    assert tasks.files() == {"start.txt"}


CHANGES = {
    "a new file": "echo new > judge.txt",
    "another content": "echo hacked > T-1.txt",
    "a removed file": "rm start.txt",
    "a folder that is a link now": "rm -r inside; ln -s /tmp inside",
    "another mode, committed": "chmod +x start.txt; git add -A; git commit -qm judged",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_a_judge_changes_is_undone_and_its_answer_does_not_count(
    tasks: TaskProject, change: str
) -> None:
    tasks.write("inside/inner.txt", "x")
    tasks.commit("folder")
    tasks.judge(f"{change}\n{YES}")
    coder(tasks, "semantic", check_for=["the sum is right"])

    said = tasks.work(check=1)

    assert tasks.shown()["status"] == "failed"
    assert "that was undone, and its answer does not count" in said
    assert (tasks.worktree() / "T-1.txt").read_text() == "made\n"
    assert (tasks.worktree() / "inside" / "inner.txt").read_text() == "x"
    assert not (tasks.worktree() / "judge.txt").exists()

    tasks.judge(YES)
    tasks.project.ralph("task", "retry", "T-1", check=0)
    tasks.work(check=0)
    assert tasks.files() == {"start.txt", "inside/inner.txt", "T-1.txt"}
    assert tasks.git("ls-tree", "main", "start.txt").startswith("100644")


def test_stages_are_run_in_order_and_stop_at_the_first_that_is_required(tasks: TaskProject) -> None:
    coder(
        tasks,
        "multi_stage",
        stages=[
            {"name": "soft", "method": "external", "config": {"command": "false"}, "required": False},
            {"name": "hard", "method": "external", "config": {"command": "grep -q 2 n.txt"}},
            {"name": "judged", "method": "semantic", "config": {"check_for": "{{acceptance_criteria}}"}},
        ],
    )
    tasks.role("coder", 'echo "$number" > n.txt')

    said = tasks.work(check=0)

    assert "Stage 'hard'" in tasks.prompt("coder", 2)
    assert "soft (not required): Command exited with 1" in said
    assert tasks.judged() == 1


def test_without_require_all_every_stage_has_its_say(tasks: TaskProject) -> None:
    stages = [
        {"name": name, "method": "external", "config": {"command": f"echo {name}; exit 1"}} for name in "ab"
    ]
    coder(tasks, "multi_stage", stages=stages, require_all=False)

    tasks.work(check=1)

    assert "Stage 'a'" in tasks.prompt("coder", 2)
    assert "Stage 'b'" in tasks.prompt("coder", 2)


def test_stages_can_be_run_at_the_same_time(tasks: TaskProject) -> None:
    # Each waits for the other's file.
    wait = "touch '{p}/{a}'; for i in $(seq 1200); do test -f '{p}/{b}' && exit 0; sleep 0.05; done; exit 1"
    stages = [
        {
            "name": a,
            "method": "external",
            "config": {"command": wait.format(p=tasks.programs, a=a, b=b), "timeout": 90},
        }
        for a, b in (("one", "two"), ("two", "one"))
    ]
    tasks.task(
        coder={
            "verification_method": "multi_stage",
            "verification_config": {"stages": stages, "parallel": True},
        }
    )

    tasks.work(check=0)


def test_a_template_is_a_command(tasks: TaskProject) -> None:
    tasks.write("Makefile", "test:\n\ttest -f T-1.txt\n")
    tasks.commit("make")
    coder(tasks, "external", template="make")

    assert "verification of coder: make test" in tasks.work("--verbose", check=0)


METHOD = """
from ralph import Verifying

def has_a_title(verifying: Verifying):
    found = (verifying.tools.root / "T-1.txt").read_text().startswith(verifying.config["title"])
    return found, "the title is there" if found else "T-1.txt has no title"

class Broken:
    async def verify(self, verifying):
        raise RuntimeError("cannot look")

def odd(verifying):
    return "yes"

def never(verifying):
    import threading
    (verifying.tools.root / "asked").touch()
    threading.Event().wait()

async def never_async(verifying):
    import asyncio
    (verifying.tools.root / "asked").touch()
    await asyncio.Event().wait()

async def over_tls(verifying):
    import asyncio
    from ssl import CERT_NONE, PROTOCOL_TLS_CLIENT, PROTOCOL_TLS_SERVER, SSLContext, TLSVersion

    def nameless(side):
        context = SSLContext(side)
        context.check_hostname, context.verify_mode = False, CERT_NONE
        context.maximum_version = TLSVersion.TLSv1_2
        context.set_ciphers("AECDH:@SECLEVEL=0")  # needs no certificate
        return context

    async def answer(reader, writer):
        writer.write(await reader.readline())
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", ssl=nameless(PROTOCOL_TLS_SERVER)) as server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=nameless(PROTOCOL_TLS_CLIENT))
        writer.write(b"heard\\n")
        heard = await reader.readline()
        writer.close()
    return heard == b"heard\\n", f"heard {heard}"
"""


def test_a_method_of_ones_own_verifies(tasks: TaskProject) -> None:
    (tasks.programs / "my_methods.py").write_text(METHOD)
    tasks.project.environment["PYTHONPATH"] = str(tasks.programs)
    coder(tasks, "my_methods:has_a_title", title="# ")
    tasks.role("coder", 'if [ "$number" = 1 ]; then echo text; else echo "# title"; fi > T-1.txt')

    tasks.work(check=0)

    assert "Verification failed: T-1.txt has no title" in tasks.prompt("coder", 2)


def test_a_method_of_ones_own_may_speak_tls(tasks: TaskProject) -> None:
    """Other commands import asyncio without it."""
    (tasks.programs / "my_methods.py").write_text(METHOD)
    tasks.project.environment["PYTHONPATH"] = str(tasks.programs)
    coder(tasks, "my_methods:over_tls")

    tasks.work(check=0)


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("my_methods.Broken", "my_methods.Broken failed: RuntimeError: cannot look"),
        ("my_methods:odd", "my_methods:odd answered 'yes'"),
    ],
)
def test_a_method_of_ones_own_that_breaks_never_passes(tasks: TaskProject, method: str, told: str) -> None:
    (tasks.programs / "my_methods.py").write_text(METHOD)
    tasks.project.environment["PYTHONPATH"] = str(tasks.programs)
    coder(tasks, method)

    tasks.work(check=1)

    assert told in tasks.prompt("coder", 2)


@pytest.mark.parametrize("method", ["my_methods:never", "my_methods:never_async"])
def test_a_method_that_never_answers_is_ended(tasks: TaskProject, method: str) -> None:
    (tasks.programs / "my_methods.py").write_text(METHOD)
    tasks.project.environment["PYTHONPATH"] = str(tasks.programs)
    coder(tasks, method, timeout=0.2)

    tasks.work(check=1)

    assert f"{method} gave no answer within 0.2s" in tasks.prompt("coder", 2)


@pytest.mark.parametrize("method", ["my_methods:never", "my_methods:never_async"])
def test_a_method_that_is_asked_can_be_stopped(tasks: TaskProject, method: str) -> None:
    (tasks.programs / "my_methods.py").write_text(METHOD)
    tasks.project.environment["PYTHONPATH"] = str(tasks.programs)
    coder(tasks, method)
    with running(tasks.project, command="work") as process:
        wait_for((tasks.worktree() / "asked").exists, "the method is asked", 100)
        tasks.project.ralph("stop", "--now", check=0)

        assert ended(process)[0] == 130
    assert tasks.shown()["status"] == "open"


def test_a_method_that_is_not_there_is_told_before_anything_is_started(tasks: TaskProject) -> None:
    coder(tasks, "no_such_module:verify")

    said = tasks.work(check=1)

    assert "verification method 'no_such_module:verify' cannot be loaded" in said
    assert tasks.launches() == []

"""Agents and surroundings that mean no good."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import DONE, PROMPT, Project
from .running import ended, running, wait_for


def stream(*records: object) -> str:
    """A claude that prints these lines, whatever it was asked."""
    lines = "".join(json.dumps(record) + "\n" for record in records)
    return f"cat >/dev/null\ncat <<'END'\n{lines}END\n"


INIT = {"type": "system", "subtype": "init", "session_id": "s"}


def said(text: str, **more: object) -> dict[str, object]:
    content = [{"type": "text", "text": text}]
    message = {"role": "assistant", "model": more.pop("model", "m"), "content": content}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None, **more}


def result(**fields: object) -> dict[str, object]:
    return {"type": "result", "subtype": "success", "is_error": False, "result": "", **fields}


@pytest.fixture
def claude(project: Project) -> Project:
    project.settings(agent={"command": "claude"})
    return project


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([INIT, said(DONE, parent_tool_use_id="t1"), result(result=DONE)], id="a sub-agent"),
        pytest.param([INIT, said(DONE, model="<synthetic>"), result(result=DONE)], id="claude itself"),
        pytest.param([INIT, said("hm"), result(is_error=True, result=DONE)], id="an error"),
    ],
)
def test_words_that_are_not_the_models_are_not_believed(claude: Project, records: list[object]) -> None:
    claude.settings(agent={"command": "claude"}, limits={"maxAttempts": 1})
    claude.program("claude", stream(*records))
    assert claude.ralph("run", "-p", PROMPT, "-m", "1").returncode in (1, 4)


@pytest.mark.parametrize("code", ["1", "127"])
def test_a_plain_agent_that_says_done_and_fails_is_not_believed(project: Project, code: str) -> None:
    project.settings(agent={"command": "liar"})
    project.program("liar", f"cat >/dev/null; echo '{DONE}'; exit {code}\n")
    ran = project.ralph("run", "-p", PROMPT, "-m", "2", check=1)
    assert f"the agent failed (exit code {code})" in ran.stderr
    told = f"ended with exit code {code}, so nothing it said was counted, not even {DONE}"
    assert told in project.prompt(2)


@pytest.mark.parametrize("tokens", [2**63 - 1, 10**26, -(10**20)])
def test_absurd_figures_do_no_harm(claude: Project, tokens: int) -> None:
    usage = {"input_tokens": tokens, "output_tokens": 5}
    claude.program("claude", stream(INIT, said(DONE), result(usage=usage, total_cost_usd=1e308)))
    ran = claude.ralph("run", "-p", PROMPT, check=0)
    assert "cost" not in ran.stderr


def test_a_pipe_in_the_place_of_a_log_does_not_stop_the_run(claude: Project) -> None:
    claude.settings(agent={"command": "claude"}, guardrails=[{"command": "true"}])
    claude.agent([{"run": "mkfifo .ralph/runs/$RALPH_RUN_ID/guardrail_001_true.log"}, {"say": DONE}])
    claude.ralph("run", "-p", PROMPT, check=0)


def test_a_link_in_the_place_of_a_file_of_ours_is_not_followed(claude: Project) -> None:
    precious = claude.root / "precious"
    precious.write_text("mine")
    claude.settings(agent={"command": "claude"}, guardrails=[{"command": "true"}])
    names = ("agent_002.ndjson", "prompt_002.txt", "guardrail_002_true.log")
    links = "; ".join(f'ln -s "$PWD/precious" .ralph/runs/$RALPH_RUN_ID/{name}' for name in names)
    claude.agent([{"run": links}, {"say": "no"}], [{"say": DONE}])
    claude.ralph("run", "-p", PROMPT, check=0)
    assert precious.read_text() == "mine"


def test_a_record_that_the_agent_removes_is_told(claude: Project) -> None:
    claude.agent([{"run": "rm -f .ralph/ralph.db*"}, {"say": DONE}])
    ran = claude.ralph("run", "-p", PROMPT, check=4)
    assert "was removed or replaced" in ran.stderr


def test_a_ralph_that_was_stopped_for_a_while_does_not_take_the_agent_for_silent(claude: Project) -> None:
    claude.settings(agent={"command": "claude", "idleTimeout": 2})
    chatty = [{"say": "working"}, {"sleep": 0.2}]
    # "late" comes when it has talked for longer than it may be silent, and ralph was not there to hear it.
    session = [{"touch": "started"}, *chatty * 13, {"touch": "late"}, *chatty * 8, {"say": DONE}]
    claude.agent(session)  # type: ignore[arg-type]
    with running(claude, "-p", PROMPT) as process:
        wait_for((claude.root / "started").exists, "the start")
        os.kill(process.pid, signal.SIGSTOP)
        wait_for((claude.root / "late").exists, "the agent to have talked on")
        os.kill(process.pid, signal.SIGCONT)
        code, err = ended(process)
    assert code == 0, err
    assert claude.rows("SELECT count(*) FROM iterations") == [(1,)]


def test_a_file_of_any_size_costs_no_time(claude: Project) -> None:
    """It has holes: to read a hundred gigabytes of them takes minutes."""
    claude.git("init", "-q")
    claude.git(
        "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "start"
    )
    claude.agent([{"run": "truncate -s 100G core.img"}, {"say": "not yet"}])
    with running(claude, "-p", PROMPT, "-m", "2") as process:
        code, err = ended(process)
    assert code == 1
    assert "1 file changed" in err


def test_conflicts_are_never_committed_as_resolved(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.settings(agent={"command": "claude"}, scm={"command": "git", "tasks": ["commit"]})
    file = project.root / "file.txt"
    for branch, text in (("main", "a"), ("other", "b"), ("main", "c")):
        if branch == "other":
            project.git("checkout", "-q", "-b", "other")
        elif text == "c":
            project.git("checkout", "-q", "main")
        file.write_text(text)
        project.git("add", "file.txt")
        project.git("commit", "-q", "-m", text)
    subprocess.run(
        ["git", "merge", "-q", "other"], cwd=project.root, capture_output=True, check=False, timeout=90
    )
    project.agent([{"touch": "new"}, {"say": DONE}], commits=["x"])

    ran = project.ralph("run", "-p", PROMPT, check=2)

    assert "conflicts" in ran.stderr
    assert project.git("log", "-1", "--format=%s").strip() == "c"


def test_an_unmatched_quote_in_an_scm_task_is_told_before_the_start(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.settings(agent={"command": "claude"}, scm={"command": "git", "tasks": ['log "x']})
    project.agent([{"touch": "ran"}])
    ran = project.ralph("run", "-p", PROMPT, check=2)
    assert "scm.tasks" in ran.stderr
    assert not (project.root / "ran").exists()


@pytest.mark.parametrize("place", ["prompt", "settings"])
def test_a_pipe_in_the_place_of_a_file_is_told(project: Project, place: str) -> None:
    project.agent([{"say": DONE}])
    (project.root / ".ralph").mkdir()
    if place == "settings":
        os.mkfifo(project.root / ".ralph" / "settings.json")
        ran = project.ralph("run", "-p", PROMPT, "--agent", "claude", check=2)
    else:
        (project.root / "device").symlink_to("/dev/zero")
        ran = project.ralph("run", "-f", "device", "--agent", "claude", check=2)
    assert "not a regular file" in ran.stderr


def test_a_prompt_from_a_shells_pipe_is_read_once(claude: Project) -> None:
    claude.agent([{"say": "no"}], [{"say": DONE}])
    ran = subprocess.run(
        ["bash", "-c", 'exec "$0" -m ralph run -f <(echo "from a pipe")', sys.executable],
        cwd=claude.root,
        env=claude.env(),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert claude.prompt(2).startswith("from a pipe\n")


def test_a_prompt_that_is_no_text_is_told(claude: Project) -> None:
    claude.agent([{"say": DONE}])
    ran = subprocess.run(
        [sys.executable, "-m", "ralph", "run", "-p", b"do \xff it"],
        cwd=claude.root,
        env=claude.env(),
        capture_output=True,
        timeout=50,
        check=False,
    )
    assert ran.returncode == 2
    assert b"not UTF-8" in ran.stderr


@pytest.mark.parametrize("streams", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams_change_nothing(claude: Project, streams: str) -> None:
    claude.agent([{"say": DONE}])
    ran = subprocess.run(
        ["sh", "-c", f'"$0" -m ralph run -p x {streams}', sys.executable],
        cwd=claude.root,
        env=claude.env(),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "listener" not in ran.stdout + ran.stderr


@pytest.mark.parametrize(("command", "code"), [("--help", 4), ("--version", 4), ("config schema", 4)])
def test_a_full_device_is_told_without_a_traceback(project: Project, command: str, code: int) -> None:
    buffered = {name: value for name, value in project.env().items() if name != "PYTHONUNBUFFERED"}
    ran = subprocess.run(
        ["sh", "-c", f'"$0" -m ralph {command} >/dev/full', sys.executable],
        cwd=project.root,
        env=buffered,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert ran.returncode == code
    assert "Traceback" not in ran.stderr
    assert "bug" not in ran.stderr


def test_a_deleted_current_directory_is_told(project: Project, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    ran = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD"; exec "$0" -m ralph config show', sys.executable],
        cwd=gone,
        env=project.env(),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert ran.returncode == 2
    assert "no longer exists" in ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        pytest.param("head -c 300000000 /dev/zero | tr '\\0' a", id="300 MB without a newline"),
        pytest.param("yes 'a line of sixty characters, again and again and again, to the end' | head -c 200000000", id="200 MB of lines"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("where", ["agent", "guardrail"])
def test_memory_and_record_stay_small_whatever_is_printed(project: Project, body: str, where: str) -> None:
    if where == "agent":
        project.settings(agent={"command": "flood"})
        project.program("flood", f"cat >/dev/null\n{body}\n")
    else:
        project.settings(agent={"command": "claude"}, guardrails=[{"command": f"{body}; false"}])
        project.agent([{"say": DONE}])
    program = (
        "from ralph.interfaces.cli.main import main; "
        "code = main(['run', '-p', 'x', '-m', '1', '--no-stream-agent-output']); "
        # Of this program alone: ru_maxrss would include the size of the test runner that it was forked from.
        "print('PEAK', next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=project.root,
        env=project.env(),
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    peak_mib = int(ran.stdout.split("PEAK")[1]) / 1024
    assert peak_mib < (400 if "zero" in body and where == "agent" else 110), ran.stderr
    database = sum(file.stat().st_size for file in (project.root / ".ralph").glob("ralph.db*"))
    assert database < 40_000_000

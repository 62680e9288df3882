"""A stream that is compressed: whoever is killed over it leaves all of it, and everyone reads what the agent printed."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralph.adapters.storage.old_files import OldFiles
from ralph.adapters.storage.streams import CHUNK, SMALLEST, compress
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import IterationStarted, RunEnded
from ralph.domain.loop.session_report import Spend
from ralph.operations.runs.files import RunFiles
from ralph.operations.runs.read import AgentLogs

RUN = "20260101-000000-abcd"
STREAM = "agent_001.ndjson"
SAID = b"".join(b'{"type": "assistant", "number": %d}\n' % number for number in range(40_000))

# Compresses, and kills itself when the named call of the system is made for the given time.
KILLED = """
import os, signal, sys
from pathlib import Path
from ralph.adapters.storage.streams import compress

call, times = sys.argv[2], int(sys.argv[3])
usual = getattr(os, call, None)
left = [times]

def killing(*given, **named):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return usual(*given, **named) if usual else True

if usual:
    setattr(os, call, killing)
folder = Path(sys.argv[1])
compress(folder / "agent_001.ndjson", folder, is_wanted=(lambda: True) if usual else killing)
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / ".ralph"
    run = folder / "runs" / RUN
    run.mkdir(parents=True)
    (run / STREAM).write_bytes(SAID)
    return folder


def run_of(state: Path) -> Path:
    return state / "runs" / RUN


def names_in(state: Path) -> list[str]:
    return sorted(path.name for path in run_of(state).iterdir())


def read(state: Path) -> bytes:
    problems: list[str] = []
    said = b"".join(AgentLogs(state, RUN, complain=problems.append).new())
    assert not problems
    return said


def begin(iteration: int) -> IterationStarted:
    return IterationStarted(iteration=iteration, attempt=1, maximum=None, assignment="prompt")


def tidy(state: Path, *, judged: int, keep: int | None = None) -> None:
    """As a process of the run does that begins its next iteration, and then waits for the thread."""
    old = OldFiles(run_of(state), state, keep=keep)
    old(begin(judged + 1), 0.0)
    assert old._look is not None
    old._look.result(timeout=60)
    old.finish()


@pytest.mark.parametrize(
    ("call", "times"),
    [
        *[("is_wanted", number) for number in range(1, len(SAID) // CHUNK + 2)],
        *[("utime", 1), ("fsync", 1), ("replace", 1), ("fsync", 2), ("unlink", 1), ("unlink", 2)],
    ],
)
def test_whoever_is_killed_over_it_leaves_all_of_it(state: Path, call: str, times: int) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(run_of(state)), call, str(times)], check=False, timeout=60
    )

    assert killed.returncode == -9
    assert read(state) == SAID
    left = names_in(state)
    assert STREAM in left or f"{STREAM}.gz" in left
    if f"{STREAM}.gz" in left:
        assert gzip.decompress((run_of(state) / f"{STREAM}.gz").read_bytes()) == SAID

    tidy(state, judged=4)

    assert names_in(state) == [f"{STREAM}.gz"], "the next process finishes it, and leaves nothing half done"
    assert read(state) == SAID


def test_the_compressed_one_is_smaller_private_and_the_same_everywhere(state: Path) -> None:
    file, top = run_of(state) / STREAM, state
    os.utime(file, ns=(1_000_000_000, 2_000_000_000))

    compress(file, top, is_wanted=lambda: True)

    packed = run_of(state) / f"{STREAM}.gz"
    about = packed.stat()
    assert about.st_size < len(SAID) / 5
    assert about.st_mode & 0o777 == 0o600
    assert about.st_mtime_ns == 2_000_000_000
    assert packed.read_bytes()[4:8] == bytes(4), "no time in it: the same stream gives the same file"


def test_one_that_is_no_longer_wanted_stays_as_it_was(state: Path) -> None:
    compress(run_of(state) / STREAM, state, is_wanted=lambda: False)

    assert names_in(state) == [STREAM]
    assert read(state) == SAID


def test_a_small_one_stays_as_it_is(state: Path) -> None:
    (run_of(state) / STREAM).write_bytes(b"x" * SMALLEST)

    tidy(state, judged=10)

    assert names_in(state) == [STREAM]


def test_a_link_in_the_place_of_a_stream_is_not_followed(state: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(SAID)
    (run_of(state) / STREAM).unlink()
    (run_of(state) / STREAM).symlink_to(secret)
    (run_of(state) / "agent_002.ndjson").write_bytes(SAID)
    (run_of(state) / "agent_002.ndjson.gz").symlink_to(secret)

    tidy(state, judged=10)

    assert secret.read_bytes() == SAID
    assert names_in(state) == [STREAM, "agent_002.ndjson.gz"]
    assert not (run_of(state) / "agent_002.ndjson.gz").is_symlink()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=200), st.integers(0, 400))
def test_a_damaged_one_is_told_and_never_raises(state: Path, noise: bytes, place: int) -> None:
    packed = bytearray(gzip.compress(SAID[:20_000], mtime=0))
    packed[place : place + len(noise)] = noise
    (run_of(state) / STREAM).unlink(missing_ok=True)
    (run_of(state) / f"{STREAM}.gz").write_bytes(packed[: len(packed) - len(noise) % 7])
    problems: list[str] = []

    said = b"".join(AgentLogs(state, RUN, complain=problems.append).new())

    assert problems or said == SAID[:20_000]


def test_whoever_follows_gets_every_byte_once_also_if_it_is_compressed_meanwhile(state: Path) -> None:
    half = len(SAID) // 2
    (run_of(state) / STREAM).write_bytes(SAID[:half])
    logs = AgentLogs(state, RUN, complain=pytest.fail)

    first = b"".join(logs.new())
    (run_of(state) / STREAM).write_bytes(SAID)
    tidy(state, judged=4)
    then = [b"".join(logs.new()), b"".join(logs.new())]

    assert (first, *then) == (SAID[:half], SAID[half:], b"")


def test_it_has_one_name_whether_it_is_compressed_or_not(state: Path) -> None:
    files = RunFiles(state, RUN)
    before = files.names()

    compress(run_of(state) / STREAM, state, is_wanted=lambda: True)

    assert files.names() == before == [STREAM]
    assert files.status(STREAM) is not None
    assert files.status("agent_002.ndjson") is None
    with files.open(STREAM) as file:
        assert file.read() == SAID
    with pytest.raises(FileNotFoundError, match=r"agent_002\.ndjson'$"):
        files.open("agent_002.ndjson")


def test_what_is_beyond_the_limit_is_removed_at_the_end_at_the_latest(state: Path) -> None:
    run = run_of(state)
    for number in range(1, 8):
        (run / f"prompt_{number:03}.txt").write_text("do it")
        (run / f"guardrail_{number:03}_x.log").write_text("no")
        (state / f"prompt_{number:03}.txt").symlink_to(Path("runs", RUN, f"prompt_{number:03}.txt"))
    (state / "guardrail_001_x.log").symlink_to(Path("runs", "another", "guardrail_001_x.log"))
    old = OldFiles(run, state, keep=2)

    old(begin(2), 0.0)
    old(RunEnded(Outcome.EXHAUSTED, "", 7, Spend(), 1.0), 0.0)
    old.finish()

    assert names_in(state) == [
        *("guardrail_006_x.log", "guardrail_007_x.log"),
        *("prompt_001.txt", "prompt_006.txt", "prompt_007.txt"),
    ]
    links = sorted(path.name for path in state.iterdir() if path.is_symlink())
    assert links == ["guardrail_001_x.log", "prompt_001.txt", "prompt_006.txt", "prompt_007.txt"], (
        "another run's stays"
    )

"""A job's record as a person reads it: fetched when it has moved, and only what is new of it."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ralph.adapters.storage.portable import pack
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.progress import JobProgress
from ralph.domain.fleet.views import JobView
from ralph.operations.fleet.past import read_past
from ralph.operations.fleet.record import ConsoleReader, RecordCopy, fetched_record
from tests.fleet.test_shift_process import job as job
from tests.fleet.test_shift_process import project as project
from tests.fleet.world.shift_driver import do_shift


def save(state: Path, spec: JobSpec, folder: Path) -> None:
    """As a worker does after a shift, more or less."""
    (folder / "state").mkdir(exist_ok=True)
    pack(state, folder / "state")
    script = f"""
        test -d .git || git init -q
        git add -f state && git -c user.name=t -c user.email=t@localhost commit -qm save
        git push -q {spec.repository} HEAD:{spec.record}
    """
    subprocess.run(["sh", "-ec", script], cwd=folder, check=True, timeout=60)


def test_a_record_is_fetched_when_it_has_moved(
    project: Path, tmp_path: Path, job: Callable[..., JobSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    remote, packed, trace = tmp_path / "remote.git", tmp_path / "packed", tmp_path / "trace"
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True, timeout=60)
    packed.mkdir()
    played = job([[{"say": "half"}], [{"say": "<response>DONE</response>"}]])
    spec = JobSpec(id="shop-1", repository=str(remote), command=played.command)

    def fetches() -> int:
        return trace.read_text().count("built-in: git fetch") if trace.exists() else 0

    with closing(RecordCopy(spec)) as copy, closing(ConsoleReader()) as reader:
        assert not copy.refresh()
        assert copy.state is None
        assert reader.read(spec) == []
        first = asyncio.run(do_shift(project, played))
        save(project / ".ralph", spec, packed)
        monkeypatch.setenv("GIT_TRACE", str(trace))
        assert copy.refresh()
        ((turn, lines),) = reader.read(spec)
        assert turn == 0
        assert any("half" in line for line in lines)
        assert fetches() == 2

        assert not copy.refresh()
        assert reader.read(spec) == []
        assert fetches() == 2, "nothing has moved"

        monkeypatch.delenv("GIT_TRACE")
        asyncio.run(do_shift(project, played, turn=1, run_id=first.run_id))
        save(project / ".ralph", spec, packed)
        assert copy.refresh()
        assert copy.state is not None
        assert (copy.state / "runs" / first.run_id).is_dir()
        assert [turn for turn, _ in reader.read(spec)] == [1], "what was read is not read again"
    with fetched_record(spec) as state:
        assert state is not None
    assert not state.exists()
    past = read_past(JobView(spec=spec, progress=JobProgress(), is_open=False))
    assert [each.decision for each in past.iterations] == ["continue", "accept"]
    assert any("half" in line for line in past.lines)
    assert past.left_out == 0

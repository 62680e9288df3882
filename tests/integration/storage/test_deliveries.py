"""What is on record about a delivery survives its process, with everything in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.adapters.storage.database import open_database
from ralph.adapters.storage.deliveries import Deliveries, branch_of_run
from ralph.domain.delivery.facts import CheckRun, CheckState, Remark, RemarkKind
from ralph.domain.delivery.memory import Answer, Delivered
from ralph.domain.delivery.receipt import Proof
from ralph.errors import StoreError

REMARK = Remark("thread-1", RemarkKind.THREAD, "ann", "rename \u2028 it", True, 1.5, "a.py", 3, "thread-0")
ALL = Delivered(
    run_id="r1",
    number=7,
    url="https://forge/7",
    proven="a" * 40,
    proofs=(Proof("make test", None),),
    pushing="b" * 40,
    pushed="c" * 40,
    pushed_at=1.5,
    given="d" * 40,
    earlier=("d" * 40,),
    rerun_on="c" * 40,
    reruns=("build",),
    rerunning=(CheckRun("build", CheckState.TIMED_OUT, "c" * 40, "12", 3.5, "https://forge/12"),),
    flaky=("lint",),
    on_base=("docs",),
    checks=("build", "lint"),
    told="fix it",
    handed="e" * 40,
    handed_by="r1",
    asked=(REMARK,),
    answering=(Answer(REMARK, "f" * 40), Answer(REMARK)),
    answered=("thread-9",),
    sessions=4,
    fixes=2,
    futile="a" * 40,
    updates=3,
    base="b" * 40,
    updating="b" * 40,
    merging="c" * 40,
    is_opening=True,
    is_announced=True,
)


def test_all_of_it_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "ralph.db"
    assert all(value != getattr(Delivered(), name) for name, value in _fields(ALL)), "each is tried"
    first = open_database(path)
    Deliveries(first, path, "feature", run_id="r1", now=lambda: 1.0).save(ALL)
    first.close()

    again = open_database(path)
    try:
        assert Deliveries(again, path, "feature", run_id="r2", now=lambda: 2.0).load() == ALL
        assert Deliveries(again, path, "other", run_id="r2", now=lambda: 2.0).load() == Delivered()
        assert branch_of_run(again, path, "r1") == "feature"
        assert not branch_of_run(again, path, "r2")
    finally:
        again.close()


def test_a_record_that_cannot_be_read_is_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "ralph.db"
    database = open_database(path)
    try:
        memory = Deliveries(database, path, "feature", run_id="r1", now=lambda: 1.0)
        memory.save(ALL)
        database.execute('UPDATE deliveries SET delivered = \'{"number": "seven"}\'')
        assert memory.load() == ALL, "read once: an agent could write to it"

        with pytest.raises(StoreError, match="delivery of feature cannot be read"):
            Deliveries(database, path, "feature", run_id="r1", now=lambda: 1.0).load()
    finally:
        database.close()


def _fields(delivered: Delivered) -> list[tuple[str, object]]:
    return [(name, getattr(delivered, name)) for name in delivered.__dataclass_fields__]

"""Which run is said to have been cut off here."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.earlier_runs import interrupted_run
from ralph.adapters.storage.journal import SqliteJournal
from ralph.domain.holder import Owner

HERE = Owner(pid=1, process_started="1", boot_id="b", host="h")
GONE = Owner(pid=2, process_started="2", boot_id="b", host="h")
ELSEWHERE = Owner(pid=2, process_started="2", boot_id="b", host="another machine")


@pytest.mark.parametrize(
    ("owner", "root", "parent", "is_offered"),
    [
        (GONE, "here", "", True),
        (GONE, "here", "of another record", True),
        (GONE, "there", "", False),
        (GONE, "here", "parent", False),
        (HERE, "here", "", False),
        (ELSEWHERE, "here", "", False),
    ],
)
def test_only_what_resume_would_take_is_offered(
    tmp_path: Path, owner: Owner, root: str, parent: str, is_offered: bool
) -> None:
    runs = [("parent", HERE, "there", ""), ("run", owner, root, parent)]
    with closing(open_state_database(tmp_path)) as database:
        for now, (name, whose, where, started_by) in enumerate(runs):
            with SqliteJournal(tmp_path, database, name, owner=whose, now=float(now)) as journal:
                journal.begin(profile="basic", agent="a", root=Path(where), options={}, parent_id=started_by)
        found = interrupted_run(
            database,
            tmp_path / "ralph.db",
            Path("here"),
            here=HERE,
            started_of=lambda pid: "1" if pid == 1 else None,
        )
    assert found == ("run" if is_offered else None)

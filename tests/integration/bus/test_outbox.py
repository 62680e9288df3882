"""Messages that a sandboxed agent leaves in its task folder, and the run outside that carries them on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph.adapters.bus.listeners import Postman
from ralph.adapters.bus.message_bus import MessageBus, new_message
from ralph.adapters.bus.outbox import Outbox
from ralph.domain.agent.events import Usage
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import RunEnded
from ralph.domain.loop.session_report import Spend
from ralph.domain.supervision.message import BusMessage, render_message
from ralph.errors import StoreError

ENDED = RunEnded(
    outcome=Outcome.COMPLETED, reason="", iterations=1, spend=Spend.of_session(0.0, Usage(), 0.0), seconds=0.0
)


def message(body: str, *, now: float = 1_000_000.0, by: str = "") -> BusMessage:
    return new_message("FACT", body, project=by, task=by, run=by, now=now)


def emptied(folder: Path) -> list[str]:
    taken: list[str] = []
    Outbox(folder).empty(lambda message: taken.append(message.body))
    return taken


def carry(folder: Path, bus: MessageBus) -> list[str]:
    told: list[str] = []
    Postman(Outbox(folder), bus, project="shop", task="search", run="r1", every=1.0, complain=told.append)(
        ENDED, 0.0
    )
    return told


def test_what_was_put_is_taken_once_oldest_first(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    outbox.put(message("later", now=2_000_000.0))
    outbox.put(message("earlier"))
    assert emptied(tmp_path) == ["earlier", "later"]
    assert emptied(tmp_path) == []


def test_a_message_that_could_not_be_handed_on_stays(tmp_path: Path) -> None:
    Outbox(tmp_path).put(message("kept"))

    def fails(message: BusMessage) -> None:
        raise StoreError("the bus is locked")

    with pytest.raises(StoreError):
        Outbox(tmp_path).empty(fails)
    assert emptied(tmp_path) == ["kept"]


def test_nothing_is_in_an_outbox_that_nobody_made(tmp_path: Path) -> None:
    assert emptied(tmp_path) == []


def test_what_is_no_message_is_removed_and_nothing_is_waited_for(tmp_path: Path) -> None:
    box = tmp_path / "outbox"
    Outbox(tmp_path).put(message("good"))
    (box / "a.md").write_text("junk")
    (box / "b.md").write_bytes(render_message(message("one")) + render_message(message("two")))
    (box / "c.md").write_bytes(render_message(message("torn"))[:-20])
    (box / "d.md").write_bytes(
        render_message(BusMessage(id=message("").id, time=0.0, type="FACT", body="", parents=("nobody",)))
    )
    os.mkfifo(box / "e.md")
    (box / "f.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "secret.md").write_bytes(render_message(message("secret")))
    (box / ".half.md.tmp").write_text("being written")

    assert emptied(tmp_path) == ["good"]
    assert [entry.name for entry in box.iterdir()] == [".half.md.tmp"]
    assert (tmp_path / "secret.md").exists()


def test_an_outbox_that_leads_elsewhere_is_not_emptied(tmp_path: Path) -> None:
    elsewhere = tmp_path / "notes"
    elsewhere.mkdir()
    (elsewhere / "mine.md").write_bytes(render_message(message("mine")))
    task = tmp_path / "task"
    task.mkdir()
    (task / "outbox").symlink_to(elsewhere)

    assert emptied(task) == []
    assert (elsewhere / "mine.md").exists()


def test_what_is_carried_is_in_the_name_of_the_run_that_carries_it(tmp_path: Path) -> None:
    Outbox(tmp_path).put(message("all done", by="other"))
    bus = MessageBus(tmp_path / "bus.md")

    assert carry(tmp_path, bus) == []

    (posted,) = bus.read().messages
    assert (posted.body, posted.project, posted.task, posted.run) == ("all done", "shop", "search", "r1")


def test_a_bus_that_fails_keeps_the_messages_and_is_complained_of(tmp_path: Path) -> None:
    Outbox(tmp_path).put(message("wait for it"))
    (tmp_path / "bus.md").mkdir()

    (complaint,) = carry(tmp_path, MessageBus(tmp_path / "bus.md"))

    assert "outbox" in complaint
    assert emptied(tmp_path) == ["wait for it"]


def test_the_names_of_what_was_refused_are_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "outbox").mkdir()
    (tmp_path / "outbox" / "\x1b[31m.md").touch()
    (complaint,) = carry(tmp_path, MessageBus(tmp_path / "bus.md"))
    assert "\x1b" not in complaint

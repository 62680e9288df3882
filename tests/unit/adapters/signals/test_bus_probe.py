"""A message on the bus as a claim."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters.bus.message_bus import MessageBus
from ralph.adapters.signals.bus_message import BusMessageProbe
from ralph.domain.loop.claims import Claim, Signal
from ralph.domain.supervision.message import BusReading

KIND = "wait_without_restart"


def probe(bus: MessageBus, told: list[str] | None = None) -> BusMessageProbe:
    complain = told.append if told is not None else lambda message: None
    return BusMessageProbe(bus.read, KIND, Claim.WAITING, run="r1", complain=complain, offset=bus.end())


def test_a_message_that_came_since_is_found_once_with_its_reason(tmp_path: Path) -> None:
    bus = MessageBus(tmp_path / "bus.md")
    bus.post(KIND, "from an earlier run")
    looks = probe(bus)
    bus.post("FACT", "something else")
    bus.post("Wait_Without_Restart", "for a key", run="r1")

    assert looks.signals() == (Signal(Claim.WAITING, f"bus {KIND}", "for a key"),)
    assert looks.signals() == ()


def test_a_reason_is_one_short_line_whatever_was_posted(tmp_path: Path) -> None:
    bus = MessageBus(tmp_path / "bus.md")
    looks = probe(bus)
    bus.post(KIND, "for a key\n## and\tmore")
    bus.post(KIND, "x" * 900_000)

    short, long = (signal.reason for signal in looks.signals())
    assert short == "for a key ## and more"
    assert long == "x" * 300 + "…"


def test_what_a_child_run_says_is_not_the_root_agents_word(tmp_path: Path) -> None:
    bus = MessageBus(tmp_path / "bus.md")
    looks = probe(bus)
    bus.post(KIND, "I wait", run="child")
    assert looks.signals() == ()


def test_a_flood_is_read_piece_by_piece_and_what_is_in_it_is_found(tmp_path: Path) -> None:
    bus, told, largest = MessageBus(tmp_path / "bus.md"), list[str](), 0

    def read(offset: int) -> BusReading:
        nonlocal largest
        reading = bus.read(offset, limit=10_000)
        largest = max(largest, reading.settled - offset)
        return reading

    looks = BusMessageProbe(read, KIND, Claim.WAITING, run="r1", complain=told.append)
    for number in range(100):
        bus.post("FACT", f"{number} " + "x" * 1000)
    with bus.path.open("ab") as file:
        file.write(
            b"y" * 50_000
            + b"\n"
            + b"z\n" * 20_000
            + b"\n## FACT 20261115T141500.123456Z-1a2b3c4d\n"
            + b"> q\n" * 9000
        )
    bus.post(KIND, "for a key")

    assert [signal.reason for signal in looks.signals()] == ["for a key"]
    assert looks.signals() == ()
    assert largest <= 10_000
    assert told


def test_a_bus_that_cannot_be_read_claims_nothing_and_is_complained_of_once(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "bus.md").mkdir()
    looks = probe(MessageBus(tmp_path / "bus.md"), told)
    assert looks.signals() == looks.signals() == ()
    assert len(told) == 1

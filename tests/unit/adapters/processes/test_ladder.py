from __future__ import annotations

import signal

from ralph.adapters.processes.ladder import Ladder


def test_the_ladder_goes_from_polite_to_sure() -> None:
    assert Ladder().steps == ((signal.SIGINT, 2.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


def test_a_step_without_time_is_left_out() -> None:
    assert [number for number, _ in Ladder(interrupt=0.0).steps] == [signal.SIGTERM, signal.SIGKILL]

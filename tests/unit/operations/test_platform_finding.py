"""Where agents can be run at all: what ``ralph doctor`` says about the system."""

from __future__ import annotations

from ralph.domain.views.health import Health
from ralph.operations.doctor import platform_finding


def test_a_system_with_process_groups_is_good() -> None:
    assert platform_finding("posix", "Linux").health is Health.GOOD


def test_windows_is_told_plainly_with_the_way_out() -> None:
    found = platform_finding("nt", "Windows")
    assert (found.health, found.needed) == (Health.BAD, True)
    assert "no process groups" in found.text
    assert "Subsystem for Linux" in found.advice[0]

"""What may become of the tests that are there."""

from __future__ import annotations

from enum import StrEnum


class TestsPolicy(StrEnum):
    LOCKED = "locked"  #: they stay as they are; new ones may be added
    REVIEWED = "reviewed"  #: a session that did not do the work decides whether the task demands each change
    FREE = "free"  #: whoever works may change them

    __test__ = False  # pytest: this is none

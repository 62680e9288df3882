"""Who still holds what: a table of holders, here and elsewhere."""

from __future__ import annotations

import pytest

from ralph.domain.holder import NOBODY, SILENT, Owner, is_stale

HERE = Owner(1, "now", "boot", "here")
OTHER = Owner(7, "then", "their boot", "elsewhere")


@pytest.mark.parametrize(
    ("owner", "started_of", "silent", "stale"),
    [
        (Owner(7, "then", "boot", "here"), "then", None, False),
        (Owner(7, "then", "boot", "here"), "then", 9e9, False),  # it is looked at, whatever it wrote
        (Owner(7, "then", "boot", "here"), "later", 0.0, True),  # its pid was given to another
        (Owner(7, "then", "boot", "here"), None, 0.0, True),
        (Owner(7, "then", "before", "here"), "then", 0.0, True),  # rebooted
        (OTHER, None, None, False),  # nobody can know
        (OTHER, "then", 1.0, False),
        (OTHER, None, SILENT, False),
        (OTHER, None, SILENT + 1, True),
        (OTHER, None, -SILENT + 1, False),  # their clock is a little fast
        (OTHER, None, -SILENT - 1, True),  # a copy of what another clock wrote
        (NOBODY, None, None, True),
        (NOBODY, "", 0.0, True),
    ],
)
def test_a_holder_that_is_gone_holds_nothing(
    owner: Owner, started_of: str | None, silent: float | None, stale: bool
) -> None:
    assert is_stale(owner, here=HERE, started_of=started_of, silent=silent) is stale

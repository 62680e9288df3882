"""What programs import from ``ralph``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest

import ralph


@pytest.mark.parametrize("name", ralph.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(ralph, name) is not None


@pytest.mark.parametrize("name", ["Task", "TaskCompletionSpec", "CompletionCriteria", "VerificationMethod"])
def test_what_a_task_is_made_of_is_public(name: str) -> None:
    assert name in ralph.__all__


@pytest.mark.parametrize("value", [ralph.Verifying, ralph.CheckResult, ralph.MethodVerdict, ralph.Task])
def test_what_a_check_of_ones_own_gets_and_gives_is_public(value: type) -> None:
    """So that nobody has to look for where it is."""
    met = {found.__name__ for hint in get_type_hints(value).values() for found in _ours(hint)}
    assert met <= set(ralph.__all__)


def _ours(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and hint.__module__.startswith("ralph."):
        yield hint
    for part in get_args(hint):
        yield from _ours(part)


@pytest.mark.parametrize(
    ("old", "new"), [("Plan", "Launch"), ("plan_run", "prepare_run"), ("assembled", "assemble")]
)
def test_an_old_name_still_works_and_says_what_to_use(old: str, new: str) -> None:
    for _ in range(2):  # not only the first time
        with pytest.warns(DeprecationWarning, match=rf"ralph\.{old} is deprecated: use ralph\.{new}"):
            assert getattr(ralph, old) is getattr(ralph, new)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = ralph.nothing


def test_importing_the_package_imports_nothing_else_of_it() -> None:
    code = "import sys, ralph; print([name for name in sys.modules if name.startswith('ralph.')])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"


def test_a_verification_method_may_still_import_where_it_once_did() -> None:
    from ralph.adapters.checks import verifying

    assert (verifying.Verifying, verifying.MethodVerdict) == (ralph.Verifying, ralph.MethodVerdict)

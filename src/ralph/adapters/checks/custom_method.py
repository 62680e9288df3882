"""Verification methods of the user's own: an entry point of the group ``ralph.verification``, or a dotted path."""

from __future__ import annotations

import importlib
import inspect
from importlib.metadata import entry_points
from typing import Any

from ralph.adapters.checks.verifying import MethodVerdict, Verifying
from ralph.domain.evidence import Verdict
from ralph.errors import ConfigError

GROUP = "ralph.verification"


def is_custom_method(name: str) -> bool:
    """Whether some installed package offers a method of this name."""
    return any(point.name == name for point in entry_points(group=GROUP))


class CustomMethod:
    """Calls a function, or the ``verify`` of an object: async or not, answering a MethodVerdict, (ok, reason) or a bool."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._verify = _loaded(name)

    async def verify(self, verifying: Verifying) -> MethodVerdict:
        try:
            answer = self._verify(verifying)
            if inspect.isawaitable(answer):
                answer = await answer
        except Exception as error:  # it is the user's code: what it does is not ours to guess
            reason = f"{self._name} failed: {type(error).__name__}: {error}"
            return MethodVerdict(Verdict.ERRORED, reason, told=reason)
        return self._read(answer)

    def _read(self, answer: object) -> MethodVerdict:
        match answer:
            case MethodVerdict():
                return answer
            case bool():
                ok, reason = answer, f"{self._name} says {'yes' if answer else 'no'}"
            case (bool() as ok, str() as reason):
                pass
            case _:
                wrong = f"{self._name} answered {answer!r}: expected a MethodVerdict, (bool, str) or a bool"
                return MethodVerdict(Verdict.ERRORED, wrong, told=wrong)
        return MethodVerdict(
            Verdict.PASSED if ok else Verdict.FAILED, reason, told=f"Verification failed: {reason}"
        )


def _loaded(name: str) -> Any:
    """Raises ConfigError, so that a method that is not there is told before anything is started."""
    point = next((one for one in entry_points(group=GROUP) if one.name == name), None)
    try:
        found = point.load() if point is not None else _by_path(name)
    except Exception as error:
        message = f"verification method {name!r} cannot be loaded: {type(error).__name__}: {error}"
        raise ConfigError(
            message, hint="install its package in ralph's environment, or mend its name"
        ) from error
    if inspect.isclass(found):
        found = found()
    return found.verify if hasattr(found, "verify") else found


def _by_path(name: str) -> Any:
    module, _, attribute = name.partition(":") if ":" in name else name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)

"""A user's own verification methods: an entry point of the group ``ralph.verification``, or a dotted path."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import threading
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from ralph.domain.loop.evidence import Verdict
from ralph.engine.tasks.ports import MethodVerdict, Verifying
from ralph.errors import ConfigError

GROUP = "ralph.verification"
TIMEOUT = 300.0
"""Seconds, unless its config says otherwise."""


def is_custom_method(name: str) -> bool:
    """Whether some installed package offers a method of this name."""
    return any(point.name == name for point in entry_points(group=GROUP))


class CustomMethod:
    """Calls a function, or the ``verify`` of an object: async or not, answering a MethodVerdict, (ok, reason) or a bool."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._verify = _load(name)

    async def verify(self, verifying: Verifying) -> MethodVerdict:
        seconds = _seconds(verifying.config.get("timeout"))
        answering = asyncio.ensure_future(self._answer(verifying))
        stopping = asyncio.ensure_future(verifying.judging.control.stop_now())  # not ours to cancel
        try:
            await asyncio.wait((answering, stopping), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                return self._read(answering.result())
            reason = "was stopped" if stopping.done() else f"gave no answer within {seconds:g}s"
        except Exception as error:  # it is the user's code: what it does is not ours to guess
            reason = f"failed: {type(error).__name__}: {error}"
        finally:
            answering.cancel()
        return MethodVerdict(Verdict.ERRORED, f"{self._name} {reason}", told=f"{self._name} {reason}")

    async def _answer(self, verifying: Verifying) -> object:
        """A function that is not async gets a thread of its own: other tasks, and the user's Ctrl-C, do not wait for it."""
        if inspect.iscoroutinefunction(self._verify):
            return await self._verify(verifying)
        answer = await _in_a_thread(lambda: self._verify(verifying))
        return await answer if inspect.isawaitable(answer) else answer

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
        told = f"Verification failed: {reason}"
        return MethodVerdict(Verdict.PASSED if ok else Verdict.FAILED, reason, told=told)


async def _in_a_thread(call: Callable[[], object]) -> object:
    """A thread that nobody waits for when ralph ends, unlike those of asyncio."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[object] = loop.create_future()

    def settle(set_it: Callable[[Any], None], value: object) -> None:
        if not answer.done():  # else cancelled
            set_it(value)

    def run() -> None:
        settled: tuple[Callable[[Any], None], object]
        try:
            settled = answer.set_result, call()
        except Exception as error:
            settled = answer.set_exception, error
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, *settled)

    threading.Thread(target=run, name="verification", daemon=True).start()
    return await answer


def _seconds(timeout: object) -> float:
    if isinstance(timeout, int | float) and not isinstance(timeout, bool) and timeout > 0:
        return float(timeout)
    return TIMEOUT


def _load(name: str) -> Any:
    """Raises ConfigError: a missing method is reported before anything starts."""
    point = next((one for one in entry_points(group=GROUP) if one.name == name), None)
    try:
        found = point.load() if point is not None else _by_path(name)
    except Exception as error:
        message = f"verification method {name!r} cannot be loaded: {type(error).__name__}: {error}"
        hint = "install its package in ralph's environment, or fix its name"
        raise ConfigError(message, hint=hint) from error
    if inspect.isclass(found):
        found = found()
    return found.verify if hasattr(found, "verify") else found


def _by_path(name: str) -> Any:
    module, _, attribute = name.partition(":") if ":" in name else name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)

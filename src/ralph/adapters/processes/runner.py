"""Starts, watches and reaps processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ralph.adapters.processes import adoption, descendants
from ralph.adapters.processes.descendants import Exempt
from ralph.adapters.processes.environment import clean_environment
from ralph.adapters.processes.keeper import Keeper
from ralph.adapters.processes.ladder import QUICK, USUAL, Ladder
from ralph.adapters.processes.output import LogFile, Sink
from ralph.adapters.processes.process_table import read_process
from ralph.adapters.processes.redaction import Redactor
from ralph.adapters.processes.spawn import PIPE_SIZE, CannotStart, Find, Started, start
from ralph.adapters.processes.watcher import Watcher
from ralph.domain.loop.session_report import Ending
from ralph.engine.ports import Command, Exit, Running, Timeouts
from ralph.errors import RalphError

if TYPE_CHECKING:
    from ralph.adapters.processes.conversation_input import ConversationInput

_READ_SIZE = PIPE_SIZE // 2
"""A whole pipe of short events would take three megabytes more, and less is slower."""
_REAP_EVERY = 5.0
_KEEPER_SECONDS = 2.0
_TAKE_OVER_SECONDS = 0.005
LOOK_AGAIN = 0.05
_WORDS_SECONDS = 3.0
"""How long a process that was told to end may take before the first signal."""
_NO_LIMITS = Timeouts()


class PosixProcessRunner:
    """The ``ProcessRunner`` of Linux and macOS.

    ``exempt`` tells which pids are registered child runs: they and their descendants are left alone. ``linger`` is how
    long to wait for output after the exit while a grandchild holds the pipe. With a ``watcher`` each process gets a keeper
    that adopts what it leaves behind: what runs the agent's code, or the agent, needs one. ``find`` says where a program
    is, instead of PATH: for our own (``OwnPrograms``).

    If the log cannot be written (a full disk), or ``on_lines`` raises, the process tree is ended and ``run`` raises the
    exception (``StoreError`` for the log).
    """

    def __init__(
        self,
        *,
        run_id: str,
        base_environment: Mapping[str, str],
        redactor: Redactor | None = None,
        ladder: Ladder = USUAL,
        exempt: Exempt | None = None,
        linger: float = 1.0,
        watcher: Watcher | None = None,
        find: Find | None = None,
    ) -> None:
        if os.name != "posix":
            message = f"running agents is not supported on this system ({os.name})"
            raise RalphError(message, hint="use Linux, macOS or the Windows Subsystem for Linux")
        self._run_id = run_id
        self._environment = clean_environment(base_environment)
        self._redactor = redactor if redactor is not None else Redactor()
        self._ladder = ladder
        self._exempt = exempt if exempt is not None else lambda pid: False
        self._linger = linger
        self._watcher = watcher
        self._find = find

    async def run(
        self,
        command: Command,
        *,
        timeouts: Timeouts = _NO_LIMITS,
        on_start: Callable[[Running], None] | None = None,
        on_lines: Callable[[list[bytes]], None] | None = None,
        on_output: Callable[[bytes], None] | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
        log: Path | None = None,
        stop: Awaitable[object] | None = None,
    ) -> Exit:
        stopping = asyncio.ensure_future(stop) if stop is not None else None
        log_file = LogFile(log) if log is not None else None
        stderr_log = LogFile(Path(f"{log}.stderr")) if log is not None else None
        redactor = self._redactor if not command.exact else None
        stdout_sink = Sink(redactor, log=log_file, on_lines=on_lines, on_chunk=on_output)
        stderr_sink = Sink(redactor, log=stderr_log, on_chunk=on_stderr)
        try:
            if stopping is not None and stopping.done():
                return Exit(Ending.STOPPED, None, 0.0, error="stopped before it was started")
            if log_file is not None:
                log_file.open()
            born = asyncio.get_running_loop().time()
            try:
                started = await start(
                    command,
                    run_id=self._run_id,
                    environment=self._environment,
                    watcher=self._watcher,
                    find=self._find,
                )
            except CannotStart as error:
                return Exit(Ending.NOT_STARTED, None, 0.0, error=self._redactor.redact(str(error)))
            sinks = (stdout_sink, stderr_sink)
            living = _Living(
                started, born, sinks, ladder=self._ladder, exempt=self._exempt, linger=self._linger
            )
            return await self._accompany(living, timeouts, on_start, stopping)
        finally:
            stdout_sink.close()
            stderr_sink.close()
            if stopping is not None and stopping is not stop:
                stopping.cancel()  # we made it from a coroutine, so nothing else waits for it

    async def _accompany(
        self,
        living: _Living,
        timeouts: Timeouts,
        on_start: Callable[[Running], None] | None,
        stopping: asyncio.Future[object] | None,
    ) -> Exit:
        """From start to reaping, whatever happens in between."""
        left_behind: tuple[str, ...] = ()
        is_reaped = False
        try:
            try:
                if on_start is not None:
                    on_start(living)
                living.begin(timeouts, stopping)
                await living.over()
            except BaseException:  # cancelled, or on_start failed: nothing waits for this tree any more
                living.end(Ending.STOPPED, QUICK)
                await living.over()
                raise
            finally:
                if living.is_over:
                    left_behind = await descendants.end_left_behind(living.spawn, self._exempt)
                    is_reaped = True
        finally:
            if not is_reaped:  # cancelled a second time: no more waiting
                living.kill_now()
            living.release(stopping)
        if living.failure is not None:
            raise living.failure
        return Exit(
            living.ending,
            living.code,
            living.seconds,
            error=living.error,
            left_behind=tuple(map(self._redactor.redact, left_behind)),
        )


class _Stream(NamedTuple):
    descriptor: int
    sink: Sink


class _Living:
    """One process while it runs. All work is done in callbacks of the event loop: no thread, no task.

    Reading in the callback bounds the memory: while a chunk is processed nothing more is read, and a process that
    prints faster waits at its full pipe.
    """

    def __init__(
        self,
        started: Started,
        born: float,
        sinks: tuple[Sink, Sink],
        *,
        ladder: Ladder,
        exempt: Exempt,
        linger: float,
    ) -> None:
        self.spawn = started.spawn
        self.code: int | None = None
        self.ending = Ending.EXITED
        self.error = ""
        self.failure: BaseException | None = None
        self.is_over = False
        self._child = started.child
        self._ladder = ladder
        self._exempt = exempt
        self._linger = linger
        self._loop = asyncio.get_running_loop()
        self._born = self._active = self._ended = born
        self._has_exited = False
        self._is_climbing = False
        self._waiter: asyncio.Future[None] | None = None
        self._pidfd: int | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._input = _open_input(started.stdin) if started.stdin is not None else None
        self._last_words: Callable[[], bytes] | None = None
        ends = zip((started.stdout, started.stderr), sinks, strict=True)
        self._streams = [_Stream(end, sink) for end, sink in ends if end is not None]
        for stream in self._streams:
            self._loop.add_reader(stream.descriptor, self._readable, stream)
        self._watch_for_exit()

    # --- what the output's reader may do (the Running port) ---

    @property
    def pid(self) -> int:
        return self.spawn.pid

    def finish_within(self, seconds: float | None) -> None:
        self._cancel("finish")
        if seconds is not None and not self._has_exited:
            self._later("finish", seconds, self.end, Ending.EXITED, self._ladder)

    def write(self, data: bytes) -> None:
        if self._input is not None:
            self._input.write(data)

    def close_input(self) -> None:
        if self._input is not None:
            self._input.finish()

    def before_signals(self, words: Callable[[], bytes]) -> None:
        self._last_words = words

    # --- what the runner does ---

    @property
    def seconds(self) -> float:
        return self._ended - self._born

    def begin(self, timeouts: Timeouts, stopping: asyncio.Future[object] | None) -> None:
        if timeouts.total is not None:
            self._later("total", timeouts.total, self.end, Ending.TIMED_OUT, self._ladder)
        if timeouts.idle is not None:
            self._later("idle", timeouts.idle, self._look_for_silence, timeouts.idle)
        if stopping is not None:
            stopping.add_done_callback(self._stop_requested)
        self._later("reap", _REAP_EVERY, self._reap_regularly)

    async def over(self) -> None:
        """Returns when the process has exited and its output is drained."""
        while not self.is_over:
            # A new future each time: cancelling the waiting task cancels the future, too.
            self._waiter = self._loop.create_future()
            await self._waiter

    def end(self, ending: Ending, ladder: Ladder) -> None:
        """Begin to climb the ladder, or climb a faster one. The user's stop outranks other reasons."""
        if self._has_exited or self.is_over:
            return
        if not self._is_climbing or ending is Ending.STOPPED:
            self.ending = ending
        if not self._is_climbing or ladder is QUICK:
            self._is_climbing = True
            if ladder is not QUICK and self._say_last_words():
                self._later("ladder", _WORDS_SECONDS, self._climb, ladder.steps, 0)
            else:
                self._climb(ladder.steps, 0)

    def kill_now(self) -> None:
        """Kill the tree at once, without the event loop."""
        descendants.kill_now(self.spawn, self._exempt)
        self._take_exit_status(os.WNOHANG)

    def release(self, stopping: asyncio.Future[object] | None) -> None:
        if stopping is not None:
            stopping.remove_done_callback(self._stop_requested)
        self._stop_watching()
        if self._input is not None:
            self._input.close()
        for stream in tuple(self._streams):
            self._close(stream)
        if (keeper := self._child.keeper) is not None:
            self._loop.remove_reader(keeper.control.fileno())
            keeper.release()
        adoption.unregister(self.spawn)

    # --- output ---

    def _readable(self, stream: _Stream) -> None:
        try:
            chunk = os.read(stream.descriptor, _READ_SIZE)
        except BlockingIOError:
            return
        if not chunk:
            self._finish(stream)
            self._check_whether_over()
            return
        self._active = self._loop.time()
        self._take(stream.sink.feed, chunk)

    def _take(self, work: Callable[..., None], *arguments: object) -> None:
        if self.failure is not None:
            return  # read and discarded: a dying process must not wait at a full pipe
        try:
            work(*arguments)
        except BaseException as error:  # for the task that awaits run()
            self.failure = error
            self.end(Ending.STOPPED, QUICK)

    def _finish(self, stream: _Stream) -> None:
        self._close(stream)
        self._take(stream.sink.finish)

    def _close(self, stream: _Stream) -> None:
        self._loop.remove_reader(stream.descriptor)
        os.close(stream.descriptor)
        self._streams.remove(stream)

    def _linger_over(self) -> None:
        """Another process holds the pipe: take what is in it, and no more."""
        for stream in tuple(self._streams):
            left = PIPE_SIZE
            with contextlib.suppress(BlockingIOError):
                while left > 0 and (chunk := os.read(stream.descriptor, left)):
                    left -= len(chunk)
                    self._take(stream.sink.feed, chunk)
            self._finish(stream)
        self._check_whether_over()

    # --- exit ---

    def _watch_for_exit(self) -> None:
        keeper = self._child.keeper
        if keeper is not None:
            self._loop.add_reader(keeper.control.fileno(), self._told)
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # macOS, or a kernel before 5.3; or its keeper has reaped it
            if keeper is None:
                threading.Thread(target=self._wait_in_thread, daemon=True).start()
        else:
            self._loop.add_reader(self._pidfd, self._exited if keeper is None else self._wait_for_keeper)

    def _told(self) -> None:
        """The keeper says how the program ended; or it was killed, and the program is our child now."""
        keeper = self._child.keeper
        assert keeper is not None
        try:
            heard = keeper.heard()
        except ConnectionError:
            self._loop.remove_reader(keeper.control.fileno())
            self._take_over(keeper)
            return
        if heard is not None:
            status, others_are_left = heard
            self._loop.remove_reader(keeper.control.fileno())
            self.spawn.is_alone = not others_are_left
            self._child.is_reaped = True
            self.code = os.waitstatus_to_exitcode(status)
            self._exited()

    def _take_over(self, keeper: Keeper) -> None:
        """A process closes its files a little before its children become ours, and their exit status with them."""
        process = read_process(self.pid)
        if process is not None and process.parent == keeper.pid:
            self._later("take over", _TAKE_OVER_SECONDS, self._take_over, keeper)
            return
        keeper.abandon()
        self._child.keeper = None
        self._stop_watching_pid()
        self._watch_for_exit()

    def _wait_for_keeper(self) -> None:
        """The program has ended, and its keeper says so at once unless someone stopped it."""
        self._stop_watching_pid()
        keeper = self._child.keeper
        if keeper is not None and not self._has_exited:
            self._later("keeper", _KEEPER_SECONDS, _kill, keeper.pid)

    def _wait_in_thread(self) -> None:
        self._take_exit_status(0)
        with contextlib.suppress(RuntimeError):  # the loop was closed
            self._loop.call_soon_threadsafe(self._exited)

    def _take_exit_status(self, flags: int) -> None:
        if self._child.is_reaped or self._child.keeper is not None:
            return
        try:
            pid, status = os.waitpid(self.pid, flags)
        except ChildProcessError:
            # A success that nobody saw is none.
            self.error = "its exit status was lost: something else in this process took it"
            self._child.is_reaped = True
            return
        if pid:
            self._child.is_reaped = True
            self.code = os.waitstatus_to_exitcode(status)

    def _exited(self) -> None:
        if self._has_exited:
            return
        self._take_exit_status(os.WNOHANG)
        self._stop_watching()
        self._has_exited = True
        self._ended = self._loop.time()
        for stream in tuple(self._streams):
            self._readable(stream)  # usually it is over, which spares a turn of the loop
        if self._streams:
            self._later("linger", self._linger, self._linger_over)
        self._check_whether_over()

    def _stop_watching(self) -> None:
        for name in tuple(self._timers):
            self._cancel(name)
        self._stop_watching_pid()

    def _stop_watching_pid(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None

    def _check_whether_over(self) -> None:
        if self._has_exited and not self._streams:
            self._set_over()

    def _set_over(self) -> None:
        self.is_over = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- making it end ---

    def _say_last_words(self) -> bool:
        words = self._last_words() if self._last_words is not None else b""
        if not words or self._input is None or not self._input.is_open:
            return False
        self._input.write(words)
        return self._input.is_open

    def _climb(self, steps: tuple[tuple[signal.Signals, float], ...], position: int) -> None:
        if position == len(steps):
            self.error = f"pid {self.pid} could not be ended"
            self._ended = self._loop.time()
            self._set_over()
            return
        number, seconds = steps[position]
        descendants.signal_tree(self.spawn, number, self._exempt)
        self._later("ladder", seconds, self._climb, steps, position + 1)

    def _look_for_silence(self, idle: float) -> None:
        silent = self._loop.time() - self._active
        if silent >= idle and self._has_output_waiting():
            # We did not look: ralph was stopped, or the machine slept.
            self._later("idle", LOOK_AGAIN, self._look_for_silence, idle)
        elif silent >= idle:
            self.end(Ending.IDLE, self._ladder)
        else:
            self._later("idle", idle - silent, self._look_for_silence, idle)

    def _has_output_waiting(self) -> bool:
        poll = select.poll()  # not select, which knows the first thousand descriptors only
        for stream in self._streams:
            poll.register(stream.descriptor, select.POLLIN)
        return bool(poll.poll(0))

    def _stop_requested(self, stopping: asyncio.Future[object]) -> None:
        if stopping.cancelled():
            return  # that is no request
        if (error := stopping.exception()) is not None:
            self.failure = error
        self.end(Ending.STOPPED, self._ladder)

    def _reap_regularly(self) -> None:
        adoption.reap_orphans()
        self._later("reap", _REAP_EVERY, self._reap_regularly)

    def _later(self, name: str, seconds: float, work: Callable[..., None], *arguments: object) -> None:
        self._cancel(name)
        self._timers[name] = self._loop.call_later(seconds, work, *arguments)

    def _cancel(self, name: str) -> None:
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _open_input(descriptor: int) -> ConversationInput:
    from ralph.adapters.processes.conversation_input import ConversationInput  # few programs converse

    return ConversationInput(descriptor)

"""A run as people follow it: the agent's words on ``out``, everything the harness has to say on ``err``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import Any, TextIO

from ralph.domain.decision import Outcome
from ralph.domain.evidence import CheckResult, Verdict
from ralph.domain.loop_events import (
    ActionEnded,
    ActionStarted,
    AgentActed,
    AgentEnded,
    AgentStarted,
    CheckEnded,
    CheckStarted,
    ClaimsSought,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    PauseBegan,
    ProcessesEnded,
    RunEnded,
    RunStarted,
    StopRequested,
    Warned,
)
from ralph.domain.report import Ending, Fatal, RateLimited
from ralph.interfaces.cli.console.agent_view import AgentView
from ralph.interfaces.cli.console.figures import duration, plural, totals
from ralph.interfaces.cli.console.marks import colors_of, marks_of
from ralph.interfaces.cli.console.outlet import Outlet
from ralph.interfaces.cli.console.safe_text import clean, clean_line
from ralph.interfaces.cli.console.status_line import StatusLine
from ralph.interfaces.cli.console.terminal import Look, display_width, fit, same_place
from ralph.interfaces.cli.console.timestamps import Timestamps

STOP_MESSAGE = "Received signal, shutting down..."
STOP_NOW_MESSAGE = "Second signal: ending the agent now..."

PROMPT_CHARS = 200
STDERR_LINES = 10
_RULE_WIDTH = 72

_ENDINGS: dict[str, str] = {
    Ending.TIMED_OUT: "ran out of time",
    Ending.IDLE: "went silent and was ended",
    Ending.STOPPED: "was stopped",
    Ending.NOT_STARTED: "could not be started",
}
_DECISIONS = {
    "accept": "Accepted",
    "continue": "Going on",
    "retry": "Trying again",
    "giveup": "Given up",
    "stop": "Stopping",
}


class Console:
    """A listener that prints the run.

    ``json_lines``: stdout belongs to ``JsonLines``, so the agent's words are not printed. ``out_look`` is for an
    ``out`` that is not the same terminal as ``err``. ``status`` is kept informed and erased before each line.
    """

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        look: Look,
        *,
        verbose: bool,
        stream_agent_output: bool,
        json_lines: bool = False,
        out_look: Look | None = None,
        status: StatusLine | None = None,
        zone: tzinfo | None = None,
    ) -> None:
        self._out = Outlet(out)
        self._err = Outlet(err)
        self._one_screen = same_place(out, err)
        self._look = look
        self._verbose = verbose
        self._streams = stream_agent_output and not json_lines
        self._status = status
        self._marks = marks_of(look)
        self._colors = colors_of(look)
        self._timestamps = Timestamps(zone)
        self._view = AgentView(look if out_look is None else out_look, verbose=verbose, zone=zone)
        self._at = 0.0
        self._renderers: dict[type, Callable[[Any], list[str]]] = {
            RunStarted: self._run_started,
            IterationStarted: self._iteration_started,
            AgentStarted: self._agent_started,
            AgentEnded: self._agent_ended,
            ProcessesEnded: self._processes_ended,
            CheckStarted: self._check_started,
            CheckEnded: self._check_ended,
            ClaimsSought: self._claims_sought,
            ActionStarted: self._action_started,
            ActionEnded: self._action_ended,
            IterationEnded: self._iteration_ended,
            PauseBegan: self._pause_began,
            StopRequested: self._stop_requested,
            Warned: self._warned,
            RunEnded: self._run_ended,
        }

    @property
    def out_closed(self) -> bool:
        """Nobody reads stdout any more."""
        return self._out.closed

    @property
    def err_closed(self) -> bool:
        return self._err.closed

    def __call__(self, event: LoopEvent, at: float) -> None:
        self._at = at
        if self._status is not None:
            self._status.observe(event, at)
        if isinstance(event, AgentActed):
            self._agent_acted(event)
            return
        renderer = self._renderers.get(type(event))
        if renderer is not None:  # an event of a newer engine is no reason to fail
            self._say(renderer(event))

    def detail(self, message: str) -> None:
        """A ``[ralph] …`` line of ``--verbose``."""
        self._say(self._detail(message))

    # Writing.

    def _agent_acted(self, event: AgentActed) -> None:
        view = self._view
        if not self._streams or self._out.closed:
            view.count(event.events)
            return
        rendered = view.render(event.events, self._at)
        if rendered:
            if self._status is not None:
                self._status.clear()
                self._status.held = view.line_is_open and self._one_screen
            self._out.write(rendered)

    def _say(self, lines: list[str]) -> None:
        if not lines:
            return
        if self._status is not None:
            self._status.clear()
        if self._one_screen:
            self._close_agent_line()
        text = "\n".join(lines) + "\n"
        self._err.write(self._timestamps.stamp(text, self._at) if self._look.timestamps else text)

    def _close_agent_line(self) -> None:
        self._out.write(self._view.close_line())
        if self._status is not None:
            self._status.held = False

    def _detail(self, message: str) -> list[str]:
        return [f"[ralph] {clean_line(message)}"] if self._verbose else []

    def _good(self, text: str) -> str:
        return f"{self._colors.green}{self._marks.ok} {text}{self._colors.off}"

    def _bad(self, text: str) -> str:
        return f"{self._colors.red}{self._marks.error} {text}{self._colors.off}"

    def _odd(self, text: str, mark: str = "") -> str:
        return f"{self._colors.yellow}{mark or self._marks.warning} {text}{self._colors.off}"

    def _dim(self, text: str) -> str:
        return f"{self._colors.dim}{text}{self._colors.off}"

    # Each renderer gives the lines for stderr, perhaps none.

    def _run_started(self, event: RunStarted) -> list[str]:
        dot = f" {self._marks.dot} "
        words = [
            f"profile {event.profile}",
            f"agent {event.agent}",
            f"at most {plural(event.maximum, 'iteration')}" if event.maximum else "any number of iterations",
        ]
        return [
            f"{self._colors.bold}ralph run {clean_line(event.run_id)}{self._colors.off}",
            clean_line(dot.join(words)),
            self._dim(f"root {clean_line(event.root)}"),
            *(self._odd(clean_line(note)) for note in event.notes),
        ]

    def _iteration_started(self, event: IterationStarted) -> list[str]:
        count = f"{event.iteration}/{event.maximum}" if event.maximum is not None else str(event.iteration)
        title = f"Iteration {count}"
        if event.role:
            title += f" {self._marks.dot} {event.role} {self._marks.dot} {event.assignment}"
        if event.attempt > 1:
            title += f" (attempt {event.attempt})"
        prompt = self._detail(f"Prompt (first {PROMPT_CHARS} chars): {event.prompt[:PROMPT_CHARS]}")
        if event.prompt_file:
            prompt += self._detail(f"Prompt file: {event.prompt_file} ({plural(event.prompt_chars, 'char')})")
        return ["", self._rule(clean_line(title)), *self._detail(f"Iteration {count} starting"), *prompt]

    def _rule(self, title: str) -> str:
        room = self._look.width - 1 - (len("[HH:MM:SS] ") if self._look.timestamps else 0)
        width = max(1, min(room, _RULE_WIDTH))
        line = self._marks.rule
        head = fit(f"{line}{line} {title} ", width, ellipsis=self._marks.more)
        return f"{self._colors.bold}{head}{self._colors.off}{self._dim(line * (width - display_width(head)))}"

    def _agent_started(self, event: AgentStarted) -> list[str]:
        self._view.begin(self._at)
        purpose = "" if event.purpose == "iteration" else f" ({event.purpose})"
        return self._detail(f"Agent command{purpose}: {event.command}")

    def _agent_ended(self, event: AgentEnded) -> list[str]:
        self._close_agent_line()
        figures = totals(
            cost_usd=event.spend.cost_usd,
            usage=event.spend.usage,
            tools=event.tools if event.tools else None,
            errors=event.tool_errors if event.tools else None,
            seconds=event.seconds,
        )
        who = "Agent" if event.purpose == "iteration" else f"Agent ({clean_line(event.purpose)})"
        lines: list[str] = []
        troubled = True
        if event.fault is not None:
            lines.append(self._fault(who, event))
        elif event.ending != Ending.EXITED:
            lines.append(self._odd(f"{who} {_ENDINGS.get(event.ending, event.ending)} ({figures})"))
        elif event.exit_code:
            lines.append(self._odd(f"{who} exited with code {event.exit_code} ({figures})"))
        else:
            troubled = False
            # The agent's own closing line is on the screen already, if it has one.
            if event.purpose == "iteration" and not self._view.turn_ended:
                lines.append(self._good(f"{who} finished ({figures})"))
        if isinstance(event.fault, Fatal) and event.fault.hint:
            lines.append(f"   hint: {clean_line(event.fault.hint)}")
        if event.stderr and (troubled or self._verbose):
            tail = clean(event.stderr).rstrip("\n").split("\n")[-STDERR_LINES:]
            lines += [self._dim(f"   {line}") for line in tail]
        code = f"exited with code {event.exit_code}" if event.exit_code is not None else event.ending
        lines += self._detail(f"Agent {code} ({duration(event.seconds)})")
        if event.noise_lines or event.unknown_events:
            noise, unknown = plural(event.noise_lines, "line"), plural(event.unknown_events, "event")
            lines += self._detail(f"Agent output: {noise} of noise, {unknown} of unknown type")
        return lines

    def _fault(self, who: str, event: AgentEnded) -> str:
        fault = event.fault
        if isinstance(fault, RateLimited):
            until = ""
            if fault.until is not None:
                until = f" until {self._timestamps.clock_time(fault.until, beside=self._at)}"
            return self._odd(f"{who} is rate limited{until}: {clean_line(fault.reason)}")
        reason = clean_line(fault.reason) if fault is not None else ""
        say = self._bad if isinstance(fault, Fatal) else self._odd
        return say(f"{who} failed: {reason} ({duration(event.seconds)})")

    def _processes_ended(self, event: ProcessesEnded) -> list[str]:
        names = clean_line(", ".join(event.left_behind))
        number = len(event.left_behind)
        what = "process" if number == 1 else "processes"
        return [self._odd(f"Ended {number} {what} left behind: {names}")]

    def _check_started(self, event: CheckStarted) -> list[str]:
        label = f"Guardrail: {event.command}" if event.command else f"Check: {event.name}"
        line = f"{self._colors.cyan}{self._marks.run}{self._colors.off} {clean_line(label)}"
        running = f"guardrail: {event.command}" if event.command else f"check: {event.name}"
        return [line, *self._detail(f"Running {running}")]

    def _check_ended(self, event: CheckEnded) -> list[str]:
        result = event.result
        what, name = ("Guardrail", result.command) if result.command else ("Check", result.name)
        name = clean_line(name)
        took = duration(result.seconds)
        reason = clean_line(result.reason)
        match result.verdict:
            case Verdict.PASSED:
                lines = [self._good(f"{what} passed: {name} ({took})")]
            case Verdict.SKIPPED:
                why = f" ({reason})" if reason else ""
                say = self._bad if result.required else self._odd
                lines = [say(f"{what} skipped: {name}{why}{self._consequence(result)}")]
            case Verdict.FAILED | Verdict.ERRORED:
                facts = [f"exit {result.exit_code}" if result.exit_code is not None else "", reason, took]
                about = ", ".join(fact for fact in facts if fact)
                text = f"{what} {result.verdict.value}: {name} ({about}){self._consequence(result)}"
                lines = [self._bad(text) if result.required else self._odd(text)]
        if result.exit_code is not None:
            return lines + self._detail(f"{what} exited with code {result.exit_code} ({took})")
        return lines + self._detail(f"{what} {result.verdict.value} without an exit code ({took})")

    def _consequence(self, result: CheckResult) -> str:
        """What a failure leads to: where its message goes in the next prompt, and where the log is."""
        action = f" {self._marks.right} {result.feedback.placement.value}" if result.feedback else ""
        optional = "" if result.required else " (not required)"
        log = f"  log: {clean_line(result.log_file)}" if result.log_file else ""
        return f"{optional}{action}{log}"

    def _claims_sought(self, event: ClaimsSought) -> list[str]:
        return self._detail(f"Completion detection: {', '.join(event.found) or 'no claim found'}")

    def _action_started(self, event: ActionStarted) -> list[str]:
        line = f"{self._colors.cyan}{self._marks.run}{self._colors.off} Action: {clean_line(event.name)}"
        return [line, *self._detail(f"Running action: {event.name}")]

    def _action_ended(self, event: ActionEnded) -> list[str]:
        message = f": {clean_line(event.message)}" if event.message else ""
        took = duration(event.seconds)
        if event.ok:
            line = self._good(f"Action done: {clean_line(event.name)}{message} ({took})")
        else:
            line = self._bad(f"Action failed: {clean_line(event.name)}{message} ({took})")
        return [line, *self._detail(f"Action {event.name} took {took}")]

    def _iteration_ended(self, event: IterationEnded) -> list[str]:
        name = event.decision.lower().replace("_", "").replace(" ", "")
        text = clean_line(f"{_DECISIONS.get(name, event.decision)}: {event.reason}")
        match name:
            case "accept":
                line = self._good(text)
            case "giveup":
                line = self._bad(text)
            case "retry":
                line = self._odd(text, self._marks.again)
            case "stop":
                line = self._odd(text, self._marks.stop)
            case _:
                line = f"{self._colors.cyan}{self._marks.again} {text}{self._colors.off}"
        claimed, proven = ("yes" if fact else "no" for fact in (event.claimed, event.proven))
        took = duration(event.seconds)
        return [
            line,
            *self._detail(f"Iteration {event.iteration} took {took} (claimed: {claimed}, proven: {proven})"),
        ]

    def _pause_began(self, event: PauseBegan) -> list[str]:
        until = self._timestamps.clock_time(event.until, beside=self._at)
        left = duration(event.until - self._at)
        return [self._odd(f"Waiting {left}, until {until}: {clean_line(event.reason)}", self._marks.wait)]

    def _stop_requested(self, event: StopRequested) -> list[str]:
        return [STOP_NOW_MESSAGE if event.now else STOP_MESSAGE]

    def _warned(self, event: Warned) -> list[str]:
        return [self._odd(clean_line(event.message))]

    def _run_ended(self, event: RunEnded) -> list[str]:
        reason = clean_line(event.reason)
        match event.outcome:
            case Outcome.COMPLETED:
                title = self._good(f"Completed{' with concerns' if event.concerns else ''}: {reason}")
            case Outcome.EXHAUSTED:
                title = self._bad(f"Not completed: {reason}")
            case Outcome.WAITING:
                title = self._odd(f"Waiting: {reason}", self._marks.wait)
            case Outcome.CANCELLED:
                title = self._odd(f"Cancelled: {reason}", self._marks.stop)
            case Outcome.FAILED:
                title = self._bad(f"Failed: {reason}")
        spent = totals(cost_usd=event.spend.cost_usd, usage=event.spend.usage)
        figures = [f"iterations: {event.iterations}", spent, f"time: {duration(event.seconds)}"]
        lines = ["", title, "   " + ", ".join(figure for figure in figures if figure)]
        lines += ["   " + self._odd(clean_line(concern)) for concern in event.concerns]
        if event.hint:
            lines += ["   hint: " + clean(event.hint).rstrip("\n").replace("\n", "\n   ")]
        return lines

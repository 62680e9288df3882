"""A run, for people: the agent's words on ``out``, everything else on ``err``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, TextIO

from ralph.domain.agent.events import Reasoning, Text
from ralph.domain.loop.decision import DecisionKind, Outcome
from ralph.domain.loop.events import (
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
    PullRequestSeen,
    RunEnded,
    RunPaused,
    RunStarted,
    RunUnpaused,
    Steered,
    StopRequested,
    TaskReported,
    Warned,
)
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Placement
from ralph.domain.loop.session_report import Ending, Fatal, RateLimited
from ralph.domain.proof.layer_names import LAYER_NAMES, LAYERS_AT_CLAIM, LayerName, check_words
from ralph.domain.proof.policy import UNCHECKED, ProofPolicy
from ralph.domain.text.exits import ended_words, exit_words
from ralph.domain.text.figures import duration, plural, totals
from ralph.domain.text.safe_text import clean, clean_line
from ralph.domain.views.agent_versions import with_versions
from ralph.domain.views.decisions import Tone, describe_decision, describe_verdict, stage_count
from ralph.interfaces.cli.console.agent_view import SESSION_ENDED, AgentView
from ralph.interfaces.cli.console.outlet import Outlet
from ralph.interfaces.cli.folding import fold
from ralph.interfaces.cli.terminal import (
    Look,
    Timestamps,
    colors_of,
    display_width,
    fit,
    marks_of,
    same_place,
    terminal_width,
)

if TYPE_CHECKING:
    from ralph.domain.tasks.task import Task
    from ralph.domain.views.pull_request import News, PullRequestView
    from ralph.interfaces.cli.console.status_line import StatusLine
    from ralph.interfaces.cli.console.task_table import TaskTable

STOP_MESSAGE = "Received signal, shutting down..."
STOP_HINT = "   The current step finishes first; press Ctrl-C again to end it now."
STOP_NOW_MESSAGE = "Second signal: ending the {} now..."
STOP_ELSEWHERE = "Stopping, as asked from elsewhere..."
STOP_HINT_ELSEWHERE = "   The current step finishes first; Ctrl-C here, or `ralph stop --now`, ends it now."
STOP_NOW_ELSEWHERE = "Ending the {} now, as asked from elsewhere..."

STDERR_LINES = 10
CHECK_LINES = 5
CHECK_LINE_CHARS = 500
"""Shown of each last line of a check: it may be megabytes long."""

_RULE_WIDTH = 72

_ENDINGS: dict[str, str] = {
    Ending.TIMED_OUT: "ran out of time",
    Ending.IDLE: "went silent and was ended",
    Ending.STOPPED: "was stopped",
    Ending.LIMITED: "was ended: a limit of the run was reached",
    Ending.NOT_STARTED: "could not be started",
}
_REQUESTS = {"commit": "asking the agent for a commit message", "verification": "asking the judge"}

_ABOUT_CHANGES = (LayerName.PROTECTION, LayerName.TESTS_REVIEW, LayerName.OLD_PROOF)
"""Layers that deny changes which a person may allow."""


class Console:
    """A listener that prints the run.

    ``json_lines``: stdout belongs to ``JsonLines``, so the agent's words are not printed. ``out_look``: if ``out`` is
    not the same terminal as ``err``. ``status`` gets every event and is erased before each line. ``is_part``: the run
    that it belongs to says how to continue. ``margin``: columns that ``err`` puts before each line.
    ``place``: the working folder, if that is not where ralph was started. ``task``: what a part that is shown
    alone worked on, as it is when it is asked for.
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
        is_part: bool = False,
        margin: int = 0,
        place: str = "",
        task: Callable[[], Task | None] = lambda: None,
    ) -> None:
        self._is_part = is_part
        self._out = Outlet(out)
        self._err = Outlet(err)
        self._terminal = err
        self._margin = margin
        self._place = place
        self._task = task
        self._one_screen = same_place(out, err)
        self._look = look
        self._verbose = verbose
        self._streams = stream_agent_output and not json_lines
        self._status = status
        self._marks = marks_of(look)
        self._colors = colors_of(look)
        self._timestamps = Timestamps(zone)
        self._view = AgentView(look if out_look is None else out_look, verbose=verbose, zone=zone)
        self.told = ""  # why the run ended
        self._at = 0.0
        self._started: RunStarted | None = None
        self._judges = False  # the session is one that answers a check
        self._check = ""  # the one that is under way
        self._asked = 0  # sessions that it has had
        # Reasons already on the screen, not to be repeated.
        self._fault_reason = ""
        self._decision_reason = ""
        self._claims: tuple[str, ...] = ()
        self._is_proof_changed = False
        self._not_seen_to_fail = ""
        self._was_checked = False
        self._accept_reason = ""
        self._tasks: TaskTable | None = None  # of a `ralph work`
        self._pull: PullRequestView | None = None  # as it was told last
        self._pulls: dict[int, PullRequestView] = {}
        self._waited_for = ""  # the reason of the newest pause, while it waits for the pull request
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
            RunPaused: self._paused,
            RunUnpaused: self._unpaused,
            Steered: self._steered,
            StopRequested: self._stop_requested,
            Warned: self._warned,
            PullRequestSeen: self._pull_request_seen,
            TaskReported: self._task_reported,
            RunEnded: self._run_ended,
        }

    def __call__(self, event: LoopEvent, at: float) -> None:
        self._at = at
        if self._status is not None:
            self._status.observe(event, at)
        if isinstance(event, AgentActed):
            self._agent_acted(event)
            return
        renderer = self._renderers.get(type(event))
        if renderer is not None:  # ignore events of a newer engine
            self._say(renderer(event))

    def _agent_acted(self, event: AgentActed) -> None:
        view = self._view
        if not self._streams or self._out.closed:
            view.count(event.events)
            return
        shown = event.events
        if self._judges and not self._verbose:  # the check says what it means
            shown = tuple(one for one in shown if not isinstance(one, Text | Reasoning))
        rendered = view.render(shown, self._at)
        if rendered:
            if self._status is not None:
                self._status.clear()
                self._status.held = view.line_is_open and self._one_screen
            self._out.write(rendered, chatter=True)

    def _say(self, lines: list[str]) -> None:
        if not lines:
            return
        if self._status is not None:
            self._status.clear()
        if self._one_screen:
            self._close_agent_line()
        text = "\n".join(lines) + "\n"
        if self._look.folds:
            text = fold(text, self._room())
        self._err.write(self._timestamps.stamp(text, self._at) if self._look.timestamps else text)

    def _room(self) -> int:
        """Columns for a line."""
        width = terminal_width(self._terminal, self._look.width) - self._margin
        return width - (len("[HH:MM:SS] ") if self._look.timestamps else 0)

    def _close_agent_line(self) -> None:
        self._out.write(self._view.close_line())
        if self._status is not None:
            self._status.held = False

    def _detail(self, message: str) -> list[str]:
        """A ``[ralph] …`` line of ``--verbose``."""
        return [f"[ralph] {clean_line(message)}"] if self._verbose else []

    def _good(self, text: str) -> str:
        return f"{self._colors.green}{self._marks.ok} {text}{self._colors.off}"

    def _bad(self, text: str) -> str:
        return f"{self._colors.red}{self._marks.error} {text}{self._colors.off}"

    def _odd(self, text: str, mark: str = "") -> str:
        return f"{self._colors.yellow}{mark or self._marks.warning} {text}{self._colors.off}"

    def _dim(self, text: str) -> str:
        return f"{self._colors.dim}{text}{self._colors.off}"

    # Each renderer returns the lines for stderr.

    def _run_started(self, event: RunStarted) -> list[str]:
        dot = f" {self._marks.dot} "
        self._started = event
        words = [
            f"profile {event.profile}",
            f"agent {with_versions(event.agent, event.versions)}",
            f"at most {plural(event.maximum, 'iteration')}" if event.maximum else "no limit on iterations",
        ]
        return [
            f"{self._colors.bold}ralph run {clean_line(event.run_id)}{self._colors.off}",
            clean_line(dot.join(words)),
            self._dim(f"root {clean_line(event.root)}"),
            *(self._odd(clean_line(note)) for note in event.notes),
            *(
                self._dim(f"{'' if place == 0 else '  '}{clean_line(line)}")
                for place, line in enumerate(event.sandbox)
            ),
            *([self._dim(f"proof {clean_line(event.proof.words)}")] if event.proof is not None else ()),
            *(self._dim(f"will run {clean_line(command)}") for command in event.commands),
        ]

    def _iteration_started(self, event: IterationStarted) -> list[str]:
        self._claims = ()
        self._is_proof_changed = False
        count = f"{event.iteration}/{event.maximum}" if event.maximum is not None else str(event.iteration)
        title = f"Iteration {count}"
        if event.role:
            stage = stage_count(event.role, event.used, event.limit) if event.limit else event.role
            title += f" {self._marks.dot} {stage} {self._marks.dot} {event.assignment}"
        if event.attempt > 1:
            title += f" (attempt {event.attempt})"
        shown = len(event.prompt)
        part = f" (first {plural(shown, 'char')})" if shown < event.prompt_chars else ""
        prompt = self._detail(f"Prompt{part}: {event.prompt}")
        if event.prompt_file:
            prompt += self._detail(f"Prompt file: {event.prompt_file} ({plural(event.prompt_chars, 'char')})")
        return ["", self._rule(clean_line(title)), *self._detail(f"Iteration {count} starting"), *prompt]

    def _rule(self, title: str) -> str:
        width = max(1, min(self._room() - 1, _RULE_WIDTH))
        line = self._marks.rule
        head = fit(f"{line}{line} {title} ", width, ellipsis=self._marks.more)
        return f"{self._colors.bold}{head}{self._colors.off}{self._dim(line * (width - display_width(head)))}"

    def _agent_started(self, event: AgentStarted) -> list[str]:
        self._view.begin(self._at)
        self._judges = event.purpose == "verification"
        if event.purpose == "iteration":
            return self._detail(f"Agent command: {event.command}")
        self._asked += 1
        request = _REQUESTS.get(event.purpose, f"asking the agent ({event.purpose})")
        again = " again" if self._judges and self._asked > 1 else ""
        about = f": {check_words(self._check)}" if self._judges and self._check in LAYERS_AT_CLAIM else ""
        return [
            self._dim(clean_line(f"{request}{again}{about}")),
            *self._detail(f"Agent command ({event.purpose}): {event.command}"),
        ]

    def _agent_ended(self, event: AgentEnded) -> list[str]:
        self._close_agent_line()
        figures = totals(
            cost_usd=event.spend.cost_usd,
            at_least=event.spend.is_partly_unknown,
            usage=event.spend.usage,
            tools=event.tools if event.tools else None,
            errors=event.tool_errors if event.tools else None,
            seconds=event.seconds,
        )
        who = "Agent" if event.purpose == "iteration" else f"Agent ({clean_line(event.purpose)})"
        lines: list[str] = []
        troubled = True
        self._fault_reason = event.fault.reason if event.fault is not None else ""
        if event.fault is not None:
            lines.append(self._fault(who, event))
        elif event.ending != Ending.EXITED:
            lines.append(self._odd(f"{who} {_ENDINGS.get(event.ending, event.ending)} ({figures})"))
        elif event.exit_code:
            lines.append(self._odd(f"{who} {ended_words(event.exit_code)} ({figures})"))
        else:
            troubled = False
            # The agent may have printed its own closing line.
            if event.purpose == "iteration" and not self._view.turn_ended:
                lines.append(self._dim(f"{self._marks.progress}{SESSION_ENDED} ({figures})"))
        if event.stderr and (troubled or self._verbose):
            tail = clean(event.stderr).strip("\n").split("\n")[-STDERR_LINES:]
            if len(tail) > 1 or tail[0].strip() not in clean_line(self._fault_reason):
                lines += [self._dim(f"   {line}") for line in tail]
        code = ended_words(event.exit_code) if event.exit_code is not None else event.ending
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
        say = self._bad if isinstance(fault, Fatal) else self._odd
        is_shown = self._one_screen and self._streams and self._view.last_error == self._fault_reason
        why = "" if is_shown else f": {clean_line(self._fault_reason)}"
        return say(f"{who} failed{why} ({duration(event.seconds)})")

    def _processes_ended(self, event: ProcessesEnded) -> list[str]:
        names = clean_line(", ".join(event.left_behind))
        number = len(event.left_behind)
        what = "process" if number == 1 else "processes"
        return [self._odd(f"Ended {number} {what} left behind: {names}")]

    def _check_started(self, event: CheckStarted) -> list[str]:
        self._check, self._asked = event.name or event.command, 0
        if event.name in LAYERS_AT_CLAIM and not self._verbose:
            return []  # its result says everything, if there was anything to do
        what = _kind_of_check(event.name, event.command)
        label = f"{what}: {check_words(event.name) or event.command}"
        line = f"{self._colors.cyan}{self._marks.run}{self._colors.off} {clean_line(label)}"
        running = f"{what.lower()}: {event.command or event.name}"
        return [line, *self._detail(f"Running {running}")]

    def _check_ended(self, event: CheckEnded) -> list[str]:
        self._check = ""
        result = event.result
        self._is_proof_changed |= result.name in _ABOUT_CHANGES and result.verdict is Verdict.FAILED
        self._was_checked |= result.required and result.verdict is Verdict.PASSED
        if result.name == LayerName.CANARY_AT_START and result.verdict is Verdict.SKIPPED:
            self._not_seen_to_fail = result.reason
        what = _kind_of_check(result.name, result.command)
        name = clean_line(check_words(result.name) or result.command)
        took = duration(result.seconds)
        reason = clean_line(_without_lines(result))
        match result.verdict:
            case Verdict.PASSED:
                # A command explains itself; what ralph looks at by itself must say what it found.
                found = f"{reason}, {took}" if reason and not result.command else took
                lines = [self._good(f"{what} passed: {name} ({found})")]
            case Verdict.SKIPPED:
                why = f" ({reason})" if reason else ""
                if not result.required:  # no cause for alarm
                    if result.name in LAYERS_AT_CLAIM and not self._verbose:
                        return []
                    lines = [self._dim(f"{what} skipped: {name}{why}")]
                else:
                    text = f"{what} skipped: {name}{why}{self._consequence(result)}"
                    lines = [self._bad(text), *self._traces(result)]
            case Verdict.FAILED | Verdict.ERRORED:
                if result.exit_code is None:
                    about = f"{reason}, {took}" if reason else took
                else:  # a reason says why and when the command was ended
                    about = exit_words(result.exit_code).replace("exit code", "exit") + (
                        f": {reason}" if reason else f", {took}"
                    )
                say = self._bad if result.required else self._odd
                text = (
                    f"{what} {describe_verdict(result.verdict)}: {name} ({about}){self._consequence(result)}"
                )
                lines = [say(text), *self._traces(result)]
        if result.exit_code is not None:
            return lines + self._detail(f"{what} {ended_words(result.exit_code)} ({took})")
        return lines + self._detail(f"{what} {result.verdict.value} without an exit code ({took})")

    def _consequence(self, result: CheckResult) -> str:
        """What a failure leads to, by its name in the settings."""
        optional = "" if result.required else " (not required)"
        if result.feedback is None:
            return optional
        placement = result.feedback.placement
        words = "its output" if result.command else "its message"
        does = "replaces" if placement is Placement.REPLACE else "goes into"
        return f"{optional} {self._marks.right} {words} {does} the next prompt ({placement.value})"

    def _traces(self, result: CheckResult) -> list[str]:
        """The last lines it printed, and the log with all of them."""
        lines: list[str] = []
        end = "\n".join(line[:CHECK_LINE_CHARS] for line in result.last_lines[-CHECK_LINES:])
        if end := clean(end).strip("\n"):
            margin = f"  {self._marks.branch}  "
            for row in end.split("\n")[-CHECK_LINES:]:
                lines.append(self._dim(margin + row))
                margin = " " * len(margin)
        if result.log_file:
            lines.append(f"   log: {clean_line(result.log_file)}")
        return lines

    def _claims_sought(self, event: ClaimsSought) -> list[str]:
        self._claims = event.found
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
        wording = describe_decision(event.decision, self._claims)
        why = "" if event.reason == self._fault_reason else f": {event.reason}"
        text = clean_line(f"{wording.announcement}{why}")
        self._decision_reason = event.reason
        if event.decision == DecisionKind.ACCEPT:
            self._accept_reason = event.reason
        match wording.tone:
            case Tone.WARNING:  # the run ends now, and says so itself
                line = ""
            case Tone.GOOD:
                line = self._good(text)
            case Tone.BAD:
                line = self._bad(text)
            case Tone.QUIET:
                line = self._odd(text, self._marks.again)
            case Tone.OPEN:
                line = f"{self._colors.cyan}{self._marks.again} {text}{self._colors.off}"
        claimed, proven = ("yes" if fact else "no" for fact in (event.claimed, event.proven))
        took = duration(event.seconds)
        return [
            *filter(None, [line]),
            *self._detail(f"Iteration {event.iteration} took {took} (claimed: {claimed}, proven: {proven})"),
        ]

    def _pause_began(self, event: PauseBegan) -> list[str]:
        if self._pull is not None and self._pull.is_waiting:  # asked again and again: told once
            before, self._waited_for = self._waited_for, event.reason
            if event.reason in (before, self._pull.reason):
                return []
        until = self._timestamps.clock_time(event.until, beside=self._at)
        left = duration(event.until - self._at)
        is_shown = event.reason in (self._decision_reason, self._fault_reason)
        why = "" if is_shown else f": {clean_line(event.reason)}"
        return [self._odd(f"Waiting {left}, until {until}{why}", self._marks.wait)]

    def _paused(self, event: RunPaused) -> list[str]:
        text = "Pausing after the current session and its checks; to continue: `ralph unpause`"
        return [self._odd(text, self._marks.wait)]

    def _unpaused(self, event: RunUnpaused) -> list[str]:
        return [self._good("Continuing after the pause")]

    def _steered(self, event: Steered) -> list[str]:
        text = f"{self._marks.right} Note from the user: {clean_line(event.text)}"
        return [f"{self._colors.cyan}{text}{self._colors.off}"]

    def _stop_requested(self, event: StopRequested) -> list[str]:
        ended = "check" if self._check else "agent"
        if event.now:
            return [(STOP_NOW_ELSEWHERE if event.elsewhere else STOP_NOW_MESSAGE).format(ended)]
        return [STOP_ELSEWHERE, STOP_HINT_ELSEWHERE] if event.elsewhere else [STOP_MESSAGE, STOP_HINT]

    def _warned(self, event: Warned) -> list[str]:
        message = clean_line(event.message)
        return [self._dim(message) if event.mild else self._odd(message)]

    def _pull_request_seen(self, event: PullRequestSeen) -> list[str]:
        from ralph.domain.views.pull_request import news_of, view_of  # few runs have one

        before, self._pull = self._pulls.get(event.number), view_of(event)
        self._pulls[event.number] = self._pull
        lines = [self._pull_line(news, self._pull) for news in news_of(before, self._pull, self._marks.dot)]
        is_new = before is None or before.hint != event.hint
        if event.hint and is_new and self._is_part:  # else the end of the run says it
            lines.append("   hint: " + clean_line(event.hint))
        return lines

    def _pull_line(self, news: News, pull: PullRequestView) -> str:
        from ralph.domain.views.pull_request import NewsKind

        text = clean_line(news.text)
        match news.kind:
            case NewsKind.OPENED:
                return f"{self._colors.cyan}{self._marks.run}{self._colors.off} {text}"
            case NewsKind.STEP:
                return self._toned(text, news.tone, self._marks.wait if pull.is_waiting else "")
            case NewsKind.CHECKS:
                mark = self._marks.wait if news.tone is Tone.OPEN else ""
                return f"   {self._toned(text, news.tone, mark)}"
            case NewsKind.ADDRESS | NewsKind.REMARKS:
                return self._dim(f"   {text}")

    def _toned(self, text: str, tone: Tone, mark: str = "") -> str:
        match tone:
            case Tone.GOOD:
                return self._good(text)
            case Tone.BAD:
                return self._bad(text)
            case Tone.WARNING:
                return self._odd(text, mark)
            case Tone.OPEN:
                return f"{self._colors.cyan}{mark or self._marks.again} {text}{self._colors.off}"
            case Tone.QUIET:
                return self._dim(text)

    def _task_reported(self, event: TaskReported) -> list[str]:
        from ralph.interfaces.cli.console.task_table import TaskTable, reported

        if self._tasks is None:
            self._tasks = TaskTable(self._terminal, self._look)
        self._tasks.add(event)
        if not event.is_begun:
            return []  # the table has it
        say = {Outcome.COMPLETED: self._good, Outcome.WAITING: self._odd, Outcome.CANCELLED: self._odd}
        return [f"[{clean_line(event.task)}] {say.get(event.outcome, self._bad)(reported(event))}"]

    def _run_ended(self, event: RunEnded) -> list[str]:
        from ralph.domain.views.closing import Closing, closing_figures

        if self._started is None and event.outcome is Outcome.FAILED:
            return []  # it never began: whoever wanted it is told why
        self.told = event.reason
        reason = clean_line(event.reason)
        match event.outcome:
            case Outcome.COMPLETED:
                concerns = f", with {plural(len(event.concerns), 'warning')}" if event.concerns else ""
                why = "" if event.reason == self._accept_reason else f": {reason}"
                title = self._good(f"Completed{concerns}{why}")
            case Outcome.EXHAUSTED:
                title = self._bad(f"Not completed: {reason}")
            case Outcome.WAITING:
                title = self._odd(_waiting(reason), self._marks.wait)
            case Outcome.CANCELLED:
                title = self._odd(f"Cancelled: {reason}", self._marks.stop)
            case Outcome.FAILED:
                title = self._bad(f"Failed: {reason}")
        table = self._tasks.lines() if self._tasks is not None else []
        lines = [*table, "", title, f"   {closing_figures(event)}"]
        lines += (
            clean_line(f"   pull request {pull.name} ({pull.state_words}): {pull.where}")
            for pull in self._pulls.values()
        )
        started = None if self._is_part else self._started
        is_done = event.outcome is Outcome.COMPLETED
        caveats = self._caveats(started.proof, event.iterations) if started is not None and is_done else ()
        in_table = self._tasks.told if self._tasks is not None else ()
        notes = (note for note in (*caveats, *event.concerns) if note and note not in in_table)
        lines += ["   " + self._odd(clean_line(note)) for note in notes]
        if started is not None:
            end = Closing(
                started=started,
                ended=event,
                allows=self._is_proof_changed,
                place=self._place,
                task=self._task(),
            )
            lines += [self._dim(f"   {clean_line(line)}") for line in end.lines]
        if event.hint:
            lines += ["   hint: " + clean(event.hint).rstrip("\n").replace("\n", "\n   ")]
        return lines

    def _caveats(self, policy: ProofPolicy | None, iterations: int) -> tuple[str, ...]:
        """What must be said of work that was accepted."""
        if policy is not None:
            return (policy.caveat, self._not_seen_to_fail)
        was_judged = self._was_checked or self._pulls or not iterations  # without a session there is no word
        return (UNCHECKED,) if self._tasks is None and not was_judged else ()


def _waiting(reason: str) -> str:
    """A reason that begins with the verb needs no other."""
    return f"Waiting {reason.removeprefix('waits ')}" if reason.startswith("waits ") else f"Waiting: {reason}"


def _without_lines(result: CheckResult) -> str:
    """The reason of a check that runs no command itself, up to the lines that are shown below it."""
    if result.holds or result.command:
        return result.reason
    places = (result.reason.find(line) for line in result.last_lines if line)
    place = min((place for place in places if place > 0), default=len(result.reason))
    return result.reason[:place].rstrip(" :;")


def _kind_of_check(name: str, command: str) -> str:
    """What the settings and the docs call it."""
    if name in LAYER_NAMES:
        return "Check"
    from ralph.domain.tasks.completion import VerificationMethod

    if name in frozenset(VerificationMethod):
        return "Verification"
    return "Guardrail" if command else "Check"

"""The options that several commands share: the same names, types and help everywhere, and the settings they make."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ralph.errors import UsageError

if TYPE_CHECKING:
    from ralph.config.loading import Loaded, Sources
    from ralph.config.sources import Flag
    from ralph.operations.runs.start import GivenPrompt

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
PATH = click.Path(path_type=Path)


def all_of(*options: Decorator) -> Decorator:
    """Several options as one decorator, in the order in which the help lists them."""
    return lambda function: functools.reduce(lambda made, option: option(made), reversed(options), function)


# --- every command ---


def make_project_dir_option(*short: str) -> Decorator:
    return click.option(
        *short,
        "--project-dir",
        metavar="DIR",
        type=PATH,
        help="The project's directory.  [default: the nearest with .ralph or .git]",
    )


project_dir_option = make_project_dir_option()


def json_option(text: str = "Print JSON.") -> Decorator:
    return click.option("--json", "as_json", is_flag=True, help=text)


def state_folder(project_dir: Path | None) -> Path:
    """Where the project keeps its record."""
    from ralph.config.root import STATE_FOLDER, find_root

    return find_root(Path.cwd(), project_dir).state / STATE_FOLDER


def print_json(value: object, *, ascii_only: bool = True) -> None:
    import json

    click.echo(json.dumps(value, indent=2, ensure_ascii=ascii_only))


@contextmanager
def requires_extra(what: str, extra: str) -> Iterator[None]:
    """For an import of what only this extra installs. Raises UsageError if it is not installed."""
    try:
        yield
    except ImportError as error:
        if error.name is None or error.name.startswith("ralph"):
            raise
        message = f"{what} needs the package {error.name}"
        import shlex

        install = shlex.join([sys.executable or "python3", "-m", "pip", "install", f".[{extra}]"])
        hint = f"install ralph with its extra `{extra}`; in its checkout: {install}"
        raise UsageError(message, hint=hint) from error


# --- options that set a setting ---

_GIVEN = "ralph.settings"


def setting_option(
    setting: str,
    flag: str,
    *others: str,
    means: Callable[[Any], object] = lambda value: value,
    **declaration: Any,
) -> Decorator:
    """An option that sets a setting; ``given_settings`` has those that were given. ``means``: value → setting."""

    def keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
        if param.name and ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
            wanted = means(list(value) if isinstance(value, tuple) else value)
            ctx.meta.setdefault(_GIVEN, []).append((tuple(setting.split(".")), wanted, flag))

    return click.option(*others, flag, expose_value=False, callback=keep, **declaration)


def given_settings() -> list[Flag]:
    """What the options of the current command set. Raises UsageError if they contradict each other."""
    flags: list[Flag] = click.get_current_context().meta.get(_GIVEN, [])
    kinds = {option: kind for path, kind, option in flags if path == _SANDBOX_KIND}
    if len(kinds) > 1:
        message = "--sandbox and --no-sandbox contradict each other"
        raise UsageError(message, hint="give one of them")
    if "--sandbox" in kinds:
        from ralph.domain.sandbox.kind import ASKABLE

        if kinds["--sandbox"] not in ASKABLE:
            message = f"--sandbox: there is no sandbox {kinds['--sandbox']!r}"
            raise UsageError(message, hint=f"use one of {', '.join(ASKABLE)}")
    return flags


# --- commands that run agents ---

_TRUST = "ralph.trust"


def _keep_trust(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[_TRUST] = value


trust_option: Decorator = click.option(
    "--trust",
    is_flag=True,
    expose_value=False,
    callback=_keep_trust,
    help="Trust what this project runs, this once and without a question.",
)


def is_trust_given() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_TRUST))


verbose_option: Decorator = click.option(
    "-V", "--verbose", is_flag=True, help="Print what ralph does and how long it takes."
)
events_option = json_option("Events as JSON lines on stdout.")


_APART = "ralph.apart"
_STDIN = "ralph.stdin"


def _keep_apart(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if not value:
        return
    flag = param.opts[0]
    if flag == "--ui" and not (sys.stdin.isatty() and sys.stdout.isatty()):
        message = "--ui needs a terminal"
        raise UsageError(message, hint="leave it out; `ralph ui` can watch the run from a terminal later")
    if ctx.meta.setdefault(_APART, flag) != flag:
        message = "--ui and --detach contradict each other"
        raise UsageError(message, hint="give one of them; quitting the UI leaves the run running")


def asked_apart() -> str:
    """The flag by which the run is to live in a process of its own; empty: it runs here."""
    context = click.get_current_context(silent=True)
    return str(context.meta.get(_APART, "")) if context is not None else ""


def read_from_stdin() -> bytes:
    """What the command has read there; another process that does the same must get it again."""
    given: bytes = click.get_current_context().meta.get(_STDIN, b"")
    return given


ui_option: Decorator = click.option(
    "--ui",
    is_flag=True,
    expose_value=False,
    callback=_keep_apart,
    help="Open the terminal UI over the run; quitting it leaves the run running.",
)
detach_option: Decorator = click.option(
    "--detach",
    is_flag=True,
    expose_value=False,
    callback=_keep_apart,
    help="Return as soon as the run has begun; it needs no terminal. `ralph attach` shows it.",
)
apart_options = all_of(ui_option, detach_option)
notify_option = setting_option(
    "notify",
    "--notify",
    metavar="HOW",
    multiple=True,
    help="Notify when the run ends or waits long: bell, desktop, an http(s) address, or a command; may be repeated.",
)


class Model(click.ParamType[str]):
    """A model's name. `-m` limits the iterations of every other command, so a number is a slip."""

    name = "model"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        model = str(value)
        if model.isdigit():
            self.fail(f"{model} is not a model; to limit the iterations use --max-iterations", param, ctx)
        return model


def model_option(*short: str) -> Decorator:
    """``short``: `-m` where that is not the number of iterations."""
    text = "Model for the agent to use (e.g., opus, sonnet)."
    return setting_option("agent.model", "--model", *short, metavar="MODEL", type=Model(), help=text)


isolation_option = setting_option(
    "agent.isolation",
    "--isolation",
    type=click.Choice(("usual", "clean")),
    help="clean: start the agent without your own MCP servers, plugins and memory files, as far as it can.",
)
agent_flag_option: Decorator = click.option(
    "--agent-flag",
    "agent_flags",
    metavar="FLAG",
    multiple=True,
    help="Another argument for the agent; may be repeated.",
)


def agent_option(text: str = "Agent to run; after a comma, its fallbacks.") -> Decorator:
    return click.option("--agent", metavar="NAME", help=text)


def agent_timeout_option(text: str, setting: str = "agent.timeout") -> Decorator:
    return setting_option(setting, "--agent-timeout", type=Amount(), metavar="SECONDS", help=text)


def guardrail_option(text: str) -> Decorator:
    return click.option(
        "--guardrail", "guardrails", metavar="COMMAND", multiple=True, help=f"{text}; may be repeated."
    )


proof_option = all_of(
    setting_option(
        "proof",
        "--proof",
        type=click.Choice(("strict", "guarded", "trusting")),
        help="How a claim is proven besides the guardrails.  [default: guarded]",
    ),
    setting_option(
        "allowTestChanges",
        "--allow-test-changes",
        metavar="PATTERN",
        multiple=True,
        help="Tests, scripts and settings that the agent may change; as in .gitignore; may be repeated.",
    ),
)


deliver_option = setting_option(
    "delivery",
    "--deliver",
    type=click.Choice(("local", "pr")),
    help="What becomes of accepted work: it stays local, or becomes a pull request.  [default: local]",
)


prompt_argument: Decorator = click.argument("words", metavar="[PROMPT]", nargs=-1)


def prompt_of_words(words: Sequence[str], text: str | None, file: Path | None) -> str | None:
    """The prompt as a plain argument or with ``-p``. Raises UsageError for what somebody meant otherwise."""
    import shlex

    if not words:
        return text
    if text is not None or file is not None:
        other = "--prompt" if text is not None else "--prompt-file"
        message = f"the prompt is given twice: as {shlex.quote(words[0])} and with {other}"
        raise UsageError(message, hint="give one of them; what is one argument needs quotes around it")
    if len(words) > 1:
        message = f"the prompt must be one argument, not {len(words)}"
        raise UsageError(message, hint=f'put it in quotes: ralph run "{words[0]} {words[1]} ..."')
    name = shlex.quote(words[0])
    if os.path.lexists(words[0]):
        message = f"{name} is the name of a file, not a prompt"
        raise UsageError(
            message, hint=f"`-f {name}` reads the prompt from it; `-p {name}` takes the name itself"
        )
    return words[0]


def prompt_options(each: str) -> Decorator:
    """``each``: what the file is read again for."""
    return all_of(
        click.option("-p", "--prompt", metavar="TEXT", help="Prompt string to send to the agent."),
        click.option(
            "-f",
            "--prompt-file",
            metavar="FILE",
            type=PATH,
            help=f"File with the prompt, read again for every {each}; - for standard input.",
        ),
    )


def given_prompt(text: str | None, file: Path | None) -> GivenPrompt | None:
    """None if neither was given. Raises UsageError for what cannot be a prompt."""
    from ralph.domain.text.safe_text import is_text
    from ralph.operations.runs.start import GivenPrompt

    if text is None and file is None:
        return None
    if text is not None and file is not None:
        message = "only one of --prompt and --prompt-file can be given"
        raise UsageError(message, hint="put everything into the file")
    if text is not None and not text.strip():
        message = "the prompt is empty"
        raise UsageError(message, hint="say what the agent should do")
    if text is not None and not is_text(text):
        message = "the prompt contains bytes that are not UTF-8 text"
        raise UsageError(message, hint="put it into a file and give that with --prompt-file")
    if file is None:
        return GivenPrompt(text)
    is_stdin = file == Path("-")
    if not is_stdin and not file.is_fifo():
        return GivenPrompt(file=file.absolute())
    # Standard input, or the pipe of a shell's `<(…)`, can be read only once.
    if not is_stdin and (flag := asked_apart()):
        message = f"{flag} cannot read the prompt from a pipe: another process runs it"
        raise UsageError(message, hint="give it on standard input with `-f -`, or save it in a file")
    data = sys.stdin.buffer.read() if is_stdin else file.read_bytes()
    click.get_current_context().meta[_STDIN] = data
    text = data.decode(errors="surrogateescape")
    if not text.strip() or not is_text(text):
        what = "not UTF-8 text" if text.strip() else "empty"
        message = f"the prompt on {'standard input' if is_stdin else file} is {what}"
        raise UsageError(message, hint="say what the agent should do")
    return GivenPrompt(text)


_SANDBOX_KIND = ("sandbox", "kind")
sandbox_options = all_of(
    setting_option(
        "sandbox.kind",
        "--sandbox",
        is_flag=False,
        flag_value="strongest",
        default=None,
        metavar="[KIND]",
        help="Confine the agent: auto, sbx, bwrap, container, srt or none; without a value, the strongest available.",
    ),
    setting_option(
        "sandbox.kind",
        "--no-sandbox",
        is_flag=True,
        means=lambda _: "none",
        help="Let the agent do whatever you can; a hook may still guard it.",
    ),
)


# --- limits ---


class Amount(click.ParamType[float]):
    """A number above zero, by default of seconds; ``zero``: zero is allowed."""

    def __init__(self, unit: str = "seconds", *, zero: bool = False) -> None:
        self.name = unit
        self._zero = zero

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(str(value))
        except ValueError:
            example = " (3600 is an hour)" if self.name == "seconds" else ""
            self.fail(f"{value!r} is not a number of {self.name}{example}", param, ctx)
        if not 0 <= number < float("inf") or (number == 0 and not self._zero):
            self.fail(f"{value} is not {'at least' if self._zero else 'above'} zero", param, ctx)
        return number


class Count(click.ParamType[int]):
    """A whole number of at least ``minimum``."""

    name = "count"

    def __init__(self, minimum: int = 1) -> None:
        self._minimum = minimum

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a whole number", param, ctx)
        if number < self._minimum:
            self.fail(f"{value}: it must be at least {self._minimum}", param, ctx)
        return number


def iteration_option(text: str = "Stop after N iterations.", *names: str, short: str = "-m") -> Decorator:
    """``names``: further names of the option. ``short``: `ralph plan run` needs another, its -m is the model."""
    everywhere = ("--max-iterations", "--maximum-iterations")
    return click.option(short, *names, *everywhere, "max_iterations", metavar="N", type=Count(), help=text)


def _shares(text: str) -> object:
    from ralph.config.shares import Shares

    return Shares().parse(text)


_MAX_COST = setting_option(
    "limits.maxCost",
    "--max-cost",
    metavar="USD",
    type=Amount("dollars"),
    help="Stop when the run has cost USD dollars.",
)
_MAX_TOKENS = setting_option(
    "limits.maxTokens", "--max-tokens", metavar="N", type=Count(), help="Stop when the run has used N tokens."
)
_MAX_TIME = setting_option(
    "limits.maxTime",
    "--max-time",
    metavar="SECONDS",
    type=Amount(),
    help="Stop after SECONDS seconds, pauses included.",
)
_STUCK_AFTER = setting_option(
    "limits.stuckAfter",
    "--stuck-after",
    metavar="N",
    type=Count(0),
    help="Stop after N iterations in a row without progress; 0: never.  [default: 5]",
)
_NO_WAIT = setting_option(
    "limits.waitForLimits",
    "--no-wait",
    is_flag=True,
    means=lambda _: False,
    help="Do not wait for a usage limit to reset (exit code 5), nor for hours for a network.",
)
_KEEP_FREE = setting_option(
    "limits.keepFree",
    "--keep-free",
    metavar="5h=15,week=25",
    means=_shares,
    help="Percent of the subscription to keep free: when less is left, wait as at a usage limit.",
)
limit_options = all_of(_MAX_COST, _MAX_TOKENS, _MAX_TIME, _STUCK_AFTER, _NO_WAIT, _KEEP_FREE)
limit_options_of_supervise = all_of(_MAX_COST, _MAX_TOKENS, _MAX_TIME, _NO_WAIT, _KEEP_FREE)
"""Without ``--stuck-after``: a supervised run, or a review, does not measure progress."""


# --- settings ---


def sources_of(state: Path) -> Sources:
    """The settings without any flags, read once: some flags add to them."""
    from ralph.config.loading import Sources

    return Sources.read(state, os.environ)


def load_with(sources: Sources, flags: Sequence[Flag]) -> Loaded:
    """The settings with the flags on top; prints warnings."""
    loaded = sources.load(flags)
    for warning in loaded.warnings:
        print(f"ralph: warning: {warning}", file=sys.stderr)
    return loaded


_OF_ONE_PROGRAM: dict[str, object] = {
    "adapter": None,
    "model": "",
    "maxTurns": None,
    "continueSession": False,
}
"""What the settings say about one agent and not about another: its own defaults."""


def agent_flags_of(
    sources: Sources, agent: str | None, agent_flags: Sequence[str] = (), guardrails: Sequence[str] = ()
) -> list[Flag]:
    """Flags that add to lists in the settings. With ``--agent``, what is meant for another program is dropped.

    They go before ``given_settings``, which may say for this run what is dropped here.
    """
    if agent is None and not agent_flags and not guardrails:
        return []
    values = sources.merged.values
    flags: list[Flag] = []
    configured = values.get("agent")
    kept = _list(configured, "flags")
    if agent is not None:
        agent, *others = (name.strip() for name in agent.split(","))
        flags.append((("agent", "command"), agent, "--agent"))
        flags.append((("agent", "fallbacks"), others, "--agent"))
        if isinstance(configured, dict) and configured.get("command") != agent:
            flags += [(("agent", key), value, "--agent") for key, value in _OF_ONE_PROGRAM.items()]
            kept = []
    if agent is not None or agent_flags:
        flags.append((("agent", "flags"), [*kept, *agent_flags], "--agent-flag"))
    if guardrails:
        before = _list(values, "guardrails")
        known = [one.get("command") if isinstance(one, Mapping) else one for one in before]
        added = [{"command": one} for one in dict.fromkeys(guardrails) if one not in known]
        flags.append((("guardrails",), [*before, *added], "--guardrail"))
    return flags


def _list(values: object, key: str) -> list[object]:
    value = values.get(key) if isinstance(values, Mapping) else None
    return value if isinstance(value, list) else []

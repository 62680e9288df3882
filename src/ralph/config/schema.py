"""Every setting, declared once: its key, kind, default and what it is for.

The camelCase keys on disk, reading, checking, the JSON Schema, the reference in docs/ and the names of environment
variables all come from these declarations.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from ralph.config.agent_definitions import ADAPTERS, DefinedAgentSettings, Definitions
from ralph.config.delivery_settings import PullRequestSettings
from ralph.config.fleet_settings import FleetSettings
from ralph.config.kinds import (
    COUNT,
    PROGRAMS,
    STRINGS,
    Choice,
    Limit,
    ListOf,
    Named,
    Nullable,
    Number,
    Program,
    Table,
    Text,
    Variables,
    Whole,
    YesNo,
    setting,
)  # fmt: skip
from ralph.config.profile_settings import ProfilesSettings
from ralph.config.sandbox_settings import SandboxSettings
from ralph.config.shares import Shares
from ralph.config.telemetry_settings import TelemetrySettings
from ralph.config.ticket_settings import TicketSettings
from ralph.config.untrusted import (
    ALWAYS,
    FEWER,
    LOWER,
    LOWER_BUT_ZERO,
    MORE,
    MORE_OF_EACH,
    only,
    rising,
)
from ralph.config.workspace_settings import WorkspaceSettings
from ralph.domain.agent.options import Isolation
from ralph.domain.delivery.kind import DeliveryKind
from ralph.domain.loop.feedback import Placement
from ralph.domain.proof.strength import Proof
from ralph.domain.proof.tests_policy import TestsPolicy
from ralph.domain.text.excerpt import Keep
from ralph.guard.packs import PACKS
from ralph.values import dataclass


class Use(StrEnum):
    """Whether to use something on the screen; AUTO: if the terminal can show it."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


_KEEP = Choice(*Keep)
_USE = Choice(*Use)


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The program that does the work."""

    command: str = setting(
        Program(filled=True),
        "",
        "The agent's program, by name or path; a relative path starts at the project's root, `~` is your home. `ralph run` needs it.",
        means="runs",
    )
    flags: tuple[str, ...] = setting(
        ListOf(Text(), of="strings", shell_words=True),
        (),
        "More arguments; each entry is split as a shell would, so `--model opus` is two arguments.",
        means="runs the agent with",
    )
    adapter: str | None = setting(
        Nullable(Choice(*ADAPTERS)),
        None,
        "How to talk to the program; null: inferred from the command's name.",
        means="drives the agent like",
        says={None: "drives the agent as its name suggests"},
    )
    timeout: float | None = setting(
        Limit(),
        None,
        "Seconds after which a session is ended even if it is busy; null: never.",
        untrusted=ALWAYS,
    )
    idle_timeout: float | None = setting(
        Limit(zero_is_off=True),
        1800.0,
        "Seconds without any output after which a session is ended; null or 0: never.",
        untrusted=ALWAYS,
    )
    fallbacks: tuple[str, ...] = setting(
        PROGRAMS,
        (),
        "Agents to use instead, in this order, while the first one is limited or cannot work.",
        means="may also run",
    )
    model: str = setting(
        Text(),
        "",
        "The model to use, by the agent's name for it; empty: the agent's own choice.",
        means="uses the model",
        says={"": "lets the agent choose the model"},
    )
    max_turns: int | None = setting(
        COUNT,
        None,
        "Turns after which a session ends, if the agent supports such a limit; null: none.",
        untrusted=LOWER,
        means="sets the limit of turns to",
        says={None: "sets no limit of turns"},
    )
    continue_session: bool = setting(
        YesNo(),
        False,
        "Continue the previous session instead of starting a new one, if the agent can. A fresh context for every"
        " iteration is the point of the loop: use this only for agents that forget too much.",
        untrusted=ALWAYS,
    )
    isolation: Isolation = setting(
        Choice(*Isolation),
        Isolation.USUAL,
        "`clean` starts the agent without your own MCP servers, plugins and memory files, as far as its program can; what"
        " the project has stays.",
        means="starts the agent as",
        says={
            Isolation.CLEAN: "starts the agent without your own MCP servers, plugins, hooks and memory files",
            Isolation.USUAL: "starts the agent with your own MCP servers, plugins, hooks and memory files",
        },
    )
    environment: Mapping[str, str] = setting(
        Variables(),
        {},
        "Variables added to the agent's environment. Keep secrets in settings.local.json.",
        means="gives the agent the variables",
    )


@dataclass(frozen=True, slots=True)
class GuardrailSettings:
    """A command that must succeed after every agent response."""

    command: str = setting(Text(filled=True), "", "The shell command to run.", required=True, means="runs")
    fail_action: Placement = setting(
        Choice(*Placement, any_case=True),
        Placement.APPEND,
        "Where the failure message goes: after the prompt, before it, or in its place.",
        untrusted=ALWAYS,
    )
    hint: str = setting(
        Text(), "", "Guidance for the agent when this guardrail fails; never truncated.", untrusted=ALWAYS
    )
    timeout: float | None = setting(
        Limit(),
        None,
        "Seconds it may take; a timeout is a failure. null: `guardrailTimeout`.",
        untrusted=ALWAYS,
    )
    keep: Keep | None = setting(
        Nullable(_KEEP),
        None,
        "Which end of a long output the agent sees; null: `truncation.keep`.",
        untrusted=ALWAYS,
    )
    name: str = setting(Text(), "", "What to call it on the screen; empty: its command.", untrusted=ALWAYS)
    allow_empty: bool = setting(
        YesNo(),
        False,
        "Let it pass even if its test runner reports that no test ran, or that tests failed.",
        untrusted=only(False),
        means="lets a guardrail pass even if no test ran",
    )


@dataclass(frozen=True, slots=True)
class TruncationSettings:
    """How long output is shortened for the agent."""

    keep: Keep = setting(
        _KEEP,
        Keep.BOTH,
        "Which end of a long output to keep; `both`: what failed first, if a known test runner says so, then more of the"
        " end than of the beginning. The log file has all of it.",
    )


@dataclass(frozen=True, slots=True)
class ScmSettings:
    """What to do with the changes whenever all guardrails pass."""

    command: str = setting(
        Text(filled=True), "", "The version control program, for example `git`.", required=True, means="runs"
    )
    tasks: tuple[str, ...] = setting(
        STRINGS,
        (),
        "Its subcommands, in order; the agent writes the message for `commit`.",
        means="runs the version control commands",
    )
    timeout: float | None = setting(
        Limit(),
        600.0,
        "Seconds each of its commands may take, including hooks; null: no limit.",
        untrusted=ALWAYS,
    )


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """How the agent's work is shown on the console."""

    emoji: Use = setting(_USE, Use.AUTO, "Emoji as markers, or words such as `[OK]`.")
    color: Use = setting(_USE, Use.AUTO, "Coloured output.")
    timestamps: bool = setting(YesNo(), False, "Start every line with the time of day.")
    max_lines: int = setting(Whole(minimum=0), 10, "Lines shown of a tool's output.")
    max_chars: int = setting(Whole(minimum=0), 1000, "Characters shown of a tool's output.")


@dataclass(frozen=True, slots=True)
class LimitsSettings:
    """When a run stops trying."""

    max_attempts: int = setting(
        Whole(minimum=1),
        4,
        "Launches of one iteration while temporary faults last, such as an overloaded server.",
        untrusted=LOWER,
        means="sets the limit of attempts to",
    )
    max_cost: float | None = setting(
        Limit(unit="US dollars"),
        None,
        "US dollars a run may cost, as far as the agent reports it; null: no limit.",
        untrusted=LOWER,
        means="sets the limit of cost in US dollars to",
        says={None: "sets no limit of cost"},
    )
    max_tokens: int | None = setting(
        COUNT,
        None,
        "Tokens a run may use; null: no limit.",
        untrusted=LOWER,
        means="sets the limit of tokens to",
        says={None: "sets no limit of tokens"},
    )
    max_time: float | None = setting(
        Limit(),
        None,
        "Seconds a run may take in all; null: no limit.",
        untrusted=LOWER,
        means="sets the limit of seconds to",
        says={None: "sets no limit of time"},
    )
    wait_for_limits: bool = setting(
        YesNo(),
        True,
        "Wait until a usage limit resets; false: end the run with exit code 5.",
        untrusted=ALWAYS,
    )
    wait_for_network: float = setting(
        Number(),
        43_200.0,
        "Seconds without a network before a run gives up; 0: after `limits.maxAttempts`.",
        untrusted=LOWER,
        means="sets the limit of seconds without a network to",
    )
    keep_free: Mapping[str, float] = setting(
        Shares(),
        {},
        'Percent of a subscription\'s 5 hours and week to keep free for other work, such as `{"5h": 15, "week": 25}`.'
        " When the agent says that less is left, no new session begins before the reset, as at a usage limit.",
        untrusted=MORE_OF_EACH,
        means="keeps free of the subscription",
    )
    stuck_after: int = setting(
        Whole(minimum=0),
        5,
        "Iterations in a row that change nothing, or fail with the same message, before a run is ended; 0: never.",
        untrusted=LOWER_BUT_ZERO,
        means="sets the limit of iterations without progress to",
        says={0: "never ends a run for lack of progress"},
    )
    keep_iterations: int | None = setting(
        COUNT,
        None,
        "How many of a run's newest judged iterations keep their prompts, streams and logs; null keeps all. The record tells of every"
        " iteration all the same.",
        means="removes the files of iterations except the newest",
        says={None: "keeps the files of all iterations"},
    )


@dataclass(frozen=True, slots=True)
class PriceSettings:
    """What a model costs, in US dollars per million tokens."""

    input: float = setting(
        Number(), 0.0, "Input tokens.", required=True, means="sets the price of input tokens to"
    )
    output: float = setting(
        Number(), 0.0, "Output tokens.", required=True, means="sets the price of output tokens to"
    )
    cache_read: float | None = setting(
        Nullable(Number()),
        None,
        "Tokens read from a cache; null: as `input`.",
        means="sets the price of cache reads to",
        says={None: "prices cache reads as input"},
    )
    cache_write: float | None = setting(
        Nullable(Number()),
        None,
        "Tokens written to a cache; null: as `input`.",
        means="sets the price of cache writes to",
        says={None: "prices cache writes as input"},
    )


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """Which commands are dangerous here, for agents that are not sandboxed."""

    allow: tuple[str, ...] = setting(
        STRINGS,
        (),
        "What is always allowed: an exact command line, one simple command in which `*` matches any text, or a family by its"
        " name (`cloud`, `databases` …: see docs/guard.md).",
        untrusted=FEWER,
        means="has the guard allow",
    )
    packs: tuple[str, ...] = setting(
        ListOf(Choice(*PACKS, "all"), of="strings"),
        (),
        "Families of dangers to be strict about; `all`: every one.",
        untrusted=MORE,
        means="makes the guard strict only about",
    )


@dataclass(frozen=True, slots=True)
class ProjectsSettings:
    """What ralph remembers of your projects, in your own settings only."""

    remember: bool = setting(
        YesNo(),
        False,
        "Remember the projects in which ralph runs, for `ralph web --all` and `ralph ui --all`; the list is"
        " `~/.local/state/ralph/projects.json`. Only your own settings count, never those of a repository.",
        untrusted=ALWAYS,
    )


def _is_built_in(value: tuple[str, ...], own: tuple[str, ...]) -> bool:
    """A bell rings nowhere else."""
    return set(value) <= {*own, "bell", "desktop"}


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a project."""

    maximum_iterations: int = setting(
        Whole(minimum=1),
        10,
        "Iterations after which a run gives up.",
        untrusted=LOWER,
        means="sets the limit of iterations to",
    )
    completion_response: str = setting(
        Text(filled=True),
        "DONE",
        "What the agent says in `<response>…</response>` when the work is done.",
        untrusted=ALWAYS,
    )
    completion_hint: bool = setting(
        YesNo(),
        True,
        "Tell the agent how to say that it is done, in a line after a prompt that does not name the tag itself.",
        untrusted=ALWAYS,
    )
    output_truncate_chars: int = setting(
        Whole(minimum=1),
        5000,
        "Characters of a failed guardrail's output that the agent gets.",
        untrusted=ALWAYS,
    )
    stream_agent_output: bool = setting(
        YesNo(), True, "Show what the agent does as it happens.", untrusted=ALWAYS
    )
    include_iteration_count_in_prompt: bool = setting(
        YesNo(), False, "Start every prompt with `Iteration X of Y, Z remaining.`", untrusted=ALWAYS
    )
    ledger: bool = setting(
        YesNo(),
        True,
        "Tell every session but the first, in at most 2 kB, what the ones before it changed and which checks failed: see"
        " docs/lessons.md.",
        untrusted=ALWAYS,
    )
    agent: AgentSettings = setting(Table(AgentSettings), AgentSettings(), "The program that does the work.")
    agents: Mapping[str, DefinedAgentSettings] = setting(Definitions(), {}, "Your own agents, by name.")
    guardrails: tuple[GuardrailSettings, ...] = setting(
        ListOf(Table(GuardrailSettings, short="command"), of="commands or objects"),
        (),
        "Commands that must succeed after every agent response; an entry that is only a text is the command.",
        means="replaces your guardrails with",
    )
    guardrail_timeout: float | None = setting(
        Limit(),
        None,
        "Seconds a guardrail without its own timeout may take; null: no limit.",
        untrusted=ALWAYS,
    )
    guardrail_idle_timeout: float | None = setting(
        Limit(zero_is_off=True),
        1800.0,
        "Seconds without any output after which a guardrail is ended and fails; null or 0: never.",
        untrusted=ALWAYS,
    )
    proof: Proof = setting(
        Choice(*Proof),
        Proof.GUARDED,
        "How a claim is proven besides the guardrails: `strict`: all of it on every claim; `guarded`: in throw-away"
        " checkouts where nothing else denies the claim; `trusting`: by the guardrails alone. See docs/verification.md.",
        untrusted=rising(Proof.TRUSTING, Proof.GUARDED, Proof.STRICT),
        means="sets the proof to",
        says={"trusting": "lets the guardrails alone prove a claim"},
    )
    tests: TestsPolicy = setting(
        Choice(*TestsPolicy),
        TestsPolicy.REVIEWED,
        "What may become of the tests that are there: `locked`: they stay as they are; `reviewed`: a session that did not"
        " do the work decides whether the task demands each change; `free`: they may be changed.",
        untrusted=rising(TestsPolicy.FREE, TestsPolicy.REVIEWED, TestsPolicy.LOCKED),
        means="sets the tests to",
        says={
            "free": "lets the agent change the tests",
            "reviewed": "lets the agent change the tests if a review agrees",
        },
    )
    allow_test_changes: tuple[str, ...] = setting(
        STRINGS,
        (),
        "Files that prove the work and may be changed all the same; patterns as in .gitignore.",
        untrusted=FEWER,
        means="lets the agent change the proof in",
    )
    truncation: TruncationSettings = setting(
        Table(TruncationSettings),
        TruncationSettings(),
        "How long output is shortened for the agent.",
        untrusted=ALWAYS,
    )
    scm: ScmSettings | None = setting(
        Nullable(Table(ScmSettings)),
        None,
        "What to do with the changes whenever all guardrails pass; null: nothing.",
    )
    delivery: DeliveryKind = setting(
        Choice(*DeliveryKind),
        DeliveryKind.LOCAL,
        "What happens to accepted work: `local`: it stays here, and `ralph work` merges it into your branch; `pr`: its branch"
        " is pushed and becomes a pull request that ralph follows: see docs/ship.md.",
        untrusted=only(DeliveryKind.LOCAL),
        means="delivers accepted work by",
        says={DeliveryKind.PR: "pushes accepted work and opens pull requests with your login"},
    )
    pull_request: PullRequestSettings = setting(
        Table(PullRequestSettings), PullRequestSettings(), "How pull requests are made and followed."
    )
    tickets: TicketSettings = setting(
        Table(TicketSettings),
        TicketSettings(),
        "Work that is kept elsewhere: in a tracker, or in Markdown files.",
    )
    output: OutputSettings = setting(
        Table(OutputSettings),
        OutputSettings(),
        "How the agent's work is shown on the console.",
        untrusted=ALWAYS,
    )
    limits: LimitsSettings = setting(Table(LimitsSettings), LimitsSettings(), "When a run stops trying.")
    sandbox: SandboxSettings = setting(
        Table(SandboxSettings), SandboxSettings(), "How the agent, which has all permissions, is confined."
    )
    sandbox_checks: bool = setting(
        YesNo(),
        True,
        "Run guardrails and verification in the sandbox too: the agent can change what they run.",
        untrusted=only(True),
        means="runs guardrails and verification outside the sandbox",
    )
    workspace: WorkspaceSettings = setting(
        Table(WorkspaceSettings), WorkspaceSettings(), "What worktrees need before they can build."
    )
    guard: GuardSettings = setting(
        Table(GuardSettings),
        GuardSettings(),
        "Which of an agent's shell commands are dangerous: see docs/guard.md.",
    )
    prices: Mapping[str, PriceSettings] = setting(
        Named(Table(PriceSettings)),
        {},
        "Prices of models, for agents that report only tokens: a model's name or pattern, and `input`, `output`,"
        " `cacheRead`, `cacheWrite` in US dollars per million tokens.",
    )
    notify: tuple[str, ...] = setting(
        STRINGS,
        (),
        "Where to report that a run ended or waits long: `bell`, `desktop`, an http(s) address, or a shell command that"
        " gets the message in `$RALPH_TEXT`.",
        untrusted=_is_built_in,
        means="notifies you by running or calling",
    )
    telemetry: TelemetrySettings = setting(
        Table(TelemetrySettings), TelemetrySettings(), "Spans and metrics of runs, for an OTLP receiver."
    )
    projects: ProjectsSettings = setting(
        Table(ProjectsSettings), ProjectsSettings(), "What ralph remembers of your projects."
    )
    fleet: FleetSettings = setting(
        Table(FleetSettings),
        FleetSettings(),
        "What `ralph fleet worker` gives to jobs on this machine. Only your own settings count, never those of a repository.",
        untrusted=ALWAYS,
    )
    profiles: ProfilesSettings = setting(
        Table(ProfilesSettings), ProfilesSettings(), "Settings of each profile, by its name."
    )


def iterations_of(settings: Settings, profile: str) -> int | None:
    """How many a run of this profile may take, by the setting that says so; None: no limit."""
    own = settings.profiles
    match profile:
        case "promise":
            return own.promise.maximum_iterations
        case "supervised":
            return own.supervised.max_restarts
        case "verified":
            return own.verified.maximum_iterations
        case "reviewed":
            return own.reviewed.maximum_iterations
        case _:
            return settings.maximum_iterations


# Editors look for "$schema" to offer completion.
SETTINGS = Table(Settings, also_allowed=frozenset({"$schema"}))


def json_schema() -> dict[str, object]:
    """JSON Schema (draft 2020-12) of a settings file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ralph settings",
        "description": "Settings of ralph, in .ralph/settings.json.",
        **SETTINGS.json_schema(),
    }

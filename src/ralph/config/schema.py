"""Every setting, declared once: its key, kind, default and what it is for.

camelCase on disk is derived from the names here; reading, checking, the JSON Schema, the reference in docs/ and
the names of environment variables all come from this declaration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ralph.config.agent_definitions import ADAPTERS, DefinedAgentSettings, Definitions
from ralph.config.guard_settings import GuardSettings
from ralph.config.kinds import (
    Choice,
    Limit,
    ListOf,
    Named,
    Nullable,
    Number,
    Table,
    Text,
    Variables,
    Whole,
    YesNo,
    setting,
)
from ralph.config.profile_settings import ProfilesSettings
from ralph.config.sandbox_settings import SandboxSettings
from ralph.domain.loop.feedback import Placement
from ralph.domain.text.excerpt import Keep


class Use(StrEnum):
    """Whether something is used on the screen; AUTO leaves it to what the terminal can show."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


_KEEP = Choice(*Keep)
_USE = Choice(*Use)


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The program that does the work."""

    command: str = setting(
        Text(filled=True),
        "",
        "The agent's program, by name or path; a relative path starts at the project's root. `ralph run` needs it.",
    )
    flags: tuple[str, ...] = setting(
        ListOf(Text(), of="strings", shell_words=True),
        (),
        "More arguments for it; each entry is split like a shell would, so `--model opus` is two arguments.",
    )
    adapter: str | None = setting(
        Nullable(Choice(*ADAPTERS)),
        None,
        "How to talk to the program; null: inferred from the command's name.",
    )
    timeout: float | None = setting(
        Limit(), None, "Seconds after which a session is ended, however busy it is; null: never."
    )
    idle_timeout: float | None = setting(
        Limit(zero_is_off=True),
        1800.0,
        "Seconds without any output after which a session is ended; null or 0: never.",
    )
    fallbacks: tuple[str, ...] = setting(
        ListOf(Text(filled=True), of="strings"),
        (),
        "Other agents that stand in, in this order, while the first is limited or cannot work.",
    )
    model: str = setting(
        Text(), "", "The model it is to use, by the name that it knows it by; empty: the agent's own choice."
    )
    max_turns: int | None = setting(
        Nullable(Whole(minimum=1)),
        None,
        "Turns after which a session ends itself, where the agent has such a limit; null: none.",
    )
    continue_session: bool = setting(
        YesNo(),
        False,
        "Go on with the session before instead of beginning a fresh one, where the agent can. A fresh context for every"
        " iteration is the point of the loop: only for agents that forget too much.",
    )
    environment: Mapping[str, str] = setting(
        Variables(), {}, "Variables added to the agent's environment. Keep secrets in settings.local.json."
    )


@dataclass(frozen=True, slots=True)
class GuardrailSettings:
    """A command that must succeed after every agent response."""

    command: str = setting(Text(filled=True), "", "The shell command to run.", required=True)
    fail_action: Placement = setting(
        Choice(*Placement, any_case=True),
        Placement.APPEND,
        "Where the failure message goes: behind the prompt, before it, or in its place.",
    )
    hint: str = setting(Text(), "", "Guidance for the agent when this guardrail fails; never truncated.")
    timeout: float | None = setting(
        Limit(), None, "Seconds it may take; a timeout is a failure. null: `guardrailTimeout`."
    )
    keep: Keep | None = setting(
        Nullable(_KEEP), None, "Which end of a long output the agent gets to see; null: `truncation.keep`."
    )
    name: str = setting(Text(), "", "What to call it on the screen; empty: its command.")
    allow_empty: bool = setting(
        YesNo(),
        False,
        "Let it pass although a test runner in it says that it ran no test, or that tests failed.",
    )


@dataclass(frozen=True, slots=True)
class TruncationSettings:
    """How long output is cut before an agent gets it."""

    keep: Keep = setting(
        _KEEP, Keep.HEAD, "Which end of a long output survives; the whole is in the log file."
    )


@dataclass(frozen=True, slots=True)
class ScmSettings:
    """What happens with the changes whenever all guardrails have passed."""

    command: str = setting(
        Text(filled=True), "", "The version control program, for example `git`.", required=True
    )
    tasks: tuple[str, ...] = setting(
        ListOf(Text(filled=True), of="strings"),
        (),
        "What it is run with, in order; `commit` gets a message that the agent writes.",
    )
    timeout: float | None = setting(
        Limit(), 600.0, "Seconds one of its commands may take, hooks included; null: any time."
    )


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """How the agent's doings are shown on the console."""

    emoji: Use = setting(_USE, Use.AUTO, "Emoji as markers, or words such as `[OK]`.")
    color: Use = setting(_USE, Use.AUTO, "Coloured output.")
    timestamps: bool = setting(YesNo(), False, "Begin every line with the time of day.")
    max_lines: int = setting(Whole(minimum=0), 10, "Lines shown of a tool's output.")
    max_chars: int = setting(Whole(minimum=0), 1000, "Characters shown of a tool's output.")


@dataclass(frozen=True, slots=True)
class LimitsSettings:
    """How much is tried."""

    max_attempts: int = setting(
        Whole(minimum=1),
        4,
        "Launches of one iteration while passing faults, such as an overloaded server, last.",
    )
    max_cost: float | None = setting(
        Limit(unit="US dollars"),
        None,
        "US dollars a run may cost, as far as the agent reports it; null: any.",
    )
    max_tokens: int | None = setting(
        Nullable(Whole(minimum=1)), None, "Tokens a run may use; null: any number."
    )
    max_time: float | None = setting(Limit(), None, "Seconds a run may take in all; null: any time.")
    wait_for_limits: bool = setting(
        YesNo(), True, "Wait until a usage limit resets; false: end the run with exit code 5."
    )
    stuck_after: int = setting(
        Whole(minimum=0),
        5,
        "Iterations in a row that change nothing, or fail in the same words, after which a run is ended; 0: never.",
    )


@dataclass(frozen=True, slots=True)
class PriceSettings:
    """What a model costs, in US dollars per million tokens."""

    input: float = setting(Number(), 0.0, "Tokens that go in.", required=True)
    output: float = setting(Number(), 0.0, "Tokens that come out.", required=True)
    cache_read: float | None = setting(
        Nullable(Number()), None, "Tokens read from a cache; null: what tokens that go in cost."
    )
    cache_write: float | None = setting(
        Nullable(Number()), None, "Tokens written to a cache; null: what tokens that go in cost."
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a project."""

    maximum_iterations: int = setting(Whole(minimum=1), 10, "Iterations after which a run gives up.")
    completion_response: str = setting(
        Text(filled=True), "DONE", "What the agent says in `<response>…</response>` when the work is done."
    )
    output_truncate_chars: int = setting(
        Whole(minimum=1), 5000, "Characters of a failed guardrail's output that the agent gets."
    )
    stream_agent_output: bool = setting(YesNo(), True, "Show what the agent does while it does it.")
    include_iteration_count_in_prompt: bool = setting(
        YesNo(), False, "Begin every prompt with `Iteration X of Y, Z remaining.`"
    )
    agent: AgentSettings = setting(Table(AgentSettings), AgentSettings(), "The program that does the work.")
    agents: Mapping[str, DefinedAgentSettings] = setting(
        Definitions(), {}, "Agents of your own, by the names you give them."
    )
    guardrails: tuple[GuardrailSettings, ...] = setting(
        ListOf(Table(GuardrailSettings), of="objects"),
        (),
        "Commands that must succeed after every agent response.",
    )
    guardrail_timeout: float | None = setting(
        Limit(), None, "Seconds a guardrail may take that has no timeout of its own; null: any time."
    )
    guardrail_idle_timeout: float | None = setting(
        Limit(zero_is_off=True),
        1800.0,
        "Seconds without any output after which a guardrail is ended and has failed; null or 0: never.",
    )
    truncation: TruncationSettings = setting(
        Table(TruncationSettings), TruncationSettings(), "How long output is cut before an agent gets it."
    )
    scm: ScmSettings | None = setting(
        Nullable(Table(ScmSettings)),
        None,
        "What happens with the changes whenever all guardrails have passed; null: nothing.",
    )
    output: OutputSettings = setting(
        Table(OutputSettings), OutputSettings(), "How the agent's doings are shown on the console."
    )
    limits: LimitsSettings = setting(Table(LimitsSettings), LimitsSettings(), "How much is tried.")
    sandbox: SandboxSettings = setting(
        Table(SandboxSettings),
        SandboxSettings(),
        "Where the agent, which has all permissions, is confined to.",
    )
    sandbox_checks: bool = setting(
        YesNo(),
        True,
        "Run guardrails and verification in the sandbox too, because the agent could write what they run.",
    )
    guard: GuardSettings = setting(
        Table(GuardSettings),
        GuardSettings(),
        "Which shell commands of an agent are dangerous: see docs/guard.md.",
    )
    prices: Mapping[str, PriceSettings] = setting(
        Named(Table(PriceSettings)),
        {},
        "Prices of models for agents that report tokens only: a model's name or pattern, and `input`, `output`,"
        " `cacheRead`, `cacheWrite` in US dollars per million tokens.",
    )
    notify: tuple[str, ...] = setting(
        ListOf(Text(filled=True), of="strings"),
        (),
        "Whom to tell when a run ends or waits long: `bell`, `desktop`, an http(s) address, or a shell command that finds"
        " the words in `$RALPH_TEXT`.",
    )
    profiles: ProfilesSettings = setting(
        Table(ProfilesSettings), ProfilesSettings(), "Settings of single profiles, by the profile's name."
    )


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

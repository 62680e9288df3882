"""opencode: ``opencode run --format json``, prompt on stdin, events as JSON lines."""

from __future__ import annotations

from typing import Final

from ralph.adapters.agents import faults
from ralph.adapters.agents.arguments import program, value_of
from ralph.adapters.agents.faults import Failure
from ralph.adapters.agents.final_words import FinalWordsParser
from ralph.adapters.agents.opencode.stream import OpencodeStreamParser
from ralph.adapters.agents.plain_text import PlainTextParser
from ralph.adapters.agents.structured import StructuredAdapter
from ralph.domain.agent.facts import AgentFacts, AgentNeeds, Clean, Examination, KnownGood
from ralph.domain.agent.options import ALL_OPTIONS, Option
from ralph.domain.loop.session_report import Exhausted, Fatal, Fault
from ralph.engine.ports import AgentRequest, Command, OutputMode, StreamParser
from ralph.patterns import pattern

_CREDENTIALS = pattern(r"\b(\d+) (?:credentials?|environment variables?)\b")


def _by_credentials(code: int, output: str) -> bool | None:
    """It lists what it has; a provider in its configuration may bring its own key."""
    counts = [int(count) for count in _CREDENTIALS.findall(output)]
    return True if any(counts) else None


FACTS: Final = AgentFacts(
    name="opencode",
    install="npm install -g opencode-ai",
    login="`opencode auth login`, or set the API key of the provider that its configuration names",
    options=ALL_OPTIONS - {Option.MAX_TURNS},
    needs=AgentNeeds(
        # It writes beside its configuration, too.
        state=(".local/share/opencode", ".local/state/opencode", ".cache/opencode", ".config/opencode"),
        # No login: an entry of auth.json can name an address whose configuration the user's sessions would obey.
        sessions=(".local/share/opencode",),  # one database; the user's programs and login are shown in it
        scratch=(
            ".local/share/opencode/*.db*",
            ".local/share/opencode/log",
            ".local/share/opencode/project",
            ".local/share/opencode/repos",
            ".local/share/opencode/snapshot",
            ".local/share/opencode/storage",
            ".local/share/opencode/tool-output",
            ".local/state/opencode/*history*",
            ".local/state/opencode/locks",
        ),
        env=("OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "OPENROUTER_*"),
        named=(("OPENCODE_CONFIG", ""), ("OPENCODE_CONFIG_DIR", ""), ("OPENCODE_MODELS_PATH", "")),
        hosts=("opencode.ai", "models.dev", "api.anthropic.com", "api.openai.com", "openrouter.ai"),
    ),
    examination=Examination(
        KnownGood("1.18", "1.18.33"),
        help=("run", "--help"),
        flags=("--format", "--auto"),
        login=("auth", "list"),
        is_logged_in=_by_credentials,
        silent_seconds=100,
    ),
    clean=Clean(("--pure",), drops="your plugins", keeps="your MCP servers, AGENTS.md and skills"),
)

READING_AGENT: Final = "plan"
"""opencode's own agent that only reads. It keeps its shell, which could write after all."""

NO_WRITING: Final = '{"edit":"deny","bash":"deny"}'

_BAD_CHOICE: Final = frozenset(("ProviderModelNotFoundError", "ProviderInitError", "ConfigInvalidError"))
_REFUSED = pattern(r"Error: (?:Session|Model|Agent) not found|Error: (?:Unknown|Invalid|You must) ")


class OpencodeAdapter(StructuredAdapter):
    facts = FACTS
    grants = ("--auto",)

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            f"permissions are granted ({self.grants[0]}): opencode may run any command its configuration does not deny",
            *self._isolation_notes,
        )

    def command(self, request: AgentRequest) -> Command:
        argv = [program(self._command, request.cwd), "run", *self._flags, *self._model()]
        if not self._gives("--format"):
            argv += ["--format", "json"]
        if request.read_only:
            if not self._gives("--agent"):
                argv += ["--agent", READING_AGENT]
        elif self._adds_grant:
            argv.append(self.grants[0])
        if request.continues:
            argv.append(f"--session={request.continues}")
        environment = {"OPENCODE_DISABLE_AUTOUPDATE": "true", **request.environment}
        if request.read_only:
            environment["OPENCODE_PERMISSION"] = NO_WRITING
        return Command(tuple(argv), request.cwd, environment, request.prompt_file)

    def parser(self, request: AgentRequest) -> StreamParser:
        if value_of(self._flags, "--format") == "default":
            return PlainTextParser()
        model = value_of(self._flags, "--model") or value_of(self._flags, "-m") or self._options.model
        stream = OpencodeStreamParser(model)
        return FinalWordsParser(stream) if request.mode is OutputMode.TEXT else stream

    def explain(self, failure: Failure) -> Fault | Exhausted | None:
        if failure.code == "ProviderAuthError":
            return Fatal(failure.message, FACTS.login_hint)
        if failure.code in _BAD_CHOICE:
            return faults.refused(failure)
        if failure.code == "ContextOverflowError":
            return faults.too_long(failure)
        return faults.by_status(failure, FACTS)

    def explain_silence(self, stderr: str, code: int) -> Fault | Exhausted | None:
        lines = faults.plain_lines(stderr)
        if lines and lines[0].startswith("opencode run"):
            return Fatal("it does not understand its command line", "check agent.flags in the settings")
        for line in lines:
            if _REFUSED.match(line):
                return Fatal(line, "check agent.flags and opencode's configuration")
        return None


ADAPTER: Final = OpencodeAdapter

"""One session with an ACP agent: what is said to it, what it answers, and what that means as events.

No I/O: lines come in, events and bytes come out. One request is open at a time, so an answer is either to that or to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Final

from msgspec import Raw

from ralph.adapters.agents.acp import messages
from ralph.adapters.agents.acp.failures import NOT_LOGGED_IN, error_in, voiced_error
from ralph.adapters.agents.acp.messages import (
    GeminiQuota,
    Initialized,
    Message,
    Notification,
    Opened,
    PermissionRequest,
    QwenTokens,
    Tokens,
    TurnMeta,
    TurnResult,
    is_given,
    read,
)
from ralph.adapters.agents.acp.offers import Offers, Wish, offers_of
from ralph.adapters.agents.acp.permissions import choose_option, is_allowed
from ralph.adapters.agents.acp.updates import Turn, usage_with_cache_inside
from ralph.adapters.agents.excerpts import one_line
from ralph.adapters.agents.faults import INTERRUPTED
from ralph.adapters.agents.json_lines import UNREADABLE, noise, repair
from ralph.domain.agent.events import (
    NO_RESULT,
    AgentEvent,
    ErrorReported,
    Notice,
    SessionStarted,
    TurnEnded,
    Unknown,
    Usage,
)
from ralph.domain.agent.options import Permissions
from ralph.values import dataclass

UNSUITABLE: Final = "unsuitable"
"""The code of an error that trying again cannot change: another version, a model that is not offered."""

DISTRIBUTION: Final = "ralph-harness"

NO_ANSWER: Final = "did not answer: it does not seem to speak ACP"

ANSWER_SECONDS: Final = 60.0
"""A program that has not answered the first request by then reads it as something else, and waits for more."""

STOP_REASONS: Final[Mapping[str, str]] = {
    "max_tokens": "reached the limit of its model's tokens",
    "max_turn_requests": "reached its limit of model requests in one turn",
    "refusal": "refused to continue",
}
_FIRST: Final = "initialize"
_NOTHING: Final[tuple[AgentEvent, ...]] = ()
_MOST_DENIALS = 200
_LONGEST_ID = 1_000
_SHOWN_MODELS = 8

_Events = Sequence[AgentEvent]
_Handler = Callable[[Message], _Events]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the session is for. ``continues``: the id of the session to continue; ``may_continue``: later ones will."""

    prompt: str
    cwd: str
    name: str  # of the agent, for messages
    permissions: Permissions = Permissions.ALLOW
    read_only: bool = False
    model: str = ""
    continues: str = ""
    may_continue: bool = False
    authenticate: str = ""


@dataclass(frozen=True, slots=True)
class _Open:
    number: int
    method: str
    handler: _Handler


class AcpConversation:
    """The ``Conversation`` of one session: initialize, open, prepare, prompt, and it is over."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._said: list[bytes] = []
        self._number = 0
        self._open: _Open | None = None
        self._login_ways = ""
        self._session = ""
        self._offers = Offers("", (), ())
        self._wishes: list[Wish] = []
        self._turn: Turn | None = None
        self._denials: list[str] = []
        self._is_cancelled = False
        self._is_over = False
        policy = wanted.permissions
        self._policy = Permissions.READS if wanted.read_only and policy is Permissions.ALLOW else policy
        client: dict[str, object] = {
            "protocolVersion": messages.VERSION,
            "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
            "clientInfo": {"name": "ralph", "version": version(DISTRIBUTION)},
        }
        self._ask(_FIRST, client, self._initialized)

    # --- the port ---

    def parse(self, lines: Sequence[bytes]) -> list[AgentEvent]:
        events: list[AgentEvent] = []
        for line in lines:
            try:
                message = messages.decode_message(line)
            except UNREADABLE:
                events += self._odd(line)
                continue
            events += self._take(message)
        return events

    def finish(self) -> Sequence[AgentEvent]:
        if self._is_over:
            return _NOTHING
        ended = self._turn.finish() if self._turn is not None else []
        waiting = self._open.method if self._open is not None else "anything"
        why = NO_ANSWER if waiting == _FIRST else f"ended before it answered {waiting}"
        return [*ended, ErrorReported(why, None, NO_RESULT, True)]

    def outgoing(self) -> bytes:
        said, self._said = b"".join(self._said), []
        return said

    @property
    def is_over(self) -> bool:
        return self._is_over

    @property
    def patience(self) -> float | None:
        return ANSWER_SECONDS if self._open is not None and self._open.method == _FIRST else None

    def cancellation(self) -> bytes:
        if self._is_over or self._turn is None or self._is_cancelled:
            return b""
        self._is_cancelled = True
        return messages.notification("session/cancel", {"sessionId": self._session})

    # --- messages ---

    def _ask(self, method: str, params: Mapping[str, object], handler: _Handler) -> None:
        self._number += 1
        self._open = _Open(self._number, method, handler)
        self._said.append(messages.request(self._number, method, params))

    def _take(self, message: Message) -> _Events:
        if message.method == "session/update":
            return self._updated(message.params)
        if not message.method:
            return self._answered(message)
        # An agent's own extension: the protocol wants whoever does not know it to pass over it.
        is_extension = message.method.startswith("_")
        if not is_given(message.id):
            return _NOTHING if is_extension else (Unknown(one_line(message.method)),)
        if len(bytes(message.id)) > _LONGEST_ID:
            return (Unknown("a request whose id is too long"),)
        if message.method == "session/request_permission":
            return self._permission(message)
        # Files and terminals are the agent's own business: it works inside ralph's process tree and sandbox.
        refused = f"ralph does not offer {one_line(message.method)}"
        self._said.append(messages.refusal(message.id, messages.NOT_FOUND, refused))
        return _NOTHING if is_extension else (Unknown(one_line(message.method)),)

    def _odd(self, line: bytes) -> _Events:
        if not line.strip():
            return _NOTHING
        clean = repair(line)
        if clean is None:
            return (noise(line),)
        try:
            return self._take(messages.decode_message(clean))
        except UNREADABLE:
            return (Unknown("message"),)

    def _answered(self, message: Message) -> _Events:
        request = self._open
        if request is None or bytes(message.id) != str(request.number).encode():
            return (Unknown("an answer to nothing"),)
        self._open = None
        return request.handler(message)

    def _updated(self, params: Raw) -> _Events:
        try:
            told: Notification = messages.decode_notification(params)
        except UNREADABLE:
            kind = messages.kind_of_update(params)
            return (Unknown(one_line(f"session/update {kind}".strip())),)
        if self._turn is None or self._is_over:
            # Before the prompt it greets; after the end of its turn nothing belongs to its answer any more.
            text = told.update.content.text if isinstance(told.update, messages.AgentWords) else ""
            return (Notice(one_line(text)),) if text.strip() else _NOTHING
        return self._turn.take(told.update, elsewhere=self._elsewhere(told.session_id))

    def _elsewhere(self, session: str) -> str:
        """The session that it is about, if that is a sub-agent's."""
        return "" if session in ("", self._session) else one_line(session)

    def _permission(self, message: Message) -> _Events:
        asked: PermissionRequest | None = read(message.params, PermissionRequest)
        if asked is None or self._turn is None or self._is_over or self._is_cancelled:
            self._decide(message.id, None)
            return _NOTHING if asked is not None else (Unknown(message.method),)
        turn, call = self._turn, asked.tool_call
        elsewhere = self._elsewhere(asked.session_id)
        events = [*turn.end_block(), *turn.tool(call, elsewhere=elsewhere, asked=True)]
        allow = is_allowed(self._policy, call.kind or turn.kind_of(call.tool_call_id))
        chosen = choose_option(asked.options, allow=allow)
        if (not allow or chosen is None) and len(self._denials) < _MOST_DENIALS:
            self._denials.append(turn.name_of(call.tool_call_id))
        self._decide(message.id, chosen)
        return events

    def _decide(self, identity: Raw, option: str | None) -> None:
        outcome = {"outcome": "cancelled"} if option is None else {"outcome": "selected", "optionId": option}
        self._said.append(messages.answer(identity, {"outcome": outcome}))

    # --- from initialize to the prompt ---

    def _initialized(self, message: Message) -> _Events:
        told: Initialized | None = read(message.result, Initialized)
        if told is None:
            return self._refused(message)
        if told.protocol_version != messages.VERSION:
            spoken = one_line(str(told.protocol_version), 20)
            return self._unsuitable(
                f"{self._wanted.name} speaks version {spoken} of ACP, ralph speaks {messages.VERSION}"
            )
        ways = told.auth_methods or []
        self._login_ways = one_line(", ".join(way.name or way.id for way in ways))
        capabilities = told.agent_capabilities.session_capabilities if told.agent_capabilities else None
        can_resume = capabilities is not None and is_given(capabilities.resume)
        if self._wanted.may_continue and not can_resume:
            return self._unsuitable(
                f"agent.continueSession: {self._wanted.name} does not offer session/resume through ACP"
            )
        if any(way.id == self._wanted.authenticate for way in ways):
            self._ask("authenticate", {"methodId": self._wanted.authenticate}, self._authenticated)
            return _NOTHING
        return self._open_session()

    def _authenticated(self, message: Message) -> _Events:
        return self._refused(message) if is_given(message.error) else self._open_session()

    def _open_session(self) -> _Events:
        params: dict[str, object] = {"cwd": self._wanted.cwd, "mcpServers": []}
        if self._wanted.continues:
            params["sessionId"] = self._wanted.continues
        self._ask("session/resume" if self._wanted.continues else "session/new", params, self._opened)
        return _NOTHING

    def _opened(self, message: Message) -> _Events:
        told: Opened | None = read(message.result, Opened)
        if is_given(message.error):
            return self._refused(message)
        self._session = (told.session_id if told is not None else "") or self._wanted.continues
        if not self._session:
            return self._failed(ErrorReported("it opened a session without an id", None, "", True))
        self._offers = offers_of(told or Opened())
        model = self._wanted.model
        if model:
            wish = self._offers.choose_model(self._session, model)
            if wish is None:
                return self._unsuitable(self._without_model(model))
            self._wishes.append(wish)
        if wish := self._offers.choose_mode(self._session, self._policy):
            self._wishes.append(wish)
        return (SessionStarted(self._session, model or self._offers.model), *self._prepare())

    def _without_model(self, model: str) -> str:
        offered = [identity for identity, _ in self._offers.models]
        if not offered:
            return f"agent.model: {self._wanted.name} offers no choice of models through ACP"
        shown = ", ".join(offered[:_SHOWN_MODELS]) + (" …" if len(offered) > _SHOWN_MODELS else "")
        return one_line(f"agent.model: {self._wanted.name} does not offer {model}; it offers {shown}", 300)

    def _prepare(self) -> _Events:
        if self._wishes:
            wish = self._wishes.pop(0)
            self._ask(wish.method, wish.params, partial(self._prepared, wish))
            return _NOTHING
        self._turn = Turn()
        text = self._wanted.prompt.encode("utf-8", "replace").decode()
        prompt: dict[str, object] = {"sessionId": self._session, "prompt": [{"type": "text", "text": text}]}
        self._ask("session/prompt", prompt, self._answered_prompt)
        return _NOTHING

    def _prepared(self, wish: Wish, message: Message) -> _Events:
        return self._refused(message) if wish.matters and is_given(message.error) else self._prepare()

    # --- the end ---

    def _answered_prompt(self, message: Message) -> _Events:
        turn = self._turn
        assert turn is not None
        held = turn.finish()
        told: TurnResult | None = read(message.result, TurnResult)
        if told is None:
            return [*held, *self._refused(message)]
        usage, model = _usage_of(told, turn)
        # Which model it was says what it cost; "auto" is none.
        is_unnamed = self._offers.model in ("", "auto")
        named = [SessionStarted(self._session, model)] if model and is_unnamed else []
        error = self._error_of(told.stop_reason, turn)
        return [*held, *named, *self._end(error, usage, turn.cost_usd)]

    def _error_of(self, reason: str, turn: Turn) -> ErrorReported | None:
        if reason == "end_turn":
            return voiced_error(turn.said) if not turn.tools else None
        if reason == "cancelled":
            return ErrorReported("cancelled its turn", None, INTERRUPTED, True)
        known = STOP_REASONS.get(reason)
        why = known or f"ended its turn with a reason that ralph does not know: {reason}"
        return ErrorReported(one_line(why), None, reason if known else "", True)

    def _refused(self, message: Message) -> _Events:
        """It answered with an error, or with something else that cannot be used."""
        if not is_given(message.error):
            return self._failed(ErrorReported("it answered what cannot be read", None, "", True))
        error = error_in(message.error)
        if error.code == NOT_LOGGED_IN and self._login_ways:
            error = ErrorReported(
                f"{error.message} (offers: {self._login_ways})", error.status, error.code, True
            )
        return self._failed(error)

    def _unsuitable(self, why: str) -> _Events:
        return self._failed(ErrorReported(why, None, UNSUITABLE, True))

    def _failed(self, error: ErrorReported) -> _Events:
        turn = self._turn
        return self._end(error, turn.usage if turn is not None else Usage(), turn.cost_usd if turn else None)

    def _end(self, error: ErrorReported | None, usage: Usage, cost: float | None) -> _Events:
        self._is_over = True
        # What a continued session cost includes what it had cost before.
        cost = None if self._wanted.continues else cost
        ended = TurnEnded(
            error=error.message if error is not None else "",
            usage=usage,
            cost_usd=cost,
            denials=tuple(self._denials),
        )
        return (ended,) if error is None else (error, ended)


def _usage_of(told: TurnResult, turn: Turn) -> tuple[Usage, str]:
    """What the turn used and, where only that says so, by which model. Nothing known is an empty usage: unknown."""
    tokens: Tokens | None = read(told.usage, Tokens)
    if tokens is not None:
        thought, reused = tokens.thought_tokens or 0, tokens.cached_read_tokens or 0
        written = tokens.cached_write_tokens or 0
        counted = tokens.input_tokens + tokens.output_tokens + reused + written
        output = tokens.output_tokens + (thought if counted + thought <= tokens.total_tokens else 0)
        return Usage(tokens.input_tokens, output, reused, written), ""
    meta: TurnMeta = read(told.meta, TurnMeta) or TurnMeta()
    quota: GeminiQuota | None = read(meta.quota, GeminiQuota)
    if quota is not None:
        models = sorted(quota.model_usage, key=lambda each: each.token_count.input_tokens)
        usage = Usage(quota.token_count.input_tokens, quota.token_count.output_tokens)
        return usage, models[-1].model if models else ""
    private: QwenTokens | None = read(meta.usage, QwenTokens)
    return (usage_with_cache_inside(private) if private is not None else turn.usage), ""

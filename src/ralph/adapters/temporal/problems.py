"""What the server's refusals and silences mean, in words: every call to it is made inside ``asked``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from temporalio.client import Client, RPCTimeoutOrCancelledError, WorkflowUpdateFailedError
from temporalio.service import RPCError, RPCStatusCode

from ralph.domain.text.safe_text import clean_line
from ralph.errors import ConfigError, RalphError, ServiceAway, ServiceRefused, UsageError
from ralph.values import dataclass

LONGEST_CALL = 20.0
"""Seconds, with everything that is tried again: a person waits for it."""
LONGEST_WORDS = 300

_ADDRESS = "set TEMPORAL_ADDRESS to its host and port, or start one here: `temporal server start-dev`"
_LOGIN = "check TEMPORAL_API_KEY and the TLS settings (TEMPORAL_TLS_*), or the profile (TEMPORAL_PROFILE)"
_AWAY = frozenset(
    {
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.CANCELLED,
        RPCStatusCode.RESOURCE_EXHAUSTED,
        RPCStatusCode.ABORTED,
        RPCStatusCode.INTERNAL,
        RPCStatusCode.UNKNOWN,
        RPCStatusCode.DATA_LOSS,
    }
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server is, for messages."""

    address: str
    namespace: str


def place_of(client: Client) -> Place:
    return Place(client.service_client.config.target_host, client.namespace)


@asynccontextmanager
async def asked(client: Client, *, longest: float = LONGEST_CALL) -> AsyncIterator[None]:
    """Whoever knows better what it means that something is not there asks ``is_missing`` inside."""
    place = place_of(client)
    try:
        async with asyncio.timeout(longest):
            yield
    except (TimeoutError, RPCTimeoutOrCancelledError):
        raise silence_of(place) from None
    except WorkflowUpdateFailedError as problem:
        msg = f"the fleet refused: {_shorten(str(problem.cause))}"
        raise ServiceRefused(msg) from None
    except RPCError as problem:
        raise problem_of(problem, place) from None


def is_missing(problem: RPCError) -> bool:
    """What was asked for is not there, or has ended."""
    return problem.status is RPCStatusCode.NOT_FOUND and not _is_about_namespace(problem)


def silence_of(place: Place) -> ServiceAway:
    return ServiceAway(f"the Temporal server at {place.address} does not answer", hint=_ADDRESS)


def problem_of(problem: RPCError, place: Place) -> RalphError:
    said = _shorten(problem.message)
    match problem.status:
        case RPCStatusCode.NOT_FOUND if _is_about_namespace(problem):
            return UsageError(
                f"the Temporal server at {place.address} has no namespace {place.namespace!r}",
                hint="set TEMPORAL_NAMESPACE, or create it:"
                f" `temporal operator namespace create -n {place.namespace}`",
            )
        case RPCStatusCode.UNAUTHENTICATED:
            return ServiceRefused(
                f"the Temporal server at {place.address} does not accept the login: {said}", hint=_LOGIN
            )
        case RPCStatusCode.PERMISSION_DENIED:
            return ServiceRefused(
                f"the Temporal server at {place.address} does not permit it in namespace {place.namespace!r}: {said}",
                hint=f"{_LOGIN}; and TEMPORAL_NAMESPACE",
            )
        case RPCStatusCode.UNIMPLEMENTED:
            return ServiceRefused(
                f"the server at {place.address} does not support it: {said}",
                hint="it is no Temporal server, or an old one",
            )
        case RPCStatusCode.RESOURCE_EXHAUSTED:
            return ServiceAway(f"the Temporal server at {place.address} is busy: {said}")
        case status if status in _AWAY:
            return ServiceAway(
                f"the Temporal server at {place.address} cannot be reached: {said}", hint=_ADDRESS
            )
        case RPCStatusCode.INVALID_ARGUMENT:
            return UsageError(f"the Temporal server at {place.address} refused: {said}")
        case _:
            return ServiceRefused(f"the Temporal server at {place.address} refused: {said}")


def connection_problem_of(problem: Exception, place: Place) -> RalphError:
    """Of a connection that could not be made: the library has a sentence for each, and nothing else."""
    said = str(problem)
    for sign, explain in _SIGNS:
        if sign in said:
            return explain(place)
    reason = said.removeprefix("Failed client connect: ").removeprefix("Server connection error: ")
    return ServiceAway(
        f"the Temporal server at {place.address} cannot be reached: {_shorten(reason)}", hint=_ADDRESS
    )


def _absent(why: str) -> Callable[[Place], RalphError]:
    return lambda place: ServiceAway(f"there is no Temporal server at {place.address}: {why}", hint=_ADDRESS)


def _login(why: str) -> Callable[[Place], RalphError]:
    return lambda place: ServiceRefused(
        f"the Temporal server at {place.address} refused the connection: {why}", hint=_LOGIN
    )


def _settings(why: str) -> Callable[[Place], RalphError]:
    return lambda place: ConfigError(f"cannot connect to {place.address}: {why}", hint=_LOGIN)


def _plain(place: Place) -> RalphError:
    hint = "set TEMPORAL_TLS=false (an API key turns TLS on)"
    return ServiceRefused(f"the server at {place.address} does not speak TLS", hint=hint)


def _other(place: Place) -> RalphError:
    hint = "check TEMPORAL_ADDRESS, which is the server's gRPC port (not that of its pages), and TEMPORAL_TLS"
    return ServiceRefused(f"what answers at {place.address} is no Temporal server", hint=hint)


def _hangs_up(place: Place) -> RalphError:
    """A server that is going down does so, too."""
    hint = "if it always does, it may want TLS, or a certificate: TEMPORAL_TLS=true, TEMPORAL_TLS_*"
    return ServiceAway(f"the server at {place.address} hangs up", hint=hint)


# The first that is found counts.
_SIGNS: tuple[tuple[str, Callable[[Place], RalphError]], ...] = (
    ("Connection refused", _absent("connection refused")),
    ("dns error", _absent("there is no machine of this name")),
    ("invalid target URL", _settings("this is no address; it must be like localhost:7233")),
    ("PrivateKeyParseError", _settings("the client's private key is not one")),
    ("CertificateParseError", _settings("a certificate is not one")),
    ("InvalidContentType", _plain),
    ("NotValidForName", _login("its certificate is for another name (TEMPORAL_TLS_SERVER_NAME)")),
    ("InvalidCertificate", _login("its certificate is not one that this machine trusts")),
    ("received fatal alert", _login("it does not accept our certificate")),
    ("code: Unauthenticated", _login("it does not accept the login")),
    ("code: PermissionDenied", _login("the login may not do this")),
    ("Timeout expired", silence_of),
    ("http2 error", _other),
    ("broken pipe", _hangs_up),
    ("connection closed", _hangs_up),
    ("ConnectionReset", _hangs_up),
    ("code: Unimplemented", _other),
)


def _is_about_namespace(problem: RPCError) -> bool:
    return problem.message.startswith("Namespace ")


def _shorten(text: str) -> str:
    line = clean_line(text)
    return line if len(line) <= LONGEST_WORDS else f"{line[:LONGEST_WORDS]}…"

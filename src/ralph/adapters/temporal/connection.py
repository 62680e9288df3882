"""The connection to the fleet's server, by Temporal's own conventions: environment variables and profile file."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from datetime import timedelta
from functools import cache

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.envconfig import ClientConfigProfile, ClientConnectConfig
from temporalio.runtime import Runtime, TelemetryConfig

from ralph.adapters.temporal.codec import converter_of, read_keys
from ralph.adapters.temporal.problems import Place, asked, connection_problem_of, silence_of
from ralph.domain.text.safe_text import clean_line
from ralph.errors import ConfigError

ADDRESS = "localhost:7233"
NAMESPACE = "default"
LONGEST_CONNECT = 10.0
"""Seconds. A port that accepts and says nothing would keep the library for half a minute."""
_PROFILE = "see `temporal config list`; TEMPORAL_CONFIG_FILE names the file, TEMPORAL_PROFILE the profile"


async def connect(
    environment: Mapping[str, str] = os.environ, *, identity: str = "", runtime: Runtime | None = None
) -> Client:
    """``identity``: what the server calls this process. Raises RalphError with what to do."""
    # What the library logs would go to stderr with tracebacks; whoever sets up logging still gets it.
    logging.getLogger("temporalio").addHandler(logging.NullHandler())
    settings = _read_settings(environment)
    place = Place(settings.get("target_host") or ADDRESS, settings.get("namespace") or NAMESPACE)
    _check_address(place.address)
    converter = converter_of(read_keys(environment))
    try:
        async with asyncio.timeout(LONGEST_CONNECT):
            client = await Client.connect(
                place.address,
                namespace=place.namespace,
                api_key=settings.get("api_key"),
                tls=settings.get("tls"),
                rpc_metadata=settings.get("rpc_metadata", {}),
                connect_timeout=timedelta(seconds=LONGEST_CONNECT),
                data_converter=converter,
                identity=identity or None,
                runtime=runtime or quiet_runtime(),
            )
    except TimeoutError:
        raise silence_of(place) from None
    except (RuntimeError, ValueError) as problem:
        raise connection_problem_of(problem, place) from None
    async with asked(client):
        await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=place.namespace), retry=True
        )
    return client


@cache
def quiet_runtime() -> Runtime:
    """The library's own would print its warnings to stdout, which is for data. One is enough: each has its threads."""
    return Runtime(telemetry=TelemetryConfig(logging=None))


def _read_settings(environment: Mapping[str, str]) -> ClientConnectConfig:
    """As the library reads them, which says nothing of a file that was named and is not there."""
    named = environment.get("TEMPORAL_CONFIG_FILE", "")
    if named and not os.path.lexists(named):
        msg = f"TEMPORAL_CONFIG_FILE names {named}, which is not there"
        raise ConfigError(msg)
    try:
        profile = ClientConfigProfile.load(override_env_vars=dict(environment))
        return profile.to_client_connect_config()
    except OSError as problem:
        msg = f"cannot read {problem.filename}: {problem.strerror}"
        raise ConfigError(msg, hint="TEMPORAL_TLS_* and the profile name certificates and keys") from None
    except Exception as problem:  # the library's own error is in a module that cannot be imported by name
        # It quotes the line that it does not understand, in which a key may stand.
        what = clean_line(str(problem).partition("\n")[0]).removeprefix("Configuration loading error: ")
        msg = f"Temporal's settings cannot be used: {what}"
        raise ConfigError(msg, hint=_PROFILE) from None


def _check_address(address: str) -> None:
    """Some of what is wrong would be tried all the same: a scheme is skipped, a missing port is 80."""
    host, colon, port = address.rpartition(":")
    if "://" in address or not (colon and host and port.isdigit()):
        msg = f"{clean_line(address)!r} is no address of a Temporal server"
        hint = f"set TEMPORAL_ADDRESS to its host and port, such as {ADDRESS}, without https://"
        raise ConfigError(msg, hint=hint)

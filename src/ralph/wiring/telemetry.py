"""The telemetry of a run: where it goes, which trace it belongs to, and what earlier processes of the run left open."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.adapters import beneath
from ralph.adapters.storage.landmarks import landmarks_of
from ralph.adapters.storage.places import run_folder
from ralph.adapters.telemetry.trace_file import keep_place, kept_place
from ralph.config.sources import PROJECT_FILES
from ralph.domain.loop.events import IterationStarted
from ralph.domain.telemetry.destination import Destination, destination_of
from ralph.domain.telemetry.identity import Place, parse_traceparent, part_of, place_of
from ralph.domain.telemetry.session_span import CONTENT_CHARS
from ralph.domain.telemetry.tracing import TracedRun, Tracing
from ralph.domain.text.safe_text import clean_line
from ralph.wiring.launch import Launch
from ralph.wiring.record import Record

if TYPE_CHECKING:
    from ralph.adapters.telemetry.listener import Telemetry

INSTALL = "pip install 'ralph-harness[otel]'"


def telemetry_of(
    launch: Launch,
    record: Record,
    *,
    environ: Mapping[str, str],
    redact: Callable[[str], str],
    complain: Callable[[str], None],
) -> Telemetry | None:
    """None: nothing is sent. That is never a reason not to run, so it is told once, by the whole and not by its parts."""
    address = launch.settings.telemetry.otlp
    destination = destination_of(address, environ, is_projects=_is_projects(launch, address))
    problem = destination.problem or _missing(destination)
    if problem and not launch.parent_id:
        complain(f"no telemetry is sent: {problem}")
    if problem or not destination.is_wanted:
        return None
    from ralph.adapters.telemetry.listener import Telemetry
    from ralph.adapters.telemetry.otlp import borrow_sender

    run = TracedRun(record.run_id, launch.profile.name, launch.agent, launch.root.state.name or "/")
    tracing = Tracing(
        run,
        _place(launch, record, environ),
        content=launch.settings.telemetry.content,
        prompt_of=lambda event: _prompt(event, record.folder, redact),
    )
    try:
        sender = borrow_sender(destination, instance=f"{record.run_id}-{os.getpid()}", complain=complain)
    except (
        Exception
    ) as error:  # whatever the SDK dislikes about its variables, say a certificate that is not there
        complain(f"no telemetry is sent: {clean_line(str(error) or type(error).__name__)}")
        return None
    telemetry = Telemetry(run, tracing, sender)
    if launch.resumes:
        telemetry.take_up(landmarks_of(record.database, record.run_id), time.time())
    return telemetry


def _is_projects(launch: Launch, address: str) -> bool:
    """Files of the project name it, and the user's own file does not name the same."""
    own = launch.loaded.own.values.get("telemetry")
    is_own = isinstance(own, dict) and own.get("otlp") == address
    return not is_own and launch.loaded.origin("telemetry.otlp").label in PROJECT_FILES


def _missing(destination: Destination) -> str:
    if not destination.is_wanted or _has_sdk():
        return ""
    asked = "telemetry.otlp" if destination.is_by_settings else "OTEL_EXPORTER_OTLP_ENDPOINT"
    return f"{asked} needs the OpenTelemetry SDK; install it with `{INSTALL}`"


def _has_sdk() -> bool:
    try:
        return all(find_spec(f"opentelemetry.{part}") for part in ("sdk", "exporter.otlp.proto.http"))
    except ModuleNotFoundError:  # not even its namespace
        return False


def _place(launch: Launch, record: Record, environ: Mapping[str, str]) -> Place:
    """A part belongs to its whole, a resumed run to where it was, and any other to what the environment names."""
    if launch.parent_id:
        whole = run_folder(launch.state_folder, launch.parent_id)
        place = part_of(launch.parent_id, kept_place(whole) or place_of(launch.parent_id))
    elif launch.resumes:
        return kept_place(record.folder) or place_of(record.run_id)
    else:
        place = parse_traceparent(environ.get("TRACEPARENT", "")) or place_of(record.run_id)
    if place.parent_id:
        with suppress(OSError):  # if the folder cannot be written, the run will say so
            keep_place(record.folder, place)
    return place


def _prompt(event: IterationStarted, folder: Path, redact: Callable[[str], str]) -> str:
    """The file has all of it."""
    try:
        text = beneath.read_plain(Path(event.prompt_file), 4 * CONTENT_CHARS, folder).decode(errors="replace")
    except (OSError, ValueError):
        text = event.prompt
    return redact(text)[:CONTENT_CHARS]

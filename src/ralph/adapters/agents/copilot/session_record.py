"""What a session of copilot has used: its stream does not say it, but the record that it keeps of the session does.

It could also be asked for a file with the same figures (``--usage-output-file``), but fails where it cannot write that,
and older versions do not know the option.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from ralph.adapters import beneath
from ralph.adapters.agents.json_lines import UNREADABLE
from ralph.adapters.kept_sessions import kept_sessions
from ralph.domain.agent.events import Usage
from ralph.engine.ports import AgentRequest
from ralph.patterns import pattern

_SESSIONS: Final = "session-state"
_RUNS: Final = "runs"  # of the state folder: the session's log is below it
_RECORD: Final = "events.jsonl"
_END_BYTES: Final = 262_144  # the figures come last
_SESSION_ID = pattern(r"[0-9A-Za-z-]{1,64}")  # a name, not a path


class _Counts(Struct, rename="camel", gc=False):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def as_usage(self) -> Usage:
        fresh = max(0, self.input_tokens - self.cache_read_tokens - self.cache_write_tokens)
        return Usage(fresh, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens)


class _Model(Struct, gc=False):
    usage: _Counts | None = None


class _Figures(Struct, rename="camel", gc=False):
    model_metrics: dict[str, _Model] = {}


class _End(Struct, rename="camel", gc=False):
    accounting_snapshot: _Figures | None = None
    model_metrics: dict[str, _Model] = {}  # where older versions have it


class _Line(Struct, tag_field="type", tag="session.shutdown", gc=False):
    data: _End


_decode = msgspec.json.Decoder(_Line).decode


def used_by(session_id: str, request: AgentRequest) -> Usage | None:
    """All that the session has used, before it was continued too; None: nobody wrote it down."""
    if not _SESSION_ID.fullmatch(session_id):
        return None
    for folder in _folders(request):
        for line in reversed(_last_lines(folder, session_id)):
            try:
                end = _decode(line).data
            except UNREADABLE:
                continue
            models = end.accounting_snapshot.model_metrics if end.accounting_snapshot else end.model_metrics
            counts = [model.usage.as_usage() for model in models.values() if model.usage]
            return sum(counts, Usage())
    return None


def _folders(request: AgentRequest) -> Iterator[Path]:
    """Where copilot keeps its sessions: the user's, or, in a sandbox, the project's own."""
    environ = {**os.environ, **request.environment}
    yield Path(environ.get("COPILOT_HOME") or f"{environ.get('HOME', '')}/.copilot") / _SESSIONS
    for runs in [folder for folder in request.log_file.parents if folder.name == _RUNS][:1]:
        yield kept_sessions(runs.parent, f".copilot/{_SESSIONS}")


def _last_lines(folder: Path, session_id: str) -> list[bytes]:
    try:
        with beneath.open_plain(folder / session_id / _RECORD, folder) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _END_BYTES))
            return file.read(_END_BYTES).splitlines()
    except (OSError, ValueError):
        return []

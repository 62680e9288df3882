"""Turns stored rows back into events, so that what was shown live can be shown again."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, get_args, get_type_hints

import msgspec

from ralph.domain.agent.events import AgentEvent
from ralph.domain.loop.events import AgentActed, AgentEnded, LoopEvent
from ralph.domain.loop.session_report import Fault


def restore(data: bytes) -> LoopEvent | None:
    """None if this version of ralph does not know its kind or its shape: no reason to show nothing at all."""
    try:
        record = msgspec.json.decode(data, type=dict[str, Any])
        return _event_of(record)
    except msgspec.MsgspecError:
        return None


def _event_of(record: dict[str, Any]) -> LoopEvent | None:
    """``record`` is what the journal wrote. Raises msgspec.ValidationError if a field has the wrong type."""
    match record.get("kind"):
        case "agent_acted":
            acted = msgspec.convert(record.get("events"), list[dict[str, Any]])
            return AgentActed(tuple(known for item in acted if (known := _by_kind(AgentEvent, item))))
        case "agent_ended":
            return _agent_ended(record)
        case _:
            event: LoopEvent | None = _by_kind(LoopEvent, record)  # of the right type by construction
            return event


def _by_kind(union: Any, record: dict[str, Any]) -> Any:
    kind = _kinds(union).get(str(record.get("kind")))
    return None if kind is None else msgspec.convert(record, kind)


@cache
def _kinds(union: Any) -> dict[str, type]:
    """Each class of the union by its name on the wire, which is the default of its ``kind``."""
    return {
        str(field.default): kind for kind in get_args(union) for field in fields(kind) if field.name == "kind"
    }


def _agent_ended(record: dict[str, Any]) -> AgentEnded:
    fault = record.get("fault")
    values = msgspec.convert(record, _ended_record())
    known = {name: getattr(values, name) for name in values.__struct_fields__}
    return AgentEnded(**known | {"fault": _by_kind(Fault, fault) if isinstance(fault, dict) else None})


@cache
def _ended_record() -> type[msgspec.Struct]:
    """AgentEnded without its fault: a union of classes that msgspec cannot tell apart."""
    hints = get_type_hints(AgentEnded)
    shape: list[tuple[str, Any, Any]] = [
        (field.name, hints[field.name], msgspec.field(default=field.default))
        if isinstance(field.default, str | int | float | tuple)
        else (field.name, hints[field.name], msgspec.field())
        for field in fields(AgentEnded)
        if field.init and field.name != "fault"
    ]
    return msgspec.defstruct("AgentEndedRecord", shape)

"""What the settings of a repository ask of its user: every command they name, and everything they loosen.

The one rule: a value needs the user's trust unless its declaration says that it is free (``untrusted``), compared with
what the user would have without the repository.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ralph.config.kinds import Kind, ListOf, Named, Nullable, Reading, Setting, Table
from ralph.config.schema import SETTINGS
from ralph.config.sources import Merged
from ralph.config.untrusted import ALWAYS
from ralph.domain.text.reader import KeyPath, spell
from ralph.domain.trust.demand import Demand

_Values = Mapping[str, object]


def demands_of(project: Merged, own: Merged, *, usual_sandbox: str = "") -> tuple[Demand, ...]:
    """``project``: the layers of the repository; ``own``: those of the user, below them. Raises nothing.

    ``usual_sandbox``: what the command does unless told otherwise; empty: any command is meant.
    """
    found = _of_table(SETTINGS, project.values, own.values, (), project, None)
    return tuple(demand for demand in found if not _is_usual(demand, own, usual_sandbox))


def _is_usual(demand: Demand, own: Merged, usual_sandbox: str) -> bool:
    """Where the command has no sandbox, and the user set none, whatever the repository sets loosens nothing."""
    chosen = _object(own.values.get("sandbox")).get("kind")
    return demand.place == ("sandbox", "kind") and chosen is None and usual_sandbox == "none"


def _of_table(
    table: Table[Any], values: _Values, own: _Values, path: KeyPath, project: Merged, whole: object
) -> Iterator[Demand]:
    for setting in table.settings:
        if setting.key not in values or setting.untrusted is ALWAYS:
            continue
        value, base, here = values[setting.key], own.get(setting.key), (*path, setting.key)
        yield from _of_value(setting, value, base, here, project, whole, has_base=setting.key in own)


def _of_value(
    setting: Setting,
    value: object,
    base: object,
    path: KeyPath,
    project: Merged,
    whole: object,
    *,
    has_base: bool,
) -> Iterator[Demand]:
    kind = setting.kind.kind if isinstance(setting.kind, Nullable) else setting.kind
    if isinstance(kind, Table) and isinstance(value, Mapping):
        yield from _of_table(kind, value, _object(base), path, project, _matter(kind, value))
    elif isinstance(kind, Named) and isinstance(value, Mapping):
        for name, entry in value.items():
            below = _object(_object(base).get(name))
            yield from _of_entry(kind.kind, entry, below, (*path, name), project)
    elif isinstance(kind, ListOf) and isinstance(kind.kind, Table) and isinstance(value, list):
        known = [kind.kind.full(entry) for entry in base] if isinstance(base, list) else []
        wanted = [kind.kind.full(entry) for entry in value]
        for index, entry in enumerate(wanted):
            if entry not in known:
                yield from _of_entry(kind.kind, entry, {}, (*path, index), project)
        if not all(entry in wanted for entry in known):
            yield _demand(setting, f"{len(value)} of its own", path, project, whole)
    elif not _is_free(setting, value, base, has_base=has_base):
        yield _demand(setting, value, path, project, whole)


def _of_entry(
    kind: Kind[Any], value: object, own: _Values, path: KeyPath, project: Merged
) -> Iterator[Demand]:
    value = kind.full(value) if isinstance(kind, Table) else value
    if isinstance(kind, Table) and isinstance(value, Mapping):
        yield from _of_table(kind, value, own, path, project, _matter(kind, value))


def _matter(table: Table[Any], values: _Values) -> dict[str, object]:
    """What of an object is more than words and patience: it is trusted as a whole."""
    return {
        setting.key: values[setting.key]
        for setting in table.settings
        if setting.key in values
        and setting.untrusted is not ALWAYS
        and not isinstance(setting.kind, Table | Named)
    }


def _is_free(setting: Setting, value: object, base: object, *, has_base: bool) -> bool:
    if has_base and value == base:
        return True
    problems: list[Any] = []
    at = Reading(lambda _: "", problems, [])
    wanted = setting.kind.read(value, at)
    own = setting.kind.read(base, at) if has_base else setting.default
    return not problems and (wanted == own or setting.untrusted(wanted, own))


def _demand(setting: Setting, value: object, path: KeyPath, project: Merged, whole: object) -> Demand:
    means, place = setting.means or f"sets {setting.key} to", path[:-1] if setting.required else path
    is_plain = value is None or (isinstance(value, str | int | float) and not isinstance(value, bool))
    says = setting.says.get(value, "") if is_plain else ""
    return Demand(means, value, spell(path), str(project.origin(path)), whole, place, says)


def _object(value: object) -> _Values:
    return value if isinstance(value, Mapping) else {}

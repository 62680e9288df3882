"""Everything that can be wrong with a tasks.json: types, required fields, ids, dependencies.

A problem's path is the story's id, or the place of an entry that has none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ralph.domain.plan.story import Review
from ralph.domain.tasks.circles import find_circles
from ralph.domain.text.reader import KeyPath, Problem

LONGEST_ID = 200

Raw = Mapping[str, Any]


def structure_problems(data: object) -> list[Problem]:
    """Types, required fields, duplicate ids, dependencies on no story, dependencies in a circle."""
    if not isinstance(data, Mapping):
        return [Problem((), f"must be an object, not {json_kind(data)}")]
    found = type_problems((), data, dict.fromkeys(("project", "branchName", "description"), "a string"))
    found += string_list_problems((), data, "verifyCommands")
    if wrong := type_problems((), data, {"userStories": "an array"}):
        return found + wrong
    sound: list[Raw] = []
    for number, raw in enumerate(data["userStories"]):
        own = story_problems(number, raw)
        found += own
        if not own:
            sound.append(raw)
    return [
        *found,
        *duplicate_problems(data["userStories"]),
        *dependency_problems(data["userStories"], sound),
    ]


def story_problems(number: int, raw: object) -> list[Problem]:
    if not isinstance(raw, Mapping):
        return [Problem(("userStories", number), f"must be an object, not {json_kind(raw)}")]
    where = place_of(number, raw)
    found = type_problems(where, raw, STORY_FIELDS)
    if isinstance(raw.get("id"), str) and not is_visible_line(raw["id"]):
        found.append(Problem(("userStories", number), "id must be a short line of visible text"))
    criteria = raw.get("acceptanceCriteria")
    if isinstance(criteria, list):
        if not criteria:
            found.append(Problem(where, "acceptanceCriteria must not be empty"))
        found += string_list_problems(where, raw, "acceptanceCriteria")
    if "reviewStatus" not in raw:
        found.append(Problem(where, "reviewStatus is missing"))
    elif raw["reviewStatus"] is not None and raw["reviewStatus"] not in tuple(Review):
        allowed = ", ".join(f'"{review}"' for review in Review)
        status = shown(raw["reviewStatus"])
        found.append(Problem(where, f"reviewStatus must be null or one of {allowed}, not {status}"))
    if isinstance(raw.get("reviewCount"), int) and raw["reviewCount"] < 0:
        found.append(Problem(where, f"reviewCount must not be negative, but is {shown(raw['reviewCount'])}"))
    optional = [name for name in ("notes", "description") if raw.get(name) is not None]
    found += type_problems(where, raw, dict.fromkeys(optional, "a string"))
    return [*found, *string_list_problems(where, raw, "dependsOn")]


def place_of(number: int, raw: Raw) -> KeyPath:
    """The story's id; its place in the list if it has none."""
    has_id = isinstance(raw.get("id"), str) and raw["id"].strip()
    return (raw["id"],) if has_id else ("userStories", number)


def is_visible_line(text: str) -> bool:
    return bool(text.strip()) and text.isprintable() and len(text) <= LONGEST_ID


STORY_FIELDS = {
    "id": "a string",
    "title": "a string",
    "passes": "true or false",
    "priority": "a number",
    "acceptanceCriteria": "an array",
    "reviewCount": "a whole number",
    "reviewFeedback": "a string",
}
KINDS: Mapping[str, type | tuple[type, ...]] = {
    "a string": str,
    "true or false": bool,
    "a number": (int, float),
    "a whole number": int,
    "an array": list,
}


def type_problems(where: KeyPath, raw: Raw, fields: Mapping[str, str]) -> list[Problem]:
    """``fields``: the kind that each must have."""
    found = []
    for name, kind in fields.items():
        value = raw.get(name)
        # A bool is an int for Python, but no number for anyone else.
        fits = isinstance(value, KINDS[kind]) and (not isinstance(value, bool) or kind == "true or false")
        if name not in raw:
            found.append(Problem(where, f"{name} is missing"))
        elif not fits:
            found.append(Problem(where, f"{name} must be {kind}, not {json_kind(value)}"))
    return found


def string_list_problems(where: KeyPath, raw: Raw, name: str) -> list[Problem]:
    """An optional array of strings with something in them."""
    value = raw.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        return [Problem(where, f"{name} must be an array, not {json_kind(value)}")]
    return [
        Problem(where, f"{name}[{number}] must be a string that is not empty, not {shown(item)}")
        for number, item in enumerate(value)
        if not isinstance(item, str) or not item.strip()
    ]


def duplicate_problems(raws: Sequence[object]) -> list[Problem]:
    seen: dict[str, int] = {}
    for raw in raws:
        if isinstance(raw, Mapping) and isinstance(raw.get("id"), str):
            seen[raw["id"]] = seen.get(raw["id"], 0) + 1
    return [
        Problem((key,), f"id appears {count} times; ids must be unique")
        for key, count in seen.items()
        if count > 1
    ]


def dependency_problems(raws: Sequence[object], sound: Sequence[Raw]) -> list[Problem]:
    known = {raw["id"] for raw in raws if isinstance(raw, Mapping) and isinstance(raw.get("id"), str)}
    needs = {raw["id"]: tuple(raw.get("dependsOn") or ()) for raw in sound}
    unknown = [
        Problem((key,), f"dependsOn names {other!r}, which is not a story")
        for key, others in needs.items()
        for other in others
        if other not in known
    ]
    return unknown + [
        Problem((circle[0],), f"dependsOn goes in a circle: {' → '.join((*circle, circle[0]))}")
        for circle in find_circles(needs)
    ]


def json_kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    kinds = {str: "a string", int: "a number", float: "a number", list: "an array", dict: "an object"}
    return kinds.get(type(value), "something else")


def shown(value: object) -> str:
    return json.dumps(value)[:80]

"""The reference of all settings, as Markdown: ``python -m ralph.config.reference > docs/settings.md``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from ralph.config.kinds import Kind, ListOf, Nullable, Setting, Table
from ralph.config.schema import SETTINGS
from ralph.config.sources import PREFIX, RESERVED

_HEAD = """\
# Settings

<!-- Written by `python -m ralph.config.reference`; change src/ralph/config/schema.py instead. -->

ralph reads, each laid over the one before:

1. `.ralph/settings.json`: the team's settings, committed
2. `.ralph/settings.local.json`: your own, ignored by git
3. the environment
4. flags

Objects merge key by key; everything else, lists too, replaces what was there. `ralph config show` prints each value
and where it comes from, `ralph config validate` lists everything that is wrong, `ralph config schema` prints a JSON
Schema for your editor. Unknown keys are ignored with a warning; `ralph init` writes a first file.

A file needs no more than this:

```json
{"agent": {"command": "claude"}}
```

Environment variables hold plain text. Lists and objects are written as JSON; a list of strings may also be given as
words like in a shell: `RALPH_AGENT__FLAGS="--model opus"`. Inside free objects the rest of the name is the key:
`RALPH_AGENT__ENVIRONMENT__HTTP_PROXY`. Never settings, because ralph gives them to agents: {reserved}.
"""


def reference() -> str:
    reserved = ", ".join(f"`{name}`" for name in sorted(RESERVED))
    parts = [_HEAD.replace("{reserved}", reserved), *_section("All settings", SETTINGS, (), PREFIX)]
    return "\n".join(parts)


def _section(title: str, table: Table[Any], path: tuple[str, ...], variable: str | None) -> Iterator[str]:
    yield f"## {title}\n"
    if path:
        yield f"{table.doc}\n"
    below: list[tuple[str, Table[Any], tuple[str, ...], str | None]] = []
    for setting in table.settings:
        name = f"{variable}{setting.name.upper()}" if variable else None
        inner, is_list = _table_in(setting.kind)
        if inner is not None:
            key = (*path, setting.key)
            below.append(
                (f"`{'.'.join(key)}{'[]' if is_list else ''}`", inner, key, None if is_list else f"{name}__")
            )
        yield from _entry(setting, path, name)
    for section in below:
        yield from _section(*section)


def _table_in(kind: Kind[Any]) -> tuple[Table[Any] | None, bool]:
    if isinstance(kind, Nullable):
        kind = kind.kind
    is_list = isinstance(kind, ListOf)
    inner = kind.kind if isinstance(kind, ListOf) else kind
    return (inner if isinstance(inner, Table) else None), is_list


def _entry(setting: Setting, path: tuple[str, ...], variable: str | None) -> Iterator[str]:
    yield f"### `{'.'.join((*path, setting.key))}`\n"
    yield f"{setting.doc}\n"
    yield f"- Value: {setting.kind.expected}"
    if setting.required:
        yield "- Default: none, it must be given"
    elif not setting.has_default:
        yield "- Default: none"
    elif not isinstance(setting.kind, Table):
        yield f"- Default: `{json.dumps(setting.kind.dump(setting.default), ensure_ascii=False)}`"
    if variable:
        yield f"- Environment: `{variable}`"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(reference())

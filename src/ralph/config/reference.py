"""The reference of all settings, as Markdown: ``python -m ralph.config.reference > docs/settings.md``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from ralph.config.kinds import Kind, ListOf, Named, Nullable, Setting, Table
from ralph.config.schema import SETTINGS
from ralph.config.sources import OWN_WORDS, PREFIX, RESERVED

_HEAD = """\
# Settings

<!-- Written by `python -m ralph.config.reference`; change src/ralph/config/schema.py instead. -->

ralph reads these in order; later ones win:

1. `~/.config/ralph/settings.json` (`$XDG_CONFIG_HOME/ralph/settings.json`): your own, for all projects
2. `.ralph/settings.json`: the team's settings, committed
3. `.ralph/settings.local.json`: your own for this project, ignored by git
4. the environment
5. flags

What 2 and 3 run or loosen counts only once you [trust](trust.md) the project.

Objects merge key by key; everything else, including lists, replaces the old value. `ralph config show` prints each value
and its origin, `ralph config validate` lists every problem, `ralph config schema` prints a JSON Schema for your
editor. Unknown keys are ignored with a warning.

`ralph init` writes a first file: it proposes an agent that is installed, and as guardrails the checks that the project's own
files name (Makefile, package.json, pyproject.toml and other files of Python's tools, Cargo.toml, go.mod, tox, nox,
pre-commit), and `workspace.setup` from a lock file. It runs none of them. `ralph init --yes` takes the proposals without a question. It also writes
`.ralph/.gitignore`, which keeps everything in `.ralph` but `settings.json` out of git.

A file needs no more than this:

```json
{"agent": {"command": "claude"}}
```

Environment variables hold plain text. Lists and objects are written as JSON; a list of strings may also be given as
shell words: `RALPH_AGENT__FLAGS="--model opus"`. Inside free objects the rest of the name is the key:
`RALPH_AGENT__ENVIRONMENT__HTTP_PROXY`. `<NAME>` is a name of your own in capitals:
`RALPH_AGENTS__HELPER__MODEL`; one that contains `-` or `.` needs JSON. Not settings: {own}; and what
ralph gives to agents: {told}.
"""


_Section = tuple[str, Table[Any], tuple[str, ...], str | None]
"""Its title, its table, the key above it, and the prefix of its variables (None: it has none)."""


def reference() -> str:
    told = ", ".join(f"`{name}`" for name in sorted(RESERVED - OWN_WORDS))
    own = ", ".join(f"`{name}`" for name in sorted(OWN_WORDS))
    parts = [
        _HEAD.replace("{told}", told).replace("{own}", own),
        *_section("All settings", SETTINGS, (), PREFIX),
    ]
    return "\n".join(parts)


def _section(title: str, table: Table[Any], path: tuple[str, ...], variable: str | None) -> Iterator[str]:
    yield f"## {title}\n"
    if path:
        yield f"{table.doc}\n"
    below: list[_Section] = []
    for setting in table.settings:
        name = f"{variable}{setting.name.upper()}" if variable else None
        below += _inside(setting.kind, (*path, setting.key), name)
        yield from _entry(setting, path, name)
    for section in below:
        yield from _section(*section)


def _inside(kind: Kind[Any], key: tuple[str, ...], name: str | None) -> Iterator[_Section]:
    """The table that a setting is, or that it has for each entry or name."""
    if isinstance(kind, Nullable):
        kind = kind.kind
    title = ".".join(key)
    variables = f"{name}__" if name else None
    if isinstance(kind, ListOf):
        kind, title, variables = kind.kind, f"{title}[]", None
    elif isinstance(kind, Named):
        kind, key, variables = kind.kind, (*key, "<name>"), variables and f"{variables}<NAME>__"
        title = ".".join(key)
    if isinstance(kind, Table):
        yield f"`{title}`", kind, key, variables


def _entry(setting: Setting, path: tuple[str, ...], variable: str | None) -> Iterator[str]:
    yield f"### `{'.'.join((*path, setting.key))}`\n"
    yield f"{setting.doc}\n"
    yield f"- Value: {setting.kind.expected}"
    if setting.required:
        yield "- Default: none, required"
    elif not setting.has_default:
        yield "- Default: none"
    elif not isinstance(setting.kind, Table):
        yield f"- Default: `{json.dumps(setting.kind.dump(setting.default), ensure_ascii=False)}`"
    if variable:
        yield f"- Environment: `{variable}`"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(reference())

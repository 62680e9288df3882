"""What agents obey when they find it in a repository: the names, and what those lead to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath

OBEYED = (
    *("AGENTS.md", "AGENTS.local.md", "AGENTS.override.md", "AGENT.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md"),
    *("VIBE.md", ".vibe.md", ".goosehints", ".augment-guidelines", ".cursorrules", ".windsurfrules", ".clinerules"),
    *("opencode.json", "opencode.jsonc", ".mcp.json", ".env"),
    *(".agent", ".agents", ".amazonq", ".amp", ".augment", ".claude", ".cline", ".codex", ".copilot", ".cursor", ".factory"),
    *(".gemini", ".goose", ".junie", ".kimi", ".kimi-code", ".kiro", ".opencode", ".qoder", ".qwen", ".stakpak", ".vibe", ".windsurf"),
    *(".github/copilot-instructions.md", ".github/copilot", ".github/instructions", ".github/hooks", ".github/agents"),
    *(".github/skills", ".github/prompts", ".github/mcp.json", ".vscode/mcp.json"),
)  # fmt: skip
"""Files and folders, at any depth: instructions, settings, hooks, servers, of every agent that ralph knows."""

MOST_STEPS = 40
"""Links on the way to one file, as systems have it."""
IMPORT = "(^|[ \t])@[^ \t\r]+"
"""How a file that is obeyed names another one, as ``git grep`` understands it."""

_NAMES = frozenset(name.lower() for name in OBEYED)
_ABOVE = frozenset(name.rpartition("/")[0] for name in _NAMES) - {""}
_PUNCTUATION = ".,;:!?)]}'\"`*"


def is_obeyed_link(path: str) -> bool:
    """A link there is obeyed, or what is below it is."""
    steps = path.lower().split("/")
    tails = {"/".join(steps[first:]) for first in range(len(steps))}
    beneath = (
        "/".join(steps[first:last])
        for first in range(len(steps))
        for last in range(first + 1, min(first + 2, len(steps)) + 1)
    )
    return bool(tails & _ABOVE) or any(part in _NAMES for part in beneath)


def led_to(path: str, links: Mapping[str, str]) -> Iterator[str]:
    """The links on the way to ``path``, and where it ends: as far as that is inside the repository."""
    left, here = path.split("/")[::-1], ""
    steps = 0
    while left:
        here = normpath(join(here, left.pop()))
        if here.startswith(("..", "/")):
            return
        if here in links:
            steps += 1
            if steps > MOST_STEPS or links[here].startswith("/"):
                return
            yield here
            left += links[here].split("/")[::-1]
            here = dirname(here)
    if here not in ("", "."):
        yield here


def imported(file: str, words: str) -> Iterator[str]:
    """Where an ``@path`` in that file may lead: seen from the file, or from the top."""
    for name in dict.fromkeys((words, words.rstrip(_PUNCTUATION))):
        name = re.sub(r"^\s*@", "", name)
        if name and not name.startswith(("/", "~")):
            for place in (normpath(join(dirname(file), name)), normpath(name)):
                if place != "." and not place.startswith(".."):
                    yield place

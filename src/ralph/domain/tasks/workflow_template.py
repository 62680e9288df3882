"""WORKFLOW.md, the file of Symphony: settings between two lines ``---``, then a prompt for every issue, as a role's template."""

from __future__ import annotations

import re
from typing import NamedTuple

from ralph.patterns import pattern

_FENCE = "---"
_VARIABLES = {
    "issue.id": "TASK_ID",
    "issue.identifier": "TASK_ID",
    "issue.title": "TITLE",
    "issue.description": "DESCRIPTION",
    "issue.branch_name": "BRANCH",
}
_TAG = pattern(r"\{\{([^{}]*)\}\}|\{%-?([^{}%]*)")
LONGEST_TAG = 60


class Parts(NamedTuple):
    """``front`` None: the file does not begin with settings, and is somebody's documentation. It begins at line 2."""

    front: str | None
    body: str


class Template(NamedTuple):
    """``unknown``: what in it ralph has no word for; then it is not to be used."""

    text: str
    unknown: tuple[str, ...] = ()


def split_workflow(text: str) -> Parts:
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        return Parts(None, text)
    ends = (number for number, line in enumerate(lines) if number and line.rstrip() == _FENCE)
    if (end := next(ends, None)) is None:
        return Parts("\n".join(lines[1:]), "")
    return Parts("\n".join(lines[1:end]), "\n".join(lines[end + 1 :]).strip())


def translate_body(body: str) -> Template:
    """With ralph's names for what is put in. Why a task came back is told at its end, as every template must."""
    unknown: list[str] = []

    def translate(tag: re.Match[str]) -> str:
        name = _VARIABLES.get((tag[1] or "").strip().strip("-").strip())
        if name is None:
            unknown.append(" ".join(tag[0].split())[:LONGEST_TAG])
            return tag[0]
        return "{{" + name + "}}"

    text = _TAG.sub(translate, body)
    if "{{DESCRIPTION}}" in text:
        text = f"{text}\n{{{{REMARKS}}}}"
    return Template(text, tuple(dict.fromkeys(unknown)))

"""Events as Claude Code sends them, answered by the modules that the built file is made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ralph.interfaces.hooks.main import answer_of
from ralph.interfaces.hooks.protocol import HookEvent

SESSION = "b290519a-2cb6-441c-87ae-2f0cff4404c0"


def asked(
    hook: str,
    project: Path,
    *,
    session: str = SESSION,
    environ: Mapping[str, str] | None = None,
    **fields: Any,
) -> dict[str, Any] | None:
    event = {"session_id": session, "cwd": str(project), **fields}
    variables = {"CLAUDE_PROJECT_DIR": str(project), "TMPDIR": str(project.parent), **(environ or {})}
    answer = answer_of(hook, HookEvent(event, variables))
    # As Claude Code would read it.
    return None if answer is None else json.loads(json.dumps(answer))


def context_of(answer: dict[str, Any] | None) -> str:
    return "" if answer is None else str(answer["hookSpecificOutput"]["additionalContext"])

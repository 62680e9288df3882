"""The files a plan starts with."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from ralph.adapters.documents.plan_files import PRD, PROGRESS, PROMPT, TASKS
from ralph.domain.loop.prompt import fill

_TEMPLATES = Path(__file__).parents[2] / "profiles" / "templates" / "plan"
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def fresh_plan(*, project: str, date: str, name: str | None) -> Mapping[str, str]:
    """Content by file name. ``name`` is the feature's: it names the branch."""
    values = {"DATE": date, "PROJECT_NAME": name or project}
    tasks = json.loads(_template(TASKS))
    tasks["project"] = project
    if name is not None:
        tasks["branchName"] = f"ralph/{name}"
    return {
        PRD: fill(_template(PRD), values),
        TASKS: json.dumps(tasks, indent=2, ensure_ascii=False) + "\n",
        PROGRESS: fill(_template(PROGRESS), values),
        PROMPT: _template(PROMPT),
    }


def is_scaffold(prd: str) -> bool:
    """Nobody has written a requirement into it yet: headings, comments and empty tables only."""
    lines = (line.strip() for line in _COMMENT.sub("", prd).splitlines())
    return not any(line for line in lines if line and not line.startswith(("#", "|")))


def _template(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")

"""Reads the workflow files of a commit: which jobs a push starts, under which names GitHub would show them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from pathlib import PurePosixPath
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class Planned:
    """One job of a workflow, one cell of its matrix."""

    job: str  # the key in the file
    matrix: str  # the cell, as JSON with sorted keys
    name: str  # as GitHub shows it

    @property
    def key(self) -> tuple[str, str]:
        return self.job, self.matrix


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow file and when it runs."""

    path: str
    name: str
    triggers: Mapping[str, Any]
    jobs: tuple[Planned, ...]

    def event(self, branch: str, base: str | None) -> str | None:
        """The event that runs it: a push to the branch, else a pull request into ``base``, else none."""
        if "push" in self.triggers and _wants(self.triggers["push"], branch):
            return "push"
        if (
            base is not None
            and "pull_request" in self.triggers
            and _wants(self.triggers["pull_request"], base)
        ):
            return "pull_request"
        return None


def read_workflow(path: str, text: str) -> Workflow | None:
    """Nothing if it is no workflow that could run; GitHub would show an error for such a file."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    if not isinstance(document, dict) or not isinstance(document.get("jobs"), dict):
        return None
    triggers = document.get(True, document.get("on"))  # YAML 1.1 reads the key "on" as a truth value
    if isinstance(triggers, str):
        triggers = {triggers: None}
    elif isinstance(triggers, list):
        triggers = dict.fromkeys(triggers)
    jobs = tuple(
        planned for key, job in document["jobs"].items() for planned in _planned(str(key), job or {})
    )
    return Workflow(path, str(document.get("name") or PurePosixPath(path).name), triggers or {}, jobs)


def matrix_key(matrix: Mapping[str, Any] | None) -> str:
    return json.dumps(matrix or {}, sort_keys=True)


def _planned(key: str, job: Mapping[str, Any]) -> list[Planned]:
    name = str(job.get("name") or key)
    cells = _cells((job.get("strategy") or {}).get("matrix") or {})
    return [Planned(key, matrix_key(cell), _shown_name(name, cell)) for cell in cells]


def _shown_name(name: str, cell: Mapping[str, Any]) -> str:
    if "${{" in name:
        for key, value in cell.items():
            name = name.replace(f"${{{{ matrix.{key} }}}}", str(value))
        return name
    return f"{name} ({', '.join(map(str, cell.values()))})" if cell else name


def _cells(matrix: Mapping[str, Any]) -> list[dict[str, Any]]:
    axes = {key: values for key, values in matrix.items() if key not in ("include", "exclude")}
    cells = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())] if axes else []
    excluded = matrix.get("exclude") or []
    cells = [cell for cell in cells if not any(entry.items() <= cell.items() for entry in excluded)]
    return [*cells, *(matrix.get("include") or [])] or [{}]


def _wants(rule: Any, branch: str) -> bool:
    if not isinstance(rule, dict):
        return True
    if "branches" in rule:
        return any(fnmatchcase(branch, str(pattern)) for pattern in rule["branches"])
    if "branches-ignore" in rule:
        return not any(fnmatchcase(branch, str(pattern)) for pattern in rule["branches-ignore"])
    return "tags" not in rule

"""Ready-made verification configs for common stacks: ``{"template": "pytest"}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEMPLATES: Mapping[str, Mapping[str, Any]] = {
    "pytest": {"command": "python -m pytest -q", "timeout": 900},
    "unittest": {"command": "python -m unittest", "timeout": 900},
    "ruff": {"command": "ruff check .", "timeout": 120},
    "mypy": {"command": "mypy .", "timeout": 600},
    "npm-test": {"command": "npm test --silent", "timeout": 900},
    "cargo": {"command": "cargo test --quiet", "timeout": 1800},
    "go-test": {"command": "go test ./...", "timeout": 900},
    "make": {"command": "make test", "timeout": 1800},
}


def expanded(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config with its template filled in; what is written beside the template wins."""
    name = config.get("template")
    values = TEMPLATES.get(name, {}) if isinstance(name, str) else {}
    return {**values, **{key: value for key, value in config.items() if key != "template"}}

"""Loads the settings of a project: files, environment and flags, merged, checked and typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ralph.config.kinds import Reading
from ralph.config.layers import NOTHING, Layer, Merged, Origin, stack
from ralph.config.schema import SETTINGS, Settings
from ralph.config.sources import (
    LOCAL_FILE,
    SETTINGS_FILE,
    Flag,
    read_environment,
    read_file,
    read_flags,
)
from ralph.domain.text.reader import KeyPath, Problem
from ralph.errors import ConfigError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Loaded:
    """Settings that can be used. ``files`` are those read, relative to the root; ``flags`` were laid over them."""

    root: Path
    settings: Settings
    merged: Merged
    warnings: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    without_flags: Merged = NOTHING

    def origin(self, key: str | KeyPath) -> Origin:
        """Where ``agent.command`` comes from."""
        return self.merged.origin(tuple(key.split(".")) if isinstance(key, str) else key)


class Inspection(NamedTuple):
    """All that can be said about a project's settings without stopping at the first problem."""

    root: Path
    merged: Merged
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    files: tuple[str, ...]
    settings: Settings | None  # None if there are problems


class Sources(NamedTuple):
    """What the files and the environment say, read once; some flags add to lists in there. ``root`` holds ``.ralph/``."""

    root: Path
    layers: tuple[Layer, ...]
    merged: Merged
    files: tuple[str, ...]
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]

    @classmethod
    def read(cls, root: Path, environ: Mapping[str, str]) -> Sources:
        """Raises nothing."""
        problems: list[Problem] = []
        warnings: list[Problem] = []
        of_files = [read_file(root, name, problems, warnings) for name in (SETTINGS_FILE, LOCAL_FILE)]
        from_files = [layer for layer in of_files if layer is not None]
        layers = (*from_files, *read_environment(environ, warnings))
        files = tuple(layer.origin.label for layer in from_files)
        return cls(root, layers, stack(layers), files, tuple(problems), tuple(warnings))

    def inspect(self, flags: Sequence[Flag] = ()) -> Inspection:
        """Raises nothing."""
        problems, warnings = list(self.problems), list(self.warnings)
        layers = [*self.layers, *read_flags(flags)]
        for layer in layers:
            _check_layer(layer, problems, warnings)
        merged = stack(layers)
        # Only now can something be missing: what one layer lacks another may have.
        of_all: list[Problem] = []
        whole = Reading(lambda path: merged.origin_of_missing(path).label, of_all, [])
        settings = SETTINGS.read(merged.values, whole)
        problems.extend(problem for problem in of_all if problem not in problems)
        return Inspection(
            self.root,
            merged,
            tuple(problems),
            tuple(warnings),
            self.files,
            None if problems else settings,
        )

    def load(self, flags: Sequence[Flag] = ()) -> Loaded:
        """The effective settings; raises InvalidSettings with all problems."""
        found = self.inspect(flags)
        if found.settings is None:
            raise InvalidSettings(found.problems, where=str(self.root))
        return Loaded(
            self.root,
            found.settings,
            found.merged,
            found.warnings,
            self.files,
            tuple(flags),
            self.merged,
        )


def inspect(root: Path, *, environ: Mapping[str, str], flags: Sequence[Flag] = ()) -> Inspection:
    return Sources.read(root, environ).inspect(flags)


def _check_layer(layer: Layer, problems: list[Problem], warnings: list[Problem]) -> None:
    """Each layer by itself, so that every problem names its file even where another layer wins."""
    SETTINGS.read(layer.values, Reading(lambda _: layer.origin.label, problems, warnings, complete=False))


def load(root: Path, *, environ: Mapping[str, str], flags: Sequence[Flag] = ()) -> Loaded:
    return Sources.read(root, environ).load(flags)


def with_origins(settings: Settings, root: Path, environ: Mapping[str, str], flags: Sequence[Flag]) -> Loaded:
    """Settings that a program changed or made itself; what the files and ``flags`` say about origins still holds."""
    sources = Sources.read(root, environ)
    merged = sources.inspect(flags).merged
    return Loaded(root, settings, merged, flags=tuple(flags), without_flags=sources.merged)


class InvalidSettings(ConfigError):
    """The settings cannot be used. The message lists every problem, one a line."""

    def __init__(self, problems: Sequence[Problem], *, where: str = "") -> None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        place = f" of {where}" if where else ""
        lines = "\n".join(f"  {problem}" for problem in problems)
        hint = "`ralph config validate` lists warnings too"
        super().__init__(f"{count} in the settings{place}:\n{lines}", hint=hint)
        self.problems = tuple(problems)


def effective(settings: Settings) -> dict[str, object]:
    """As JSON, defaults included: what two runs can be compared by."""
    values = SETTINGS.dump(settings)
    assert isinstance(values, dict)
    return values


def missing_for_run(settings: Settings) -> Problem | None:
    """What ``ralph run`` needs besides valid settings."""
    if settings.agent.command:
        return None
    hint = "run `ralph init`, set it in .ralph/settings.json, or give --agent"
    return Problem(("agent", "command"), "is not set", hint)

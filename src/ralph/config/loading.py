"""Loads the settings of a project: files, environment and flags, merged, checked and typed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ralph.config.kinds import Reading
from ralph.config.schema import SETTINGS, Settings
from ralph.config.sources import (
    DEFAULT,
    LOCAL_FILE,
    NOTHING,
    PROJECT_FILES,
    SETTINGS_FILE,
    WORKFLOW_FILE,
    Flag,
    Kept,
    Layer,
    Merged,
    Origin,
    read_environment,
    read_file,
    read_flags,
    stack,
    user_file,
    user_label,
)  # fmt: skip
from ralph.domain.text.masking import mask_values
from ralph.domain.text.reader import KeyPath, Problem, spell
from ralph.domain.text.secret_names import MASK
from ralph.errors import ConfigError
from ralph.values import dataclass, field, replace


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Loaded:
    """Valid settings. ``files`` are those read, relative to the root; ``flags`` were laid over them.

    ``contents``: of those files, to see later whether they are still the same. ``own``: what the user's file says,
    ``project``: what those of the repository say.
    """

    root: Path
    settings: Settings
    merged: Merged
    warnings: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    without_flags: Merged = NOTHING
    contents: Mapping[str, bytes] = field(default_factory=dict)
    own: Merged = NOTHING
    project: Merged = NOTHING

    @property
    def kept(self) -> dict[str, bytes]:
        """The project's files, to read the same settings again whatever becomes of them."""
        return {name: content for name, content in self.contents.items() if name in PROJECT_FILES}

    def origin(self, key: str | KeyPath) -> Origin:
        """Where ``agent.command`` comes from."""
        return self.merged.origin(tuple(key.split(".")) if isinstance(key, str) else key)


@dataclass(frozen=True, slots=True)
class Inspection:
    """Everything about a project's settings, without stopping at the first problem."""

    root: Path
    merged: Merged
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    files: tuple[str, ...]
    settings: Settings | None  # None if there are problems


@dataclass(frozen=True, slots=True)
class Sources:
    """Files and environment, read once: some flags add to lists in them. ``root`` holds ``.ralph/``."""

    root: Path
    layers: tuple[Layer, ...]
    merged: Merged
    files: tuple[str, ...]
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    own: Merged = NOTHING
    project: Merged = NOTHING

    @classmethod
    def read(cls, root: Path, environ: Mapping[str, str], *, kept: Kept | None = None) -> Sources:
        """Raises nothing. ``kept``: the project's files, instead of those that are there."""
        problems: list[Problem] = []
        warnings: list[Problem] = []
        own = [layer for layer in [_read_own(root, environ, problems, warnings)] if layer is not None]
        found = [read_file(root, name, problems, warnings, kept=kept) for name in (SETTINGS_FILE, LOCAL_FILE)]
        above = [layer for layer in found if layer is not None]
        given = read_environment(environ, warnings)
        workflow = _read_workflow(root, problems, warnings, others=(*own, *above, *given), kept=kept)
        project = above if workflow is None else [workflow, *above]
        layers = (*own, *project, *given)
        files = tuple(layer.origin.label for layer in (*own, *project))
        return cls(
            root,
            layers,
            stack(layers),
            files,
            tuple(problems),
            tuple(warnings),
            own=stack(own),
            project=stack(project),
        )

    def without(self, places: Sequence[KeyPath]) -> Sources:
        """The same, but without these values in the files of the project."""
        layers = tuple(
            replace(layer, values=_left_out(layer.values, places))
            if layer.origin.label in PROJECT_FILES
            else layer
            for layer in self.layers
        )
        return replace(self, layers=layers, merged=stack(layers))

    def of_machine(self, flags: Sequence[Flag] = ()) -> Settings:
        """As they would be without the project. Wrong values are the defaults; whoever loads the whole is told of them."""
        layers = [layer for layer in self.layers if layer.origin.label not in PROJECT_FILES]
        return SETTINGS.read(stack((*layers, *read_flags(flags))).values, Reading(lambda _: "", [], []))

    @property
    def contents(self) -> dict[str, bytes]:
        return {
            layer.origin.label: layer.content for layer in self.layers if layer.origin.label in self.files
        }

    def inspect(self, flags: Sequence[Flag] = ()) -> Inspection:
        """Raises nothing."""
        problems, warnings = list(self.problems), list(self.warnings)
        layers = [*self.layers, *read_flags(flags)]
        for layer in layers:
            _check_layer(layer, problems, warnings)
        merged = stack(layers)
        # Only now can something be missing: another layer may have it.
        of_all: list[Problem] = []
        whole = Reading(lambda path: merged.origin_of_missing(path).label, of_all, [])
        settings = SETTINGS.read(merged.values, whole)
        problems.extend(problem for problem in of_all if problem not in problems)
        usable = None if problems else settings
        return Inspection(self.root, merged, tuple(problems), tuple(warnings), self.files, usable)

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
            flags=tuple(flags),
            without_flags=self.merged,
            contents=self.contents,
            own=self.own,
            project=self.project,
        )


def _left_out(values: Mapping[str, object], places: Sequence[KeyPath]) -> dict[str, object]:
    """A list goes as a whole."""
    left: dict[str, object] = {}
    for key, value in values.items():
        here = [place[1:] for place in places if place[:1] == (key,)]
        if not any(not rest or isinstance(rest[0], int) for rest in here):
            left[key] = _left_out(value, here) if isinstance(value, Mapping) and here else value
    return left


def _read_workflow(
    root: Path,
    problems: list[Problem],
    warnings: list[Problem],
    *,
    others: Sequence[Layer],
    kept: Kept | None,
) -> Layer | None:
    """Symphony's file, which few projects have."""
    if WORKFLOW_FILE not in kept if kept is not None else not os.path.lexists(root / WORKFLOW_FILE):
        return None
    from ralph.config.workflow_file import first_stage, read_workflow

    return read_workflow(root, problems, warnings, first_role=first_stage(stack(others)), kept=kept)


def _read_own(
    root: Path, environ: Mapping[str, str], problems: list[Problem], warnings: list[Problem]
) -> Layer | None:
    file = user_file(environ)
    if file is None:
        return None
    return read_file(root, user_label(file, environ), problems, warnings, file=file)


def inspect(root: Path, *, environ: Mapping[str, str], flags: Sequence[Flag] = ()) -> Inspection:
    return Sources.read(root, environ).inspect(flags)


def _check_layer(layer: Layer, problems: list[Problem], warnings: list[Problem]) -> None:
    """Each layer by itself: a problem names its file even where another layer wins."""
    SETTINGS.read(layer.values, Reading(lambda _: layer.origin.label, problems, warnings, complete=False))


def load(
    root: Path, *, environ: Mapping[str, str], flags: Sequence[Flag] = (), kept: Kept | None = None
) -> Loaded:
    return Sources.read(root, environ, kept=kept).load(flags)


def with_origins(settings: Settings, root: Path, environ: Mapping[str, str], flags: Sequence[Flag]) -> Loaded:
    """Settings that a program changed or built; origins still come from the files and ``flags``."""
    sources = Sources.read(root, environ)
    merged = sources.inspect(flags).merged
    return Loaded(
        root,
        settings,
        merged,
        flags=tuple(flags),
        without_flags=sources.merged,
        contents=sources.contents,
        own=sources.own,
        project=sources.project,
    )


class InvalidSettings(ConfigError):
    """Unusable settings. The message lists every problem, one per line."""

    def __init__(self, problems: Sequence[Problem], *, where: str = "") -> None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        place = f" of {where}" if where else ""
        lines = "\n".join(f"  {problem}" for problem in problems)
        hint = "`ralph config validate` lists warnings too"
        super().__init__(f"{count} in the settings{place}:\n{lines}", hint=hint)
        self.problems = tuple(problems)


def effective(settings: Settings) -> dict[str, object]:
    """As JSON, defaults included, for comparing runs."""
    values = SETTINGS.dump(settings)
    assert isinstance(values, dict)
    return values


def recorded(loaded: Loaded) -> dict[str, object]:
    """As JSON, for the record of a run: only the texts that the team shares, or that are ours, and no secrets of theirs.

    `ralph resume` reads the others again where they are: in the user's own files, and in the environment.
    """
    given = {origin for _, _, origin in loaded.flags}

    def kept(value: object, path: KeyPath) -> object:
        if isinstance(value, dict):
            return {key: kept(item, (*path, key)) for key, item in value.items()}
        label = loaded.origin(path).label
        is_shared = label in (DEFAULT.label, SETTINGS_FILE, WORKFLOW_FILE) or label in given
        if is_shared and path[-2:-1] != ("environment",):
            return value
        return _without_texts(value)

    values = mask_values(kept(effective(loaded.settings), ()))
    assert isinstance(values, dict)
    return values


def _without_texts(value: object) -> object:
    if isinstance(value, list):
        return [_without_texts(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_texts(item) for key, item in value.items()}
    return MASK if isinstance(value, str) and value else value


def missing_for_run(settings: Settings) -> Problem | None:
    """What ``ralph run`` needs beyond valid settings."""
    if settings.agent.command:
        return None
    hint = "choose an agent with `ralph init`, or for one run with --agent"
    return Problem(("agent", "command"), "not set", hint)


@dataclass(frozen=True, slots=True)
class Row:
    """One setting: its key, its value as JSON, and where that comes from."""

    key: str
    value: object
    origin: Origin


def rows(loaded: Loaded) -> list[Row]:
    """Every setting with its value, including defaults, in the order of the schema. Secrets are redacted."""
    values = mask_values(effective(loaded.settings))
    assert isinstance(values, dict)
    return list(_rows(loaded, values, ()))


def _rows(loaded: Loaded, values: Mapping[str, object], path: KeyPath) -> Iterator[Row]:
    for key, value in values.items():
        here = (*path, key)
        if isinstance(value, dict) and value:
            yield from _rows(loaded, value, here)
        elif here == ("guardrails",) and value:
            # As written: six lines of defaults for each would hide what matters.
            written = mask_values(loaded.merged.values["guardrails"])
            assert isinstance(written, list)
            for index, guardrail in enumerate(written):
                yield Row(spell((*here, index)), guardrail, loaded.origin(here))
        else:
            yield Row(spell(here), value, loaded.origin(here))

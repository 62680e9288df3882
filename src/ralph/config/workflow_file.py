"""WORKFLOW.md at the root of a project: what Symphony is set up with, as one more layer of the project's own settings.

Only its form is Symphony's: what a value may do, and whether its user must trust it, is decided like that of any other
file of the repository. References to variables (``$NAME``) are never resolved: they are where secrets would come in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ralph.config.plain_yaml import BadYaml, read_plain_yaml
from ralph.config.sources import WORKFLOW_FILE, Kept, Layer, Merged, Origin
from ralph.domain.tasks.workflow_template import split_workflow, translate_body
from ralph.domain.text.reader import KeyPath, Problem, spell
from ralph.values import dataclass, field

LARGEST_BYTES = 200_000
"""What a role's instructions may have, which are in the same file."""
USUAL_ROLE = "coder"
LEAST_POLL = 5.0
MOST_MILLISECONDS = 10**12
_NOTHING = ("", "~", "null")
_HINT = "`agent` in .ralph/settings.json says which agent runs, and trackers are reached with LINEAR_API_KEY or GitHub's login"


@dataclass(slots=True)
class _Front:
    """The settings as text, lists and mappings: nothing is a number or a truth before somebody asks for one.

    ``used``: what ralph has a setting for; ``notes``: why something is not used, or not all of it; ``about_prompt``: why the
    text below them is not.
    """

    values: Mapping[str, object]
    lines: Mapping[KeyPath, int]
    problems: list[Problem] = field(default_factory=list)
    used: set[KeyPath] = field(default_factory=set)
    notes: dict[KeyPath, str] = field(default_factory=dict)
    about_prompt: str = ""

    def get(self, *path: str) -> object:
        """None if it is not there, or says nothing."""
        found: object = self.values
        for step in path:
            found = found.get(step) if isinstance(found, Mapping) else None
        return None if isinstance(found, str) and found in _NOTHING else found

    def text(self, *path: str) -> str:
        found = self.get(*path)
        if found is None:
            return ""
        if not isinstance(found, str):
            self.wrong(path, "expected text")
            return ""
        if found.lstrip().startswith("$"):
            self.notes[path] = "a variable, which ralph does not look up"
            return ""
        self.used.add(path)
        return found.strip()

    def whole(self, *path: str) -> int | None:
        """A number above 0."""
        if not (text := self.text(*path)):
            return None
        if text.isascii() and text.isdigit() and len(text) < 16 and 0 < int(text) < MOST_MILLISECONDS:
            return int(text)
        self.wrong(path, f"expected a whole number above 0, found {text[:40]!r}")
        return None

    def texts(self, *path: str) -> list[str] | None:
        """None: there is no such list."""
        found = self.get(*path)
        if found is None:
            return None
        entries = found if isinstance(found, list) else [found]
        texts = [entry.strip() for entry in entries if isinstance(entry, str)]
        if len(texts) < len(entries):
            self.wrong(path, "expected a list of texts")
            return None
        return texts

    def wrong(self, path: KeyPath, message: str) -> None:
        line = self.lines.get(path, 0) + 1  # the first line of the file is the one above them
        self.problems.append(Problem(path, f"line {line}: {message}", "", WORKFLOW_FILE))


def first_stage(merged: Merged) -> str:
    """The role that the file's prompt is for."""
    found: object = merged.values
    for step in ("profiles", "verified", "stages"):
        found = found.get(step) if isinstance(found, Mapping) else None
    first = found[0] if isinstance(found, list) and found else None
    return first if isinstance(first, str) and first.strip() else USUAL_ROLE


def read_workflow(
    root: Path,
    problems: list[Problem],
    warnings: list[Problem],
    *,
    first_role: str = USUAL_ROLE,
    kept: Kept | None = None,
) -> Layer | None:
    """The layer of the file; None if there is none, or if it is not Symphony's. Raises nothing. ``kept``: as in ``read_file``."""
    content = _read(root / WORKFLOW_FILE) if kept is None else kept.get(WORKFLOW_FILE)
    if content is None:
        return None
    text = content.decode("utf-8", "replace")
    parts = split_workflow(text)
    if parts.front is None or not _is_symphony(parts.front):
        return None
    try:
        found = read_plain_yaml(parts.front)
    except BadYaml as error:
        message = f"line {error.line + 1}: not valid YAML: {error}"
        problems.append(Problem((), message, "fix it, or remove the file", WORKFLOW_FILE))
        return None
    front = _Front(found.values, found.lines)
    values = _settings(front)
    if (prompt := _prompt(parts.body, front)) is not None:
        _put(values, ("profiles", "verified", "roles", first_role, "prompt"), prompt)
    problems += front.problems
    for path in found.repeated:
        warnings.append(Problem(path, "appears twice, the last one counts", "remove one", WORKFLOW_FILE))
    if unused := _unused(front):
        warnings.append(Problem((), f"not used by ralph: {', '.join(unused)}", _HINT, WORKFLOW_FILE))
    return Layer(Origin(WORKFLOW_FILE), values, content)


def _read(file: Path) -> bytes | None:
    """Whatever cannot be such a file is none: the name is not ours alone."""
    try:
        if not file.is_file() or file.stat().st_size > LARGEST_BYTES:
            return None
        return file.read_bytes()
    except OSError:
        return None


def _is_symphony(front: str) -> bool:
    """Others write files of this name, too, and may begin them with a line."""
    return any(line.startswith("tracker:") for line in front.splitlines())


# --- what it means ---


def _settings(front: _Front) -> dict[str, object]:
    values: dict[str, object] = {}
    front.used |= {("tracker", "kind")}
    source, label = _source(front), _label(front)
    if source and label is not None:
        _put(values, ("tickets", "source"), source)
        if label:
            _put(values, ("tickets", "label"), label)
    if (milliseconds := front.whole("polling", "interval_ms")) is not None:
        _put(values, ("tickets", "poll"), max(milliseconds / 1_000, LEAST_POLL))
    if (agents := front.whole("agent", "max_concurrent_agents")) is not None:
        _put(values, ("profiles", "verified", "maxParallel"), agents)
    if setup := _setup(front):
        _put(values, ("workspace", "setup"), [setup])
    if teardown := _script(front, "before_remove"):
        _put(values, ("workspace", "teardown"), [teardown])
    if (milliseconds := front.whole("hooks", "timeout_ms")) is not None:
        _put(values, ("workspace", "timeout"), milliseconds / 1_000)
    return values


def _source(front: _Front) -> str:
    """As the user would name it. Where the tracker is, and its key, are never taken from a repository."""
    match front.text("tracker", "kind").lower():
        case "linear":
            slug = _provided(front, "project_slug")
            return f"linear:project/{slug.lower()}" if slug else ""
        case "github":
            repository = _provided(front, "repo")
            return f"github:{repository}" if repository else ""
        case "":
            return ""
        case kind:
            front.notes["tracker", "kind"] = f"{kind[:40]}, a tracker that ralph does not know"
            return ""


def _provided(front: _Front, key: str) -> str:
    """Where it is now, and where it was in earlier versions."""
    return front.text("tracker", "provider", key) or front.text("tracker", key)


def _label(front: _Front) -> str | None:
    """Empty: the usual one. None: it takes more of them than ralph can ask for, and fewer would let more tickets in."""
    path = ("tracker", "required_labels")
    labels = list(dict.fromkeys(front.texts(*path) or []))
    if len(labels) > 1 or labels == [""]:
        front.notes[path] = "ralph asks for one label: name your source and label in .ralph/settings.json"
        return None
    if labels or front.texts(*path) == []:
        front.used.add(path)
    return labels[0] if labels else ""


def _setup(front: _Front) -> str:
    """Without the clone that nearly every such file begins with, and that fails in a folder with files."""
    given = _script(front, "after_create").splitlines()
    lines = [left for line in given if (left := _without_clone(line)) is not None]
    if lines != given:
        front.notes["hooks", "after_create"] = "its git clone: a worktree has the code already"
    return "\n".join(lines).strip()


def _without_clone(line: str) -> str | None:
    """None: nothing is left of it."""
    words, both, rest = line.partition("&&")
    parts = words.split()
    if " ".join(parts[:2]) != "git clone" or parts[-1] not in (".", "./") or words.rstrip().endswith("\\"):
        return line
    return rest.strip() if both else None


def _script(front: _Front, name: str) -> str:
    """Unlike other values it may begin with a variable, which the shell resolves."""
    found = front.get("hooks", name)
    if found is not None and not isinstance(found, str):
        front.wrong(("hooks", name), "expected a shell script")
        return ""
    front.used.add(("hooks", name))
    return (found or "").strip()


def _prompt(body: str, front: _Front) -> str | None:
    """The file itself: whoever reads a role's instructions knows where they begin in it."""
    if not body:
        return None
    template = translate_body(body)
    if template.unknown:
        front.about_prompt = f"the prompt (ralph has nothing for {template.unknown[0]})"
        return None
    return WORKFLOW_FILE


def _put(values: dict[str, object], path: tuple[str, ...], value: object) -> None:
    for key in path[:-1]:
        inner = values.setdefault(key, {})
        assert isinstance(inner, dict)
        values = inner
    values[path[-1]] = value


def _unused(front: _Front) -> list[str]:
    """Each by its name; a section as a whole if nothing of it was used."""
    found: list[str] = []
    for key, value in front.values.items():
        paths = list(_leaves((key,), value))
        left = [path for path in paths if path not in front.used or path in front.notes]
        is_whole = len(left) == len(paths) and front.notes.keys().isdisjoint(left)
        found += [key] if is_whole else [_named(path, front) for path in left]
    return [*found, *filter(None, [front.about_prompt])]


def _leaves(path: tuple[str, ...], value: object) -> Iterator[tuple[str, ...]]:
    """As deep as anything that ralph asks for."""
    if not isinstance(value, Mapping) or not value:
        yield path
        return
    for name, inner in value.items():
        if name == "provider" and isinstance(inner, Mapping) and inner:
            yield from ((*path, name, each) for each in inner)
        else:
            yield (*path, name)


def _named(path: KeyPath, front: _Front) -> str:
    note = front.notes.get(path, "")
    return f"{spell(path)} ({note})" if note else spell(path)

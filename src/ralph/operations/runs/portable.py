"""Export a run as one file, and import it into another clone of its repository. The code itself travels by git."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from ralph.adapters import beneath
from ralph.adapters.processes.redaction import Redactor, secrets_in
from ralph.adapters.storage.archive import read_archive, write_archive
from ralph.adapters.storage.places import RUNS
from ralph.adapters.storage.portable import MANIFEST, pack, read_manifest, unpack
from ralph.adapters.storage.request_marks import read_request, request_demand
from ralph.adapters.storage.run_reader import open_reader
from ralph.adapters.storage.task_demands import demands_of_tasks
from ralph.config.root import STATE_FOLDER, Root, git_top
from ralph.domain.text.masking import mask_all
from ralph.domain.text.safe_text import reveal
from ralph.domain.trust.shown import shown
from ralph.errors import StoreError, UsageError
from ralph.operations.runs.read import require_record, run_view
from ralph.values import dataclass

if TYPE_CHECKING:
    from ralph.adapters.git import Git
    from ralph.domain.trust.demand import Demand
    from ralph.domain.views.runs import RunView

CODE = "code.json"
BESIDE = (MANIFEST, CODE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """What the run had worked on when it was exported: the archive does not hold it.

    ``commit`` is empty where there is no repository. ``is_clean``: all of it was committed. ``is_masked``: secrets were taken out
    of the prompt or the flags of the run.
    """

    run: str
    commit: str = ""
    branch: str = ""
    is_clean: bool = True
    is_masked: bool = False


class Exported(NamedTuple):
    """``file`` None: it went to standard output."""

    run: RunView
    code: Code
    runs: tuple[str, ...]
    file: Path | None


class Imported(NamedTuple):
    """``is_new``: it was not on record here. ``has_commit``: None: it names none."""

    run: RunView
    code: Code
    runs: tuple[str, ...]
    is_new: bool
    has_commit: bool | None
    is_checked_out: bool


def export_run(state_folder: Path, reference: str, output: Path | None) -> Exported:
    """``output`` None: into a file named after the run, here; ``-``: to standard output. A run that is under way is exported
    as it is on record now."""
    with require_record(state_folder) as record:
        run_id = record.find(reference)
    run = run_view(state_folder, run_id)
    with TemporaryDirectory(prefix="ralph-export-") as name:
        folder = Path(name)
        redact = Redactor(secrets_in(os.environ)).redact
        pack(state_folder, folder, run_id=run_id, redact=redact)
        runs = read_manifest(folder).runs
        requests = [read_request(state_folder / RUNS / one, state_folder) for one in runs]
        is_masked = any(mask_all(request, redact) != request for request in requests)
        code = asyncio.run(_code_of(run, is_masked=is_masked))
        beneath.write_atomic(folder / CODE, json.dumps(asdict(code), indent=1) + "\n", folder)
        if output is not None and str(output) == "-":
            write_archive(folder, BESIDE, sys.stdout.buffer)
            return Exported(run, code, runs, None)
        file = output or Path(f"{run_id}.ralph.tar.gz")
        _write(folder, file)
    return Exported(run, code, runs, file)


def _write(folder: Path, output: Path) -> None:
    """Whole or not at all, and for this user alone: it holds prompts and what agents printed."""
    if output.is_dir():
        message = f"{output} is a directory"
        raise UsageError(message, hint="name a file")
    unfinished = output.with_name(f".{output.name}.{os.getpid()}.tmp")
    try:
        try:
            with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                write_archive(folder, BESIDE, file)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(output)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        message = f"cannot write {output}: {error.strerror or error}"
        raise StoreError(message, hint="choose another place with -o") from error


class Arrived(NamedTuple):
    """An archive that was opened, and nothing of it taken yet. ``demands``: what its runs would run."""

    folder: Path
    code: Code
    version: str
    demands: tuple[Demand, ...]


@contextmanager
def open_export(file: Path | None) -> Iterator[Arrived]:
    """None: from standard input. Raises StoreError or UsageError if it is no archive that can be imported."""
    with TemporaryDirectory(prefix="ralph-import-") as name:
        folder = Path(name)
        try:
            if file is None:
                read_archive(sys.stdin.buffer, BESIDE, folder)
            else:
                with file.open("rb") as source:
                    read_archive(source, BESIDE, folder)
        except OSError as error:
            message = f"cannot read {file or 'standard input'}: {error.strerror or error}"
            raise UsageError(message, hint="name a file that `ralph export` wrote") from error
        manifest = read_manifest(folder)
        code = _read_code(folder)
        if code.run not in manifest.runs:
            message = "the archive is damaged: it does not hold the run that it names"
            raise StoreError(message, hint="get it again from where it came from")
        # Into a record of its own first: what cannot be taken whole is not taken at all.
        trial = folder / "trial" / STATE_FOLDER
        runs = unpack(folder, trial)
        requests = ((run, read_request(trial / RUNS / run, trial)) for run in runs)
        demands = (_in_words(request_demand(request, run)) for run, request in requests if "flags" in request)
        yield Arrived(folder, code, manifest.ralph, (*demands, *demands_of_tasks(trial)))


def _in_words(demand: Demand) -> Demand:
    """For whoever is asked before it is imported; what they agree to is what a resume looks for."""
    has_flags = isinstance(demand.value, dict)
    says = f"continues it with {shown(demand.value)}" if has_flags else "continues it; it brings no options"
    return demand._replace(says=reveal(says))


def import_run(arrived: Arrived, root: Root) -> Imported:
    """The user has agreed to what it would run. Raises StoreError if something else of the same name is on record here."""
    from ralph.operations.trust import agree

    state_folder, run_id = root.state / STATE_FOLDER, arrived.code.run
    is_new = not _has_run(state_folder, run_id)
    runs = unpack(arrived.folder, state_folder)
    agree(root.state, arrived.demands)
    has_commit, is_checked_out = asyncio.run(_find_code(root.workspace, arrived.code.commit))
    return Imported(run_view(state_folder, run_id), arrived.code, runs, is_new, has_commit, is_checked_out)


def _has_run(state_folder: Path, run_id: str) -> bool:
    reader = open_reader(state_folder)
    if reader is None:
        return False
    with reader:
        return bool(reader.query("SELECT id FROM runs WHERE id = ?", run_id))


def _read_code(folder: Path) -> Code:
    data = beneath.read_whole(folder / CODE, 100_000, folder)
    try:
        about = json.loads(data or b"")
        texts = {name: str(about[name])[:500] for name in ("run", "commit", "branch")}
        return Code(**texts, is_clean=about["is_clean"] is True, is_masked=about["is_masked"] is True)
    except (ValueError, KeyError, TypeError, RecursionError):
        message = f"the archive is damaged: {CODE} is missing or cannot be read"
        raise StoreError(message, hint="get it again from where it came from") from None


# --- the code ---


async def _code_of(run: RunView, *, is_masked: bool) -> Code:
    root = Path(run.root)
    if git_top(root) is None:
        return Code(run=run.id, is_masked=is_masked)
    git = _git(root)
    head = await git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not head.ok:
        return Code(run=run.id, is_clean=False, is_masked=is_masked)
    return Code(
        run=run.id,
        commit=head.text,
        branch=await git.branch(),
        is_clean=await git.is_clean(),
        is_masked=is_masked,
    )


async def _find_code(workspace: Path, commit: str) -> tuple[bool | None, bool]:
    if not commit:
        return None, False
    if git_top(workspace) is None or not all(one in "0123456789abcdef" for one in commit):
        return False, False
    git = _git(workspace)
    if not (await git.run("cat-file", "-e", f"{commit}^{{commit}}")).ok:
        return False, False
    return True, (await git.run("rev-parse", "HEAD")).text == commit


def _git(root: Path) -> Git:
    from ralph.adapters.git import Git
    from ralph.adapters.own_programs import OwnPrograms
    from ralph.adapters.processes.runner import PosixProcessRunner

    own = OwnPrograms(reach=(root,))
    runner = PosixProcessRunner(run_id="", base_environment=own.environment, find=own.find)
    return Git(root, runner, is_top=False)

"""Compares tests, settings and scripts that verify the work with what they were when it began."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha1, sha256
from pathlib import Path

from ralph.adapters.files import read_whole
from ralph.adapters.git import BaseTree
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.proof.comparison import FileState, findings, summary, tell_agent
from ralph.domain.proof.protection import FOREIGN, Protection
from ralph.engine.ports import Judging, When
from ralph.errors import GitFailed

MOST_BYTES = 500_000_000


class ProtectionCheck:
    """Looks at files, not at what git says has changed: an agent can hide things from git."""

    name = "protection"
    command = ""
    when = When.ON_CLAIM

    def __init__(
        self,
        protection: Protection,
        baseline: BaseTree,
        *,
        root: Path,
        base: str,
        settings: Sequence[Path] = (),
    ) -> None:
        """``settings`` were read when the work began: a change has no effect now, but is reported."""
        self._protection = protection
        self._baseline = baseline
        self._root = root
        self._base = base
        self._settings = {file: _read(file) for file in settings}

    async def run(self, judging: Judging) -> CheckResult:
        try:
            before = await self._baseline.files()
            states = await self._differing(before)
        except GitFailed as error:
            return CheckResult(
                self.name, Verdict.ERRORED, feedback=Feedback(error.message), reason=error.message
            )
        found = findings(self._protection, states, known=before.keys())
        reason = summary(found, [state.path for state in states])
        concern = self._changed_settings()
        if not found:
            return CheckResult(self.name, Verdict.PASSED, reason=reason, concern=concern)
        text = tell_agent(found, self._base)
        lines = tuple(f"{one.path}: {one.what}" for one in found[:5])
        told = Feedback(text)
        return CheckResult(
            self.name, Verdict.FAILED, feedback=told, reason=reason, last_lines=lines, concern=concern
        )

    def _changed_settings(self) -> str:
        """Told once for each change."""
        changed = []
        for file, content in self._settings.items():
            if (now := _read(file)) != content:
                changed.append(file.name)
                self._settings[file] = now
        if not changed:
            return ""
        return f"{', '.join(changed)} changed during the work, which still uses what it said before"

    async def _differing(self, before: Mapping[str, str]) -> list[FileState]:
        guarded = {path: name for path, name in before.items() if self._protection.guard(path) is not None}
        now = await asyncio.to_thread(self._look, guarded, before.keys())
        states = []
        for path, content in now.items():
            if path not in guarded:
                states.append(FileState(path, None, content))
            elif content is None or _object_id(content, guarded[path]) != guarded[path]:
                states.append(FileState(path, await self._baseline.content(guarded[path]), content))
        return states

    def _look(self, guarded: Iterable[str], known: Iterable[str]) -> dict[str, bytes | None]:
        """Protected files as they are: those that were there, and those that are new, tracked or ignored or not."""
        present = set(_files(self._root))
        found: dict[str, bytes | None] = {
            path: _read(self._root / path) if path in present else _read_alone(self._root, path)
            for path in guarded
        }
        for path in present.difference(known):
            if self._protection.guard(path) is not None:
                found[path] = _read(self._root / path)
        return found


def _files(root: Path) -> Iterable[str]:
    """All below ``root``, without folders of installed programs; links to folders are not followed."""
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in FOREIGN]
        start = os.path.relpath(folder, root)
        prefix = "" if start == "." else f"{start}{os.sep}"
        for name in (*files, *(name for name in folders if Path(folder, name).is_symlink())):
            yield f"{prefix}{name}".replace(os.sep, "/")


def _read_alone(root: Path, path: str) -> bytes | None:
    """One that lies where the walk does not go; not through a link that took the place of a folder."""
    file = root / path
    folders = [folder for folder in file.parents if folder != root and folder.is_relative_to(root)]
    is_inside = file.resolve().is_relative_to(root.resolve())
    return _read(file) if is_inside and not any(folder.is_symlink() for folder in folders) else None


def _read(file: Path) -> bytes | None:
    try:
        if file.is_symlink():
            return os.fsencode(file.readlink())  # as git keeps a link
    except OSError:
        return None
    return read_whole(file, MOST_BYTES, follow=False)


def _object_id(content: bytes, like: str) -> str:
    hashed = sha1(usedforsecurity=False) if len(like) == 40 else sha256()
    hashed.update(b"blob %d\0" % len(content))
    hashed.update(content)
    return hashed.hexdigest()

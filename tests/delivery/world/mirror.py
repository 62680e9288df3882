"""Copies the bare repository's commits and refs into emulate, object by object.

Emulate computes the ids of what it is given as git does, so a commit nearly always has the same id on both sides.
Where it has not (a message without a last newline, a signature, a merge that emulate made up, a long history of which
it got the end only), the pair is kept here.
"""

from __future__ import annotations

import re
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote

from .emulator import Emulator
from .remote import Remote, git_environment

PERSON = re.compile(rb"^(?P<name>.*?) ?<(?P<email>[^>]*)> (?P<seconds>\d+) (?P<zone>[+-]\d{4})$")
MANY = (
    500  # more new commits than this, and only the newest are copied: emulate searches its lists one by one
)
NEWEST = 50
COMMIT_ID = re.compile(r"\b[0-9a-f]{40}\b")


class Mirror:
    """What emulate knows of the bare repository."""

    def __init__(self, emulator: Emulator, remote: Remote, repository: str) -> None:
        self._emulator = emulator
        self._remote = remote
        self._prefix = f"/repos/{repository}"
        self._objects: set[str] = set()
        self._refs: dict[str, str] = {}
        self._real_of: dict[str, str] = {}
        self._emulated_of: dict[str, str] = {}
        self._lock = threading.RLock()

    # ── ids ──

    def pair(self, real: str, emulated: str) -> None:
        if real != emulated:
            self._real_of[emulated] = real
            self._emulated_of.setdefault(real, emulated)

    def alias(self, emulated: str, real: str) -> None:
        """Show a real commit wherever emulate speaks of one that it made up."""
        self._real_of[emulated] = real

    def to_real(self, text: str) -> str:
        return (
            COMMIT_ID.sub(lambda found: self._real_of.get(found[0], found[0]), text)
            if self._real_of
            else text
        )

    def to_emulated(self, text: str) -> str:
        if not self._emulated_of:
            return text
        return COMMIT_ID.sub(lambda found: self._emulated_of.get(found[0], found[0]), text)

    # ── refs ──

    def sync(self) -> dict[str, tuple[str | None, str | None]]:
        """Bring emulate up to date; answers which refs moved, from where and to where."""
        with self._lock:
            before, now = self._refs, self._remote.refs()
            moved = {
                ref: (before.get(ref), now.get(ref))
                for ref in sorted(before.keys() | now.keys())
                if before.get(ref) != now.get(ref)
            }
            self.copy([commit for _, commit in moved.values() if commit])
            for ref, (_, commit) in moved.items():
                self._move(ref, commit)
            self._refs = now
            return moved

    def restore(self, branch: str) -> None:
        """Put a branch back where git has it, after emulate moved it by itself."""
        with self._lock:
            self._move(f"refs/heads/{branch}", self._remote.tip(branch))

    def _move(self, ref: str, commit: str | None) -> None:
        short = quote(ref.removeprefix("refs/"))
        if commit is None:
            self._emulator.call("DELETE", f"{self._prefix}/git/refs/{short}")
            return
        target = self._emulated_of.get(commit, commit)
        answer = self._emulator.call(
            "PATCH", f"{self._prefix}/git/refs/{short}", {"sha": target, "force": True}
        )
        if answer.status == 404:
            self._emulator.must("POST", f"{self._prefix}/git/refs", {"ref": ref, "sha": target})
        else:
            assert answer.status == 200, answer.body

    # ── objects ──

    def copy(self, tips: Iterable[str]) -> None:
        """Give emulate every commit that leads to these, with its files."""
        wanted = [tip for tip in tips if tip not in self._objects]
        if not wanted:
            return
        known = [f"^{commit}" for commit in self._refs.values()]
        listed = self._remote.git("rev-list", "--reverse", "--topo-order", *wanted, *known)
        with _Reader(self._remote) as reader:
            commits = listed.splitlines()
            kept = {*commits[-NEWEST:], *wanted} if len(commits) > MANY else set(commits)
            for commit in commits:
                if commit in kept and commit not in self._objects:
                    self._copy_commit(reader, commit)

    def _copy_commit(self, reader: _Reader, commit: str) -> None:
        head, _, message = reader.read(commit).partition(b"\n\n")
        fields = [
            line.split(b" ", 1) for line in head.split(b"\n") if b" " in line and not line.startswith(b" ")
        ]
        values = {name: value for name, value, *_ in reversed(fields)}  # the first of each name counts
        tree = values[b"tree"].decode()
        self._copy_tree(reader, tree)
        parents = [value.decode() for name, value in fields if name == b"parent"]
        made = self._emulator.must(
            "POST",
            f"{self._prefix}/git/commits",
            {
                "message": message.decode("utf-8", "replace"),
                "tree": tree,
                "parents": [
                    self._emulated_of.get(parent, parent) for parent in parents if parent in self._objects
                ],
                "author": _person(values[b"author"]),
                "committer": _person(values[b"committer"]),
            },
        )
        self.pair(commit, made["sha"])
        self._objects.add(commit)

    def _copy_tree(self, reader: _Reader, tree: str) -> None:
        if tree in self._objects:
            return
        entries = [_entry(mode, name, identity) for mode, name, identity in _tree_entries(reader.read(tree))]
        for entry in entries:
            if entry["type"] == "tree":
                self._copy_tree(reader, entry["sha"])
            elif entry["type"] == "blob" and entry["sha"] not in self._objects:
                content = b64encode(reader.read(entry["sha"])).decode()
                body = {"content": content, "encoding": "base64"}
                self._emulator.must("POST", f"{self._prefix}/git/blobs", body)
                self._objects.add(entry["sha"])
        made = self._emulator.must("POST", f"{self._prefix}/git/trees", {"tree": entries})
        assert made["sha"] == tree, f"emulate made tree {made['sha']} of {tree}"
        self._objects.add(tree)


class _Reader:
    """One ``git cat-file --batch`` for many objects."""

    def __init__(self, remote: Remote) -> None:
        self._process = subprocess.Popen(
            ["git", "cat-file", "--batch"],
            cwd=remote.path,
            env=git_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)

    def read(self, identity: str) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{identity}\n".encode())
        self._process.stdin.flush()
        head = self._process.stdout.readline().split()
        assert len(head) == 3, f"git does not have {identity}"
        content = self._process.stdout.read(int(head[2]))
        self._process.stdout.read(1)
        return content


def _tree_entries(raw: bytes) -> Iterable[tuple[str, str, str]]:
    while raw:
        head, _, rest = raw.partition(b"\0")
        mode, _, name = head.partition(b" ")
        yield mode.decode(), name.decode("utf-8", "replace"), rest[:20].hex()
        raw = rest[20:]


def _entry(mode: str, name: str, identity: str) -> dict[str, Any]:
    kind = {"40000": "tree", "160000": "commit"}.get(mode, "blob")
    return {"path": name, "mode": mode.zfill(6), "type": kind, "sha": identity}


def _person(raw: bytes) -> dict[str, str]:
    found = PERSON.match(raw)
    assert found is not None, raw
    zone = found["zone"].decode()
    minutes = int(f"{zone[0]}1") * (int(zone[1:3]) * 60 + int(zone[3:5]))
    moment = datetime.fromtimestamp(int(found["seconds"]), timezone(timedelta(minutes=minutes)))
    return {
        "name": found["name"].decode("utf-8", "replace"),
        "email": found["email"].decode(),
        "date": moment.isoformat(),
    }

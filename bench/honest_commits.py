"""How honest work fares: what would become of real commits that change existing tests.

    python -m bench.honest_commits REPOSITORY [--command COMMAND] [--most N] [--try N]

Each commit is taken for the work of an agent that began with its parent. *free*: accepted without a question; *review*: fresh
eyes are asked whether the task demands the change of tests; *denied*: refused, unless a person allows it. With ``--try`` the
layers are run on some of the commits for which the command passes: the old proof on the new code, and the canary.
"""

from __future__ import annotations

import argparse
import secrets
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from ralph.domain.proof.canary import plan_canaries, shows, sight, unseen
from ralph.domain.proof.comparison import FileState, Finding, findings
from ralph.domain.proof.old_proof import OldProofPlan, plan_old_proof
from ralph.domain.proof.protection import Protection, is_test
from ralph.domain.proof.required_command import RequiredCommand
from ralph.domain.proof.tests_ran import ran_no_test
from ralph.domain.proof.tree import Entry, Tree

COMMANDS = {
    "package.json": "npm test",
    "go.mod": "go test ./...",
    "Cargo.toml": "cargo test",
    "": "python -m pytest -q",
}
SECONDS = 300


@dataclass(frozen=True)
class History:
    """A repository, bare or not."""

    folder: Path

    def git(self, *arguments: str) -> bytes:
        return subprocess.run(
            ["git", "-C", str(self.folder), *arguments], check=True, capture_output=True, timeout=SECONDS
        ).stdout

    def commits(self) -> Iterator[tuple[str, str]]:
        """(commit, parent) of those that changed, moved or removed a test that was there; the newest first."""
        commit, parent, wanted = "", "", False
        log = self.git("log", "--no-merges", "--name-status", "--no-renames", "--format=commit %H %P")
        for line in log.decode(errors="replace").splitlines():
            if line.startswith("commit "):
                if wanted and parent:
                    yield commit, parent
                (_, commit, *rest), wanted = line.split(" "), False
                parent = rest[0] if rest else ""
            elif line[:1] in "MD" and "\t" in line:
                wanted = wanted or is_test(line.split("\t", 1)[1])
        if wanted and parent:
            yield commit, parent

    def tree(self, commit: str) -> Tree:
        listed = self.git("ls-tree", "-r", "-z", "--full-tree", commit).decode(errors="replace").split("\0")
        entries = (
            (path, about.split(" ")) for about, _, path in (line.partition("\t") for line in listed) if path
        )
        return Tree({path: Entry(mode, name) for path, (mode, kind, name) in entries if kind == "blob"})

    def content(self, entry: Entry | None) -> bytes | None:
        return None if entry is None else self._blob(entry.object_id)

    @cache  # noqa: B019 - one history for the whole program
    def _blob(self, name: str) -> bytes:
        return self.git("cat-file", "blob", name)

    def write(self, tree: Tree, folder: Path) -> None:
        for path, entry in tree.files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            content = self.content(entry) or b""
            if entry.mode == "120000":
                file.symlink_to(content.decode())
            else:
                file.write_bytes(content)
                file.chmod(int(entry.mode[-3:], 8))


@dataclass
class Figures:
    kinds: Counter[str] = field(default_factory=Counter)
    why: Counter[str] = field(default_factory=Counter)
    layers: Counter[str] = field(default_factory=Counter)


def judge(history: History, base: Tree, tree: Tree, command: str) -> tuple[Protection, tuple[Finding, ...]]:
    def read(path: str) -> str | None:
        content = history.content(base.files.get(path))
        return None if content is None else content.decode(errors="replace")

    protection = Protection.of([(command, ".")]).following(read)
    states = [
        FileState(path, history.content(base.files.get(path)), history.content(tree.files.get(path)))
        for path in sorted(tree.differing(base))
        if protection.guard(path) is not None
    ]
    return protection, findings(protection, states, known=base.files.keys())


def kind_of(found: tuple[Finding, ...]) -> str:
    if any(not one.is_test for one in found):
        return "denied"
    return "review" if found else "free"


def run(history: History, tree: Tree, command: str, planted: Mapping[str, str]) -> tuple[bool, str]:
    """Whether it passes, and what it printed."""
    with tempfile.TemporaryDirectory() as place:
        history.write(tree, Path(place))
        for path, text in planted.items():
            Path(place, path).write_text(text)
        done = subprocess.run(
            command, shell=True, cwd=place, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False
        )  # fmt: skip
        return done.returncode == 0, done.stdout + done.stderr


def try_layers(history: History, base: Tree, tree: Tree, command: str, found: tuple[Finding, ...], protection: Protection) -> str:  # fmt: skip
    """What the layers say; the tests that a review would look at are taken for allowed, as an honest one would."""
    if not run(history, tree, command, {})[0]:
        return "cannot be run here"
    old_proof = try_old_proof(history, base, tree, command, {one.path for one in found}, protection)
    if old_proof == "denied":
        return "denied by the old proof"
    sightings = []
    for one in (base, tree):
        canaries = plan_canaries(one.files, partial(_text, history, one), secrets.token_hex(8))
        planted = {path: text for canary in canaries for path, text in canary.files.items()}
        passed, output = run(history, one, command, planted)
        sightings.append(sight(canaries, failed=not passed, output=output))
    start, now = sightings
    if not shows(start, passed_without=True):
        return f"{old_proof}, cannot be probed"
    return "denied by the canary" if unseen(start, now) else old_proof


def try_old_proof(history: History, base: Tree, tree: Tree, command: str, allowed: set[str], protection: Protection) -> str:  # fmt: skip
    """``allowed``: what the first review was asked about."""
    required = [RequiredCommand(command=command)]

    def planned(conceded: set[str]) -> OldProofPlan:
        return plan_old_proof(tree, base, protection, required, is_allowed=conceded.__contains__)

    def passes(plan: OldProofPlan) -> bool:
        passed, output = run(history, tree.putting_back(plan.put_back, base), command, {})
        return passed or plan.is_first or (plan.are_old_tests_same and ran_no_test(output))

    plan = planned(allowed)
    if passes(plan):
        return "holds"
    decides = any(passes(planned(allowed | {one.path for one in found})) for found in plan.disputes)
    return "holds if a review allows what the old proof lacks" if decides else "denied"


def _text(history: History, tree: Tree, path: str) -> str | None:
    content = history.content(tree.files.get(path))
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return None


def measure(history: History, command: str, *, most: int, tries: int) -> Figures:
    figures = Figures()
    for commit, parent in history.commits():
        if sum(figures.kinds.values()) >= most:
            break
        base, tree = history.tree(parent), history.tree(commit)
        protection, found = judge(history, base, tree, command)
        figures.kinds[kind_of(found)] += 1
        figures.why.update({f"{one.path}: {one.what}"[:120] for one in found if not one.is_test})
        if tries and kind_of(found) != "denied" and sum(figures.layers.values()) < tries:
            figures.layers[try_layers(history, base, tree, command, found, protection)] += 1
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", type=Path)
    parser.add_argument(
        "--command", default="", help="the guardrail; by default what such a project would use"
    )
    parser.add_argument("--most", type=int, default=200, help="look at no more commits than this")
    parser.add_argument(
        "--try", type=int, default=0, dest="tries", help="run the layers on this many commits"
    )
    given = parser.parse_args()
    history = History(given.repository)
    names = history.tree("HEAD").files
    command = given.command or next(text for name, text in COMMANDS.items() if not name or name in names)
    figures = measure(history, command, most=given.most, tries=given.tries)
    print(f"{given.repository.name}: `{command}`: " + ", ".join(f"{count} {kind}" for kind, count in sorted(figures.kinds.items())))  # fmt: skip
    for layer, count in figures.layers.most_common():
        print(f"  layers: {count} {layer}")
    for why, count in figures.why.most_common(15):
        print(f"  {count} x {why}", file=sys.stderr)


if __name__ == "__main__":
    main()

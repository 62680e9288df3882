"""The forge's git: a bare repository that is pushed to, asked whether things merge, and merged in."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

GIT_SECONDS: Final = 120
BYPASS: Final = "RALPH_WORLD_BYPASS"  # set for pushes of people who may push to a protected branch
REFUSED: Final = "refused-branches"

# Told when refs have moved; git push waits for it, so whoever pushed sees the forge as it is after the push.
TELL: Final = """
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=120)
connection.request("POST", "/_world/sync", body=sys.stdin.buffer.read())
sys.exit(0 if connection.getresponse().status == 204 else 1)
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a commit says made it."""

    name: str
    email: str


GITHUB: Final = Identity("GitHub", "noreply@github.com")


def identity_of(login: str) -> Identity:
    return Identity(login, f"{login}@users.noreply.github.com")


def git_environment(author: Identity = GITHUB, committer: Identity | None = None) -> dict[str, str]:
    """Nobody's configuration, and a known identity."""
    committer = committer or author
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": author.name,
        "GIT_AUTHOR_EMAIL": author.email,
        "GIT_COMMITTER_NAME": committer.name,
        "GIT_COMMITTER_EMAIL": committer.email,
    }


def run_git(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """What git prints, without the last line's end; a failure is the test's."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=environment or git_environment(),
        capture_output=True,
        text=True,
        timeout=GIT_SECONDS,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout.rstrip("\n")


class Remote:
    """The bare repository."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, files: Mapping[str, str]) -> str:
        """Begin with one commit on main, as GitHub does when it is asked for a README."""
        run_git(self.path.parent, "init", "-q", "--bare", "-b", "main", str(self.path))
        self.git("config", "receive.denyDeleteCurrent", "ignore")
        self.git("config", "gc.auto", "0")
        commit = self.commit_files("main", files, "Initial commit", Identity("owner1", "owner1@localhost"))
        self.git("update-ref", "refs/heads/main", commit)
        return commit

    def install_hooks(self, port: int) -> None:
        tell = " ".join(shlex.quote(part) for part in (sys.executable, "-I", "-S", "-c", TELL, str(port)))
        self._hook("post-receive", f"#!/bin/sh\nexec {tell}\n")
        self._hook(
            "update",
            f"""#!/bin/sh
[ -n "${BYPASS}" ] && exit 0
if grep -qxF "$1" "$GIT_DIR/{REFUSED}" 2>/dev/null; then
    echo "error: GH006: Protected branch update failed for $1." >&2
    echo "error: Changes must be made through a pull request." >&2
    exit 1
fi
exit 0
""",
        )

    def _hook(self, name: str, text: str) -> None:
        path = self.path / "hooks" / name
        path.write_text(text)
        path.chmod(0o755)

    def refuse_pushes(self, branches: Iterable[str]) -> None:
        (self.path / REFUSED).write_text("".join(f"refs/heads/{branch}\n" for branch in branches))

    def git(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        return run_git(self.path, *arguments, environment=environment)

    def succeeds(self, *arguments: str) -> bool:
        return self._run(*arguments).returncode == 0

    def _run(self, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env=git_environment(),
            capture_output=True,
            text=True,
            timeout=GIT_SECONDS,
            input=text if text is not None else "",
        )

    def refs(self) -> dict[str, str]:
        """Branches and tags; not the refs of pull requests, which are the forge's own."""
        form = "--format=%(refname) %(objectname) %(*objectname)"
        lines = [
            line.split() for line in self.git("for-each-ref", form, "refs/heads", "refs/tags").splitlines()
        ]
        return {line[0]: line[-1] for line in lines}  # of an annotated tag, the commit

    def tip(self, branch: str) -> str | None:
        found = self._run("rev-parse", "-q", "--verify", f"refs/heads/{branch}^{{commit}}")
        return found.stdout.strip() or None

    def resolve(self, name: str) -> str | None:
        """The commit that a branch, tag or id names, whole or shortened."""
        for candidate in (f"refs/heads/{name}", f"refs/{name}", name):
            found = self._run("rev-parse", "-q", "--verify", "--end-of-options", f"{candidate}^{{commit}}")
            if found.returncode == 0:
                return found.stdout.strip()
        return None

    def contains(self, descendant: str, ancestor: str) -> bool:
        return self.succeeds("merge-base", "--is-ancestor", ancestor, descendant)

    def count(self, commits: str) -> int:
        return int(self.git("rev-list", "--count", commits))

    def merged_tree(self, base: str, head: str) -> str | None:
        """The tree that both together make; nothing if they conflict."""
        done = self._run("merge-tree", "--write-tree", base, head)
        return done.stdout.splitlines()[0] if done.returncode == 0 else None

    def commit_tree(self, tree: str, parents: Iterable[str], message: str, author: Identity) -> str:
        options = [option for parent in parents for option in ("-p", parent)]
        return self.git(
            "commit-tree", tree, *options, "-m", message, environment=git_environment(author, GITHUB)
        )

    def rebase(self, head: str, onto: str, committer: Identity) -> str | None:
        """The head's commits on top of another commit; nothing if they conflict."""
        with tempfile.TemporaryDirectory(dir=self.path.parent) as folder:
            work = Path(folder) / "rebase"
            self.git("worktree", "add", "-q", "--detach", str(work), head)
            try:
                done = subprocess.run(
                    ["git", "rebase", "-q", "--force-rebase", onto],
                    cwd=work,
                    env=git_environment(committer),
                    capture_output=True,
                    timeout=GIT_SECONDS,
                    stdin=subprocess.DEVNULL,
                )
                return run_git(work, "rev-parse", "HEAD") if done.returncode == 0 else None
            finally:
                self.git("worktree", "remove", "--force", str(work))

    def commit_files(
        self, branch: str, files: Mapping[str, str | None], message: str, author: Identity
    ) -> str:
        """A commit on top of a branch, not yet pushed anywhere; ``None`` as text deletes the file."""
        tip = self.tip(branch)
        with tempfile.TemporaryDirectory(dir=self.path.parent) as folder:
            environment = {**git_environment(author), "GIT_INDEX_FILE": str(Path(folder) / "index")}
            if tip:
                self.git("read-tree", tip, environment=environment)
            for number, (name, text) in enumerate(files.items()):
                if text is None:
                    self.git("update-index", "--force-remove", name, environment=environment)
                    continue
                source = Path(folder) / str(number)
                source.write_text(text)
                blob = self.git("hash-object", "-w", str(source))
                self.git(
                    "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", environment=environment
                )
            tree = self.git("write-tree", environment=environment)
        parents = [option for parent in filter(None, [tip]) for option in ("-p", parent)]
        return self.git("commit-tree", tree, *parents, "-m", message, environment=git_environment(author))

    def set_branch(self, branch: str, commit: str | None) -> None:
        if commit is None:
            self.git("update-ref", "-d", f"refs/heads/{branch}")
        else:
            self.git("update-ref", f"refs/heads/{branch}", commit)

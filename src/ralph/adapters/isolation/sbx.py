"""sbx, Docker's sandboxes: one micro virtual machine per workspace; every process enters it.

It sees the workspace's files as they are, so nothing needs synchronising. Keys stay outside: its own proxy adds them
to requests.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from ralph.adapters.files import real_path
from ralph.adapters.git import Git
from ralph.adapters.isolation.place import How
from ralph.adapters.isolation.places import project_places
from ralph.adapters.isolation.programs import PATIENT, argv_inside, ask, require, variables_inside
from ralph.adapters.isolation.sandbox import Site, carry
from ralph.domain.agent.facts import AgentNeeds
from ralph.domain.loop.session_report import Ending
from ralph.domain.sandbox.allow_list import host_rules
from ralph.domain.sandbox.kind import Network, SandboxKind, sandbox_name
from ralph.domain.sandbox.policy import Guarantees, SandboxPolicy, size_text
from ralph.engine.ports import Command, Exit, ProcessRunner
from ralph.values import replace

_TEMPLATES = frozenset({"claude", "codex", "copilot", "cursor", "droid", "gemini", "kiro", "opencode"})
_PLAIN_TEMPLATE = "shell"
_SERVICES = {
    "ANTHROPIC_API_KEY": "anthropic",
    "GEMINI_API_KEY": "google",
    "GH_TOKEN": "github",
    "GITHUB_TOKEN": "github",
    "GOOGLE_API_KEY": "google",
    "OPENAI_API_KEY": "openai",
}


async def trouble(site: Site, runner: ProcessRunner) -> str:
    """Why it cannot be used here; empty if it can."""
    program = site.own.find("sbx")
    if program is None:
        return "sbx of Docker Sandboxes is not installed"
    code, _, complaint = await ask(runner, program, "ls", "--json")
    if code != 0:
        return f"sbx does not work: {complaint.splitlines()[-1] if complaint else code}; try `sbx login`"
    return ""


class SbxSandbox:
    kind = SandboxKind.SBX
    expected = None

    def __init__(self, site: Site, policy: SandboxPolicy) -> None:
        self._site = site
        self._policy = policy
        self._program = site.own.find("sbx") or "sbx"
        agent = PurePath(site.programs[0]).name
        self._template = agent if agent in _TEMPLATES else _PLAIN_TEMPLATE
        # Logged in through sbx, and with its own folders inside: only its variables matter here.
        self._needs = AgentNeeds(env=site.needs.env)
        # sbx allows no underscores in names.
        self.name = sandbox_name(str(real_path(site.workspace))).replace("_", "-")
        self._identity: dict[str, str] = {}
        self._keys = {name: service for name, service in _SERVICES.items() if self._has_key(name)}
        project_places(site, policy, self._needs)

    @property
    def guarantees(self) -> Guarantees:
        memory = self._policy.limits.memory
        return Guarantees(
            self.kind,
            writes=self._policy.writes_promise("only the workspace"),
            secrets=self._policy.secrets_promise(
                "its own virtual machine; keys of known services stay outside"
            ),
            network=", ".join(("only what sbx allows", *self._allowed())) if self._network_is_on else "off",
            tree="ended with the run: the machine is stopped; if ralph itself is killed, when the next run begins",
            limits=f"{size_text(memory)} of memory" if memory else "half of the machine's memory",
            kernel="its own",
        )

    async def open(self, runner: ProcessRunner) -> None:
        found = _names(await require(runner, self._program, "ls", "--json", hint="try `sbx login`"))
        if self.name in found:
            await ask(
                runner, self._program, "stop", self.name
            )  # a run that was killed may have left something running
        else:
            await require(runner, *self._create(), hint="try `sbx diagnose`", timeouts=PATIENT)
        hosts = ",".join(self._allowed()) if self._network_is_on else "**"
        if hosts:
            verdict = "allow" if self._network_is_on else "deny"
            await require(runner, self._program, "policy", verdict, "network", "--sandbox", self.name, hosts)
        await self._hand_over_keys(runner)
        self._identity = await self._find_identity(runner)

    def wrap(self, command: Command, environ: Mapping[str, str] | None = None) -> Command:
        own = {"RALPH_SANDBOX": self.kind.value, "IS_SANDBOX": "1"}
        inside = {**self._identity, **self._variables_inside(command, environ), **own}
        inside = {name: value for name, value in inside.items() if name not in self._keys}
        environment = carry(inside)
        passed = sorted({*environment, "RALPH_RUN_ID", "RALPH_SPAWN_ID"})
        variables = [argument for name in passed for argument in ("--env", name)]
        stdin = ("--interactive",) if command.has_input else ()
        where = ("--workdir", str(real_path(command.cwd)))
        entered = argv_inside(self._site, command, inside)
        argv = (self._program, "exec", *stdin, *where, *variables, self.name, *entered)
        return replace(command, argv=argv, environment=environment)

    def failure(self, exit_: Exit, stderr: str) -> str:
        said = stderr.strip()
        if exit_.code and "sandbox" in said and "not found" in said and self.name in said:
            return f"the sandbox no longer exists: {said.splitlines()[0]}"
        return ""

    async def settle(self, runner: ProcessRunner, exit_: Exit) -> None:
        # Ending the client ends nothing inside. The next process starts the machine again.
        if exit_.ending is not Ending.EXITED:
            await ask(runner, self._program, "stop", self.name)

    async def close(self, runner: ProcessRunner) -> None:
        await ask(runner, self._program, "stop", self.name)

    async def remove(self, runner: ProcessRunner) -> None:
        await ask(runner, self._program, "rm", "--force", self.name)

    @property
    def _network_is_on(self) -> bool:
        return self._policy.network is Network.ALLOW

    def _create(self) -> Sequence[str]:
        limits = self._policy.limits
        memory = ("--memory", f"{-(-limits.memory // 2**20)}m") if limits.memory else ()
        workspace = real_path(self._site.workspace)
        found = [
            place
            for place in project_places(self._site, self._policy, self._needs)
            if place.path != workspace and place.how is not How.BARRED
        ]
        paths = [f"{place.path}" if place.how is How.WRITABLE else f"{place.path}:ro" for place in found]
        return (
            self._program,
            "create",
            "--name",
            self.name,
            "--quiet",
            *memory,
            self._template,
            str(workspace),
            *paths,
        )

    def _allowed(self) -> list[str]:
        environ = {name: value for name, value in self._site.environ.items() if name.endswith("_BASE_URL")}
        rules = (*host_rules(self._site.needs.hosts, environ), *self._policy.allow)
        return ["**" if not rule.host else str(rule) for rule in dict.fromkeys(rules)]

    def _has_key(self, name: str) -> bool:
        given = bool(self._site.environ.get(name))
        return given and name in self._variables_inside(Command((), self._site.workspace))

    def _variables_inside(self, command: Command, environ: Mapping[str, str] | None = None) -> dict[str, str]:
        return variables_inside(self._site, (*self._needs.env, *self._policy.env), command, environ)

    async def _find_identity(self, runner: ProcessRunner) -> dict[str, str]:
        """Who commits: the user's configuration of git is not inside, and without it no commit can be made."""
        git = Git(self._site.workspace, runner)
        found: dict[str, str] = {}
        for what, key in (("NAME", "user.name"), ("EMAIL", "user.email")):
            ran = await git.run("config", "--get", key)
            if ran.ok and ran.text:
                found |= {f"GIT_{who}_{what}": ran.text for who in ("AUTHOR", "COMMITTER")}
        return found

    async def _hand_over_keys(self, runner: ProcessRunner) -> None:
        """From a file that only we can read, not on a command line that everyone can."""
        with tempfile.TemporaryDirectory(prefix="ralph-") as folder:
            for name, service in self._keys.items():
                file = Path(folder, service)
                _write_secret(file, self._site.environ[name])
                await require(runner, self._program, "secret", "set", self.name, service, stdin=file)


def _write_secret(file: Path, value: str) -> None:
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(value + "\n")


def _names(answer: str) -> set[str]:
    """The list is an object or a bare array, perhaps after a line about the daemon."""
    start = min((position for mark in "[{" if (position := answer.find(mark)) >= 0), default=-1)
    try:
        listed = json.loads(answer[start:]) if start >= 0 else []
    except ValueError:
        return set()
    rows = listed.get("sandboxes", []) if isinstance(listed, dict) else listed
    return {row["name"] for row in rows if isinstance(row, dict) and isinstance(row.get("name"), str)}

"""docker or podman: one container per workspace, kept running; every process enters it."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Mapping
from pathlib import PurePath

from ralph.adapters.files import real_path
from ralph.adapters.isolation.agent_state import make_session_folders, survey_state
from ralph.adapters.isolation.place import How, Place
from ralph.adapters.isolation.places import project_places
from ralph.adapters.isolation.programs import PATIENT, argv_inside, ask, require, variables_inside
from ralph.adapters.isolation.sandbox import Site, carry
from ralph.domain.sandbox.kind import Network, SandboxKind, sandbox_name
from ralph.domain.sandbox.policy import Guarantees, SandboxPolicy
from ralph.engine.ports import Command, Exit, ProcessRunner
from ralph.values import replace

_PROGRAMS = ("podman", "docker")  # podman first: it needs neither a daemon nor root
_LABEL = "ralph.fingerprint"
# The first process must outlive the clean-up that kills all others, and reap them.
_IDLE = ("/bin/sh", "-c", "while :; do sleep 86400 & wait; done")
_CLEAN_UP = ("/bin/sh", "-c", "kill -9 -1")


async def trouble(site: Site, policy: SandboxPolicy, runner: ProcessRunner) -> str:
    """Why it cannot be used here; empty if it can."""
    program = _program(site)
    if program is None:
        return "neither podman nor docker is installed"
    code, _, complaint = await ask(runner, program, "info")
    if code != 0:
        why = complaint.splitlines()[-1] if complaint else f"`info` ended with {code}"
        return f"{PurePath(program).name} does not work: {why}"
    if not policy.image:
        return "no image: set sandbox.image to one that contains the agent"
    return ""


class ContainerSandbox:
    kind = SandboxKind.CONTAINER
    expected = None

    def __init__(self, site: Site, policy: SandboxPolicy) -> None:
        self._site = site
        self._policy = policy
        self._needs = site.needs
        self._program = _program(site) or _PROGRAMS[-1]
        self._is_rootless = False
        self.name = sandbox_name(str(real_path(site.workspace)))
        project_places(site, policy, self._needs)

    @property
    def guarantees(self) -> Guarantees:
        return Guarantees(
            self.kind,
            writes=self._policy.writes_promise("only the workspace, the agent's login"),
            secrets=self._policy.secrets_promise(
                "only mounted files are visible; environment cleared to a list"
            ),
            network="off" if self._policy.network is Network.OFF else "",
            tree="ended with the run; if ralph itself is killed, when the next run begins",
            limits=str(self._policy.limits),
            kernel=f"the filter of {PurePath(self._program).name}",
        )

    async def open(self, runner: ProcessRunner) -> None:
        code, answer, _ = await ask(runner, self._program, "info", "--format", "{{json .}}")
        self._is_rootless = code == 0 and "rootless" in answer.lower().replace('"rootless":false', "")
        make_session_folders(self._site, self._needs)
        arguments = self._run_arguments()
        fingerprint = hashlib.sha256("\0".join(arguments).encode()).hexdigest()[:16]
        form = '{{.State.Running}} {{index .Config.Labels "' + _LABEL + '"}}'
        inspect = ("container", "inspect", "--format", form)
        code, answer, _ = await ask(runner, self._program, *inspect, self.name)
        state, _, label = answer.strip().partition(" ")
        if code == 0 and label == fingerprint:
            if state == "true":  # left by a run that was killed, perhaps with something running
                await ask(runner, self._program, "exec", self.name, *_CLEAN_UP)
            else:
                await require(runner, self._program, "start", self.name)
            return
        if code == 0:
            await require(runner, self._program, "rm", "--force", self.name)
        label_argument = f"--label={_LABEL}={fingerprint}"
        await require(
            runner,
            *(self._program, "run", label_argument, *arguments, self._policy.image, *_IDLE),
            hint="check that sandbox.image can be fetched and has /bin/sh",
            timeouts=PATIENT,
        )

    def wrap(self, command: Command, environ: Mapping[str, str] | None = None) -> Command:
        inside = variables_inside(self._site, (*self._needs.env, *self._policy.env), command, environ)
        inside |= {"RALPH_SANDBOX": self.kind.value, "IS_SANDBOX": "1"}
        environment = carry(inside)
        variables = [f"--env={name}" for name in sorted({*environment, "RALPH_RUN_ID", "RALPH_SPAWN_ID"})]
        stdin = ("--interactive",) if command.has_input else ()
        cwd = f"--workdir={real_path(command.cwd)}"
        entered = argv_inside(self._site, command, inside)
        argv = (self._program, "exec", *stdin, cwd, *variables, self.name, *entered)
        return replace(command, argv=argv, environment=environment)

    def failure(self, exit_: Exit, stderr: str) -> str:
        said = stderr.strip()
        if exit_.code in (1, 125) and said.startswith(("Error response from daemon", "Error: no container")):
            return f"the container no longer exists: {said.splitlines()[0]}"
        return ""

    async def settle(self, runner: ProcessRunner, exit_: Exit) -> None:
        # Ending the client ends nothing inside, and a daemon would survive.
        await ask(runner, self._program, "exec", self.name, *_CLEAN_UP)

    async def close(self, runner: ProcessRunner) -> None:
        await ask(runner, self._program, "stop", "--time=2", self.name)

    async def remove(self, runner: ProcessRunner) -> None:
        await ask(runner, self._program, "rm", "--force", self.name)

    def _run_arguments(self) -> tuple[str, ...]:
        home, limits = real_path(self._site.home), self._policy.limits
        arguments = ["--detach", f"--name={self.name}", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
        arguments += [f"--tmpfs={home}:rw,mode=1777", f"--env=HOME={home}"]
        arguments += [f"--workdir={real_path(self._site.workspace)}"]
        if self._program.endswith("podman"):
            arguments.append("--userns=keep-id" if os.geteuid() else "--user=0:0")
        elif not self._is_rootless:
            arguments.append(f"--user={os.geteuid()}:{os.getegid()}")
        if self._policy.network is Network.OFF:
            arguments.append("--network=none")
        if limits.memory:
            arguments += [f"--memory={limits.memory}", f"--memory-swap={limits.memory}"]
        if limits.pids:
            arguments.append(f"--pids-limit={limits.pids}")
        return (*arguments, *(f"--mount={_mount(place)}" for place in self._places()))

    def _places(self) -> list[Place]:
        """Not what is special to this run, which the container outlives, nor single parts of what is shown whole."""
        found = [*project_places(self._site, self._policy, self._needs)]
        found += survey_state(self._site, self._needs).copies  # not copied here: read-only
        whole = {place.path for place in found if place.how is How.CLOSED}
        shown = [
            place
            for place in found
            if place.how is How.WRITABLE
            or (place.how is not How.BARRED and self._site.run_id not in place.path.parts)
        ]
        parts = [place for place in shown if place.how is How.PROTECTED and place.path.parent in whole]
        return sorted((place for place in shown if place not in parts), key=lambda place: place.path.parts)


def _program(site: Site) -> str | None:
    return next(filter(None, map(site.own.find, _PROGRAMS)), None)


def _mount(place: Place) -> str:
    """As a line of CSV: a path may contain a comma."""
    source = "/dev/null" if place.how is How.MASKED else str(place.real)
    fields = ["type=bind", f"source={source}", f"target={place.path}"]
    if place.how is How.HIDDEN:
        fields = ["type=tmpfs", f"target={place.path}", "tmpfs-mode=1777"]
    elif place.how is not How.WRITABLE:
        fields.append("readonly")
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()

"""srt, Anthropic's sandbox runtime: the choice on macOS. Weaker: most of the home folder stays readable."""

from __future__ import annotations

import json
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ralph.adapters.files import real_path
from ralph.adapters.isolation.place import How
from ralph.adapters.isolation.places import project_places
from ralph.adapters.isolation.programs import ask, is_name, unpack
from ralph.adapters.isolation.sandbox import MARKS, Site, carry, kept_variables
from ralph.domain.sandbox.allow_list import host_rules
from ralph.domain.sandbox.kind import Network, SandboxKind
from ralph.domain.sandbox.policy import Guarantees, SandboxPolicy
from ralph.engine.ports import Command, Exit, ProcessRunner
from ralph.errors import ConfigError
from ralph.values import replace

_SECRETS_IN_HOME = (
    ".aws", ".azure", ".cargo/credentials.toml", ".config/gcloud", ".config/gh", ".docker", ".git-credentials",
    ".gnupg", ".kube", ".netrc", ".npmrc", ".password-store", ".pypirc", ".ssh",
)  # fmt: skip


async def trouble(site: Site, runner: ProcessRunner) -> str:
    """Why it cannot be used here; empty if it can."""
    program = site.own.find("srt")
    if program is None:
        return "srt is not installed (npm package @anthropic-ai/sandbox-runtime)"
    code, _, complaint = await ask(runner, program, "--version")
    return "" if code == 0 else f"srt does not work: {complaint or code}"


class SrtSandbox:
    kind = SandboxKind.SRT
    expected = None

    def __init__(self, site: Site, policy: SandboxPolicy) -> None:
        self._site = site
        self._policy = policy
        self._needs = site.needs
        self._patterns = (*self._needs.env, *policy.env)
        self._domains = self._allowed_domains()
        self._folder: Path | None = None
        project_places(site, policy, self._needs)

    @property
    def guarantees(self) -> Guarantees:
        return Guarantees(
            self.kind,
            writes=self._policy.writes_promise("only the workspace, /tmp, the agent's login and sessions"),
            secrets=self._policy.secrets_promise(
                "the usual places of keys are hidden, the rest of the home is not; environment cleared to a list"
            ),
            network=f"only {', '.join(self._domains)}" if self._domains else "off",
        )

    async def open(self, runner: ProcessRunner) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="ralph-"))
        (self._folder / "srt.json").write_text(json.dumps(self._settings(), indent=2))

    def wrap(self, command: Command, environ: Mapping[str, str] | None = None) -> Command:
        assert self._folder is not None, "not open"
        own = self._site.own
        inside = {**self._let_in(environ), **command.environment, "RALPH_SANDBOX": self.kind.value}
        inside = {name: value for name, value in inside.items() if is_name(name) and name not in MARKS}
        # srt gives the sandbox its own environment.
        dropped = self._site.outer_variables() - kept_variables(own.environment, self._patterns)
        unset = [argument for name in sorted(dropped) for argument in ("-u", name)]
        # As one string: srt would take the agent's options as its own.
        told = shlex.join(unpack(inside, command.argv))
        run = (own.find("srt") or "srt", "--settings", str(self._folder / "srt.json"), "-c", told)
        argv = (own.find("env") or "/usr/bin/env", *unset, *run)
        return replace(command, argv=argv, environment=carry(inside))

    def failure(self, exit_: Exit, stderr: str) -> str:
        return ""

    async def settle(self, runner: ProcessRunner, exit_: Exit) -> None:
        return

    async def close(self, runner: ProcessRunner) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _let_in(self, environ: Mapping[str, str] | None = None) -> dict[str, str]:
        return self._site.let_in(environ, self._patterns)

    def _allowed_domains(self) -> list[str]:
        if self._policy.network is Network.OFF:
            return []
        rules = (*host_rules(self._needs.hosts, self._let_in()), *self._policy.allow)
        for rule in rules:
            if not rule.host:
                message = "sandbox.allow: srt cannot allow every host"
                raise ConfigError(message, hint="name the hosts, or use another sandbox")
        return sorted({str(replace(rule, port=None)) for rule in rules})

    def _settings(self) -> dict[str, object]:
        home = real_path(self._site.home)
        found = project_places(self._site, self._policy, self._needs)
        hidden = [str(home / name) for name in _SECRETS_IN_HOME]
        hidden += [str(place.path) for place in found if place.how is How.MASKED]
        writable = [str(place.path) for place in found if place.how is How.WRITABLE]
        copied = [str(home / name) for name in self._needs.copied]
        return {
            "network": {"allowedDomains": self._domains, "deniedDomains": []},
            "filesystem": {
                "denyRead": hidden,
                "allowWrite": [*writable, *copied, "/tmp"],  # noqa: S108 srt has no private one
                "denyWrite": [str(place.path) for place in found if place.how > How.WRITABLE],
            },
        }

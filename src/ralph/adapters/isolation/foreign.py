"""What sandboxes with a file system and a user of their own have in common: containers and virtual machines."""

from __future__ import annotations

from pathlib import PurePath

from ralph.adapters.isolation.environment import kept_variables
from ralph.adapters.isolation.site import Site
from ralph.domain.sandbox.needs import AgentNeeds
from ralph.domain.sandbox.policy import SandboxPolicy
from ralph.engine.ports import Command

# What describes the machine outside.
_OF_THE_HOST = frozenset(
    {
        "GOPATH", "HOME", "JAVA_HOME", "LOGNAME", "NODE_EXTRA_CA_CERTS", "NVM_DIR", "PATH", "PWD", "PYENV_ROOT",
        "PYENV_VERSION", "REQUESTS_CA_BUNDLE", "SHELL", "SHLVL", "SSL_CERT_DIR", "SSL_CERT_FILE", "TMPDIR", "USER",
        "VIRTUAL_ENV",
    }
)  # fmt: skip


def variables_inside(site: Site, policy: SandboxPolicy, needs: AgentNeeds, command: Command) -> list[str]:
    """Names only: values are handed over through the environment, never on a command line that all can read."""
    listed = kept_variables(site.environ, (*needs.env, *policy.env)) - _OF_THE_HOST
    return sorted(listed | site.explicit | command.environment.keys() | {"RALPH_RUN_ID", "RALPH_SPAWN_ID"})


def argv_inside(site: Site, command: Command) -> tuple[str, ...]:
    """An agent is found by its name inside: its path is one of the machine outside."""
    program, *arguments = command.argv
    return (PurePath(program).name if program in site.programs else program, *arguments)

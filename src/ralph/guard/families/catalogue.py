"""All families: the core, which is always on, and those that the user may switch off with one word of ``guard.allow``."""

from __future__ import annotations

from ralph.guard.families.call import Call
from ralph.guard.families.clients import check_clients
from ralph.guard.families.containers import check_containers
from ralph.guard.families.databases import check_databases
from ralph.guard.families.files import check_files
from ralph.guard.families.git import check_git
from ralph.guard.families.permissions import check_permissions
from ralph.guard.families.program_table import check_program
from ralph.guard.families.secrets import check_secrets
from ralph.guard.judgement import Danger

_CHECKS = (
    check_files,
    check_git,
    check_program,
    check_permissions,
    check_secrets,
    check_clients,
    check_containers,
    check_databases,
)


def check_families(call: Call) -> Danger | None:
    for check in _CHECKS:
        danger = check(call)
        if danger is not None and not call.rules.is_off(danger.family):
            return danger
    return None

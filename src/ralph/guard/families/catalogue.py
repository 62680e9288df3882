"""All families: the core, which is always on, and those that the user may switch off with one word of ``guard.allow``."""

from __future__ import annotations

from ralph.guard.families.call import Call
from ralph.guard.families.clients import check_clients
from ralph.guard.families.containers import check_containers
from ralph.guard.families.databases import check_databases
from ralph.guard.families.files import check_files
from ralph.guard.families.git import check_git
from ralph.guard.families.other_vcs import check_other_vcs
from ralph.guard.families.permissions import check_permissions
from ralph.guard.families.remote import check_remote
from ralph.guard.families.secrets import check_secrets
from ralph.guard.families.services import check_services
from ralph.guard.families.system import check_system
from ralph.guard.judgement import Danger

_CHECKS = (
    check_files,
    check_git,
    check_other_vcs,
    check_system,
    check_permissions,
    check_secrets,
    check_clients,
)
_CHECKS_OF_FAMILY = {
    "containers": check_containers,
    "databases": check_databases,
    "remote": check_remote,
    "services": check_services,
}


def check_families(call: Call) -> Danger | None:
    for check in _CHECKS:
        danger = check(call)
        if danger is not None:
            return danger
    for family, check in _CHECKS_OF_FAMILY.items():
        danger = None if call.rules.allows_family(family) else check(call)
        if danger is not None:
            return danger
    return None

"""All families: those that are always on, and the packs that the user turns on."""

from __future__ import annotations

from ralph.guard.families.backup import check_backup
from ralph.guard.families.call import Call
from ralph.guard.families.cloud import check_cloud
from ralph.guard.families.containers import check_containers
from ralph.guard.families.databases import check_databases
from ralph.guard.families.files import check_files
from ralph.guard.families.git import check_git
from ralph.guard.families.other_vcs import check_other_vcs
from ralph.guard.families.permissions import check_permissions
from ralph.guard.families.publish import check_publish
from ralph.guard.families.remote import check_remote
from ralph.guard.families.secrets import check_secrets
from ralph.guard.families.services import check_services
from ralph.guard.families.system import check_system
from ralph.guard.judgement import Danger

_ALWAYS = (
    check_files,
    check_git,
    check_other_vcs,
    check_system,
    check_permissions,
    check_secrets,
    check_databases,
)
_CHECKS_OF_PACK = {
    "backup": check_backup,
    "cloud": check_cloud,
    "containers": check_containers,
    "publish": check_publish,
    "remote": check_remote,
    "services": check_services,
}


def check_families(call: Call) -> Danger | None:
    for check in _ALWAYS:
        danger = check(call)
        if danger is not None:
            return danger
    for pack, check in _CHECKS_OF_PACK.items():
        if call.rules.has_pack(pack):
            danger = check(call)
            if danger is not None:
                return danger
    return None

"""All families: those that are always on, and the packs that the user chooses."""

from __future__ import annotations

from ralph.domain.danger.call import Call
from ralph.domain.danger.families.backup import check_backup
from ralph.domain.danger.families.cloud import check_cloud
from ralph.domain.danger.families.containers import check_containers
from ralph.domain.danger.families.databases import check_databases
from ralph.domain.danger.families.files import check_files
from ralph.domain.danger.families.git import check_git
from ralph.domain.danger.families.other_vcs import check_other_vcs
from ralph.domain.danger.families.permissions import check_permissions
from ralph.domain.danger.families.publish import check_publish
from ralph.domain.danger.families.remote import check_remote
from ralph.domain.danger.families.secrets import check_secrets
from ralph.domain.danger.families.services import check_services
from ralph.domain.danger.families.system import check_system
from ralph.domain.danger.judgement import Danger

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

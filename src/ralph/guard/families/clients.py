"""Clients of clouds, clusters, services, backups and registries. Each is a row: the verbs that destroy, and those of its pack only."""

from __future__ import annotations

from typing import NamedTuple

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.marks import is_opaque
from ralph.guard.options import command_words, destructive_word, is_only_asking, value_of_option, words_in


class _Client(NamedTuple):
    family: str
    destroys: frozenset[str]
    strict: frozenset[str]


_TABLE = """
backup :: restic :: forget prune :: unlock rebuild-index
backup :: borg :: prune recreate :: compact break-lock
backup :: rclone :: purge deletefile :: sync rmdir rmdirs move moveto cleanup dedupe
backup :: duplicity :: remove-older-than remove-all-but-n-full :: cleanup
backup :: kopia tarsnap velero :: expire nuke ::
cloud :: aws :: schedule-key-deletion leave-organization :: put-secret-value update-secret stop-instances
cloud :: gcloud az :: :: disable untag
cloud :: terraform tofu terragrunt :: :: taint run-all
cloud :: heroku :: pg:reset :: restart
cloud :: railway deck fastly :: down reset :: sync activate
cloud :: pulumi cdk serverless sls eksctl nomad consul cloudflared supabase firebase wrangler cf :: ::
cloud :: gsutil mc azcopy bq s3cmd s5cmd oci ibmcloud scw exo doctl hcloud linode-cli vultr-cli yc :: ::
cloud :: fly flyctl vercel netlify render apigeecli upctl :: ::
containers :: helm argocd flux istioctl :: ::
containers :: kind k3d minikube k9s :: :: delete
services :: gh glab vault op doppler :: :: archive disable cancel reset stop
services :: rabbitmqctl rabbitmqadmin :: reset purge_queue :: clear_permissions stop_app force_boot
services :: kafka-topics kafka-consumer-groups kafka-acls kafka-configs pulsar-admin nats etcdctl :: :: archive roll clear clean disable remove-secret reset cancel restore stop
services :: stripe auth0 okta twilio sendgrid mailgun postmark sentry-cli launchdarkly ldcli flipt :: :: archive roll clear clean disable remove-secret reset cancel restore stop
services :: elastic opensearch-cli algolia meilisearch newrelic datadog-ci splunk pd amtool logcli :: :: archive roll clear clean disable remove-secret reset cancel restore stop
services :: circleci gitlab-runner jenkins-cli knife chef puppet grafana-cli unleash :: :: archive roll clear clean disable remove-secret reset cancel restore stop
services :: gitlab-rake gitlab-backup :: :: gitlab:backup:restore restore
publish :: npm pnpm yarn bun vsce ovsx :: unpublish :: publish deprecate
publish :: cargo gem twine pod goreleaser :: yank trunk/delete :: publish push upload trunk release
publish :: poetry uv hatch flit pdm docker :: :: publish push
publish :: dotnet nuget mix :: nuget/delete delete hex.retire :: publish push hex.publish
publish :: mvn mvnw :: :: deploy release:perform release:prepare
publish :: gradle gradlew :: :: publish uploadArchives publishToMavenCentral
publish :: pip pip3 pipx :: uninstall-all :: uninstall
publish :: snap brew flatpak port winget choco scoop :: uninstall remove rm autoremove ::
publish :: apt apt-get aptitude yum dnf microdnf zypper apk pkg nala :: remove purge erase autoremove autopurge rm del delete group/remove ::
publish :: pacman yay paru :: -R -Rs -Rn -Rns -Rsn -Rc -Rsc -Rnsc -Rcns -Rscn -Rdd --remove ::
publish :: dpkg rpm :: -r -P -e --remove --purge --erase ::
"""
"""Family, programs, verbs that destroy (besides those that mean it everywhere), verbs that count only when the pack is on."""


def _read_table() -> dict[str, _Client]:
    rows = [line.split("::") for line in _TABLE.strip().splitlines()]
    return {
        program: _Client(family.strip(), words_in(destroys), words_in(strict))
        for family, programs, destroys, strict in rows
        for program in programs.split()
    }


_CLIENTS = _read_table()
_EFFECTS = {
    "backup": "deletes backups or remote files",
    "cloud": "destroys or changes running resources",
    "containers": "takes down what is running",
    "services": "deletes or disables something",
    "publish": "publishes software, which cannot be undone, or removes it",
}
_ASK = "ask the user to do it"
_OWN_NOTES = {
    **dict.fromkeys(("gh", "glab"), words_in("cache alias extension run label")),
    "helm": words_in("repo plugin registry"),
}
"""What is made again, or concerns the user's own tool only."""
_SYNCS = words_in("sync rsync mirror")
_SYNC_DELETES = words_in("--delete --delete-destination --remove -d --delete-destination=true")
_STRICT_FLAGS = LazyPattern(
    r"--(?:delete|remove|reset-offsets|delete-config|delete-records)\b.*|--purge", hints="--"
)
_PUBLISH_TASK = LazyPattern(r"(?::?[\w-]+:)?publish\w*")
_LOCAL_ENDPOINT = LazyPattern(r"https?://(?:localhost|127\.0\.0\.1|localstack|minio)\b.*", hints="http")


def check_clients(call: Call) -> Danger | None:
    client = _CLIENTS.get(call.program)
    if client is None or is_only_asking(call.arguments):
        return None
    arguments = call.arguments
    if _LOCAL_ENDPOINT.fullmatch(value_of_option(arguments, ("--endpoint-url",)) or ""):
        return None
    words = command_words(arguments)
    if client.family == "publish" and _removes_software(call, client, words):
        return Danger("publish", f"{call.program} removes software that was installed or published", _ASK)
    if _destroys(call, client, words):
        shown = " ".join(words[:3])
        return Danger(client.family, f"{call.program} {shown} {_EFFECTS[client.family]}", _ASK)
    if client.family == "cloud":
        if _SYNCS & {*words, *arguments[:3]} and _SYNC_DELETES & set(arguments):
            return Danger("cloud", "this deletes whatever the source does not have", "sync without deleting")
        if {"-destroy", "--destroy"} & set(arguments) and words[:1] != ["plan"]:
            return Danger("cloud", "this destroys infrastructure", "show the user terraform plan -destroy")
    return None


def _destroys(call: Call, client: _Client, words: list[str]) -> bool:
    is_strict = call.rules.has_pack(client.family)
    if client.family == "publish":
        return is_strict and _publishes(call, client, words)
    if call.program in ("kind", "k3d", "minikube", "k9s"):
        return is_strict and bool(client.strict & set(words))
    if call.program == "restic" and "-n" in call.arguments:
        return False
    verbs = client.destroys | client.strict if is_strict else client.destroys
    if not is_strict and not _OWN_NOTES.get(call.program, frozenset()).isdisjoint(words[:1]):
        return False
    if call.program.startswith("kafka-") and "--delete" in call.arguments:
        return True
    if (value_of_option(call.arguments, ("-X", "--method")) or "").upper() == "DELETE":
        return True
    has_flag = is_strict and client.family == "services" and any(map(_STRICT_FLAGS.fullmatch, call.arguments))
    return has_flag or bool(destructive_word(words, verbs))


def _publishes(call: Call, client: _Client, words: list[str]) -> bool:
    is_task = call.program.startswith("gradle") and any(map(_PUBLISH_TASK.fullmatch, words))
    return is_task or not client.strict.isdisjoint((*words[:3], *call.arguments[:3]))


def _removes_software(call: Call, client: _Client, words: list[str]) -> bool:
    """From a registry, from the machine, or whatever a list names."""
    if "--undo" in call.arguments:
        return False
    options = [word for word in call.arguments if word.startswith("-")]
    if not client.destroys.isdisjoint((*words[:1], "/".join(words[:2]), *options)):
        return True
    is_pip = words[:2] == ["pip", "uninstall"] or (call.program[:3] == "pip" and words[:1] == ["uninstall"])
    return is_pip and (
        any(option.startswith(("-r", "--requirement")) for option in options) or any(map(is_opaque, words))
    )

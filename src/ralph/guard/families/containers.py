"""Optional pack: containers and clusters."""

from __future__ import annotations

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.options import (
    command_words,
    destructive_word,
    has_flag,
    is_only_asking,
    split_options,
    words_in,
)

_ENGINES = words_in("docker podman nerdctl docker-compose podman-compose")
_CLUSTERS = words_in("kubectl oc helm k9s kind k3d minikube argocd flux istioctl velero")
_CLUSTER_VERBS = words_in("delete drain uninstall replace")


def check_containers(call: Call) -> Danger | None:
    if call.program not in _ENGINES | _CLUSTERS or is_only_asking(call.arguments):
        return None
    words = command_words(call.arguments)
    if call.program in _CLUSTERS:
        verb = destructive_word(words[:3], _CLUSTER_VERBS)
        return (
            Danger("containers", f"{call.program} {verb} takes down what is running", "ask the user to do it")
            if verb
            else None
        )
    return _check_engine(call, words)


def _check_engine(call: Call, words: list[str]) -> Danger | None:
    options, _ = split_options(call.arguments)
    instead = "remove only what this project created, by name"
    if "prune" in words:
        return Danger(
            "containers", "prune also deletes containers, images or volumes of other projects", instead
        )
    if words[:1] == ["volume"] and {"rm", "remove"} & set(words[1:2]):
        return Danger("containers", "this deletes a volume with its data", "ask the user to do it")
    removes = words[:1] in (["rm"], ["rmi"]) or words[:2] in (["container", "rm"], ["image", "rm"])
    if removes and has_flag(options, "f", "force"):
        return Danger("containers", "this removes containers or images by force", instead)
    if words[:1] in (["stop"], ["kill"]) or words[:2] in (["container", "stop"], ["container", "kill"]):
        return Danger("containers", "this stops what is running", instead)
    if "down" in words[:2] and has_flag(options, "v", "volumes"):
        return Danger(
            "containers", "this deletes volumes with their data", "use docker compose down without -v"
        )
    return None

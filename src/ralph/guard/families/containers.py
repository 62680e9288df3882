"""Containers and clusters. By default: volumes, everything at once, what runs in a cluster. The pack: any removal by force."""

from __future__ import annotations

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.marks import EVERYTHING, INPUT
from ralph.guard.options import (
    command_words,
    destructive_word,
    has_flag,
    is_only_asking,
    split_options,
    value_of_option,
    words_in,
)
from ralph.guard.places import is_throwaway

ENGINES = words_in("docker podman nerdctl docker-compose podman-compose")
_CLUSTERS = words_in("kubectl oc")
_CLUSTER_VERBS = words_in("delete drain")
_MADE_AGAIN = words_in("pod pods po job jobs event events")
"""What a cluster makes again, or made for one purpose: may be deleted by name."""
_PRUNED_CACHES = words_in("image images builder buildx network")
_BY_NAME = "remove only what this project created, by name"


def check_containers(call: Call) -> Danger | None:
    if call.program not in ENGINES | _CLUSTERS or is_only_asking(call.arguments):
        return None
    words = command_words(call.arguments)
    if call.program in ENGINES:
        what, instead = _engine_danger(call, words)
    else:
        what, instead = _cluster_danger(call, words), "ask the user to do it"
    return Danger("containers", what, instead) if what else None


def _cluster_danger(call: Call, words: list[str]) -> str:
    is_strict = call.rules.has_pack("containers")
    options, _ = split_options(call.arguments)
    verb = destructive_word(words[:2], _CLUSTER_VERBS | {"replace"} if is_strict else _CLUSTER_VERBS)
    if not verb and "replace" in words[:1] and has_flag(options, long="force"):
        verb = "replace --force"
    if not verb or words[0] == "config":
        return ""
    everything = has_flag(options, long="all") or has_flag(options, "A", "all-namespaces")
    kind = words[words.index(verb) + 1 :][:1] if verb in words else []
    is_one = bool(kind) and kind[0].partition("/")[0] in _MADE_AGAIN and not everything
    places = (
        value_of_option(call.arguments, ("--context", "--kube-context")),
        value_of_option(call.arguments, ("-n", "--namespace")),
    )
    is_local = any(place and is_throwaway(place) for place in (*places, *words[1:3]))
    if not is_strict and verb == "delete" and (is_one or is_local):
        return ""
    return f"{call.program} {verb} takes down what is running"


def _engine_danger(call: Call, words: list[str]) -> tuple[str, str]:
    options, operands = split_options(call.arguments)
    is_strict = call.rules.has_pack("containers")
    what = words[0] if words else ""
    verb = words[1] if what in words_in("container image volume system network service stack") else what
    names = [operand for operand in operands[1:] if operand not in (what, verb)]
    if "prune" in words[:3] and (is_strict or what not in _PRUNED_CACHES):
        return "prune also deletes containers, images or volumes of other projects", _BY_NAME
    if what == "volume" and verb in ("rm", "remove") and not all(map(is_throwaway, names)):
        return "this deletes a volume with its data", "ask the user to do it"
    if (what == "system" and verb == "reset") or (what in ("stack", "service") and verb in ("rm", "remove")):
        return "this takes down what is running", "ask the user to do it"
    removes = verb in ("rm", "rmi", "remove") and what not in ("volume", "network")
    at_once = has_flag(options, "a", "all") or any(EVERYTHING in name or INPUT in name for name in names)
    if (removes and has_flag(options, "f", "force")) or verb in ("stop", "kill"):
        if is_strict and not (names and all(map(is_throwaway, names))):
            return "this stops or removes containers or images by force", _BY_NAME
        if at_once:
            return "this stops or removes the containers of every project", _BY_NAME
    is_compose = what == "compose" or call.program.endswith("-compose")
    if ("down" in words[:4] or (is_compose and "rm" in words[:4])) and has_flag(options, "v", "volumes"):
        named = [
            value_of_option(call.arguments, names) for names in (("-f", "--file"), ("-p", "--project-name"))
        ]
        if is_strict or not any(name and is_throwaway(name) for name in (*named, *names)):
            return "this deletes volumes with their data", "do it without -v, which keeps them"
    return "", ""

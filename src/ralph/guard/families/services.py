"""Optional pack: services with an API or a command-line client, from monitoring to payments."""

from __future__ import annotations

import re

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.options import command_words, destructive_word, is_only_asking, value_of_option, words_in

_HTTP_CLIENTS = words_in("curl wget http https xh xhs httpie")
_SERVICE_TOOLS = words_in(
    "gh glab vault op doppler kafka-topics kafka-consumer-groups kafka-acls kafka-configs rabbitmqctl rabbitmqadmin nats circleci"
    " gitlab-runner flipt ldcli split unleash datadog-ci newrelic pd splunk stripe braintree square algolia meilisearch sentry-cli"
    " auth0 okta twilio sendgrid mailgun postmark launchdarkly jenkins-cli java pulsar-admin etcdctl chef knife puppet haproxy nginx"
    " traefik promtool amtool grafana-cli logcli elastic opensearch-cli gitlab-rake gitlab-backup"
)
_SERVICE_VERBS = words_in(
    "archive roll clear clean forget_cluster_node clear_permissions delete_user delete_vhost disable remove-secret reset cancel"
    " delete_queue purge_queue stop_app force_boot gitlab:backup:restore restore stop"
)
_SERVICE_FLAGS = LazyPattern(r"--(?:delete|remove|reset-offsets|delete-config|delete-records)\b.*|--purge")
_PATHS = LazyPattern(
    r"_delete_by_query|delete_series|doDelete|/_close\b|delete-batch|/_forcemerge|mutation\W.{0,300}\bdelete\w*|/kill\b|clean_tombstones"
)
_CLIENT_CODE = LazyPattern(
    r"\.(?:delete(?:Index|Object|By|_index|_customer)?\w*|cancel|clearObjects|clearIndex)\s*\("
)
_TEXT_SHOWERS = words_in("git grep rg sed awk echo cat")
_ASK = "ask the user to do it"


def check_services(call: Call) -> Danger | None:
    words = call.arguments
    if is_only_asking(words):
        return None
    if call.program in _HTTP_CLIENTS:
        return _check_request(call)
    if call.program in _SERVICE_TOOLS:
        return _check_tool(call)
    if call.program in ("nsupdate",) or (
        call.program == "dig" and "axfr" in [word.lower() for word in words]
    ):
        return Danger("services", "this changes or copies a DNS zone", _ASK)
    if call.program == "socat" and re.search(r"(?m)^\s*(?:disable|shutdown|del)\b", call.input_text):
        return Danger("services", "this takes servers out of service", _ASK)
    if call.program in ("service", "systemctl", "rc-service") and {"stop", "disable", "mask"} & set(words):
        return Danger("services", "this stops a service", _ASK)
    if call.program == "rm" and any(word.startswith("/etc/") for word in words):
        return Danger("services", "this removes a service's settings", _ASK)
    if _CLIENT_CODE.search(" ".join((call.program, *words))) and call.program not in _TEXT_SHOWERS:
        return Danger("services", "this deletes a service's data", _ASK)
    return None


def _check_request(call: Call) -> Danger | None:
    words = call.arguments
    method = value_of_option(words, ("-X", "--request", "--method")) or next(
        (word for word in words[:2] if word.isupper()), ""
    )
    if method.upper() == "DELETE":
        return Danger("services", "this deletes something through an API", _ASK)
    if any(_PATHS.search(word) for word in words):
        return Danger("services", "this deletes or closes something through an API", _ASK)
    return None


def _check_tool(call: Call) -> Danger | None:
    arguments = call.arguments
    if call.program == "java" and not any("jenkins-cli" in word for word in arguments):
        return None
    if call.program in ("haproxy", "nginx", "traefik"):
        stops = any(word in ("-st", "-sf", "stop", "quit") for word in arguments)
        return Danger("services", f"this stops {call.program}", _ASK) if stops else None
    method = value_of_option(arguments, ("-X", "--method"))
    if method is not None and method.upper() == "DELETE":
        return Danger("services", "this deletes something through an API", _ASK)
    words = (
        command_words(arguments)
        if call.program != "java"
        else [word for word in arguments if not word.startswith("-")]
    )
    if destructive_word(words, _SERVICE_VERBS) or any(_SERVICE_FLAGS.fullmatch(word) for word in arguments):
        return Danger("services", f"{call.program} {' '.join(words[:3])} deletes or disables something", _ASK)
    return None

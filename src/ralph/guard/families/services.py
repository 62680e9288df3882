"""Services behind HTTP. By default: deleting on a public host. The pack: any deletion, stopping services, client code."""

from __future__ import annotations

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.options import is_only_asking, value_of_option, words_in
from ralph.guard.places import is_public_host

_HTTP_CLIENTS = words_in("curl wget http https xh xhs httpie")
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
    if not call.rules.has_pack("services"):
        return None
    if call.program not in _TEXT_SHOWERS and _CLIENT_CODE.search(" ".join((call.program, *words))):
        return Danger("services", "this deletes a service's data", _ASK)
    return None


def _check_request(call: Call) -> Danger | None:
    words = call.arguments
    method = value_of_option(words, ("-X", "--request", "--method")) or next(
        (word for word in words[:2] if word.isupper()), ""
    )
    is_strict = call.rules.has_pack("services")
    if method.upper() == "DELETE" and (is_strict or any(map(is_public_host, words))):
        return Danger("services", "this deletes something through an API", _ASK)
    if is_strict and any(_PATHS.search(word) for word in words):
        return Danger("services", "this deletes or closes something through an API", _ASK)
    return None

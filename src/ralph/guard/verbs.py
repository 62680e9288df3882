"""Command lines of the form ``tool thing verb``: which verbs are destructive."""

from __future__ import annotations

from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.options import words_in

_VERB = LazyPattern(
    r"(?:batch-)?(?:delete|destroy|remove|purge|terminate|drop|prune|wipe|erase|deregister|revoke|unregister|uninstall)(?:[-_:].*)?"
    r"|rm|rb|rmi|del|rmdir|deletefile|.*[-_](?:delete|destroy|remove|purge)"
)
_GLOBAL_VALUED = words_in(
    "--region --profile --output --endpoint-url --project --account --configuration --subscription --format --org --context -n --namespace"
    " --kubeconfig --cluster -s -H --host -c --config -p --port -u --user --bootstrap-server --zookeeper -o -C --chdir --server -w --workspace"
)
_QUESTIONS = words_in("--help -h help --version --dry-run --dryrun --dry-run=client --dry-run=server")


def command_words(arguments: list[str]) -> list[str]:
    """The leading words, without options before them: ``s3api delete-bucket`` of ``--region x s3api delete-bucket --bucket y``."""
    words: list[str] = []
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word.startswith("-"):
            if len(words) >= 2:
                break
            at += 2 if word in _GLOBAL_VALUED else 1
            continue
        words.append(word)
        at += 1
    return words


def destructive_word(words: list[str], more: frozenset[str] = frozenset()) -> str:
    """The first destructive verb, or nothing."""
    for word in words[:5]:
        if word in more or _VERB.fullmatch(word.lower()):
            return word
    return ""


def is_only_asking(arguments: list[str]) -> bool:
    return not _QUESTIONS.isdisjoint(arguments)

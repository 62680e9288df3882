"""git: losing uncommitted work, rewriting or deleting history, forcing it on others."""

from __future__ import annotations

from collections.abc import Callable

from ralph.guard.call import Call
from ralph.guard.git_call import GitWords, read_git
from ralph.guard.judgement import Danger
from ralph.guard.marks import INPUT
from ralph.guard.options import has_flag, split_options

_COMMIT_FIRST = "commit or stash the work first (git stash push -u), then ask the user"


def _danger(what: str, instead: str = _COMMIT_FIRST) -> Danger:
    return Danger("git", what, instead)


def check_git(call: Call) -> Danger | None:
    if call.program.startswith("git-") and call.program not in ("git-lfs",):
        words = GitWords(call.program[4:], call.arguments, {}, "", [])
    elif call.program == "git":
        words = read_git(call.arguments)
    else:
        return None
    rule = _RULES.get(words.subcommand)
    if words.subcommand.startswith(INPUT) or (rule and _may_gain_options(words)):
        return _danger("words from stdin may become options of git", "put -- before the names")
    if rule is None:
        return None
    options, operands = split_options(words.arguments)
    if any(
        word in ("-h", "--help", "--version")
        for word in split_options(words.arguments, ("-s", "--source"))[0]
    ):
        return None
    return rule(
        call,
        words.arguments,
        [option if option[:2] != "--" else option.lower() for option in options],
        operands,
    )


def _may_gain_options(words: GitWords) -> bool:
    arguments = words.arguments
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if words.subcommand in ("rm", "add", "mv") and INPUT in before:
        before = [word for word in before if word != INPUT]
    return any(word.startswith(INPUT) or (word.startswith("-") and INPUT in word) for word in before)


def _reset(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    for mode in ("hard", "merge"):
        if has_flag(options, long=mode, shortest=2):
            return _danger(f"git reset --{mode} throws away uncommitted changes")
    return None


def _clean(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    if has_flag(options, "n", "dry-run"):
        return None
    if has_flag(options, "f", "force") or any(
        "x" in option.lower() for option in options if option[:2] != "--"
    ):
        return _danger(
            "git clean deletes files that git does not know",
            "look with git clean -n, then rm the named files",
        )
    return None


_CHECKOUT_VALUED = ("-b", "-B", "--orphan", "--conflict", "-U", "--unified", "--inter-hunk-context")


def _checkout(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    instead = "commit or stash first; git diff shows what would be lost"
    names = [option.partition("=")[0] for option in options]
    creates = "--orphan" in names or any(name[:2] != "--" and set(name) & {"b", "B"} for name in names)
    if has_flag([_before_letter(option, "bB") for option in options], "f", "force"):
        return _danger("git checkout --force throws away uncommitted changes", instead)
    if any(name.startswith("--pathspec-from-f") for name in names):
        return _danger("git checkout of paths throws away their uncommitted changes", instead)
    before, separator, after = _around_double_dash(arguments)
    if separator and after and not creates:
        return _danger("git checkout -- throws away uncommitted changes of these files", instead)
    if has_flag(options, "p", "patch") or creates:
        return None
    _, given = split_options(before, _CHECKOUT_VALUED)
    if any(name in ("-t", "--track") for name in names) and given[:1] in (["direct"], ["inherit"]):
        given = given[1:]
    if "--recurse-submodules" in names and given[:1] in (["checkout"], ["on-demand"]):
        given = given[1:]
    if len(given) > 1 or given[:1] in (
        [
            ".",
        ],
        ["*"],
        ["./"],
        [":/"],
    ):
        return _danger("git checkout of paths throws away their uncommitted changes", instead)
    return None


def _before_letter(option: str, letters: str) -> str:
    """``-qbfeature`` is ``-q`` and a value: what follows the letter is no flag."""
    if option.startswith("--"):
        return option
    return "-" + option[1:].partition(next((letter for letter in option[1:] if letter in letters), "\0"))[0]


def _around_double_dash(arguments: list[str]) -> tuple[list[str], bool, list[str]]:
    if "--" not in arguments:
        return arguments, False, []
    at = arguments.index("--")
    return arguments[:at], True, arguments[at + 1 :]


def _switch(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    plain = [option for option in options if option[:2] not in ("-c", "-C")]
    if has_flag(plain, "f", "force") or has_flag(plain, long="discard-changes"):
        return _danger("git switch --discard-changes throws away uncommitted changes")
    return None


def _restore(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    valued = (
        "-s",
        "--source",
        "-U",
        "--unified",
        "--inter-hunk-context",
        "--pathspec-from-file",
        "--conflict",
    )
    options, operands = split_options(arguments, valued)
    short = [option for option in options if not option.startswith(("-s", "-U"))]
    staged = has_flag(short, "S", "staged")
    worktree = has_flag(short, "W", "worktree")
    if any(option in ("-U", "--unified", "--inter-hunk-context") for option in options):
        staged = (
            staged and worktree
        )  # git takes the next word as its number: what follows is not what it seems
        if not staged and "--staged" in arguments:
            worktree = True
    chooses = operands or has_flag(short, "p", "patch") or has_flag(options, long="pathspec-from-file")
    if staged and not worktree:
        return None
    cancelled = any(option.startswith(("--no-s", "--no-w")) for option in options)
    if not chooses or (cancelled and not worktree):
        return None
    return _danger(
        "git restore throws away uncommitted changes of these files",
        "git restore --staged keeps the files; else commit or stash first",
    )


def _push(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    instead = "push without force, or with --force-with-lease on a branch of your own"
    leased = [option for option in options if not option.startswith("--force-with-lease") or "-if-" in option]
    leased = [option for option in leased if not option.startswith("--force-if-includes")]
    if any(option.startswith("--force") for option in leased) or has_flag(leased, "f", "force"):
        return _danger("git push --force overwrites other people's commits", instead)
    if has_flag(options, long="mirror", shortest=3) or has_flag(options, long="prune"):
        return _danger("git push --mirror deletes branches of the remote", instead)
    if has_flag(options, "d", "delete", shortest=3) or any(
        operand.startswith(":") and len(operand) > 1 for operand in operands
    ):
        return _danger("this deletes a branch or tag of the remote", "leave it, and let the user delete it")
    if any(operand.startswith("+") or ":+" in operand for operand in operands):
        return _danger("a refspec with + forces the push", instead)
    if call.rules.has_pack("strict") and any(
        operand.rpartition(":")[2] in ("main", "master") for operand in operands[1:]
    ):
        return _danger("this pushes to the main branch", "push a branch and open a pull request")
    return None


def _branch(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    if has_flag(options, "D") or (
        has_flag(options, "d", "delete", shortest=3) and has_flag(options, "f", "force")
    ):
        return _danger(
            "git branch -D deletes commits that are nowhere else",
            "git branch -d, which refuses unmerged branches",
        )
    if has_flag(options, "f", "force") or has_flag(options, "M") or has_flag(options, "C"):
        return _danger(
            "git branch --force moves a branch and may lose commits", "make a branch with a new name"
        )
    return None


def _stash(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    if operands[:1] in (["drop"], ["clear"]):
        return _danger(f"git stash {operands[0]} deletes stashed work", "git stash apply keeps the stash")
    return None


def _tag(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    if has_flag(options, "d", "delete", shortest=3):
        return _danger("git tag -d deletes a tag", "leave it, and let the user delete it")
    if has_flag(options, "f", "force") and operands:
        return _danger("git tag --force moves a tag", "make a tag with a new name")
    return None


def _remove(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    if (
        has_flag(options, "f", "force")
        and not has_flag(options, "n", "dry-run")
        and not has_flag(options, long="cached")
    ):
        return _danger(
            "git rm --force deletes files with uncommitted changes", "git rm without --force, or --cached"
        )
    return None


def _worktree(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    if operands[:1] == ["remove"] and has_flag(options, "f", "force"):
        return _danger(
            "git worktree remove --force deletes uncommitted work", "git worktree remove, which refuses then"
        )
    return None


def _abort(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    if has_flag(options, long="abort", shortest=2):
        return _danger(
            "aborting a merge may throw away uncommitted changes", "resolve the conflicts, or ask the user"
        )
    return None


def _reflog(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    if operands[:1] in (["expire"], ["delete"]) and not has_flag(options, "n", "dry-run"):
        return _danger("without the reflog lost commits cannot be found again", "leave it to git gc")
    return None


def _collect(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    if any(option in ("--prune=now", "--prune=all") for option in options):
        return _danger("this deletes commits that could still be brought back", "git gc without --prune")
    return None


def _update_ref(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    if has_flag(options, "d"):
        return _danger(
            "git update-ref -d deletes a branch or tag", "git branch -d, which refuses unmerged branches"
        )
    return None


def _checkout_index(
    call: Call, arguments: list[str], options: list[str], operands: list[str]
) -> Danger | None:
    if has_flag(options, "f", "force"):
        return _danger("git checkout-index --force overwrites uncommitted changes")
    return None


def _read_tree(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    if has_flag(options, long="reset"):
        return _danger("git read-tree --reset overwrites uncommitted changes")
    return None


def _rewrite(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    return _danger("this rewrites the history of the repository", "make a new commit that undoes the change")


def _submodule(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    if operands[:1] in (["deinit"], ["update"]) and has_flag(options, "f", "force"):
        return _danger(f"git submodule {operands[0]} --force throws away changes in submodules")
    return None


def _prune(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    if has_flag(options, "n", "dry-run"):
        return None
    return _danger("git prune deletes commits that could still be brought back", "leave it to git gc")


def _rebase(call: Call, arguments: list[str], options: list[str], operands: list[str]) -> Danger | None:
    if has_flag(options, long="abort", shortest=2):
        return _danger(
            "aborting a rebase throws away what was resolved so far", "resolve the conflicts, or ask the user"
        )
    if call.rules.has_pack("strict") and not any(option in ("--continue", "--skip") for option in options):
        return _danger("git rebase rewrites commits", "git merge keeps them")
    return None


def _strict_commit(
    call: Call, arguments: list[str], options: list[str], operands: list[str]
) -> Danger | None:
    if call.rules.has_pack("strict") and has_flag(options, long="amend"):
        return _danger("git commit --amend rewrites a commit", "make a new commit")
    return None


_Rule = Callable[[Call, list[str], list[str], list[str]], "Danger | None"]
_RULES: dict[str, _Rule] = {
    "reset": _reset,
    "clean": _clean,
    "checkout": _checkout,
    "switch": _switch,
    "restore": _restore,
    "push": _push,
    "send-pack": _push,
    "branch": _branch,
    "stash": _stash,
    "tag": _tag,
    "rm": _remove,
    "worktree": _worktree,
    "merge": _abort,
    "cherry-pick": _abort,
    "am": _abort,
    "rebase": _rebase,
    "commit": _strict_commit,
    "reflog": _reflog,
    "gc": _collect,
    "update-ref": _update_ref,
    "checkout-index": _checkout_index,
    "read-tree": _read_tree,
    "filter-branch": _rewrite,
    "filter-repo": _rewrite,
    "submodule": _submodule,
    "prune": _prune,
}

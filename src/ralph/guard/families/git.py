"""git: losing uncommitted work, rewriting or deleting history, forcing it on others."""

from __future__ import annotations

from ralph.guard.families.call import Call, Rule, Words, find_danger
from ralph.guard.git_call import GitWords, read_git, settings_from_environment
from ralph.guard.judgement import Danger
from ralph.guard.marks import INPUT
from ralph.guard.options import has_flag, split_options


def check_git(call: Call) -> Danger | None:
    if call.program.startswith("git-") and call.program not in ("git-lfs",):
        git = GitWords(call.program[4:], call.arguments, {}, "", [])
    elif call.program == "git":
        git = read_git(call.arguments)
    else:
        return None
    rules = _RULES.get(git.subcommand)
    if git.subcommand.startswith(INPUT) or (rules and _may_gain_options(git)):
        return Danger("git", "words from stdin may become options of git", "put -- before the names")
    if rules is None or _asks_for_help(git):
        return None
    options, operands = split_options(git.arguments)
    if git.subcommand == "clean" and _needs_no_force(call, git):
        options.append("--force")
    lowered = [option if option[:2] != "--" else option.lower() for option in options]
    return find_danger("git", rules, Words(call, git.arguments, lowered, operands))


def _needs_no_force(call: Call, git: GitWords) -> bool:
    config = (settings_from_environment(call.environment) or {}) | git.config
    return config.get("clean.requireforce", "").lower() in ("false", "no", "off", "0")


def _may_gain_options(git: GitWords) -> bool:
    before, _ = _around_double_dash(git.arguments)
    if git.subcommand in ("rm", "add", "mv") and INPUT in before:
        before = [word for word in before if word != INPUT]
    return any(word.startswith(INPUT) or (word.startswith("-") and INPUT in word) for word in before)


def _asks_for_help(git: GitWords) -> bool:
    options, _ = split_options(git.arguments, ("-s", "--source"))
    return any(option in ("-h", "--help", "--version") for option in options)


def _around_double_dash(arguments: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


# --- conditions that take more than one flag ------------------------------------------------------------------


def _cleans(words: Words) -> bool:
    has_x = any("x" in option.lower() for option in words.options if option[:2] != "--")
    return not _is_dry(words) and (words.has("f", "force") or has_x)


def _is_dry(words: Words) -> bool:
    return words.has("n", "dry-run")


def _forces_checkout(words: Words) -> bool:
    return has_flag([_before_letter(option, "bB") for option in words.options], "f", "force")


def _before_letter(option: str, letters: str) -> str:
    """``-qbfeature`` is ``-q`` and a value: what follows the letter is not a flag."""
    if option.startswith("--"):
        return option
    return "-" + option[1:].partition(next((letter for letter in option[1:] if letter in letters), "\0"))[0]


def _creates_branch(words: Words) -> bool:
    names = _option_names(words)
    return "--orphan" in names or any(name[:2] != "--" and set(name) & {"b", "B"} for name in names)


def _option_names(words: Words) -> list[str]:
    return [option.partition("=")[0] for option in words.options]


def _checks_out_named_files(words: Words) -> bool:
    _, after = _around_double_dash(words.arguments)
    return bool(after) and not _creates_branch(words)


_CHECKOUT_VALUED = ("-b", "-B", "--orphan", "--conflict", "-U", "--unified", "--inter-hunk-context")


def _checks_out_paths(words: Words) -> bool:
    if words.has("p", "patch") or _creates_branch(words):
        return False
    names = _option_names(words)
    before, _ = _around_double_dash(words.arguments)
    _, given = split_options(before, _CHECKOUT_VALUED)
    if any(name in ("-t", "--track") for name in names) and given[:1] in (["direct"], ["inherit"]):
        given = given[1:]
    if "--recurse-submodules" in names and given[:1] in (["checkout"], ["on-demand"]):
        given = given[1:]
    return len(given) > 1 or given[:1] in (["."], ["*"], ["./"], [":/"])


def _discards_on_switch(words: Words) -> bool:
    plain = [option for option in words.options if option[:2] not in ("-c", "-C")]
    return has_flag(plain, "f", "force") or has_flag(plain, long="discard-changes")


_RESTORE_NUMBERS = ("-U", "--unified", "--inter-hunk-context")
_RESTORE_VALUED = ("-s", "--source", "--pathspec-from-file", "--conflict", *_RESTORE_NUMBERS)


def _restores_files(words: Words) -> bool:
    options, operands = split_options(words.arguments, _RESTORE_VALUED)
    short = [option for option in options if not option.startswith(("-s", "-U"))]
    staged = has_flag(short, "S", "staged")
    worktree = has_flag(short, "W", "worktree")
    if any(option in _RESTORE_NUMBERS for option in options):
        # git takes the next word as its number: what follows is not what it seems.
        staged = staged and worktree
        if not staged and "--staged" in words.arguments:
            worktree = True
    if staged and not worktree:
        return False
    is_cancelled = any(option.startswith(("--no-s", "--no-w")) for option in options)
    chooses = operands or has_flag(short, "p", "patch") or has_flag(options, long="pathspec-from-file")
    return bool(chooses) and (worktree or not is_cancelled)


def _forces_push(words: Words) -> bool:
    names = [option for option in _option_names(words) if not option.startswith(("--force-w", "--force-i"))]
    return has_flag(names, "f", "force")


def _deletes_on_remote(words: Words) -> bool:
    return words.has("d", "delete") or any(
        operand.startswith(":") and len(operand) > 1 for operand in words.operands
    )


def _pushes_to_main(words: Words) -> bool:
    return _is_strict(words) and any(
        operand.rpartition(":")[2] in ("main", "master") for operand in words.operands[1:]
    )


def _is_strict(words: Words) -> bool:
    return words.call.rules.has_pack("strict")


def _starts_rebase(words: Words) -> bool:
    return _is_strict(words) and not any(option in ("--continue", "--skip") for option in words.options)


def _aborts(words: Words) -> bool:
    return words.has(long="abort")


# --- the rules -------------------------------------------------------------------------------------------------

_COMMIT_FIRST = "commit or stash the work first (git stash push -u), then ask the user"
_SEE_DIFF = "commit or stash first; git diff shows what would be lost"
_PUSH_GENTLY = "push without force, or with --force-with-lease on your own branch"
_LEAVE_IT = "leave it for the user to delete"
_SAFE_DELETE = "use git branch -d, which refuses unmerged branches"
_RESOLVE = "resolve the conflicts, or ask the user"
_LEAVE_TO_GC = "leave it to git gc"

_PUSH = (
    Rule(_forces_push, "git push --force can overwrite other people's commits", _PUSH_GENTLY),
    Rule(
        lambda words: words.has(long="mirror") or words.has(long="prune"),
        "git push --mirror or --prune deletes branches on the remote",
        _PUSH_GENTLY,
    ),
    Rule(_deletes_on_remote, "this deletes a branch or tag on the remote", _LEAVE_IT),
    Rule(
        lambda words: any(operand.startswith("+") or ":+" in operand for operand in words.operands),
        "a refspec with + forces the push",
        _PUSH_GENTLY,
    ),
    Rule(_pushes_to_main, "this pushes to the main branch", "push a branch and open a pull request"),
)
_ABORT = (Rule(_aborts, "aborting a merge may discard uncommitted changes", _RESOLVE),)
_REWRITE = (
    Rule(
        lambda words: True,
        "this rewrites the history of the repository",
        "make a new commit that undoes the change",
    ),
)
_RULES: dict[str, tuple[Rule, ...]] = {
    "reset": (
        Rule(
            lambda words: words.has(long="hard"),
            "git reset --hard discards uncommitted changes",
            _COMMIT_FIRST,
        ),
        Rule(
            lambda words: words.has(long="merge"),
            "git reset --merge discards uncommitted changes",
            _COMMIT_FIRST,
        ),
    ),
    "clean": (
        Rule(
            _cleans,
            "git clean deletes untracked files",
            "list them with git clean -n, then rm the ones to delete by name",
        ),
    ),
    "checkout": (
        Rule(_forces_checkout, "git checkout --force discards uncommitted changes", _SEE_DIFF),
        Rule(
            lambda words: any(name.startswith("--pathspec-from-f") for name in _option_names(words)),
            "git checkout of paths discards their uncommitted changes",
            _SEE_DIFF,
        ),
        Rule(
            _checks_out_named_files, "git checkout -- discards uncommitted changes to these files", _SEE_DIFF
        ),
        Rule(_checks_out_paths, "git checkout of paths discards their uncommitted changes", _SEE_DIFF),
    ),
    "switch": (
        Rule(_discards_on_switch, "git switch --discard-changes discards uncommitted changes", _COMMIT_FIRST),
    ),
    "restore": (
        Rule(
            _restores_files,
            "git restore discards uncommitted changes to these files",
            "use git restore --staged, which keeps the files, or commit or stash first",
        ),
    ),
    "push": _PUSH,
    "send-pack": _PUSH,
    "branch": (
        Rule(
            lambda words: words.has("D") or (words.has("d", "delete") and words.has("f", "force")),
            "git branch -D can lose commits that are nowhere else",
            _SAFE_DELETE,
        ),
        Rule(
            lambda words: words.has("f", "force") or words.has("M") or words.has("C"),
            "git branch --force moves a branch and may lose commits",
            "make a branch with a new name",
        ),
    ),
    "stash": (
        Rule(
            lambda words: words.verb in ("drop", "clear"),
            "git stash {verb} deletes stashed work",
            "use git stash apply, which keeps the stash",
        ),
    ),
    "tag": (
        Rule(lambda words: words.has("d", "delete"), "git tag -d deletes a tag", _LEAVE_IT),
        Rule(
            lambda words: words.has("f", "force") and words.operands,
            "git tag --force moves a tag",
            "make a tag with a new name",
        ),
    ),
    "rm": (
        Rule(
            lambda words: words.has("f", "force") and not _is_dry(words) and not words.has(long="cached"),
            "git rm --force deletes files with uncommitted changes",
            "use git rm without --force, or with --cached",
        ),
    ),
    "worktree": (
        Rule(
            lambda words: words.verb == "remove" and words.has("f", "force"),
            "git worktree remove --force deletes uncommitted work",
            "use git worktree remove without --force, which refuses to",
        ),
    ),
    "merge": _ABORT,
    "cherry-pick": _ABORT,
    "am": _ABORT,
    "rebase": (
        Rule(_aborts, "aborting a rebase discards what was resolved so far", _RESOLVE),
        Rule(_starts_rebase, "git rebase rewrites commits", "use git merge, which keeps them"),
    ),
    "commit": (
        Rule(
            lambda words: _is_strict(words) and words.has(long="amend"),
            "git commit --amend rewrites a commit",
            "make a new commit",
        ),
    ),
    "config": (
        Rule(
            lambda words: "clean.requireforce" in map(str.lower, words.operands) and words.operands[1:],
            "without clean.requireForce, git clean deletes untracked files at once",
            "leave the setting as it is",
        ),
    ),
    "reflog": (
        Rule(
            lambda words: words.verb in ("expire", "delete") and not _is_dry(words),
            "without the reflog, lost commits cannot be found again",
            _LEAVE_TO_GC,
        ),
    ),
    "gc": (
        Rule(
            lambda words: any(option in ("--prune=now", "--prune=all") for option in words.options),
            "this deletes commits that could still be recovered",
            "use git gc without --prune",
        ),
    ),
    "prune": (
        Rule(
            lambda words: not _is_dry(words),
            "git prune deletes commits that could still be recovered",
            _LEAVE_TO_GC,
        ),
    ),
    "update-ref": (
        Rule(lambda words: words.has("d"), "git update-ref -d deletes a branch or tag", _SAFE_DELETE),
    ),
    "checkout-index": (
        Rule(
            lambda words: words.has("f", "force"),
            "git checkout-index --force overwrites uncommitted changes",
            _COMMIT_FIRST,
        ),
    ),
    "read-tree": (
        Rule(
            lambda words: words.has(long="reset"),
            "git read-tree --reset overwrites uncommitted changes",
            _COMMIT_FIRST,
        ),
    ),
    "submodule": (
        Rule(
            lambda words: words.verb in ("deinit", "update") and words.has("f", "force"),
            "git submodule {verb} --force discards changes in submodules",
            _COMMIT_FIRST,
        ),
    ),
    "filter-branch": _REWRITE,
    "filter-repo": _REWRITE,
}

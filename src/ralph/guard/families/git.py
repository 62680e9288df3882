"""git: losing uncommitted work, rewriting or deleting history, forcing it on others."""

from __future__ import annotations

from collections.abc import Callable

from ralph.guard.families.call import Call, Words, find_danger, read_rules
from ralph.guard.git_call import GitWords, read_git
from ralph.guard.judgement import Danger
from ralph.guard.marks import INPUT
from ralph.guard.options import has_flag, may_gain_options, split_options


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
    if git.config.get("clean.requireforce", "").lower() in ("false", "no", "off", "0"):
        options.append("--force")
    lowered = [option if option[:2] != "--" else option.lower() for option in options]
    return find_danger(rules, Words(call, git.arguments, lowered, operands))


def _may_gain_options(git: GitWords) -> bool:
    takes_names = git.subcommand in ("rm", "add", "mv")
    return may_gain_options([word for word in git.arguments if not takes_names or word != INPUT])


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
    return not words.has("n", "dry-run") and (words.has("f", "force") or has_x)


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
    before, _ = _around_double_dash(words.arguments)
    _, given = split_options(before, _CHECKOUT_VALUED)
    return len(given) > 1 or given[:1] in (["."], ["*"], ["./"], [":/"])


def _discards_on_switch(words: Words) -> bool:
    plain = [option for option in words.options if option[:2] not in ("-c", "-C")]
    return has_flag(plain, "f", "force") or has_flag(plain, long="discard-changes")


_RESTORE_VALUED = ("-s", "--source", "--pathspec-from-file", "--conflict")


def _restores_files(words: Words) -> bool:
    options, operands = split_options(words.arguments, _RESTORE_VALUED)
    short = [option for option in options if not option.startswith("-s")]
    staged = has_flag(short, "S", "staged")
    worktree = has_flag(short, "W", "worktree")
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
    return any(operand.rpartition(":")[2] in ("main", "master") for operand in words.operands[1:])


_CONDITIONS: dict[str, Callable[[Words], object]] = {
    "moves": lambda words: words.operands and words.operands[0] not in ("HEAD", "@"),
    "no require": lambda words: "clean.requireforce" in map(str.lower, words.operands) and words.operands[1:],
    "cleans": _cleans,
    "forces checkout": _forces_checkout,
    "named files": _checks_out_named_files,
    "paths": _checks_out_paths,
    "discards": _discards_on_switch,
    "restores": _restores_files,
    "forces push": _forces_push,
    "deletes there": _deletes_on_remote,
    "to main": _pushes_to_main,
}
"""What takes more than a flag."""
_ADVICE = {
    "commit": "commit or stash the work first (git stash push -u), then ask the user",
    "see": "commit or stash first; git diff shows what would be lost",
    "gently": "push without force, or with --force-with-lease on your own branch",
    "leave": "leave it for the user to delete",
    "safely": "use git branch -d, which refuses unmerged branches",
    "resolve": "resolve the conflicts, or ask the user",
    "gc": "leave it to git gc, without --prune",
    "list": "list them with git clean -n, then rm the ones to delete by name",
    "staged": "use git restore --staged, which keeps the files, or commit or stash first",
    "new": "make one with a new name",
    "apply": "use git stash apply, which keeps the stash",
    "unforced": "use it without --force, which refuses to",
    "soft": "use git revert, or git reset --soft, which keeps the files",
    "undo": "make a new commit that undoes the change",
    "pr": "push a branch and open a pull request",
    "merge": "use git merge, which keeps them",
    "setting": "leave the setting as it is",
}
_TABLE = r"""
git :: reset :: --hard :: git reset --hard discards uncommitted changes :: commit
git :: reset :: --merge :: git reset --merge discards uncommitted changes :: commit
git :: reset :: --keep & moves :: git reset --keep takes commits off the branch, and their work out of the files :: soft
git :: clean :: cleans :: git clean deletes untracked files :: list
git :: config :: no require :: without clean.requireForce, git clean deletes untracked files at once :: setting
git :: checkout :: forces checkout :: git checkout --force discards uncommitted changes :: see
git :: checkout :: like ^--pathspec-from-f :: git checkout of paths discards their uncommitted changes :: see
git :: checkout :: named files :: git checkout -- discards uncommitted changes to these files :: see
git :: checkout :: paths :: git checkout of paths discards their uncommitted changes :: see
git :: switch :: discards :: git switch --discard-changes discards uncommitted changes :: commit
git :: restore :: restores :: git restore discards uncommitted changes to these files :: staged
git :: push send-pack :: forces push :: git push --force can overwrite other people's commits :: gently
git :: push send-pack :: --mirror :: git push --mirror deletes branches on the remote :: gently
git :: push send-pack :: --prune :: git push --prune deletes branches on the remote :: gently
git :: push send-pack :: deletes there :: this deletes a branch or tag on the remote :: leave
git :: push send-pack :: like ^\+|:\+ :: a refspec with + forces the push :: gently
git :: push send-pack :: strict pack & to main :: this pushes to the main branch :: pr
git :: branch :: -D :: git branch -D can lose commits that are nowhere else :: safely
git :: branch :: -d/--delete & -f/--force :: git branch -D can lose commits that are nowhere else :: safely
git :: branch :: -f/--force :: git branch --force moves a branch and may lose commits :: new
git :: branch :: -M :: git branch -M overwrites a branch and may lose commits :: new
git :: branch :: -C :: git branch -C overwrites a branch and may lose commits :: new
git :: stash :: drop/clear :: git stash {verb} deletes stashed work :: apply
git :: tag :: -d/--delete :: git tag -d deletes a tag :: leave
git :: tag :: -f/--force & named :: git tag --force moves a tag :: new
git :: rm :: -f/--force & not -n/--dry-run & not --cached :: git rm --force deletes files with uncommitted changes :: unforced
git :: worktree :: remove & -f/--force :: git worktree remove --force deletes uncommitted work :: unforced
git :: merge cherry-pick am :: --abort :: aborting a merge may discard uncommitted changes :: resolve
git :: rebase :: --abort :: aborting a rebase discards what was resolved so far :: resolve
git :: rebase :: strict pack & not --continue & not --skip :: git rebase rewrites commits :: merge
git :: commit :: strict pack & --amend :: git commit --amend rewrites a commit :: undo
git :: reflog :: expire/delete & not -n/--dry-run :: without the reflog, lost commits cannot be found again :: gc
git :: gc :: has --prune=now|--prune=all :: this deletes commits that could still be recovered :: gc
git :: prune :: not -n/--dry-run :: git prune deletes commits that could still be recovered :: gc
git :: update-ref :: -d :: git update-ref -d deletes a branch or tag :: safely
git :: checkout-index :: -f/--force :: git checkout-index --force overwrites uncommitted changes :: commit
git :: read-tree :: --reset :: git read-tree --reset overwrites uncommitted changes :: commit
git :: submodule :: deinit/update & -f/--force :: git submodule {verb} --force discards changes in submodules :: commit
git :: filter-branch filter-repo :: always :: this rewrites the history of the repository :: undo
"""
"""Subcommands, what must be given (flags, a verb, or a condition of the table above; ``&``: all of it), the danger, the advice."""


_RULES = read_rules(_TABLE, _CONDITIONS, _ADVICE)

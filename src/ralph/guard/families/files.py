"""Files: removing, overwriting and formatting what cannot be restored."""

from __future__ import annotations

import re
from collections.abc import Callable

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.marks import INPUT, UNKNOWN
from ralph.guard.options import has_flag, may_gain_options, split_options, value_of_option, words_in
from ralph.guard.places import (
    HARMLESS,
    VITAL,
    Place,
    is_personal_file,
    is_regenerated,
    is_vital_file,
)

_NAME_PATHS = "name the paths inside the project one by one, or ask the user to do it"
_LET_INSTALL = "write to a file inside the project and let the user install it"
_LIST_FIRST = "list the files first, then rm them by name"
_USE_RM = "remove the file with rm"
_MADE_EMPTY = LazyPattern(
    r"__init__\.pyi?|py\.typed|\.(?:gitkeep|keep|nojekyll)|[\w.-]*\.(?:lock|flag|marker|stamp|done|ready)"
    r"|(?:out|output|err|errors?|results?|report|trace|dump|list|std(?:out|err)|nohup|summary|progress)[\w-]*(?:\.\w+)?"
)
_NOISE = words_in("/dev/zero /dev/random /dev/urandom")
_KEPT = LazyPattern(
    r"(?i).*\.(?:db3?|sqlite3?|duckdb|mdb|rdb|kdbx|sql|csv|parquet|xlsx?|docx?|pdf|md|rst|txt|json|ya?ml|toml|xml|html?|css|env|tf|ipynb"
    r"|py|[jt]sx?|go|rs|rb|php|java|kt|cs?|h|cc|cpp|hpp|swift|sh|vue|svelte)"
)
"""Data, documents and code, by their ending."""
_EMPTY_FOLDER = LazyPattern(
    r"(?:.*[/_.-])?(?:empty|blank)(?:[_.-]?(?:dir|folder|\d+))?/*", hints="empty blank"
)
_EMPTYING_SCRIPT = LazyPattern(r"(?:1,\$|/\.\*/)?\s*d|s(.)\^?\.[*+]\$?\1\1[gm]*", hints="d s")


def check_files(call: Call) -> Danger | None:
    check = _CHECKS.get(call.program)
    return check(call) if check is not None else None


def _danger(what: str, instead: str) -> Danger:
    return Danger("files", what, instead)


def shown_path(path: str) -> str:
    """A path for a message; it says so where the path is unknown."""
    text = re.sub(f"[{UNKNOWN}{INPUT}]+", "…", path)
    return text if len(text) <= 80 else text[:79] + "…"


def check_written_file(path: str, cwd: str, *, appends: bool = False) -> Danger | None:
    """The target of ``>``."""
    if is_vital_file(path, cwd) or (is_personal_file(path, cwd) and not appends):
        return _danger(f"this overwrites {path}", _LET_INSTALL)
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        what = "this opens a network connection through the shell"
        return Danger("network", what, "use curl with a host that the user named")
    return None


def check_emptied_file(path: str, place: Place) -> Danger | None:
    """What ``> file`` without a command leaves: nothing. Logs, outputs and files that are empty by custom may be emptied."""
    is_unknown = place is Place.UNKNOWN and INPUT not in path
    if not path.strip("/") or is_unknown or place is Place.TEMPORARY or path.startswith("/dev/"):
        return None
    if is_regenerated(path) or _MADE_EMPTY.fullmatch(path.rpartition("/")[2]):
        return None
    return _danger(f"this empties {shown_path(path)}", "edit the file, or commit it first and rm it by name")


def _check_removal(call: Call) -> Danger | None:
    options, operands = split_options(call.arguments)
    if any(option in ("--help", "--version") for option in options):
        return None
    is_recursive, is_forced = _removal_flags(call, options)
    is_windows = call.program in ("rd", "del", "erase")
    operands = [operand for operand in operands if not (is_windows and re.fullmatch("/.", operand))]
    patterns = [operand for operand in operands if "**" in operand]
    if is_recursive and is_forced and any(map(_is_work, patterns, map(call.place, patterns))):
        return _danger("this removes everything that matches, with what is below", _LIST_FIRST)
    if patterns:
        is_recursive = is_forced = True
    places = [(operand, call.place(operand)) for operand in operands if operand]
    for operand, place in places:
        if is_personal_file(operand, call.cwd):
            return _danger(f"this removes {shown_path(operand)}, a personal file of the user's", _NAME_PATHS)
        if _is_too_much(place, is_recursive=is_recursive, is_forced=is_forced, is_torn=call.is_torn):
            return _danger(f"this removes {shown_path(operand)}, {place.value}", _NAME_PATHS)
    if is_recursive and call.has_input:
        what = "this removes whatever comes on stdin, recursively"
        return _danger(what, "list it first, then " + _NAME_PATHS)
    only_input = bool(operands) and all(place is Place.UNKNOWN for _, place in places)
    if may_gain_options(call.arguments) and (
        (only_input and not is_forced) or any(place not in HARMLESS | {Place.UNKNOWN} for _, place in places)
    ):
        return _danger("words from stdin may become options of this command", "put -- before the names")
    return None


def _is_work(pattern: str, place: Place) -> bool:
    return place is Place.INSIDE and not is_regenerated(pattern)


def _removal_flags(call: Call, options: list[str]) -> tuple[bool, bool]:
    """Recursive? forced?"""
    lowered = [option.lower() for option in options]
    if call.program in ("rimraf", "del-cli"):
        return True, True
    if call.program in ("rd", "del", "erase"):
        return not {"/s", "-recurse"}.isdisjoint(map(str.lower, call.arguments)), True
    if call.program in ("remove-item", "ri"):
        starts = [option[:3] for option in lowered]
        return any(start[:2] == "-r" for start in starts), "-fo" in starts
    is_forced = has_flag(options, "f", "force") or not {"-FR", "-RF"}.isdisjoint(options)
    return has_flag(lowered, "r", "recursive"), is_forced or call.program == "srm"


def _is_too_much(place: Place, *, is_recursive: bool, is_forced: bool, is_torn: bool) -> bool:
    if is_recursive and is_forced:
        return is_torn or place not in HARMLESS
    if is_recursive:
        return place in VITAL
    return place in (Place.ROOT, Place.SYSTEM, Place.DEVICE, Place.HISTORY)


def _check_dd(call: Call) -> Danger | None:
    values = dict(word.split("=", 1) for word in call.arguments if "=" in word)
    path = values.get("of", "")
    if is_vital_file(path, call.cwd):
        return _danger(f"dd overwrites {shown_path(path)}", "write to an image file inside the project")
    if path and (values.get("if") == "/dev/null" or values.get("count") == "0"):
        return check_emptied_file(path, call.place(path))
    # Zeros and noise make a new file of some size; a file with such a name was there before.
    is_noise = values["if"] in _NOISE if "if" in values else not call.input_text
    if is_noise and _KEPT.fullmatch(path) and call.place(path) is not Place.TEMPORARY:
        return _danger(f"dd overwrites {shown_path(path)}", "write to a file with a new name")
    return None


def _check_move(call: Call) -> Danger | None:
    options, operands = split_options(
        call.arguments, ("-S", "--suffix", "-m", "-o", "-g", "-e", "--exclude", "--include", "--rsh")
    )
    target = (
        value_of_option(call.arguments, ("-t", "--target-directory"))
        if call.program in ("mv", "cp")
        else None
    )
    if len(operands) + (target is not None) < 2:
        return None
    sources, last = (operands, target) if target is not None else (operands[:-1], operands[-1])
    assert last is not None
    if call.program in ("mv", "gmv"):
        if last == "/dev/null":
            return _danger("moving to /dev/null destroys the file", _USE_RM)
        for source in sources:
            place = call.place(source)
            if place in VITAL:
                return _danger(f"this moves away {shown_path(source)}, {place.value}", _NAME_PATHS)
    if is_vital_file(last, call.cwd):
        return _danger(f"this overwrites {shown_path(last)}", _LET_INSTALL)
    if call.program in ("cp", "gcp") and sources == ["/dev/null"]:
        return check_emptied_file(last, call.place(last))
    deletes = call.program == "rsync" and any(
        option.startswith(("--del", "--remove-source")) for option in options
    )
    place = call.place(last)
    empties = any(map(_EMPTY_FOLDER.fullmatch, sources)) and place is not Place.TEMPORARY
    if (
        deletes
        and not has_flag(options, "n", "dry-run")
        and (place in VITAL or (empties and not is_regenerated(last)))
    ):
        instead = "sync without --delete, or into a new directory"
        return _danger(f"rsync --delete empties {shown_path(last)}", instead)
    return None


def _check_truncation(call: Call) -> Danger | None:
    paths = split_options(call.arguments, ("-s", "-r", "--size"))[1]
    if value_of_option(call.arguments, ("-s", "--size")) == "0":
        for path in paths:
            danger = check_emptied_file(path, call.place(path))
            if danger is not None:
                return danger
    return _check_overwriting(call, paths, "truncating")


def _check_editing(call: Call) -> Danger | None:
    options, operands = split_options(call.arguments, ("-e", "--expression", "-f"))
    if not has_flag(options, "i", "in-place"):
        return None
    given = value_of_option(call.arguments, ("-e", "--expression"))
    texts = [given] if given is not None else [text for text in operands[:2] if text][:1]
    if any(_EMPTYING_SCRIPT.fullmatch(text.strip()) for text in texts) and operands:
        danger = check_emptied_file(operands[-1], call.place(operands[-1]))
        if danger is not None:
            return danger
    return _check_overwriting(call, call.arguments, "editing")


def _check_overwriting(call: Call, paths: list[str], doing: str) -> Danger | None:
    for path in paths:
        if is_vital_file(path, call.cwd):
            return _danger(
                f"{doing} {shown_path(path)} can break the machine", "write to a file inside the project"
            )
    return None


_CHECKS: dict[str, Callable[[Call], Danger | None]] = {
    **dict.fromkeys(
        words_in("rm grm rimraf del-cli unlink srm trash del erase rd remove-item ri"), _check_removal
    ),
    **dict.fromkeys(words_in("mv cp ln install rsync gmv gcp"), _check_move),
    "dd": _check_dd,
    "truncate": _check_truncation,
    "sed": _check_editing,
    "tee": lambda call: _check_overwriting(call, call.arguments, "writing to"),
}

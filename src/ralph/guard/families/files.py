"""Files: removing, overwriting and formatting what cannot be brought back."""

from __future__ import annotations

import re

from ralph.guard.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.options import has_flag, split_options, value_of_option
from ralph.guard.places import HARMLESS, VITAL, Place, is_disk, is_personal_file, is_vital_file

_NAME_PATHS = "name the paths inside the project one by one, or ask the user to do it"
_FORMATTERS = LazyPattern(r"mkfs(\..*)?|mke2fs|mkswap|newfs\w*|wipefs|blkdiscard|mkntfs|format\.com")
_PARTITIONERS = frozenset(["fdisk", "gdisk", "sgdisk", "cfdisk", "sfdisk", "parted"])
_VOLUME_REMOVERS = frozenset(["pvremove", "vgremove", "lvremove"])


def check_files(call: Call) -> Danger | None:
    program = call.program
    if program in (
        "rm",
        "grm",
        "rimraf",
        "unlink",
        "srm",
        "trash",
        "del",
        "erase",
        "rd",
        "remove-item",
        "ri",
    ):
        return _check_removal(call)
    if program in ("shred", "wipe", "scrub"):
        return _check_shred(call)
    if program == "dd":
        return _check_dd(call)
    if program in ("mv", "cp", "ln", "install", "rsync", "gmv", "gcp"):
        return _check_move(call)
    if program == "truncate":
        return _check_overwriting(
            call, split_options(call.arguments, ("-s", "-r", "--size"))[1], "truncating"
        )
    if program == "sed" and any(word.startswith(("-i", "--in-place")) for word in call.arguments):
        return _check_overwriting(call, call.arguments, "editing")
    if program == "tee":
        return _check_overwriting(call, split_options(call.arguments)[1], "writing to")
    return _check_disks(call)


def check_written_file(path: str, cwd: str, *, appends: bool = False) -> Danger | None:
    """The target of ``>``."""
    if is_vital_file(path, cwd) or (is_personal_file(path, cwd) and not appends):
        return Danger(
            "files",
            f"this overwrites {path}",
            "write to a file inside the project and let the user install it",
        )
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        return Danger(
            "network", "this opens a connection through the shell", "use curl to a host that the user named"
        )
    return None


def _check_removal(call: Call) -> Danger | None:
    options, operands = split_options(call.arguments)
    if any(option in ("--help", "--version") for option in options):
        return None
    is_recursive, is_forced = _removal_flags(call, options)
    operands = [
        operand
        for operand in operands
        if not (operand.startswith("/") and len(operand) == 2 and call.program in ("rd", "del"))
    ]
    places = [(operand, call.place(operand)) for operand in operands if operand]
    for operand, place in places:
        if is_personal_file(operand, call.cwd):
            return Danger("files", f"this removes {_shown(operand)}, which is the user's own", _NAME_PATHS)
        if _is_too_much(place, is_recursive=is_recursive, is_forced=is_forced, is_torn=call.is_torn):
            return Danger("files", f"removing {_shown(operand)} removes {place.value}", _NAME_PATHS)
    if is_recursive and call.has_input:
        return Danger(
            "files", "this removes whatever comes on stdin, recursively", "list it first, then " + _NAME_PATHS
        )
    only_input = bool(operands) and all(place is Place.UNKNOWN for _, place in places)
    if call.may_gain_options() and (
        (only_input and not is_forced) or any(place not in HARMLESS | {Place.UNKNOWN} for _, place in places)
    ):
        return Danger(
            "files", "words from stdin may become options of this removal", "put -- before the names"
        )
    return None


def _removal_flags(call: Call, options: list[str]) -> tuple[bool, bool]:
    """Recursive? forced?"""
    lowered = [option.lower() for option in options]
    if call.program == "rimraf":
        return True, True
    if call.program in ("rd", "del", "erase"):
        switches = {word.lower() for word in call.arguments}
        return "/s" in switches or "-recurse" in lowered, True
    if call.program in ("remove-item", "ri"):
        return any(option.startswith("-r") for option in lowered), any(
            option.startswith("-fo") for option in lowered
        )
    is_recursive = has_flag(options, "r", "recursive", shortest=1) or has_flag(options, "R")
    is_forced = has_flag(options, "f", "force", shortest=1) or any(
        option == "-FR" or option == "-RF" for option in options
    )
    return is_recursive, is_forced or call.program == "srm"


def _is_too_much(place: Place, *, is_recursive: bool, is_forced: bool, is_torn: bool) -> bool:
    if is_recursive and is_forced:
        return is_torn or place not in HARMLESS
    if is_recursive:
        return place in VITAL
    return place in (Place.ROOT, Place.SYSTEM, Place.DEVICE, Place.HISTORY)


def _check_shred(call: Call) -> Danger | None:
    _, operands = split_options(call.arguments, ("-n", "-s", "--iterations", "--size"))
    if operands:
        return Danger(
            "files",
            f"{call.program} destroys {_shown(operands[0])} beyond recovery",
            "use rm on the named file",
        )
    return None


def _check_dd(call: Call) -> Danger | None:
    for word in call.arguments:
        if word.startswith("of=") and is_vital_file(word[3:], call.cwd):
            return Danger(
                "files", f"dd overwrites {_shown(word[3:])}", "write to an image file inside the project"
            )
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
            return Danger("files", "moving to /dev/null destroys the file", "use rm on the named file")
        for source in sources:
            if call.place(source) in VITAL:
                return Danger(
                    "files", f"moving {_shown(source)} takes away {call.place(source).value}", _NAME_PATHS
                )
    if is_vital_file(last, call.cwd):
        return Danger(
            "files",
            f"this overwrites {_shown(last)}",
            "write to a file inside the project and let the user install it",
        )
    deletes = call.program == "rsync" and any(
        option.startswith(("--del", "--remove-source")) for option in options
    )
    if deletes and call.place(last) in VITAL:
        return Danger(
            "files", f"rsync --delete empties {_shown(last)}", "sync without --delete, or into a new folder"
        )
    return None


def _check_overwriting(call: Call, paths: list[str], doing: str) -> Danger | None:
    for path in paths:
        if is_vital_file(path, call.cwd):
            return Danger(
                "files", f"{doing} {_shown(path)} harms the machine", "write to a file inside the project"
            )
    return None


def _check_disks(call: Call) -> Danger | None:
    options, operands = split_options(call.arguments, ("-t", "-L", "-U", "-N", "-b", "-m"))
    disks = [operand for operand in operands if is_disk(operand)]
    instead = "work on an image file inside the project"
    if _FORMATTERS.fullmatch(call.program) and disks:
        return Danger("files", f"{call.program} erases {disks[0]}", instead)
    if call.program in _PARTITIONERS and disks and not has_flag(options, "l", "list"):
        return Danger("files", f"{call.program} changes the partitions of {disks[0]}", instead)
    if call.program in _VOLUME_REMOVERS and operands:
        return Danger("files", f"{call.program} removes a volume", "ask the user to do it")
    if call.program == "cryptsetup" and {"luksformat", "erase", "luksErase", "luksFormat"} & set(operands):
        return Danger("files", "cryptsetup destroys what is on the volume", instead)
    if call.program in ("zfs", "zpool") and "destroy" in operands:
        return Danger("files", f"{call.program} destroy cannot be undone", "take a snapshot and ask the user")
    if (
        call.program == "diskutil"
        and operands
        and operands[0].lower().startswith(("erase", "zero", "secureerase", "partition", "reformat"))
    ):
        return Danger("files", f"diskutil {operands[0]} erases a disk", instead)
    if call.program == "hdparm" and any(
        "security-erase" in option or "trim-sector" in option for option in options
    ):
        return Danger("files", "hdparm erases the disk", instead)
    if call.program == "nvme" and operands[:1] in (["format"], ["sanitize"]):
        return Danger("files", "nvme erases the disk", instead)
    if call.program == "format" and operands and re.fullmatch(r"[A-Za-z]:", operands[0]):
        return Danger("files", f"format erases {operands[0]}", instead)
    if call.program == "badblocks" and has_flag(options, "w"):
        return Danger("files", "badblocks -w overwrites the disk", instead)
    return None


def _shown(path: str) -> str:
    """A path for a message; what is not known is said so."""
    text = re.sub("[\ue000\ue001]+", "…", path)
    return text if len(text) <= 80 else text[:79] + "…"

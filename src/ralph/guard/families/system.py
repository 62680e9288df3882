"""The machine itself: power, processes, accounts, firewall, scheduled jobs."""

from __future__ import annotations

from collections.abc import Callable

from ralph.guard.families.call import Call, Rule, Words, find_danger
from ralph.guard.judgement import Danger
from ralph.guard.marks import EVERYTHING
from ralph.guard.options import split_options, words_in


def check_system(call: Call) -> Danger | None:
    rules = _RULES_OF_PROGRAM.get(call.program)
    if rules is None:
        return None
    options, operands = split_options(call.arguments)
    asks_for_help = any(option in ("--help", "--version", "-h", "-V") for option in options)
    if asks_for_help and call.program != "shutdown":
        return None
    lowered = [operand.lower() for operand in operands]
    return find_danger("system", rules, Words(call, call.arguments, options, lowered))


def _rule(applies: Callable[[Words], object], what: str) -> Rule:
    return Rule(applies, what, "ask the user to do it")


def _always(words: Words) -> bool:
    return True


_STOPPING_TARGETS = words_in("poweroff reboot halt kexec rescue emergency suspend hibernate")
_VITAL_UNITS = ("ssh", "network", "systemd-", "firewalld", "dbus")
"""Prefixes of unit names."""
_KILL = words_in("9 kill sigkill")
_ESSENTIAL = words_in(
    "python python2 python3 bash sh zsh java claude codex gemini ralph ssh sshd tmux screen systemd init docker dockerd containerd"
) | {""}
_COMMON = words_in(
    "node nodejs deno bun ruby php perl go postgres mysqld redis-server chrome chromium firefox code"
)
"""Names that are too much only with a signal that cannot be handled."""
_POWERFUL_GROUPS = words_in("sudo wheel root admin adm shadow disk")


def _stops_vital_unit(words: Words) -> bool:
    return words.verb in ("stop", "disable", "mask") and any(
        unit.startswith(_VITAL_UNITS) for unit in words.operands[1:]
    )


def _kills_everything(words: Words) -> bool:
    arguments = words.arguments
    everything = arguments[-1:] == ["-1"] and len(arguments) > 1
    return everything or "1" in words.arguments


def _kills_by_common_name(words: Words) -> bool:
    """All processes with a name that others use too, ralph and the agent among them."""
    said = {word.lower().lstrip("-").rpartition("=")[2] for word in words.arguments}
    common = _ESSENTIAL | _COMMON if said & _KILL else _ESSENTIAL
    if words.call.program == "kill":
        names = [word[1:] for word in words.operands if word.startswith(EVERYTHING)]
    elif {"-P", "--parent"} & set(words.options):
        return False
    else:
        names = [word for word in words.operands if word not in _KILL | {"term", "int", "hup"}]
    return any(name.strip(" ^$.*").removesuffix(".exe") in common for name in names)


def _makes_powerful(words: Words) -> bool:
    return bool({name for word in words.operands for name in word.split(",")} & _POWERFUL_GROUPS)


def _opens_firewall(words: Words) -> bool:
    flushes = words.has("F") or words.has("X") or words.has(long="flush")
    return flushes or ("-P" in words.options and bool({"drop", "accept"} & set(words.operands)))


def _says(*verbs: str) -> Callable[[Words], bool]:
    """Its first operand is one of these."""
    return lambda words: words.verb in verbs


def _names(*wanted: str) -> Callable[[Words], bool]:
    """One of its words is one of these; Windows does not care about case."""
    return lambda words: bool({word.lower() for word in words.arguments} & set(wanted))


_POWER = (
    _rule(
        lambda words: not ("--help" in words.options or words.has("c") or words.has(long="show")),
        "{program} stops the machine",
    ),
)
_RUN_LEVEL = (_rule(_says("0", "1", "6", "s"), "this changes the run level and stops the machine"),)
_FIREWALL = (_rule(_opens_firewall, "this removes the firewall's rules or cuts off the network"),)
_ACCOUNT_REMOVAL = (_rule(lambda words: words.operands, "{program} deletes an account"),)
_GROUP_CHANGE = (_rule(_makes_powerful, "this gives an account administrator rights"),)
_BY_NAME = (
    Rule(
        _kills_by_common_name,
        "this kills every program of that name, also those of others",
        "end the process that you started, by its number or its whole command line (pkill -f 'node server.js')",
    ),
)
_PROTECTION = "this turns off the system's protection"
_WINDOWS_POWER = (_rule(_always, "{program} stops the machine or destroys its disks"),)

_RULES_OF_PROGRAM: dict[str, tuple[Rule, ...]] = {
    **dict.fromkeys(("shutdown", "reboot", "halt", "poweroff"), _POWER),
    **dict.fromkeys(("init", "telinit"), _RUN_LEVEL),
    "systemctl": (
        _rule(lambda words: words.verb in _STOPPING_TARGETS, "systemctl {verb} stops the machine"),
        _rule(_stops_vital_unit, "systemctl {verb} of this unit may lock everyone out"),
    ),
    "kill": (_rule(_kills_everything, "this kills every process, or the first one"), *_BY_NAME),
    "pkill": (
        _rule(
            lambda words: words.has("u") or any(word in (".", ".*", "") for word in words.operands),
            "this kills all of a user's processes",
        ),
        *_BY_NAME,
    ),
    **dict.fromkeys(
        ("killall", "skill"),
        (_rule(lambda words: words.has("u"), "this kills all of a user's processes"), *_BY_NAME),
    ),
    "killall5": (_rule(_always, "this kills all processes"),),
    **dict.fromkeys(("iptables", "ip6tables", "ebtables"), _FIREWALL),
    "nft": (
        _rule(lambda words: words.operands[:2] == ["flush", "ruleset"], "this removes the firewall's rules"),
    ),
    "ufw": (
        _rule(
            lambda words: words.operands[-1:] in (["disable"], ["reset"]),
            "this opens the machine to the network",
        ),
    ),
    "crontab": (
        _rule(
            lambda words: (words.operands and not words.has("l")) or words.has("r"),
            "this replaces or deletes every scheduled job",
        ),
    ),
    **dict.fromkeys(("userdel", "deluser", "groupdel", "delgroup"), _ACCOUNT_REMOVAL),
    **dict.fromkeys(("usermod", "adduser", "useradd", "gpasswd"), _GROUP_CHANGE),
    "passwd": (
        _rule(lambda words: words.has("d") or "root" in words.operands, "this changes an account's password"),
    ),
    "chpasswd": (_rule(_always, "this changes passwords"),),
    "dscl": (_rule(lambda words: "-delete" in words.arguments, "this deletes an account"),),
    "swapoff": (_rule(lambda words: words.has("a"), "swapoff -a may freeze the machine"),),
    "umount": (
        _rule(lambda words: words.has("a") or "/" in words.operands, "this unmounts every file system"),
    ),
    "mount": (
        _rule(
            lambda words: any("remount" in word for word in words.arguments),
            "remounting a system directory may stop the machine",
        ),
    ),
    "setenforce": (_rule(_says("0", "permissive"), "this turns off SELinux"),),
    "csrutil": (_rule(_says("disable"), _PROTECTION),),
    "spctl": (_rule(lambda words: words.has(long="master-disable"), _PROTECTION),),
    "nvram": (_rule(lambda words: words.has("c"), "this clears the firmware's settings"),),
    "tmutil": (_rule(lambda words: words.verb.startswith("delete"), "this deletes backups"),),
    "modprobe": (
        _rule(lambda words: words.has("r", "remove"), "this takes a driver away from the running machine"),
    ),
    "rmmod": (_rule(lambda words: words.operands, "this may stop the machine from working"),),
    "efibootmgr": (_rule(lambda words: words.has("B"), "this may stop the machine from starting"),),
    "history": (
        _rule(lambda words: words.has("c") or words.has("d"), "history -c deletes the user's shell history"),
    ),
    "vssadmin": (_rule(_names("delete"), "this deletes the system's backups"),),
    "bcdedit": (_rule(_names("/set", "/delete", "/deletevalue"), "this changes how the system starts"),),
    "reg": (_rule(_names("delete"), "this deletes registry keys"),),
    **dict.fromkeys(("stop-computer", "restart-computer", "clear-disk", "format-volume"), _WINDOWS_POWER),
}

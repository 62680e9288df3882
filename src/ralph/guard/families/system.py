"""The machine itself: power, processes, accounts, firewall, scheduled jobs."""

from __future__ import annotations

from collections.abc import Callable

from ralph.guard.families.call import Call, Words, find_danger, read_rules
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


def _names(*wanted: str) -> Callable[[Words], bool]:
    """One of its words is one of these; Windows does not care about case."""
    return lambda words: bool({word.lower() for word in words.arguments} & set(wanted))


_CONDITIONS: dict[str, Callable[[Words], object]] = {
    "always": lambda words: True,
    "named": lambda words: words.operands,
    "now": lambda words: not ("--help" in words.options or words.has("c") or words.has(long="show")),
    "run level": lambda words: words.verb in ("0", "1", "6", "s"),
    "stopping target": lambda words: words.verb in _STOPPING_TARGETS,
    "vital unit": _stops_vital_unit,
    "everything": _kills_everything,
    "any name": lambda words: any(word in (".", ".*", "") for word in words.operands),
    "common name": _kills_by_common_name,
    "firewall": _opens_firewall,
    "ruleset": lambda words: words.operands[:2] == ["flush", "ruleset"],
    "off": lambda words: words.operands[-1:] in (["disable"], ["reset"]),
    "replaces": lambda words: words.operands and not words.has("l"),
    "powerful": _makes_powerful,
    "root": lambda words: "root" in words.operands,
    "/": lambda words: "/" in words.operands,
    "remount": lambda words: any("remount" in word for word in words.arguments),
    "backup": lambda words: words.verb.startswith("delete"),
    "deletes": _names("-delete", "delete"),
    "boot entry": _names("/set", "/delete", "/deletevalue"),
}
_ADVICE = {
    "ask": "ask the user to do it",
    "own": "end the process that you started, by its number or its whole command line (pkill -f 'node server.js')",
}
_RULES_OF_PROGRAM = read_rules(
    """
shutdown reboot halt poweroff :: now :: {program} stops the machine :: ask
init telinit :: run level :: this changes the run level and stops the machine :: ask
systemctl :: stopping target :: systemctl {verb} stops the machine :: ask
systemctl :: vital unit :: systemctl {verb} of this unit may lock everyone out :: ask
kill :: everything :: this kills every process, or the first one :: ask
pkill killall skill :: -u :: this kills all of a user's processes :: ask
pkill :: any name :: this kills all of a user's processes :: ask
kill pkill killall skill :: common name :: this kills every program of that name, also those of others :: own
killall5 :: always :: this kills all processes :: ask
iptables ip6tables ebtables :: firewall :: this removes the firewall's rules or cuts off the network :: ask
nft :: ruleset :: this removes the firewall's rules :: ask
ufw :: off :: this opens the machine to the network :: ask
crontab :: replaces :: this replaces every scheduled job :: ask
crontab :: -r :: this deletes every scheduled job :: ask
userdel deluser groupdel delgroup :: named :: {program} deletes an account :: ask
usermod adduser useradd gpasswd :: powerful :: this gives an account administrator rights :: ask
passwd :: -d :: this removes an account's password :: ask
passwd :: root :: this changes an account's password :: ask
chpasswd :: always :: this changes passwords :: ask
dscl :: deletes :: this deletes an account :: ask
swapoff :: -a :: swapoff -a may freeze the machine :: ask
umount :: -a :: this unmounts every file system :: ask
umount :: / :: this unmounts every file system :: ask
mount :: remount :: remounting a system directory may stop the machine :: ask
setenforce :: 0 :: this turns off SELinux :: ask
setenforce :: permissive :: this turns off SELinux :: ask
csrutil :: disable :: this turns off the system's protection :: ask
spctl :: --master-disable :: this turns off the system's protection :: ask
nvram :: -c :: this clears the firmware's settings :: ask
tmutil :: backup :: this deletes backups :: ask
modprobe :: -r/--remove :: this takes a driver away from the running machine :: ask
rmmod :: named :: this may stop the machine from working :: ask
efibootmgr :: -B :: this may stop the machine from starting :: ask
history :: -c :: history -c deletes the user's shell history :: ask
history :: -d :: history -d deletes from the user's shell history :: ask
vssadmin :: deletes :: this deletes the system's backups :: ask
bcdedit :: boot entry :: this changes how the system starts :: ask
reg :: deletes :: this deletes registry keys :: ask
stop-computer restart-computer clear-disk format-volume :: always :: {program} stops the machine or destroys its disks :: ask
""",
    _CONDITIONS,
    _ADVICE,
)

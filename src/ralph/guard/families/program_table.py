"""Programs whose words alone tell the danger, a row each: the machine, its disks, other version control, other machines, services."""

from __future__ import annotations

import re
from collections.abc import Callable

from ralph.guard.families.call import Call, Words, find_danger, read_rules
from ralph.guard.judgement import Danger
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.marks import EVERYTHING
from ralph.guard.options import split_options, value_of_option, words_in
from ralph.guard.places import is_disk, is_public_host


def check_program(call: Call) -> Danger | None:
    # mkfs.ext4 is mkfs, newfs_msdos is newfs.
    name = "mkfs" if call.program.startswith(("mkfs.", "newfs")) else call.program
    rules = [*_RULES.get(name, ()), *(_RULES["*"] if call.rules.packs else ())]
    rules = [rule for rule in rules if not call.rules.is_off(rule.family)]
    if not rules:
        return None
    options, operands = split_options(call.arguments)
    if name != "shutdown" and any(option in ("--help", "--version", "-h") for option in options):
        return None
    lowered = [operand.lower() for operand in operands]
    return find_danger(rules, Words(call, call.arguments, options, lowered))


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
_SYSTEM_TARGET = LazyPattern(r"[^:]+:/(?:(?:etc|usr|bin|sbin|lib\w*|boot|var|root|sys|dev|opt)(?:/.*)?)?")
_CLIENT_CODE = LazyPattern(
    r"\.(?:delete(?:Index|Object|By|_index|_customer)?\w*|cancel|clearObjects|clearIndex)\s*\("
)
_TEXT_SHOWERS = words_in("git grep rg sed awk echo cat")


def _deletes_by_http(words: Words) -> bool:
    method = value_of_option(words.arguments, ("-X", "--request", "--method"))
    return "DELETE" in (method.upper() if method else "", *words.arguments[:2])


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


def _opens_firewall(words: Words) -> bool:
    flushes = words.has("F") or words.has("X") or words.has(long="flush")
    return flushes or ("-P" in words.options and bool({"drop", "accept"} & set(words.operands)))


_CONDITIONS: dict[str, Callable[[Words], object]] = {
    "now": lambda words: not ("--help" in words.options or words.has("c") or words.has(long="show")),
    "vital unit": _stops_vital_unit,
    "everything": _kills_everything,
    "common name": _kills_by_common_name,
    "firewall": _opens_firewall,
    "replaces": lambda words: words.operands and not words.has("l"),
    "disk": lambda words: any(map(is_disk, words.operands)),
    "system target": lambda words: words.operands and _SYSTEM_TARGET.fullmatch(words.operands[-1]),
    "takes servers out": lambda words: re.search(
        r"(?m)^\s*(?:disable|shutdown|del)\b", words.call.input_text
    ),
    "deletes by HTTP": _deletes_by_http,
    "public": lambda words: any(map(is_public_host, words.arguments)),
    "client code": lambda words: (
        words.call.program not in _TEXT_SHOWERS
        and _CLIENT_CODE.search(" ".join((words.call.program, *words.arguments)))
    ),
}
_ADVICE = {
    "ask": "ask the user to do it",
    "image": "work on an image file inside the project",
    "rm": "remove the file with rm",
    "snapshot": "take a snapshot and ask the user",
    "commit": "commit the work first, or ask the user",
    "dry": "run it with --dry-run first and show the user",
    "home": "copy to a home directory on that machine",
    "leave": "leave them as they are",
    "own": "end the process that you started, by its number or its whole command line (pkill -f 'node server.js')",
}
_RULES = read_rules(
    r"""
system :: shutdown reboot halt poweroff :: now :: {program} stops the machine :: ask
system :: init telinit :: 0/1/6/s :: this changes the run level and stops the machine :: ask
system :: systemctl :: poweroff/reboot/halt/kexec/rescue/emergency/suspend/hibernate :: systemctl {verb} stops the machine :: ask
system :: systemctl :: vital unit :: systemctl {verb} of this unit may lock everyone out :: ask
system :: kill :: everything :: this kills every process, or the first one :: ask
system :: pkill killall skill :: -u :: this kills all of a user's processes :: ask
system :: pkill :: like ^(?:\.\*?)?$ :: this kills all of a user's processes :: ask
system :: kill pkill killall skill :: common name :: this kills every program of that name, also those of others :: own
system :: killall5 :: always :: this kills all processes :: ask
system :: iptables ip6tables ebtables :: firewall :: this removes the firewall's rules or cuts off the network :: ask
system :: nft :: flush & has ruleset :: this removes the firewall's rules :: ask
system :: ufw :: has disable|reset :: this opens the machine to the network :: ask
system :: crontab :: replaces :: this replaces every scheduled job :: ask
system :: crontab :: -r :: this deletes every scheduled job :: ask
system :: userdel deluser groupdel delgroup :: named :: {program} deletes an account :: ask
system :: usermod adduser useradd gpasswd :: like (?:^|[,=])(?:sudo|wheel|root|admin|adm|shadow|disk)(?:,|$) :: this gives an account administrator rights :: ask
system :: passwd :: -d :: this removes an account's password :: ask
system :: passwd :: has root :: this changes an account's password :: ask
system :: chpasswd :: always :: this changes passwords :: ask
system :: dscl :: has -delete|delete :: this deletes an account :: ask
system :: swapoff :: -a :: swapoff -a may freeze the machine :: ask
system :: umount :: -a :: this unmounts every file system :: ask
system :: umount :: has / :: this unmounts every file system :: ask
system :: mount :: like remount :: remounting a system directory may stop the machine :: ask
system :: setenforce :: 0/permissive :: this turns off SELinux :: ask
system :: csrutil :: disable :: this turns off the system's protection :: ask
system :: spctl :: --master-disable :: this turns off the system's protection :: ask
system :: nvram :: -c :: this clears the firmware's settings :: ask
system :: tmutil :: like ^delete :: this deletes backups :: ask
system :: modprobe :: -r/--remove :: this takes a driver away from the running machine :: ask
system :: rmmod :: named :: this may stop the machine from working :: ask
system :: efibootmgr :: -B :: this may stop the machine from starting :: ask
system :: history :: -c :: history -c deletes the user's shell history :: ask
system :: history :: -d :: history -d deletes from the user's shell history :: ask
system :: vssadmin :: has delete :: this deletes the system's backups :: ask
system :: bcdedit :: has /set|/delete|/deletevalue :: this changes how the system starts :: ask
system :: reg :: has delete :: this deletes registry keys :: ask
system :: stop-computer restart-computer clear-disk format-volume :: always :: {program} stops the machine or destroys its disks :: ask
files :: shred wipe scrub :: named :: {program} destroys files beyond recovery :: rm
files :: mkfs mke2fs mkswap newfs wipefs blkdiscard mkntfs format.com :: disk :: {program} erases a disk :: image
files :: fdisk gdisk sgdisk cfdisk sfdisk parted :: disk & not -l/--list :: {program} changes the partitions of a disk :: image
files :: pvremove vgremove lvremove :: named :: {program} removes a volume :: ask
files :: zfs zpool :: has destroy :: {program} destroy cannot be undone :: snapshot
files :: cryptsetup :: has luksformat|lukserase|erase :: cryptsetup destroys the data on the volume :: image
files :: diskutil :: like ^(?:erase|zero|secureerase|partition|reformat) :: diskutil {verb} erases a disk :: image
files :: hdparm :: like security-erase|trim-sector :: hdparm erases the disk :: image
files :: nvme :: format/sanitize :: nvme {verb} erases the disk :: image
files :: format :: like ^[a-z]:$ :: format erases {verb} :: image
files :: badblocks :: -w :: badblocks -w overwrites the disk :: image
git :: hg :: strip/purge/rollback :: hg {verb} discards changes :: commit
git :: hg :: revert & -a/--all :: hg revert discards changes :: commit
git :: hg :: update/up/checkout/co & -C/--clean :: hg {verb} discards changes :: commit
git :: svn :: revert & -R/--recursive :: svn revert discards changes :: commit
git :: svn :: cleanup & --remove-unversioned :: svn cleanup removes files :: commit
git :: jj :: op & has abandon :: jj op abandon discards changes :: commit
remote :: rsync :: remote pack & like ^--del|^--remove-source-files & not -n/--dry-run :: rsync deletes files on one side :: dry
remote :: scp :: remote pack & system target :: this overwrites system files on another machine :: home
remote :: ssh-add :: remote pack & -d :: this removes keys from the user's ssh agent :: leave
remote :: ssh-add :: remote pack & -D :: this removes keys from the user's ssh agent :: leave
remote :: ssh-keygen :: remote pack & -R :: this removes a known host :: leave
services :: curl wget http https xh xhs httpie :: deletes by HTTP & public :: this deletes something through an API :: ask
services :: curl wget http https xh xhs httpie :: services pack & deletes by HTTP :: this deletes something through an API :: ask
services :: curl wget http https xh xhs httpie :: services pack & like _delete_by_query|delete_series|dodelete|/_close\b|delete-batch|/_forcemerge|mutation\W.{0,300}\bdelete\w*|/kill\b|clean_tombstones :: this deletes something through an API :: ask
services :: * :: services pack & client code :: this deletes a service's data :: ask
services :: nsupdate :: services pack :: this changes or copies a DNS zone :: ask
services :: dig :: services pack & has axfr :: this changes or copies a DNS zone :: ask
services :: socat :: services pack & takes servers out :: this takes servers out of service :: ask
services :: service systemctl rc-service :: services pack & has stop|disable|mask :: this stops a service :: ask
services :: haproxy nginx traefik :: services pack & has -st|-sf|stop|quit :: this stops {program} :: ask
services :: rm :: services pack & like ^/etc/ :: this removes a service's settings :: ask
""",
    _CONDITIONS,
    _ADVICE,
)

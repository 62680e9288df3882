"""The machine itself: power, processes, accounts, firewall, scheduled jobs."""

from __future__ import annotations

from ralph.guard.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.options import has_flag, split_options

_ASK = "ask the user to do it"
_POWER = frozenset(["shutdown", "reboot", "halt", "poweroff"])
_ACCOUNTS = frozenset(["userdel", "deluser", "groupdel", "delgroup"])
_GROUPING = frozenset(["usermod", "adduser", "useradd", "gpasswd"])
_POWERFUL = frozenset(["sudo", "wheel", "root", "admin", "adm", "shadow", "disk"])
_VITAL_UNITS = (
    "ssh",
    "sshd",
    "network",
    "networking",
    "networkmanager",
    "systemd-networkd",
    "firewalld",
    "dbus",
    "systemd-",
)


def check_system(call: Call) -> Danger | None:
    rule = _SYSTEM_RULES.get(call.program)
    if rule is None:
        return None
    options, operands = split_options(call.arguments)
    if (
        any(option in ("--help", "--version", "-h", "-V") for option in options)
        and call.program != "shutdown"
    ):
        return None
    what = rule(call, options, [operand.lower() for operand in operands])
    return Danger("system", what, _ASK) if what else None


def _power(call: Call, options: list[str], operands: list[str]) -> str:
    if "--help" in options or has_flag(options, "c") or has_flag(options, long="show"):
        return ""
    return f"{call.program} stops the machine"


def _systemctl(call: Call, options: list[str], operands: list[str]) -> str:
    if not operands:
        return ""
    if operands[0] in ("poweroff", "reboot", "halt", "kexec", "rescue", "emergency", "suspend", "hibernate"):
        return f"systemctl {operands[0]} stops the machine"
    if operands[0] in ("stop", "disable", "mask") and any(
        unit.startswith(_VITAL_UNITS) for unit in operands[1:]
    ):
        return f"systemctl {operands[0]} of {operands[1]} may lock everybody out"
    return ""


def _init(call: Call, options: list[str], operands: list[str]) -> str:
    return (
        "this changes the run level and stops the machine"
        if operands[:1] in (["0"], ["1"], ["6"], ["s"])
        else ""
    )


def _kill(call: Call, options: list[str], operands: list[str]) -> str:
    targets = [word for word in call.arguments if not word.startswith("-") or word in ("-1",)]
    signals = [word for word in call.arguments if word.startswith("-") and word != "-1"]
    everything = call.arguments[-1:] == ["-1"] and (len(call.arguments) > 1 or bool(signals))
    if everything or "1" in targets:
        return "this ends every process, or the first one"
    return ""


def _killall(call: Call, options: list[str], operands: list[str]) -> str:
    if call.program == "pkill" and (
        has_flag(options, "u") or any(word in (".", ".*", "") for word in operands)
    ):
        return "this ends all processes of a user"
    if call.program in ("killall5",) or (call.program == "killall" and has_flag(options, "u")):
        return "this ends all processes"
    return ""


def _firewall(call: Call, options: list[str], operands: list[str]) -> str:
    if call.program == "ufw" and operands[-1:] in (["disable"], ["reset"]):
        return f"ufw {operands[-1]} opens the machine to the network"
    if call.program == "nft" and operands[:2] == ["flush", "ruleset"]:
        return "this removes the firewall's rules"
    flushes = has_flag(options, "F") or has_flag(options, "X") or has_flag(options, long="flush")
    drops = "-P" in options and bool({"drop", "accept"} & set(operands))
    if call.program in ("iptables", "ip6tables", "ebtables") and (flushes or drops):
        return "this removes the firewall's rules or cuts the network"
    return ""


def _jobs(call: Call, options: list[str], operands: list[str]) -> str:
    replaces = bool(operands) and not has_flag(options, "l")
    return "this replaces or deletes every scheduled job" if replaces or has_flag(options, "r") else ""


def _accounts(call: Call, options: list[str], operands: list[str]) -> str:
    if call.program == "passwd":
        return "this changes an account's password" if has_flag(options, "d") or "root" in operands else ""
    if call.program == "chpasswd":
        return "this changes passwords"
    if call.program in _GROUPING:
        given = {name for word in operands for name in word.split(",")} & _POWERFUL
        return f"this gives an account the rights of {min(given)}" if given else ""
    if call.program == "dscl":
        return "this deletes an account" if "-delete" in call.arguments else ""
    return f"{call.program} deletes an account" if operands else ""


def _kernel(call: Call, options: list[str], operands: list[str]) -> str:
    if call.program == "swapoff":
        return "swapoff -a may freeze the machine" if has_flag(options, "a") else ""
    if call.program == "umount":
        return "umount -a takes away every file system" if has_flag(options, "a") or "/" in operands else ""
    if call.program == "mount":
        remounts = any("remount" in word for word in call.arguments)
        return "remounting a system directory may stop the machine" if remounts else ""
    if call.program == "setenforce":
        return "this turns off SELinux" if operands[:1] in (["0"], ["permissive"]) else ""
    if call.program == "csrutil":
        return "this turns off the system's protection" if operands[:1] == ["disable"] else ""
    if call.program == "spctl":
        return "this turns off the system's protection" if has_flag(options, long="master-disable") else ""
    if call.program == "nvram":
        return "this clears the firmware's settings" if has_flag(options, "c") else ""
    if call.program == "tmutil":
        return "this deletes backups" if operands[:1] and operands[0].startswith("delete") else ""
    if call.program == "modprobe":
        return "this takes a driver away from the running machine" if has_flag(options, "r", "remove") else ""
    if call.program in ("rmmod", "efibootmgr"):
        changes = has_flag(options, "B") if call.program == "efibootmgr" else bool(operands)
        return "this may stop the machine from starting or working" if changes else ""
    return ""


def _history(call: Call, options: list[str], operands: list[str]) -> str:
    return (
        "history -c deletes the user's shell history"
        if has_flag(options, "c") or has_flag(options, "d")
        else ""
    )


def _windows(call: Call, options: list[str], operands: list[str]) -> str:
    words = {word.lower() for word in call.arguments}
    if call.program == "vssadmin":
        return "this deletes the backups of the system" if "delete" in words else ""
    if call.program == "bcdedit":
        return "this changes how the system starts" if words & {"/set", "/delete", "/deletevalue"} else ""
    if call.program == "reg":
        return "this deletes registry keys" if "delete" in words else ""
    return f"{call.program} stops the machine or destroys its disks"


_SYSTEM_RULES = {
    **dict.fromkeys(_POWER, _power),
    **dict.fromkeys(_ACCOUNTS, _accounts),
    **dict.fromkeys(("passwd", "chpasswd", "dscl", *_GROUPING), _accounts),
    **dict.fromkeys(("iptables", "ip6tables", "ebtables", "nft", "ufw"), _firewall),
    **dict.fromkeys(("killall", "pkill", "killall5"), _killall),
    **dict.fromkeys(
        ("vssadmin", "bcdedit", "reg", "stop-computer", "restart-computer", "clear-disk", "format-volume"),
        _windows,
    ),
    **dict.fromkeys(
        (
            "swapoff",
            "umount",
            "mount",
            "setenforce",
            "csrutil",
            "spctl",
            "nvram",
            "tmutil",
            "rmmod",
            "modprobe",
            "efibootmgr",
        ),
        _kernel,
    ),
    "systemctl": _systemctl,
    "init": _init,
    "telinit": _init,
    "kill": _kill,
    "crontab": _jobs,
    "history": _history,
}

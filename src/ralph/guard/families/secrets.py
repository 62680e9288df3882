"""Secrets that leave the machine: keys and passwords sent by curl, scp, nc and the like."""

from __future__ import annotations

import re

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.marks import UNKNOWN
from ralph.guard.options import base_name, has_flag, split_options, value_of_option, words_in
from ralph.guard.places import Place, is_secret_file

SENDERS = words_in(
    "curl wget nc ncat netcat socat telnet ftp sftp scp rsync ssh http https xh xhs httpie mail sendmail mutt"
)
"""Programs that can send what they are given to another machine."""
_COPIERS = words_in("scp rsync sftp aws gsutil rclone s3cmd gh")
_COPIERS_VALUED = words_in("-i -P -p -F -o -e --rsh --exclude --include --region --profile -d --desc")
_FETCH_VALUED = words_in("-P --directory-prefix --output-dir -H --header -A -u -e -o")
_TELLERS = frozenset(["env", "printenv", "set", "export"])
_SECRET_VERB = LazyPattern(r"find-|dump-|--export-secret")
_NAME_TOOLS = words_in("ls test [ echo stat chmod")
"""They never show what is in a file."""
_SENDING = ("-d", "--data", "-F", "--form", "-T", "--upload", "-H", "--json", "-u")
"""How curl's options that send something begin."""
_UPLOADED = LazyPattern(r"(?:[^=@]*=)?[@<]([^;]+)(?:;.*)?", hints="@ <")
_HOMES = (Place.HOME, Place.ROOT)
_RAW_SENDERS = words_in("nc ncat netcat socat telnet")
_DUMPERS = words_in("pg_dump pg_dumpall mysqldump mariadb-dump mongodump")
_THIS_MACHINE = LazyPattern(
    r"(?:\w+://)?(?:[^@/]*@)?(?:localhost|127\.[\d.]+|\[?::1\]?|0\.0\.0\.0|host\.docker\.internal)(?:[:/].*)?",
    hints="localhost 127. ::1 0.0.0.0 host.docker",
)
_LEAVE_SECRETS = "leave secrets where they are; ask the user if a service really needs one"


def check_secrets(call: Call) -> Danger | None:
    if call.program in ("nc", "ncat", "netcat", "socat"):
        options, operands = split_options(call.arguments)
        runs = has_flag(options, "e", "exec") or has_flag(options, "c", "sh-exec")
        if runs or any(re.match(r"(?i)(exec|system):", operand) for operand in operands):
            what = f"{call.program} gives another machine a shell"
            return Danger("network", what, "use curl with a host that the user named")
    sent = _sent_files(call)
    for path in sent:
        if is_secret_file(path):
            return Danger("secrets", f"this sends {path} to another machine", _LEAVE_SECRETS)
    whole = {*_HOMES, Place.PROJECT} if call.program == "scp" else {*_HOMES}
    is_copied = call.program in ("scp", "rsync") and ":" in "".join(call.arguments[-1:])
    if is_copied and not whole.isdisjoint(map(call.place, sent)):
        return _bulk_danger()
    return None


def _sent_files(call: Call) -> list[str]:
    program, words = call.program, call.arguments
    if program in _COPIERS:
        _, operands = split_options(words, _COPIERS_VALUED)
        # The last one is where they go; a gist has no such place.
        sent = operands if "gist" in operands else operands[:-1]
        return [word.rstrip("/") for word in sent if ":" not in word]
    if program not in SENDERS:
        return []
    saved = saved_file(program, words)
    named = [word for word in words if word != saved and not word.startswith(("http://", "https://"))]
    return [path for word in named if (path := _sent_file(program, word))]


def _taken_apart(words: list[str]) -> tuple[str, list[str]]:
    return (base_name(words[0]), words[1:]) if words else ("", [])


def reads_secrets(words: list[str]) -> bool:
    """A command whose output holds secrets: a key file is read, the environment is listed."""
    program, arguments = _taken_apart(words)
    if program in _TELLERS and not arguments:
        return True
    if program in ("security", "gpg", "gpg2") and any(map(_SECRET_VERB.match, arguments)):
        return True
    return program not in _NAME_TOOLS and any(map(is_secret_file, arguments))


def check_sending(words: list[str]) -> Danger | None:
    """A sender that gets secrets on stdin or in its words."""
    program, arguments = _taken_apart(words)
    if program not in SENDERS and not (program == "openssl" and "s_client" in arguments):
        return None
    sends = any(word.startswith(_SENDING) or "?" in word or UNKNOWN in word for word in arguments)
    if program == "curl" and not sends:
        return None
    return Danger("secrets", "this sends secrets to another machine", _LEAVE_SECRETS)


def packs_files(words: list[str]) -> bool:
    """A command that writes many files, or a whole database, to its output."""
    program, arguments = _taken_apart(words)
    if program in ("tar", "bsdtar", "gtar"):
        return any("c" in word.lstrip("-") for word in arguments[:1]) or has_flag(arguments, "c", "create")
    if program == "git":
        return arguments[:1] in (["archive"], ["bundle"])
    return program in _DUMPERS or (program == "zip" and "-" in arguments)


def check_bulk_sending(words: list[str]) -> Danger | None:
    """A sender that gets all of that on stdin. What ssh does with it is a backup or a deployment."""
    program, arguments = _taken_apart(words)
    if program == "ssh" or any(map(_THIS_MACHINE.fullmatch, arguments)) or check_sending(words) is None:
        return None
    return _bulk_danger()


def check_sent_input(words: list[str], path: str) -> Danger | None:
    """``nc host port < file``."""
    if is_secret_file(path):
        return check_sending(words)
    is_raw = _taken_apart(words)[0] in _RAW_SENDERS and path != "/dev/null"
    return check_bulk_sending(words) if is_raw else None


def _bulk_danger() -> Danger:
    what = "this sends the files of the project or the user to another machine"
    return Danger("secrets", what, "send the one file that is needed, or ask the user")


def saved_file(program: str, arguments: list[str]) -> str:
    """Where a fetcher puts what it gets; empty: to its output."""
    letter, names = ("O", ("--output-document",)) if program == "wget" else ("o", ("--output",))
    for number, word in enumerate(arguments):
        # Bundled: `curl -fsSLo x`, `wget -qO x`.
        if word[:2] != "--" and (found := re.fullmatch(rf"-[a-zA-Z#]*?{letter}(.*)", word)):
            return found[1] or "".join(arguments[number + 1 : number + 2])
    named = value_of_option(arguments, names)
    if named or program not in ("wget", "curl"):
        return named or ""
    options, operands = split_options(arguments, _FETCH_VALUED)
    if program == "curl" and not has_flag(options, "O", "remote-name"):
        return ""
    folder = value_of_option(arguments, ("-P", "--directory-prefix", "--output-dir")) or "."
    return f"{folder}/{operands[-1].partition('?')[0].rpartition('/')[2]}" if operands else ""


def _sent_file(program: str, word: str) -> str:
    if program == "ssh":
        return ""  # its own key
    if program == "wget":
        found = re.fullmatch(r"--(?:post|body)-file=(.+)", word)
        return found[1] if found else ""
    found = _UPLOADED.fullmatch(word.removeprefix("--data-binary=").removeprefix("-d").removeprefix("-F"))
    if found:
        return found[1]
    return word if is_secret_file(word) and program == "curl" else ""

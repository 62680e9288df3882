"""What kind of place a path is: the project's own, a temporary folder, the system, a home … Nothing is looked up: its text decides."""

from __future__ import annotations

import re
from enum import Enum
from posixpath import normpath

from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.marks import INPUT, UNKNOWN


class Place(Enum):
    ROOT = "the root of the file system"
    HOME = "a home directory"
    SYSTEM = "a system directory"
    DEVICE = "a device"
    PROJECT = "the whole working directory"
    HISTORY = "the repository's history"
    INSIDE = "the project's own files"
    TEMPORARY = "a temporary file"
    OUTSIDE = "a path outside the working directory"
    UNKNOWN = "a path that is unknown until it runs"


VITAL = frozenset([Place.ROOT, Place.HOME, Place.SYSTEM, Place.DEVICE, Place.PROJECT, Place.HISTORY])
"""Recursive removal is never right here, forced or not."""
MACHINE = frozenset([Place.ROOT, Place.HOME, Place.SYSTEM, Place.DEVICE])
HARMLESS = frozenset([Place.INSIDE, Place.TEMPORARY])

_TEMPORARY = LazyPattern(
    r"((?:/private)?(?:/tmp|/var/tmp|/var/folders|/dev/shm)|/var/(?:lib/apt/lists|cache/\w+))(?:/|$)",
    hints="tmp folders shm lists cache",
)
_SYSTEM = LazyPattern(
    r"(?:/private)?/(?:etc|usr|bin|sbin|lib\w*|boot|proc|sys|var|root|run|srv|System|Library|Applications)(?:/|$)",
    re.IGNORECASE,
)
_SYSTEM_CHILD_OK = LazyPattern(r"/(?:var|srv|run|usr/local|root|opt)/.+|/(?:Library|Applications)/.+/.+")
_HOME = LazyPattern(
    r"(?:/home/[^/]+|/Users/[^/]+|/home|/Users|/root)/?|~[^/]*/?", hints="/home /Users /root ~"
)
_HARMLESS_DEVICE = LazyPattern(
    r"/dev/(?:null|zero|full|u?random|stdin|stdout|stderr|tty\w*|fd(?:/\d+)?|pts/\d+|shm/.*)", hints="/dev/"
)
_BROAD = LazyPattern(r"[*?.!\[\]{}^]*\*[*?.!\[\]{}^]*|[!@+*?]\(.*\)|\.\[.*\]\*?|\[.*\]\*", hints="* ( [")
_WINDOWS_ROOT = LazyPattern(r"[A-Za-z]:[\\/]?\*?|\\[\\/]*", hints=": \\")
_WINDOWS = LazyPattern(r"[A-Za-z]:", hints=":")


def join_path(base: str, path: str) -> str:
    """``path`` seen from ``base``, without ``.`` and ``..`` where the text says enough."""
    if path.startswith(("/", "~")) or (path.startswith(UNKNOWN) and base != UNKNOWN):
        whole = path
    elif path[1:2] == ":" and path[0].isalpha():
        return path
    else:
        whole = f"{base}/{path}"
    if whole.startswith("~"):
        home, _, rest = whole.partition("/")
        below = normpath(rest)
        # One above a home is certainly not ours.
        return (
            normpath(f"/home/{below[3:]}")
            if below.startswith("..")
            else home
            if below == "."
            else f"{home}/{below}"
        )
    return normpath(whole).replace("//", "/")


def place_of(path: str, cwd: str, project: str = "") -> Place:
    """``cwd`` is the directory at this point of the command line, ``project`` the absolute working directory if known."""
    if INPUT in path or "$" in path:
        return Place.UNKNOWN
    if _WINDOWS_ROOT.fullmatch(path):
        return Place.ROOT
    whole = join_path(cwd, path)
    if project and not whole.startswith(("/", "~", UNKNOWN)):
        whole = join_path(project, whole)
    stripped = whole
    while (cut := stripped.rpartition("/"))[2] and _BROAD.fullmatch(cut[2]):
        if not cut[1]:
            stripped = "."
            break
        stripped = cut[0] or "/"
    is_broad = stripped != whole
    if stripped.startswith(UNKNOWN):
        return Place.UNKNOWN
    if project and _is_own(stripped, project):
        return _own(stripped[len(project) :].lstrip("/") or ".")
    if stripped.startswith(("/", "~")) or _WINDOWS.match(stripped):
        return _absolute(stripped, is_broad=is_broad)
    return _own(stripped)


def _is_own(path: str, project: str) -> bool:
    return project.count("/") > 1 and (path == project or path.startswith(project + "/"))


def _own(path: str) -> Place:
    if path == ".":
        return Place.PROJECT
    if path == ".." or path.startswith("../"):
        return Place.OUTSIDE
    if path == ".git" or path.startswith(".git/") or path.endswith("**/.git"):
        return Place.HISTORY
    return Place.INSIDE


def _absolute(path: str, *, is_broad: bool) -> Place:
    if path == "/" or re.fullmatch(r"/[?\[*].*", path):
        return Place.ROOT
    if temporary := _TEMPORARY.match(path):
        return Place.SYSTEM if temporary[1] == path and not is_broad else Place.TEMPORARY
    if _HOME.fullmatch(path):
        return Place.HOME
    if path.startswith("/dev/"):
        return Place.OUTSIDE if _HARMLESS_DEVICE.fullmatch(path) else Place.DEVICE
    if _SYSTEM.match(path) and not _SYSTEM_CHILD_OK.fullmatch(path):
        return Place.SYSTEM
    return Place.OUTSIDE


_VITAL_FILES = LazyPattern(
    r"/etc/(?:passwd|shadow|group|gshadow|sudoers|sudoers\.d/.*|fstab|hosts|resolv\.conf|crontab|ld\.so\.preload|ssh/sshd_config|pam\.d/.*|cron\.\w+/.*)"
    r"|/boot(?:/.*)?|/proc/sys.*|/sys/.*|~/\.ssh/authorized_keys|/root/\.ssh/authorized_keys",
    hints="/etc/ /boot /proc/sys /sys/ authorized_keys",
)


def is_vital_file(path: str, cwd: str) -> bool:
    """Overwriting it locks people out, lets people in, or stops the machine."""
    whole = join_path(cwd, path)
    return bool(_VITAL_FILES.fullmatch(whole)) or is_disk(whole)


_PERSONAL_FILES = LazyPattern(
    r"~/\.(?:bashrc|bash_profile|bash_history|zshrc|zsh_history|zprofile|profile|gitconfig|netrc|ssh/.+|gnupg/.+|aws/.+|kube/.+)",
    hints="~/.",
)


def is_personal_file(path: str, cwd: str) -> bool:
    """Keys, history and start-up files of the user."""
    return bool(_PERSONAL_FILES.fullmatch(join_path(cwd, path)))


is_startup_file = LazyPattern(
    r"~/\.(?:bashrc|bash_profile|bash_login|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin)|/etc/(?:profile|bash\.bashrc)|/etc/profile\.d/.*",
    hints="~/. /etc/",
).covers
"""What every shell of the user's reads first."""


def is_disk(path: str) -> bool:
    return (
        path.startswith("/dev/")
        and not _HARMLESS_DEVICE.fullmatch(path)
        and not path.startswith(("/dev/tcp", "/dev/udp"))
    )


is_secret_file = LazyPattern(
    r"(?:^|.*/)(?:\.ssh(?:/(?!known_hosts|config|.*\.pub).*)?|\.aws(?:/credentials)?|\.netrc|\.git-credentials|\.pgpass|\.pypirc|\.npmrc"
    r"|\.kube(?:/config)?|\.docker/config\.json|\.gnupg(?:/.*)?|id_(?:rsa|dsa|ecdsa|ed25519)|\.env(?:\.(?!example|sample|template|dist)\w+)?"
    r"|\.vault-token|\.config/gh/hosts\.yml|application_default_credentials\.json|[^/]*\.(?:pem|p12|pfx|keystore|jks)"
    r"|credentials\.json|secrets?\.(?:ya?ml|json|toml|env))"
    r"|/etc/(?:shadow|sudoers|gshadow).*|/proc/(?:self|\d+)/environ",
    hints=".ssh .aws .netrc credentials .pgpass .pypirc .npmrc .kube .docker .gnupg id_ .env .vault-token hosts.yml .pem .p12 .pfx"
    " .keystore .jks secret /etc/ environ",
).covers
"""A file that holds keys or passwords, by its name."""
is_regenerated = LazyPattern(
    r"(?!.*\w/\.\./)(?:.*/)?(?:__pycache__|node_modules|\.[\w-]*cache[\w-]*|\.tox|\.nox|\.next|\.nuxt|\.turbo|\.parcel|\.nyc_output|\.gradle|\.hypothesis"
    r"|build|dist|out|target|coverage|htmlcov|tmp|temp|logs?|obj|\.DS_Store|Thumbs\.db|\.coverage.*"
    r"|[^/]+~|[^/]*(?:\.(?:pyc|pyo|pyd|py\[[cod]+\]|o|obj|class|tmp|temp|log|sw[op]|egg-info|whl|gem|gcda|gcno|tsbuildinfo|pid|orig|rej|err|out)))(?:/.*)?"
).covers
"""A cache, a log or what a build makes again, by its name or that of a folder above it."""
is_throwaway = LazyPattern(
    r"(?i)(?:.*[^a-z])?(?:tests?|testing|tmp|temp|ci|e2e|scratch|fixtures?|throwaway|ephemeral|localstack|minikube|k3d|kind-\w.*|docker-desktop)"
    r"(?:[^a-z].*)?"
).covers
"""The name of a database, volume or cluster says that it was made for a test."""
_HOST = LazyPattern(r"(?:\w+://)?(?:[^@/\s]*@)?([\w.-]+)(?::\d+)?(?:[/?#:].*)?")
_PRIVATE_HOST = LazyPattern(
    r"localhost|.*\.(?:local|localhost|test|internal|lan)|127\..*|10\..*|192\.168\..*|172\.(?:1[6-9]|2\d|3[01])\..*|0\.0\.0\.0|[^.]*"
)


def is_public_host(word: str) -> bool:
    """A URL or host name of a machine elsewhere: one with a dot that no private network uses."""
    found = _HOST.fullmatch(word)
    return found is not None and "://" in word[:9] and not _PRIVATE_HOST.fullmatch(found[1])

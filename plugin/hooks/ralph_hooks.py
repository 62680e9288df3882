"""The hooks of the ralph plugin: read an event of Claude Code on stdin, answer on stdout. Standard library only.

Built by `python -m ralph.interfaces.hooks.build` from src/ralph: change it there. Each function below is one module.
"""
# ruff: noqa
# fmt: off

from __future__ import annotations

_loaded = {}


def _module(name):
    if name not in _loaded:
        _loaded[name] = _MODULES[name]()
    return _loaded[name]


def ralph_adapters_files():
    """Files that others may touch: read without falling into a trap, written so that nobody ever sees half of one.

The only module that does either. It imports little of the standard library, and nothing else: the hooks use it.
"""

    import os
    import stat

    TYPE_CHECKING = False  # importing `typing` and `pathlib` would cost a hook more than its work does

    IGNORED = "# written by ralph: runs are private, the team's settings are shared\n*\n!settings.json\n"

    PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
    OTHERS = 0o077
    _WRITE = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW

    class NotPlain(OSError):
        """A pipe or a device, which might never end."""

        def __init__(self) -> None:
            super().__init__(0, "it is not a plain file")

    def write_atomic(path: Path, content: str | bytes, *, mode: int | None = None) -> None:
        """Replace ``path`` with the content, durably, or leave it as it was.

    It keeps its permissions. ``mode``: those of a new file, before the umask; None: nobody else's, if its folder is
    nobody else's.
    """
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            write_in(folder, path.name, content, mode=mode)
        except OSError as error:
            error.filename = str(path)
            raise
        finally:
            os.close(folder)

    def write_in(folder: int, name: str, content: str | bytes, *, mode: int | None = None) -> None:
        """The same, in an open folder. An agent may have put links in it: their targets are not ours to write."""
        from contextlib import suppress

        data = content.encode() if isinstance(content, str) else content
        kept = _permissions_of(folder, name)
        if mode is None:
            mode = 0o666 if os.fstat(folder).st_mode & OTHERS else PRIVATE_FILE
        temporary = f".{name}.{os.getpid()}.tmp"
        try:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, mode if kept is None else PRIVATE_FILE, dir_fd=folder)
            with open(descriptor, "wb") as file:  # noqa: PTH123 a descriptor
                if kept is not None:
                    os.fchmod(descriptor, kept)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        sync_folder(folder)

    def _permissions_of(folder: int, name: str) -> int | None:
        """None: there is no such file. What we write can be read again, whatever an agent made of it."""
        try:
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except OSError:
            return None
        return mode & 0o777 | PRIVATE_FILE if stat.S_ISREG(mode) else None

    def write_private(path: Path, content: bytes) -> None:
        """Into a file for this user alone, whatever the umask; what was in it is lost. Raises OSError for a link."""
        _write_to(os.open(path, _WRITE | os.O_TRUNC, PRIVATE_FILE), content)

    def write_new(path: Path, content: bytes) -> None:
        """The same, but raises FileExistsError for whatever is there, a link too."""
        _write_to(os.open(path, _WRITE | os.O_EXCL, PRIVATE_FILE), content)

    def _write_to(descriptor: int, content: bytes) -> None:
        try:
            write_all(descriptor, content)
        finally:
            os.close(descriptor)

    def write_all(descriptor: int, content: bytes) -> None:
        """However many calls the system needs for it. Raises OSError."""
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    def is_true(look: Callable[[], bool]) -> bool:
        """The answer of ``path.exists`` and the like; what lies in a folder that may not be searched is not there.

    Not for what must be protected: an agent could close a folder to hide it from us.
    """
        try:
            return look()
        except OSError:
            return False

    def real_path(path: Path) -> Path:
        """Where it leads. ``Path.resolve`` raises RuntimeError for a circle of links, which an agent may have made."""
        return type(path)(os.path.realpath(path))

    def expand_home(path: str, environ: Mapping[str, str] = os.environ) -> str:
        """With the home folder for ``~``, and another user's for ``~name``, as shells and git do."""
        if path == "~" or path.startswith("~/"):
            return (environ.get("HOME") or "/nonexistent") + path[1:]
        try:
            return os.path.expanduser(path)  # noqa: PTH111
        except ValueError:  # a NUL in it
            return path

    def sync_folder(folder: int) -> None:
        """Make the new name durable, where a directory can be opened."""
        from contextlib import suppress

        with suppress(OSError):
            descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def make_state_folder(folder: Path) -> None:
        """Make ``.ralph/`` with a .gitignore, or use the one that is there. Records are for this user alone.

    One without a record gets our seal.
    """
        _m = _module("ralph.adapters.trust_store"); seal_unless_used = _m["seal_unless_used"]

        folder.parent.mkdir(parents=True, exist_ok=True)
        make_private_folder(folder)
        close_folder(folder)
        seal_unless_used(str(folder))
        ignore = folder / ".gitignore"
        if not ignore.exists():
            write_atomic(ignore, IGNORED)

    def make_private_folder(folder: Path) -> None:
        """Make it, and whatever is missing above it, for this user alone, whatever the umask; one that is there stays."""
        try:
            os.mkdir(folder, PRIVATE_FOLDER)  # noqa: PTH102 with its parents, pathlib would make those for everybody
        except FileNotFoundError:
            make_private_folder(folder.parent)
            folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
        except FileExistsError:
            if not folder.is_dir():
                raise

    def close_folder(folder: Path) -> None:
        """Take others' permissions away, which an earlier version left open. One of another user is theirs."""
        from contextlib import suppress

        with suppress(OSError):
            descriptor = open_folder(folder)
            try:
                found = os.fstat(descriptor)
                if found.st_mode & OTHERS and found.st_uid == os.geteuid():
                    os.fchmod(descriptor, found.st_mode & PRIVATE_FOLDER)
            finally:
                os.close(descriptor)

    def open_plain(path: Path | str, *, follow: bool = True, folder: int | None = None) -> BinaryIO:
        """Open a plain file to read. Raises OSError for a pipe or a device, which might never end, as for any other error.

    Not ``follow``: a link is refused, too. ``folder``: the descriptor of the folder that it must lie in.
    """
        return os.fdopen(_open_plain(path, follow=follow, folder=folder)[0], "rb")

    def _open_plain(path: Path | str, *, follow: bool, folder: int | None) -> tuple[int, int]:
        """The descriptor, and how many bytes are in the file."""
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
        descriptor = os.open(path, flags, dir_fd=folder)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            if stat.S_ISDIR(found.st_mode):
                raise IsADirectoryError(0, "it is a folder")
            raise NotPlain
        return descriptor, found.st_size

    def read_plain(path: Path | str, most: int, *, follow: bool = True, folder: int | None = None) -> bytes:
        """The first ``most`` bytes. Raises OSError as ``open_plain`` does."""
        descriptor, size = _open_plain(path, follow=follow, folder=folder)
        try:
            return _read_file(descriptor, size, most)
        finally:
            os.close(descriptor)

    def read_whole(
        path: Path | str, most: int, *, follow: bool = True, folder: int | None = None
    ) -> bytes | None:
        """All of a plain file; None if it is missing, not plain, not readable, or larger than ``most`` bytes."""
        try:
            descriptor, size = _open_plain(path, follow=follow, folder=folder)
            try:
                if size > most:
                    return None
                data = _read_file(descriptor, size, most + 1)
            finally:
                os.close(descriptor)
        except (OSError, ValueError):  # a name with a NUL is a ValueError
            return None
        return data if len(data) <= most else None

    def _read_file(descriptor: int, size: int, most: int) -> bytes:
        """The first ``most`` bytes of a file that had ``size`` when it was opened. Raises OSError."""
        # Room for ``most`` would take longer than most files to read.
        data = _read(descriptor, min(size + 1, most))
        if len(data) > size:  # it has grown
            data += _read(descriptor, most - len(data))
        return data

    def _read(descriptor: int, most: int) -> bytes:
        """However many calls the system needs for it. Raises OSError."""
        data = os.read(descriptor, most)
        while len(data) < most and (block := os.read(descriptor, most - len(data))):
            data += block
        return data

    def open_own(path: Path | str, mode: int = PRIVATE_FILE) -> int:
        """The descriptor of a plain file to lock or to write in place, made if it is missing. Raises OSError.

    An agent may have put a link or a pipe of that name there: neither is followed, and nothing waits for a reader.
    """
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        return os.open(path, flags, mode)

    def open_folder(path: Path | str) -> int:
        """A folder's descriptor, not through a link: what uses it works in that very folder. Raises OSError."""
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    return locals()

def ralph_adapters_trust_store():
    """What the user has trusted, outside every repository: ``$XDG_STATE_HOME/ralph/trust.json``; and the seals of state folders.

Hooks read it too: it imports the standard library only, and little of that.
"""
    # Importing pathlib alone would cost a hook a quarter of its start.
    # ruff: noqa: PTH100, PTH101, PTH102, PTH103, PTH108, PTH118, PTH119, PTH120, PTH208

    import json
    import os
    import stat
    from contextlib import suppress

    _m = _module("ralph.adapters.files"); open_plain = _m["open_plain"]; read_whole = _m["read_whole"]; write_atomic = _m["write_atomic"]
    _m = _module("ralph.domain.trust.seal"); RECORDS = _m["RECORDS"]; mark_of = _m["mark_of"]; seal_of = _m["seal_of"]

    TYPE_CHECKING = False

    STORE = "trust.json"
    SEAL = "seal"
    LARGEST = 16_000_000
    KEY_BYTES = 32

    def store_folder(environ: Mapping[str, str]) -> str:
        """Empty if there is no place for it. A relative one would be a place in whatever project this is."""
        folder = environ.get("XDG_STATE_HOME", "")
        if not folder.startswith("/"):
            home = environ.get("HOME", "")
            folder = f"{home}/.local/state" if home.startswith("/") else ""
        return f"{folder}/ralph" if folder else ""

    def trusted_digests(project: str, environ: Mapping[str, str]) -> frozenset[str]:
        """What was trusted in this project, by its real path."""
        return frozenset(_trusted(_projects(_read(environ)), project))

    def remember(project: str, digests: Collection[str], environ: Mapping[str, str]) -> None:
        """Trust these too. Raises OSError."""

        def add(store: dict[str, Any]) -> None:
            projects = _projects(store)
            projects[project] = sorted({*_trusted(projects, project), *digests})
            store["projects"] = projects

        _change(environ, add)

    def forget(project: str, environ: Mapping[str, str]) -> None:
        """Raises OSError."""

        def remove(store: dict[str, Any]) -> None:
            projects = _projects(store)
            projects.pop(project, None)
            store["projects"] = projects

        _change(environ, remove)

    def _trusted(projects: Mapping[str, object], project: str) -> list[str]:
        known = projects.get(project)
        return [one for one in known if isinstance(one, str)] if isinstance(known, list) else []

    # --- seals ---

    def records_in(folder: str) -> list[str]:
        """What a state folder holds that ralph would act on."""
        try:
            return sorted(name for name in os.listdir(folder) if name in RECORDS)
        except OSError:
            return []

    def is_sealed(folder: str, environ: Mapping[str, str]) -> bool:
        """Whether ralph made this folder here, for this user."""
        key = _key(_read(environ))
        found = read_whole(os.path.join(folder, SEAL), 1_000, follow=False) if key else None
        return found is not None and found.decode(errors="replace").strip() == seal_of(_place(folder), key)

    def seal(folder: str, environ: Mapping[str, str]) -> None:
        """Raises OSError."""
        _write(os.path.join(folder, SEAL), f"{seal_of(_place(folder), _ensure_key(environ))}\n")

    def mark(folder: str, name: str, content: object, environ: Mapping[str, str]) -> str:
        """For what ralph writes into a state folder; empty if no key can be kept, and then it will be asked about."""
        try:
            return mark_of(_place(folder), name, content, _key(_read(environ)) or _ensure_key(environ))
        except OSError:
            return ""

    def is_marked(folder: str, name: str, content: object, found: object, environ: Mapping[str, str]) -> bool:
        """Whether ralph wrote this here, for this user."""
        key = _key(_read(environ))
        return bool(key) and found == mark_of(_place(folder), name, content, key)

    def seal_unless_used(folder: str) -> None:
        """Whatever is written to it from now on is ours. A record that is there already came from elsewhere, or has a seal."""
        if not records_in(folder) and not is_sealed(folder, os.environ):
            with suppress(OSError):  # then the next run asks, and this one says so at its end
                seal(folder, os.environ)

    def unseal(folder: str) -> None:
        """Raises OSError."""
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, SEAL))

    def _place(folder: str) -> str:
        """Where it is: a link in its place would lead to a folder that was sealed elsewhere."""
        return os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(folder))), os.path.basename(folder))

    # --- the file ---

    def _read(environ: Mapping[str, str]) -> dict[str, Any]:
        """Empty if it is missing, damaged, or could have been written by somebody else."""
        folder = store_folder(environ)
        try:
            with open_plain(os.path.join(folder, STORE), follow=False) as file:
                status = os.fstat(file.fileno())
                if status.st_uid not in (os.geteuid(), 0) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                    return {}
                store = json.loads(file.read(LARGEST))
        except (OSError, ValueError, RecursionError):
            return {}
        return store if isinstance(store, dict) else {}

    def _projects(store: Mapping[str, Any]) -> dict[str, Any]:
        found = store.get("projects")
        return dict(found) if isinstance(found, dict) else {}

    def _key(store: Mapping[str, Any]) -> bytes:
        try:
            key = bytes.fromhex(store.get("key", ""))
        except (TypeError, ValueError):
            return b""
        return key if len(key) == KEY_BYTES else b""

    def _ensure_key(environ: Mapping[str, str]) -> bytes:
        """Raises OSError."""
        made: list[bytes] = []

        def ensure(store: dict[str, Any]) -> None:
            made.append(_key(store) or os.urandom(KEY_BYTES))
            store["key"] = made[0].hex()

        _change(environ, ensure)
        return made[0]

    def _change(environ: Mapping[str, str], change: Callable[[dict[str, Any]], None]) -> None:
        """One process at a time: a lost key would make every sealed folder a stranger."""
        import fcntl

        folder = store_folder(environ)
        if not folder:
            raise OSError(0, "there is no home folder to remember it in")
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            os.chmod(folder, 0o700)
        lock = os.open(
            os.path.join(folder, "trust.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = _read(environ)
            store = dict(before)
            change(store)
            if store != before:
                file = os.path.join(folder, STORE)
                if not before:  # what cannot be believed must not hand on its permissions
                    with suppress(FileNotFoundError):
                        os.unlink(file)
                _write(file, json.dumps(store, indent=1, sort_keys=True))
        finally:
            os.close(lock)

    def _write(path: str, text: str) -> None:
        """Whole or not at all, for its owner only: both folders are private."""
        from pathlib import Path

        write_atomic(Path(path), text)
    return locals()

def ralph_config_project_search():
    """Which folder is the project, and whose it must be: the rule of ``ralph`` and of its hooks.

Whoever can write a ``.ralph`` above a project, or in a folder that all may write, could otherwise choose what runs
there. Strings and ``os`` only: importing pathlib alone would cost a hook a quarter of its start.
"""
    # ruff: noqa: PTH112, PTH113, PTH116, PTH117, PTH118, PTH120

    import os
    import stat

    TYPE_CHECKING = False  # importing `typing` costs a hook more than its work does

    STATE_FOLDER = ".ralph"
    OBEYED = ("settings.json", "settings.local.json", "ralph.db", "ralph.db-wal", "state", "runs")
    """What is in the state folder and is believed."""
    MOST_BYTES = 1_000_000

    def climb(start: str, home: str = "") -> Iterator[str]:
        """The folders that may be the project: from ``start`` up to the top of its repository, the home directory, and a
    change of file system or owner."""
        me, folder, below = os.geteuid(), start, None
        while True:
            here = _stat(folder)
            if here is None:
                return
            if below is not None:
                is_ours = here.st_uid in (me, below.st_uid)
                if folder == home or here.st_dev != below.st_dev or not is_ours:
                    return
            yield folder
            above = os.path.dirname(folder)
            if folder in (home, above) or is_repository(folder):
                return
            folder, below = above, here

    def search(start: str, home: str) -> str:
        """The nearest folder with ``.ralph/``, else the top of the repository, else ``start``."""
        for folder in climb(start, home):
            has_state = os.path.isdir(os.path.join(folder, STATE_FOLDER))
            if has_state and (folder == start or not _is_planted(folder, STATE_FOLDER)):
                return folder
            if is_repository(folder):
                return folder
        return start

    def is_repository(folder: str) -> bool:
        """``.git`` is a file (in a worktree or a submodule), or a folder with a HEAD; an empty folder is not one."""
        marker = os.path.join(folder, ".git")
        is_one = os.path.isfile(marker) or os.path.lexists(os.path.join(marker, "HEAD"))
        return is_one and not _is_planted(folder, ".git")

    def _is_planted(folder: str, name: str) -> bool:
        """Neither ours nor of whoever owns the folder: anyone can put it into a folder like /tmp."""
        here, entry = _stat(folder), _lstat(os.path.join(folder, name))
        return here is None or entry is None or entry.st_uid not in (*trusted_owners(os.environ), here.st_uid)

    # --- whose it is ---

    def trusted_owners(environ: Mapping[str, str]) -> tuple[int, ...]:
        """We, and root, who can do anything anyway; for root also the user who called ``sudo``, as for git."""
        me, caller = os.geteuid(), environ.get("SUDO_UID", "")
        is_number = caller.isascii() and caller.isdigit() and len(caller) < 11
        return (me, 0, int(caller)) if me == 0 and is_number else (me, 0)

    def stranger_in(folder: str, environ: Mapping[str, str]) -> tuple[str, int] | None:
        """What another user owns of that which would be believed in a project, and who; None if it may be believed.

    git's ``safe.directory`` in the user's own configuration names the folders of others that may be.
    """
        state = os.path.join(folder, STATE_FOLDER)
        owners = trusted_owners(environ)
        for path in (folder, state, *(os.path.join(state, name) for name in OBEYED)):
            for found in (_lstat(path), _stat(path)):  # a link, and what it leads to
                if found is not None and found.st_uid not in owners:
                    return None if is_declared_safe(folder, environ) else (path, found.st_uid)
        return None

    def is_declared_safe(folder: str, environ: Mapping[str, str]) -> bool:
        listed = [one for file in _git_configurations(environ) for one in _safe_directories(_read(file))]
        if "" in listed:  # an empty one takes back those before it
            listed = listed[len(listed) - listed[::-1].index("") :]
        return any(_covers(one, folder, environ) for one in listed)

    def _covers(listed: str, folder: str, environ: Mapping[str, str]) -> bool:
        if listed == "*":
            return True
        if listed.startswith("~/"):
            listed = os.path.join(environ.get("HOME", ""), listed[2:])
        if listed.endswith("/*"):
            return folder.startswith(os.path.realpath(listed[:-2]).rstrip("/") + "/")
        return os.path.isabs(listed) and os.path.realpath(listed) == folder

    def _git_configurations(environ: Mapping[str, str]) -> tuple[str, ...]:
        """Those that no repository can write."""
        home = environ.get("HOME", "")
        systems = (environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"),)
        system = () if environ.get("GIT_CONFIG_NOSYSTEM") else systems
        if "GIT_CONFIG_GLOBAL" in environ:
            return (*system, environ["GIT_CONFIG_GLOBAL"])
        if not os.path.isabs(home):
            return system
        more = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        return (*system, os.path.join(more, "git", "config"), os.path.join(home, ".gitconfig"))

    def _safe_directories(text: str) -> Iterator[str]:
        """``directory`` of the section ``[safe]``; files that the configuration includes do not count."""
        section = ""
        for line in text.splitlines():
            line = line.strip()
            if line.startswith("["):
                section, _, line = line[1:].partition("]")
            key, _, value = line.partition("=")
            if section.strip().lower() == "safe" and key.strip().lower() == "directory":
                value = value.strip()
                quoted = len(value) > 1 and value[0] == value[-1] == '"'
                yield value[1:-1] if quoted else value.partition(" #")[0].partition(" ;")[0].rstrip()

    # --- settings ---

    def own_settings(environ: Mapping[str, str]) -> str:
        """The user's own settings, for all projects; empty if there is no place for them.

    A relative folder would be one of whatever project this is.
    """
        folder = environ.get("XDG_CONFIG_HOME", "")
        if not folder.startswith("/"):
            folder = f"{environ.get('HOME', '')}/.config"
        return f"{folder}/ralph/settings.json" if folder.startswith("/") else ""

    # --- worktrees ---

    def record_place(workspace: str) -> str:
        """Where a project keeps its state: in a worktree, at the same place in the main checkout. They all share one record."""
        top = next(filter(is_repository, climb(workspace)), None)
        main = main_checkout(top) if top is not None else None
        if top is None or main is None:
            return workspace
        return os.path.normpath(os.path.join(main, os.path.relpath(workspace, top)))

    def main_checkout(top: str) -> str | None:
        """Of a worktree: its ``.git`` is a file, ``gitdir: <main checkout>/.git/worktrees/<name>``, and that names it back.

    None for anything else. Worktrees of a submodule or of a bare repository have no main checkout to find this way.
    """
        marker = os.path.join(top, ".git")
        key, _, target = _read(marker, follow=False).rstrip("\r\n").partition(": ")
        if key != "gitdir" or "\0" in target:
            return None
        git_dir = os.path.realpath(os.path.join(top, target))  # git keeps a space at its end, too
        worktrees = os.path.dirname(git_dir)
        if not worktrees.endswith("/.git/worktrees"):
            return None
        back = _read(os.path.join(git_dir, "gitdir"), follow=False).strip()
        if not back or "\0" in back:
            return None
        is_named = os.path.realpath(os.path.join(git_dir, back)) == os.path.realpath(marker)
        main = os.path.dirname(os.path.dirname(worktrees))
        return main if is_named and os.path.isdir(main) else None

    # --- looking ---

    def _stat(path: str) -> os.stat_result | None:
        try:
            return os.stat(path)
        except (OSError, ValueError):
            return None

    def _lstat(path: str) -> os.stat_result | None:
        try:
            return os.lstat(path)
        except (OSError, ValueError):
            return None

    def _read(path: str, *, follow: bool = True) -> str:
        """The text of a plain file; empty if it is none, or cannot be read. Nothing waits for a pipe."""
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
        try:
            descriptor = os.open(path, flags)
        except (OSError, ValueError):
            return ""
        try:
            is_plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
            return os.read(descriptor, MOST_BYTES).decode(errors="surrogateescape") if is_plain else ""
        finally:
            os.close(descriptor)
    return locals()

def ralph_domain_agent_events():
    """The normalized stream: what any agent does, whatever dialect it speaks.

Parsers in ``adapters/agents`` create these from lines; the session, the journal and the faces read them. ``kind`` is
the name on the wire (journal, ``--json``). The classes are not frozen, though nothing changes one: a session may print
a hundred thousand, and a frozen dataclass costs three times as much to create.
"""

    from enum import StrEnum

    _m = _module("ralph.values"); dataclass = _m["dataclass"]; field = _m["field"]

    @dataclass(slots=True)
    class SessionStarted:
        """The agent opened a session."""

        session_id: str = ""
        model: str = ""
        version: str = ""  # of its program, if it says so
        kind: str = field(default="session_started", init=False)

    @dataclass(slots=True)
    class Text:
        """Words of the assistant. Only these may contain a claim, and only if ``parent`` is empty.

    ``final`` is false when the next Text continues the same block (a delta, or a line of plain output):
    a tag may span such pieces, but never two blocks.
    """

        text: str
        final: bool = True
        parent: str = ""  # the tool call of a sub-agent, whose words are not the assistant's
        kind: str = field(default="text", init=False)

    @dataclass(slots=True)
    class Reasoning:
        """What the model thinks aloud; shown dimmed, never searched for claims."""

        text: str
        parent: str = ""
        kind: str = field(default="reasoning", init=False)

    @dataclass(slots=True)
    class ToolStarted:
        """A tool call began; ``summary`` is its input in one line (a path, a command, a pattern)."""

        id: str
        name: str
        summary: str = ""
        parent: str = ""
        kind: str = field(default="tool_started", init=False)

    @dataclass(slots=True)
    class ToolEnded:
        """A tool call ended. ``output`` is an excerpt; ``lines`` and ``chars`` count the whole."""

        id: str
        name: str = ""
        output: str = ""
        is_error: bool = False
        lines: int = 0
        chars: int = 0
        parent: str = ""
        kind: str = field(default="tool_ended", init=False)

    class TodoStatus(StrEnum):
        PENDING = "pending"
        ACTIVE = "in_progress"
        DONE = "completed"

    @dataclass(slots=True, frozen=True)
    class TodoItem:
        """One entry of the agent's own task list."""

        text: str
        status: TodoStatus

    @dataclass(slots=True)
    class TodoChanged:
        """The agent's own task list, whole, after a change."""

        items: tuple[TodoItem, ...]
        kind: str = field(default="todo_changed", init=False)

    @dataclass(slots=True, frozen=True)
    class Usage:
        """Tokens of one turn. ``input_tokens`` excludes what came from the cache."""

        input_tokens: int = 0
        output_tokens: int = 0
        cache_read_tokens: int = 0
        cache_write_tokens: int = 0

        def __add__(self, other: Usage) -> Usage:
            return Usage(
                self.input_tokens + other.input_tokens,
                self.output_tokens + other.output_tokens,
                self.cache_read_tokens + other.cache_read_tokens,
                self.cache_write_tokens + other.cache_write_tokens,
            )

        def __sub__(self, other: Usage) -> Usage:
            negative = (
                -other.input_tokens,
                -other.output_tokens,
                -other.cache_read_tokens,
                -other.cache_write_tokens,
            )
            return self + Usage(*negative)

        def since(self, earlier: Usage) -> Usage:
            """What was added to an earlier count; all of it if the count has begun again."""
            added = self - earlier
            counts = (added.input_tokens, added.output_tokens, added.cache_read_tokens, added.cache_write_tokens)
            return added if min(counts) >= 0 else self

        @property
        def total(self) -> int:
            return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    @dataclass(slots=True)
    class UsageReported:
        """What the agent used since the last such report. The end of its turn reports everything, including this.

    A lower bound: claude counts an answer's tokens only when the turn is over.
    """

        usage: Usage
        cost_usd: float | None = None
        kind: str = field(default="usage_reported", init=False)

    @dataclass(slots=True)
    class TurnEnded:
        """The agent's turn is over (claude ``result``, codex ``turn.completed``/``turn.failed``).

    ``error`` is empty on success; ``code`` is the agent's name for it, if it has one that says more than its error
    events. ``text`` repeats what was said; anything new also comes as Text. ``usage`` and ``cost_usd`` are those of
    this turn unless ``cumulative``.
    """

        text: str = ""
        error: str = ""
        usage: Usage = Usage()
        cost_usd: float | None = None
        turns: int = 0
        seconds: float = 0.0
        denials: tuple[str, ...] = ()  # tools the agent was not permitted to use
        cumulative: bool = False
        code: str = ""
        kind: str = field(default="turn_ended", init=False)

    @dataclass(slots=True)
    class LimitReported:
        """A structured message about a usage limit. ``rejected``: the agent may not continue before ``resets_at``.

    ``windows``: what is left of the subscription, as far as it says so.
    """

        rejected: bool
        limit: str = ""
        resets_at: float | None = None
        windows: tuple[Window, ...] = ()
        kind: str = field(default="limit_reported", init=False)

    NO_RESULT: Final = "no_result"
    """The code of an error that a parser adds when a stream just stops. It says something only if the program ended by
itself, as if all were well; else the way it ended says more."""

    @dataclass(slots=True)
    class ErrorReported:
        """A structured error event. ``status`` is the HTTP status, if known; ``final``: the agent gave up."""

        message: str
        status: int | None = None
        code: str = ""
        final: bool = False
        kind: str = field(default="error_reported", init=False)

    @dataclass(slots=True)
    class BackgroundChanged:
        """The work that the agent has running beside its turns, whole, after a change: its end may begin another turn."""

        tasks: tuple[str, ...] = ()
        kind: str = field(default="background_changed", init=False)

    @dataclass(slots=True)
    class Notice:
        """Anything worth a dim line: retries inside the agent, hooks, notifications."""

        text: str
        kind: str = field(default="notice", init=False)

    @dataclass(slots=True)
    class Unknown:
        """An event type that ralph does not know; the raw log has all of it. ``has_words``: it holds prose."""

        type: str
        has_words: bool = False
        kind: str = field(default="unknown", init=False)

    @dataclass(slots=True)
    class Noise:
        """A line that is not an event: other output, or (``torn``) an event cut in the middle."""

        text: str
        torn: bool = False
        kind: str = field(default="noise", init=False)

    AgentEvent = (
        SessionStarted | Text | Reasoning | ToolStarted | ToolEnded | TodoChanged | UsageReported | TurnEnded
        | LimitReported | ErrorReported | BackgroundChanged | Notice | Unknown | Noise
    )  # fmt: skip
    return locals()

def ralph_domain_agent_network():
    """Whether a fault means that the model cannot be reached: no fault of the agent's, and no reason to give up soon."""

    import re

    _m = _module("ralph.patterns"); pattern = _m["pattern"]

    _MAYBE_WRONG = pattern(
        r"ENOTFOUND|EAI_AGAIN|EAI_NONAME|getaddrinfo|could ?n[o']t resolve host|name resolution"
        r"|name or service not known|nodename nor servname|failed to lookup address|dns error|no such host"
        r"|ECONNREFUSED|connection ?refused",
        re.IGNORECASE,
    )
    _AWAY = pattern(
        r"ENETUNREACH|EHOSTUNREACH|ENETDOWN|EHOSTDOWN|ETIMEDOUT|network is (?:unreachable|down)|no route to host"
        r"|(?:connection|connect) timed out|connect timeout|FailedToOpenSocket|waiting for network|fetch failed"
        r"|error sending request|unable to connect to api|\bconnection error\b|connection_failed",
        re.IGNORECASE,
    )
    _ANSWERED = pattern(r"(?<!port )\b[45]\d\d\b(?! ?ms)")
    """A server that answers with a status has been reached, whatever else it says."""

    def no_network(reason: str, *, lasting: str = "") -> str:
        """What is wrong with the network, if ``reason`` says so, and for how long; otherwise empty.

    A name that does not resolve and a refused connection may be a wrong address as well: only time can tell.
    """
        if _ANSWERED.search(_without_addresses(reason)):
            return ""
        if _MAYBE_WRONG.search(reason):
            return f"no network{lasting}, or the address is wrong"
        return f"no network{lasting}" if _AWAY.search(reason) else ""

    def _without_addresses(reason: str) -> str:
        """Ports and paths are no statuses."""
        return re.sub(r"\S*[:/.]\S+", " ", reason)
    return locals()

def ralph_domain_holder():
    """Who holds a workspace. A holder whose process is gone holds nothing."""

    from enum import StrEnum

    _m = _module("ralph.values"); dataclass = _m["dataclass"]

    class Mode(StrEnum):
        """What a holder does there; they exclude each other."""

        PLANNING = "planning"
        EXECUTING = "executing"
        VERIFYING = "verifying"

    @dataclass(frozen=True, slots=True)
    class Owner:
        """One process, told from all others that ever had its pid."""

        pid: int
        process_started: str
        boot_id: str
        host: str

    NOBODY = Owner(pid=2**31 - 1, process_started="", boot_id="", host="")
    """Of a run that came from another record, before a process here takes it up."""

    @dataclass(frozen=True, slots=True)
    class Hold:
        """``run_id`` is empty if no run holds the workspace, but a mode that was started by hand, or a ``session``."""

        workspace: str
        mode: Mode
        owner: Owner
        since: float
        run_id: str = ""
        session: str = ""  # of Claude Code, with a loop of its own

    SILENT = 120.0
    """Seconds. A run gives a sign of life every second, whatever it does."""

    def is_stale(owner: Owner, *, here: Owner, started_of: str | None, silent: float | None = None) -> bool:
        """``started_of``: when the process that has the owner's pid now was started; None if there is none. ``silent``: how many
    seconds ago its run gave its last sign of life; None if it gives none.

    What runs on another machine cannot be looked at, so it is believed to be there until it is silent for long. A sign from
    the future is as old: whatever lives stamps its signs with the time of the disk, and a copy keeps those of another machine.
    """
        if owner == NOBODY:
            return True
        if owner.host != here.host:
            return silent is not None and abs(silent) > SILENT
        return owner.boot_id != here.boot_id or owner.process_started != started_of
    return locals()

def ralph_domain_loop_feedback():
    """What goes back into the next prompt."""

    from enum import StrEnum

    _m = _module("ralph.domain.loop.session_report"); Ending = _m["Ending"]
    _m = _module("ralph.values"); dataclass = _m["dataclass"]

    class Placement(StrEnum):
        """The setting ``failAction``: where a failure message goes relative to the prompt."""

        APPEND = "APPEND"
        PREPEND = "PREPEND"
        REPLACE = "REPLACE"

    @dataclass(frozen=True, slots=True)
    class Feedback:
        """One message and its place."""

        text: str
        placement: Placement = Placement.APPEND
        is_history: bool = False  # of earlier sessions; it does not say why the last one was not accepted

    def remark_on(report: AgentReport) -> Feedback | None:
        """What the next session learns about how the last one ended."""
        match report.ending:
            case Ending.TIMED_OUT:
                return Feedback("The previous session was ended by the harness: it ran out of time.")
            case Ending.IDLE:
                return Feedback("The previous session was ended by the harness: it printed nothing for too long.")
            case Ending.EXITED if report.reason:
                return Feedback(
                    f"The previous session was cut short: {report.reason}. Nothing that it said was counted."
                )
            case Ending.EXITED if report.tags and not report.is_orderly:
                tag = report.tags[-1]
                return Feedback(
                    f"The program of the previous session ended with exit code {report.exit_code}, so nothing it said was"
                    f" counted, not even <{tag.name}>{tag.content[:80]}</{tag.name}>. If the work is done, say so again and"
                    " end without an error."
                )
            case _:
                return None

    def remark_on_promise(tags: Sequence[Tag], promise: str) -> Feedback | None:
        """For a session that gave another promise than its stage's, and so claimed nothing."""
        said = [tag.content for tag in tags if tag.name == "promise"]
        if not promise or not said or promise in said:
            return None
        return Feedback(
            f"You said <promise>{said[-1][:80]}</promise>. That is not the promise asked for, so nothing was verified."
            f" When the work is done, say exactly <promise>{promise}</promise>."
        )

    def guardrail_failure(
        *, command: str, exit_code: int | str, hint: str, log_file: str, output: str, is_cut: bool
    ) -> str:
        """A fixed format that prompts and scripts rely on. ``output`` may be cut already; the hint never is."""
        hint_line = f"Hint: {hint}\n" if hint else ""
        return (
            f'Guardrail "{command}" failed with exit code {exit_code}.\n'
            f"{hint_line}"
            f"Output file: {log_file}\n"
            f"Output{' (truncated)' if is_cut else ''}:\n"
            f"{output}"
        )
    return locals()

def ralph_domain_loop_prompt():
    """The prompt of one iteration, from the task and the feedback of the last session."""

    _m = _module("ralph.domain.loop.feedback"); Placement = _m["Placement"]
    _m = _module("ralph.values"); dataclass = _m["dataclass"]

    SEPARATOR = "\n\n"

    def compose(base: str, feedback: Sequence[Feedback]) -> str:
        """The base prompt with feedback above, below or in place of it; each group in order.

    REPLACE replaces the *base*, never other feedback: no failure message is lost.
    """
        above = [item.text for item in feedback if item.placement is Placement.PREPEND]
        instead = [item.text for item in feedback if item.placement is Placement.REPLACE]
        below = [item.text for item in feedback if item.placement is Placement.APPEND]
        return SEPARATOR.join([*above, *(instead or [base]), *below])

    def with_iteration_count(prompt: str, *, iteration: int, maximum: int) -> str:
        """The setting ``includeIterationCountInPrompt``."""
        remaining = max(0, maximum - iteration)
        return f"Iteration {iteration} of {maximum}, {remaining} remaining.{SEPARATOR}{prompt}"

    @dataclass(frozen=True, slots=True)
    class AsGiven:
        """The prompt as given, with feedback, and the iteration count first if wanted."""

        with_count: bool = False

        def __call__(
            self, assignment: Assignment, feedback: Sequence[Feedback], *, iteration: int, maximum: int | None
        ) -> str:
            prompt = compose(assignment.objective, feedback)
            if self.with_count and maximum is not None:
                return with_iteration_count(prompt, iteration=iteration, maximum=maximum)
            return prompt

    def fill(template: str, values: Mapping[str, str]) -> str:
        """Replace each ``{{NAME}}`` once, literally: a value that contains ``{{MAX}}`` comes out unchanged."""
        pieces: list[str] = []
        position = 0
        while (start := template.find("{{", position)) >= 0:
            end = template.find("}}", start)
            if end < 0:
                break
            name = template[start + 2 : end]
            pieces.append(template[position:start])
            pieces.append(values.get(name, template[start : end + 2]))
            position = end + 2
        pieces.append(template[position:])
        return "".join(pieces)
    return locals()

def ralph_domain_loop_session_report():
    """How an agent session ended, as a value: nothing an agent does raises an exception."""

    from enum import StrEnum

    _m = _module("ralph.domain.agent.events"); Usage = _m["Usage"]
    _m = _module("ralph.domain.agent.network"); no_network = _m["no_network"]
    _m = _module("ralph.values"); dataclass = _m["dataclass"]; field = _m["field"]

    _COST_DIGITS = 12  # a difference of binary fractions has noise behind that, and people would see it

    class Ending(StrEnum):
        """Why the process ended."""

        EXITED = "exited"  #: by itself
        TIMED_OUT = "timed_out"  #: it took too long
        IDLE = "idle"  #: no output for too long
        STOPPED = "stopped"  #: the user asked to stop now
        LIMITED = "limited"  #: the run reached a limit during the session
        NOT_STARTED = "not_started"  #: could not be started at all

    @dataclass(frozen=True, slots=True)
    class Transient:
        """Worth trying again: a network error, an overloaded model, a crash."""

        reason: str
        kind: str = field(default="transient", init=False)

    @dataclass(frozen=True, slots=True)
    class RateLimited:
        """Nothing to do before ``until`` (seconds since the epoch; None: unknown)."""

        reason: str
        until: float | None = None
        kind: str = field(default="rate_limited", init=False)

    @dataclass(frozen=True, slots=True)
    class Fatal:
        """Trying again cannot help: not logged in, unknown flag, missing executable.

    ``is_full``: its context was full from the start. If that was an earlier session's, a fresh one may help.
    """

        reason: str
        hint: str = ""
        is_full: bool = False
        kind: str = field(default="fatal", init=False)

    Fault = Transient | RateLimited | Fatal

    @dataclass(frozen=True, slots=True)
    class Exhausted:
        """No fault: it reached a limit of its own (turns, time, context), and is judged as it is."""

        reason: str

    class Obstacle(StrEnum):
        """What kept a session, of a worker or of a judge, from its work."""

        TRANSIENT = "transient"
        OFFLINE = "offline"  #: passing too, but it may take hours: the network is away
        RATE_LIMITED = "rate_limited"
        FATAL = "fatal"
        LIMIT_REACHED = "limit_reached"  #: a limit of the run itself

    _LASTING = (
        Obstacle.LIMIT_REACHED,
        Obstacle.FATAL,
        Obstacle.RATE_LIMITED,
        Obstacle.OFFLINE,
        Obstacle.TRANSIENT,
    )

    @dataclass(frozen=True, slots=True)
    class Hindrance:
        """Nobody's work was judged by this: neither the worker's, nor, if a judge was hindered, what it should judge.

    ``until`` and ``hint`` as in the faults.
    """

        obstacle: Obstacle
        reason: str
        until: float | None = None
        hint: str = ""

        @classmethod
        def of(cls, fault: Fault) -> Hindrance:
            match fault:
                case RateLimited(reason, until):
                    return cls(Obstacle.RATE_LIMITED, reason, until)
                case Fatal(reason, hint):
                    return cls(Obstacle.FATAL, reason, hint=hint)
                case Transient(reason):
                    return cls(Obstacle.OFFLINE if no_network(reason) else Obstacle.TRANSIENT, reason)

    def most_lasting(failures: Sequence[Hindrance | None]) -> Hindrance | None:
        """What keeps checks that failed from judging; None if one of them has judged, or none failed.

    Waiting for a limit does not help a judge who is not logged in.
    """
        hindered = [one for one in failures if one is not None]
        if not hindered or len(hindered) < len(failures):
            return None
        return min(hindered, key=lambda one: _LASTING.index(one.obstacle))

    @dataclass(frozen=True, slots=True)
    class Spend:
        """Money, tokens and time. Unknown cost is not zero: ``cost_usd`` is None until some is reported, and with
    ``is_partly_unknown``, more was used, without a known price: it cost at least this."""

        cost_usd: float | None = None
        usage: Usage = Usage()
        seconds: float = 0.0
        is_partly_unknown: bool = False

        @classmethod
        def of_session(cls, cost_usd: float | None, usage: Usage, seconds: float = 0.0) -> Spend:
            return cls(cost_usd, usage, seconds, is_partly_unknown=cost_usd is None and usage.total > 0)

        def __sub__(self, earlier: Spend) -> Spend:
            """What was added to an earlier sum."""
            cost = (
                None if self.cost_usd is None else round(self.cost_usd - (earlier.cost_usd or 0.0), _COST_DIGITS)
            )
            used = self.usage - earlier.usage
            is_new = used.total > 0 or not earlier.is_partly_unknown
            return Spend(cost, used, self.seconds - earlier.seconds, self.is_partly_unknown and is_new)

        def __add__(self, other: Spend) -> Spend:
            costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
            return Spend(
                cost_usd=sum(costs) if costs else None,
                usage=self.usage + other.usage,
                seconds=self.seconds + other.seconds,
                is_partly_unknown=self.is_partly_unknown or other.is_partly_unknown,
            )

    @dataclass(frozen=True, slots=True)
    class AgentReport:
        """One session. ``text`` is assistant text only, bounded; ``tags`` are all tags in the full text.

    ``reason`` says which limit of the run ended it (``Ending.LIMITED``), or which of its own it reached.
    """

        ending: Ending = Ending.EXITED
        exit_code: int | None = 0
        is_orderly: bool = True  # it ended by itself: its last turn ended well, or it exited with 0
        text: str = ""
        tags: tuple[Tag, ...] = ()
        fault: Fault | None = None
        spend: Spend = Spend()
        reason: str = ""
        tools: int = 0
        tool_errors: int = 0
        denials: tuple[str, ...] = ()  # tools it was not permitted to use, one entry per call
        cut_off: tuple[str, ...] = ()  # what it had running beside its turns when it ended

        @property
        def hindrance(self) -> Hindrance | None:
            if self.ending is Ending.LIMITED:
                return Hindrance(Obstacle.LIMIT_REACHED, self.reason)
            return None if self.fault is None else Hindrance.of(self.fault)
    return locals()

def ralph_domain_plan_active_marker():
    """``.ralph-active``: what a run over a plan tells the hooks inside its sessions. Advice only: nothing here is trusted."""

    import json

    _m = _module("ralph.domain.plan.stop_checks"); snapshot_from_json = _m["snapshot_from_json"]; snapshot_json = _m["snapshot_json"]
    _m = _module("ralph.domain.plan.story"); DEFAULT_REVIEW_CAP = _m["DEFAULT_REVIEW_CAP"]; IterationMode = _m["IterationMode"]; ReviewRules = _m["ReviewRules"]
    _m = _module("ralph.values"); dataclass = _m["dataclass"]

    MARKER_FILE = ".ralph-active"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class ActiveMarker:
        """What the hooks of a session need to know. Without snapshot or mode, transitions go unchecked.

    ``uncommitted``: files that were uncommitted before the session, named from the top of the repository.
    """

        pid: int
        timestamp: str = ""
        max_iterations: int | None = None
        mode: str = "direct"  # or "sandbox"
        skip_review: bool = False
        review_cap: int = DEFAULT_REVIEW_CAP
        iteration_mode: IterationMode | None = None
        snapshot: Mapping[str, ReviewState] | None = None
        ralph_dir: str = "ralph"
        run_id: str = ""
        uncommitted: Sequence[str] = ()

        @property
        def rules(self) -> ReviewRules:
            return ReviewRules(self.review_cap, self.skip_review)

        def text(self) -> str:
            fields: dict[str, object] = {
                "timestamp": self.timestamp,
                "pid": self.pid,
                "max_iterations": self.max_iterations,
                "mode": self.mode,
                "skipReview": self.skip_review,
                "reviewCap": self.review_cap,
                "ralphDir": self.ralph_dir,
            }
            if self.run_id:
                fields["runId"] = self.run_id
            if self.uncommitted:
                fields["uncommittedBefore"] = list(self.uncommitted)
            if self.iteration_mode is not None:
                fields["iterationMode"] = self.iteration_mode.value
            if self.snapshot is not None:
                fields["preIterationSnapshot"] = snapshot_json(self.snapshot)
            return json.dumps(fields, indent=2) + "\n"

    def active_marker_from(text: str) -> ActiveMarker | None:
        """None if it is no marker at all; fields that make no sense have their usual values."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(fields, dict) or not is_whole(fields.get("pid")) or fields["pid"] <= 0:
            return None
        cap, maximum, mode = fields.get("reviewCap"), fields.get("max_iterations"), fields.get("iterationMode")
        folder, run, before = fields.get("ralphDir"), fields.get("runId"), fields.get("uncommittedBefore")
        return ActiveMarker(
            pid=fields["pid"],
            timestamp=str(fields.get("timestamp", "")),
            max_iterations=maximum if is_whole(maximum) else None,
            mode=str(fields.get("mode", "direct")),
            skip_review=fields.get("skipReview") is True,
            review_cap=cap if is_whole(cap) and cap > 0 else DEFAULT_REVIEW_CAP,
            iteration_mode=IterationMode(mode) if mode in tuple(IterationMode) else None,
            snapshot=snapshot_from_json(fields.get("preIterationSnapshot")),
            ralph_dir=folder if isinstance(folder, str) and folder else "ralph",
            run_id=run if isinstance(run, str) else "",
            uncommitted=tuple(map(str, before)) if isinstance(before, list) else (),
        )

    def is_whole(value: object) -> TypeGuard[int]:
        return isinstance(value, int) and not isinstance(value, bool)
    return locals()

def ralph_domain_plan_context_use():
    """How full a session's context window is, and what to tell the agent about it (the context monitor).

No dataclasses here: a hook imports this after every tool call, and they cost more than the rest of it.
"""

    import json

    _m = _module("ralph.patterns"); pattern = _m["pattern"]

    DEFAULT_WINDOW = 200_000
    LARGE_WINDOW = 1_000_000
    DEFAULT_DIVISOR = 4.0
    """Characters of the transcript for a token, where nothing better is known."""

    LONGEST_LINE = 8_000_000
    """Bytes; a longer line of a transcript is no message of the model."""

    NOTICE, WARNING, CRITICAL = "NOTICE", "WARNING", "CRITICAL"
    THRESHOLDS = {50: NOTICE, 60: NOTICE, 70: WARNING, 80: WARNING, 90: CRITICAL}
    """Percent of the window → how serious it is."""

    IN_A_PLAN = {
        NOTICE: "Be mindful of remaining space. Plan to finish your current task within this session. If you discover "
        "follow-up work, add new stories to tasks.json — the next iteration will pick them up.",
        WARNING: "Finish your current task and commit soon. Do not start additional tasks. If work remains, create new "
        "stories in tasks.json for the next iteration and capture any implementation details or insights in progress.txt "
        "so the next iteration has full context.",
        CRITICAL: "Wrap up immediately. Do NOT start new work. Instead: (1) create tasks in tasks.json for any remaining "
        "work, (2) write implementation details, insights, and handoff notes to progress.txt, (3) commit all changes, "
        "(4) stop. The next iteration will continue from where you left off.",
    }
    ELSEWHERE = {
        NOTICE: "Be mindful of remaining space. Plan to finish your current task within this session.",
        WARNING: "Finish your current task soon. Do not start additional tasks. If work remains, write down what it is, "
        "with the details that whoever continues it needs.",
        CRITICAL: "Wrap up immediately. Do NOT start new work. Instead: (1) leave the files in a working state, (2) write "
        "down what remains and what you learned, (3) stop.",
    }
    """What to say: tasks.json and progress.txt are for sessions of `ralph plan run` only."""

    Usage = tuple[int, str]
    """Tokens in the context at the model's last answer, and the model."""

    AFTER_COMPACTION: Usage = (0, "")
    """What came before is no longer in the context; the next answer tells how much is left."""

    _FAMILY = pattern(r"claude-[a-z]+-(\d{1,2})(?!\d)")
    _FIRST_LARGE = 5
    """From this generation on, models have the large window."""

    _COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")

    def last_usage(newest_first: Iterable[bytes]) -> Usage | None:
        """The newest exact figure among a transcript's lines; None if there is none. Subagents have contexts of their own."""
        for line in newest_first:
            usage = usage_in(line)
            if usage is not None:
                return usage
        return None

    def usage_in(line: bytes) -> Usage | None:
        """What one line of a transcript says about the context, if anything; foreign lines never raise."""
        if len(line) > LONGEST_LINE or (b'"usage"' not in line and b'"compact_boundary"' not in line):
            return None
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(entry, dict) or entry.get("isSidechain") is True:
            return None
        if entry.get("type") == "system" and entry.get("subtype") == "compact_boundary":
            return AFTER_COMPACTION
        message = entry.get("message")
        if entry.get("type") != "assistant" or not isinstance(message, dict):
            return None
        usage, model = message.get("usage"), message.get("model")
        if not isinstance(usage, dict):
            return None
        counts = [usage.get(name) for name in _COUNTS]
        tokens = sum(count for count in counts if type(count) is int and count > 0)
        # An API error is written as a message without an author, with zeros.
        return (tokens, model if isinstance(model, str) else "") if tokens else None

    def window_of(model: str) -> int:
        """Tokens that fit; of an unknown model the smaller window: better told too early than too late."""
        if "[1m]" in model.lower():
            return LARGE_WINDOW
        family = _FAMILY.search(model)
        return LARGE_WINDOW if family is not None and int(family[1]) >= _FIRST_LARGE else DEFAULT_WINDOW

    def estimated_tokens(size: int, divisor: float = DEFAULT_DIVISOR) -> int:
        """From the size of the transcript. Runs high: it has more in it than the model sees."""
        return int(size / divisor)

    def thresholds_due(percent: float, told: Collection[int]) -> tuple[int, ...]:
        """Those that are reached and were not told yet. The highest says it all; the others count as told with it."""
        return tuple(threshold for threshold in THRESHOLDS if threshold <= percent and threshold not in told)

    def alert(threshold: int, *, tokens: int, window: int, is_exact: bool, in_plan: bool) -> str:
        severity = THRESHOLDS[threshold]
        message = (IN_A_PLAN if in_plan else ELSEWHERE)[severity]
        about = "" if is_exact else "about "
        return (
            f"[{severity}] Context usage: {about}{min(100, 100 * tokens / window):.0f}% "
            f"({about}{tokens:,} of {window:,} tokens). {message}"
        )
    return locals()

def ralph_domain_plan_document():
    """A plan's tasks.json: reading it, finding everything that is wrong with it, and writing it back.

Fields that ralph does not know, and the order of all fields, survive reading and writing: the agent edits this file too.
"""

    import json
    from functools import cached_property

    _m = _module("ralph.domain.plan.document_problems"); structure_problems = _m["structure_problems"]
    _m = _module("ralph.domain.plan.story"); Review = _m["Review"]; Story = _m["Story"]
    _m = _module("ralph.domain.text.reader"); Problem = _m["Problem"]
    _m = _module("ralph.domain.text.strict_json"); BadJson = _m["BadJson"]; parse_json = _m["parse_json"]
    _m = _module("ralph.values"); dataclass = _m["dataclass"]

    LARGEST_CHARS = 20_000_000

    Problems = tuple[Problem, ...]

    @dataclass(frozen=True)
    class TasksDocument:
        """A document that can be worked with. Immutable; ``data`` is the JSON as it was read."""

        data: Raw

        @cached_property
        def stories(self) -> tuple[Story, ...]:
            return tuple(story_of(raw) for raw in self.data["userStories"])

        @cached_property
        def by_id(self) -> Mapping[str, Story]:
            return {story.id: story for story in self.stories}

        @property
        def project(self) -> str:
            return str(self.data["project"])

        @property
        def branch_name(self) -> str:
            return str(self.data["branchName"])

        @property
        def description(self) -> str:
            return str(self.data["description"])

        @property
        def verify_commands(self) -> tuple[str, ...]:
            return tuple(self.data.get("verifyCommands") or ())

        def story(self, key: str) -> Story:
            return self.by_id[key]

        def raw(self, key: str) -> Raw:
            return next(raw for raw in self.data["userStories"] if raw["id"] == key)

        def with_field(self, name: str, value: object) -> TasksDocument:
            return TasksDocument({**self.data, name: value})

        def with_stories(self, raws: Sequence[Raw]) -> TasksDocument:
            return self.with_field("userStories", list(raws))

        def map_stories(self, rule: Callable[[Story], Story]) -> TasksDocument:
            """Each story as ``rule`` makes it, in its place."""
            pairs = [
                (raw, story, rule(story))
                for raw, story in zip(self.data["userStories"], self.stories, strict=True)
            ]
            return self.with_stories([raw if new == old else merge_story(raw, new) for raw, old, new in pairs])

        def with_story(self, story: Story) -> TasksDocument:
            return self.map_stories(lambda known: story if known.id == story.id else known)

        def text(self) -> str:
            text = json.dumps(self.data, indent=2, ensure_ascii=False)
            try:
                text.encode()
            except UnicodeEncodeError:  # half a character, which a file cannot hold
                text = json.dumps(self.data, indent=2)
            return text + "\n"

    def story_of(raw: Raw) -> Story:
        """The story in an entry that has no problems."""
        review = raw["reviewStatus"]
        return Story(
            id=raw["id"],
            title=raw["title"],
            passes=raw["passes"],
            review=None if review is None else Review(review),
            review_count=raw["reviewCount"],
            review_feedback=raw["reviewFeedback"],
            description=raw.get("description") or "",
            acceptance_criteria=tuple(raw["acceptanceCriteria"]),
            priority=raw["priority"],
            notes=raw.get("notes") or "",
            depends_on=tuple(raw.get("dependsOn") or ()),
        )

    def merge_story(raw: Raw, story: Story) -> Raw:
        """The entry with the story's values; what did not change is not touched, not even its spelling."""
        before, after = _values(story_of(raw)), _values(story)
        return {**raw, **{name: value for name, value in after.items() if value != before[name]}}

    def _values(story: Story) -> dict[str, object]:
        """By their names in the file."""
        return {
            "title": story.title,
            "description": story.description,
            "acceptanceCriteria": list(story.acceptance_criteria),
            "priority": story.priority,
            "passes": story.passes,
            "reviewStatus": None if story.review is None else story.review.value,
            "reviewCount": story.review_count,
            "reviewFeedback": story.review_feedback,
            "notes": story.notes,
            "dependsOn": list(story.depends_on),
        }

    def read_document(text: str) -> TasksDocument | Problems:
        """The document, or everything that keeps it from being worked with."""
        data = parse_tasks(text)
        if isinstance(data, Problem):
            return (data,)
        found = structure_problems(data)
        if found:
            return tuple(found)
        assert isinstance(data, dict)
        return TasksDocument(data)

    def problems(document: TasksDocument) -> Problems:
        """Everything that check 1 finds: the structure, and stories that pass without a note."""
        return (*structure_problems(document.data), *note_problems(document))

    def problems_of_text(text: str) -> Problems:
        """The same of a file's text, readable or not."""
        read = read_document(text)
        return problems(read) if isinstance(read, TasksDocument) else read

    def note_problems(document: TasksDocument) -> Problems:
        return tuple(
            Problem((story.id,), "passes is true but notes is empty", "write down what was done")
            for story in document.stories
            if story.passes and not story.notes.strip()
        )

    def parse_tasks(text: str) -> object:
        """The JSON value, or the problem with it."""
        if len(text) > LARGEST_CHARS:
            return Problem((), f"the file is larger than {LARGEST_CHARS // 1_000_000} million characters")
        try:
            read = parse_json(text)
        except BadJson as error:
            return Problem((), f"not valid JSON: {error}")
        if read.repeated:
            twice = read.repeated[0]
            message = f"not valid JSON: line {twice.line}: {twice.path[-1]!r} appears twice in one object"
            return Problem((), message)
        return read.value
    return locals()

def ralph_domain_plan_document_problems():
    """Everything that can be wrong with a tasks.json: types, required fields, ids, dependencies.

A problem's path is the story's id, or the place of an entry that has none.
"""

    import json
    from collections.abc import Mapping
    from typing import Any

    _m = _module("ralph.domain.plan.story"); Review = _m["Review"]
    _m = _module("ralph.domain.tasks.circles"); find_circles = _m["find_circles"]
    _m = _module("ralph.domain.text.reader"); Problem = _m["Problem"]

    LONGEST_ID = 200

    Raw = Mapping[str, Any]

    def structure_problems(data: object) -> list[Problem]:
        """Types, required fields, duplicate ids, dependencies on no story, dependencies in a circle."""
        if not isinstance(data, Mapping):
            return [Problem((), f"must be an object, not {json_kind(data)}")]
        found = type_problems((), data, dict.fromkeys(("project", "branchName", "description"), "a string"))
        found += string_list_problems((), data, "verifyCommands")
        if wrong := type_problems((), data, {"userStories": "an array"}):
            return found + wrong
        sound: list[Raw] = []
        for number, raw in enumerate(data["userStories"]):
            own = story_problems(number, raw)
            found += own
            if not own:
                sound.append(raw)
        return [
            *found,
            *duplicate_problems(data["userStories"]),
            *dependency_problems(data["userStories"], sound),
        ]

    def story_problems(number: int, raw: object) -> list[Problem]:
        if not isinstance(raw, Mapping):
            return [Problem(("userStories", number), f"must be an object, not {json_kind(raw)}")]
        where = place_of(number, raw)
        found = type_problems(where, raw, STORY_FIELDS)
        if isinstance(raw.get("id"), str) and not is_visible_line(raw["id"]):
            found.append(Problem(("userStories", number), "id must be a short line of visible text"))
        criteria = raw.get("acceptanceCriteria")
        if isinstance(criteria, list):
            if not criteria:
                found.append(Problem(where, "acceptanceCriteria must not be empty"))
            found += string_list_problems(where, raw, "acceptanceCriteria")
        if "reviewStatus" not in raw:
            found.append(Problem(where, "reviewStatus is missing"))
        elif raw["reviewStatus"] is not None and raw["reviewStatus"] not in tuple(Review):
            allowed = ", ".join(f'"{review}"' for review in Review)
            status = shown(raw["reviewStatus"])
            found.append(Problem(where, f"reviewStatus must be null or one of {allowed}, not {status}"))
        if isinstance(raw.get("reviewCount"), int) and raw["reviewCount"] < 0:
            found.append(Problem(where, f"reviewCount must not be negative, but is {shown(raw['reviewCount'])}"))
        optional = [name for name in ("notes", "description") if raw.get(name) is not None]
        found += type_problems(where, raw, dict.fromkeys(optional, "a string"))
        return [*found, *string_list_problems(where, raw, "dependsOn")]

    def place_of(number: int, raw: Raw) -> KeyPath:
        """The story's id; its place in the list if it has none."""
        has_id = isinstance(raw.get("id"), str) and raw["id"].strip()
        return (raw["id"],) if has_id else ("userStories", number)

    def is_visible_line(text: str) -> bool:
        return bool(text.strip()) and text.isprintable() and len(text) <= LONGEST_ID

    STORY_FIELDS = {
        "id": "a string",
        "title": "a string",
        "passes": "true or false",
        "priority": "a number",
        "acceptanceCriteria": "an array",
        "reviewCount": "a whole number",
        "reviewFeedback": "a string",
    }
    KINDS: Mapping[str, type | tuple[type, ...]] = {
        "a string": str,
        "true or false": bool,
        "a number": (int, float),
        "a whole number": int,
        "an array": list,
    }

    def type_problems(where: KeyPath, raw: Raw, fields: Mapping[str, str]) -> list[Problem]:
        """``fields``: the kind that each must have."""
        found = []
        for name, kind in fields.items():
            value = raw.get(name)
            # A bool is an int for Python, but no number for anyone else.
            fits = isinstance(value, KINDS[kind]) and (not isinstance(value, bool) or kind == "true or false")
            if name not in raw:
                found.append(Problem(where, f"{name} is missing"))
            elif not fits:
                found.append(Problem(where, f"{name} must be {kind}, not {json_kind(value)}"))
        return found

    def string_list_problems(where: KeyPath, raw: Raw, name: str) -> list[Problem]:
        """An optional array of strings with something in them."""
        value = raw.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            return [Problem(where, f"{name} must be an array, not {json_kind(value)}")]
        return [
            Problem(where, f"{name}[{number}] must be a string that is not empty, not {shown(item)}")
            for number, item in enumerate(value)
            if not isinstance(item, str) or not item.strip()
        ]

    def duplicate_problems(raws: Sequence[object]) -> list[Problem]:
        seen: dict[str, int] = {}
        for raw in raws:
            if isinstance(raw, Mapping) and isinstance(raw.get("id"), str):
                seen[raw["id"]] = seen.get(raw["id"], 0) + 1
        return [
            Problem((key,), f"id appears {count} times; ids must be unique")
            for key, count in seen.items()
            if count > 1
        ]

    def dependency_problems(raws: Sequence[object], sound: Sequence[Raw]) -> list[Problem]:
        known = {raw["id"] for raw in raws if isinstance(raw, Mapping) and isinstance(raw.get("id"), str)}
        needs = {raw["id"]: tuple(raw.get("dependsOn") or ()) for raw in sound}
        unknown = [
            Problem((key,), f"dependsOn names {other!r}, which is not a story")
            for key, others in needs.items()
            for other in others
            if other not in known
        ]
        return unknown + [
            Problem((circle[0],), f"dependsOn goes in a circle: {' → '.join((*circle, circle[0]))}")
            for circle in find_circles(needs)
        ]

    def json_kind(value: object) -> str:
        if value is None:
            return "null"
        if isinstance(value, bool):
            return str(value).lower()
        kinds = {str: "a string", int: "a number", float: "a number", list: "an array", dict: "an object"}
        return kinds.get(type(value), "something else")

    def shown(value: object) -> str:
        return json.dumps(value)[:80]
    return locals()

def ralph_domain_plan_stop_checks():
    """The four checks before a session may stop: schema, review invariants, transitions, clean tree.

The hook runs them early, from what ``.ralph-active`` says; the engine runs them again, from its own memory.
"""

    import json
    from collections.abc import Mapping

    _m = _module("ralph.domain.plan.document"); TasksDocument = _m["TasksDocument"]; problems_of_text = _m["problems_of_text"]; read_document = _m["read_document"]
    _m = _module("ralph.domain.plan.story"); DEFAULT_REVIEW_RULES = _m["DEFAULT_REVIEW_RULES"]; IterationMode = _m["IterationMode"]; Review = _m["Review"]; ReviewState = _m["ReviewState"]

    SNAPSHOT_MISSING = "preIterationSnapshot is missing from .ralph-active: transitions were not checked, only the end state was."

    UNCOMMITTED = """There are uncommitted changes{files}. Before you stop:
1. Update {folder}/progress.txt with what was accomplished and what was learned.
2. Consider whether any lasting pattern belongs in CLAUDE.md or .claude/rules/.
3. Commit ALL changes, including progress.txt and the updates of tasks.json.
Then stop again."""
    FILES_NAMED = 10

    ILLEGAL_IMPLEMENT = (
        "Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. "
        "Story {key} had illegal transition: {change}."
    )
    ILLEGAL_FIX = (
        "Review-fix iterations cannot approve stories. Story {key} must go back to needs_review for re-review. "
        "Illegal transition: {change}."
    )

    STALE_FEEDBACK = (
        'Story {key} still has its reviewFeedback. After you addressed it, set reviewFeedback to "": '
        "the next review starts with nothing."
    )

    def check_schema(text: str | None) -> tuple[str, ...]:
        """Check 1. ``text`` is None if there is no file."""
        if text is None:
            return ("tasks.json does not exist.",)
        return tuple(f"tasks.json is malformed: {problem}" for problem in problems_of_text(text))

    def check_invariants(
        document: TasksDocument, rules: ReviewRules = DEFAULT_REVIEW_RULES
    ) -> dict[str, list[str]]:
        """Check 2: what must hold of every story, whoever changed it. By story id."""
        if rules.skip:
            return {}
        found = {story.id: broken_invariants(story, rules.cap) for story in document.stories}
        return {key: messages for key, messages in found.items() if messages}

    def broken_invariants(story: Story, cap: int) -> list[str]:
        found = []
        if story.passes and story.review is not Review.APPROVED:
            status = "null" if story.review is None else story.review.value
            found.append(
                f"Story {story.id} has passes=true but reviewStatus is '{status}', not 'approved'. "
                "Only review iterations may approve stories. Set passes back to false or complete the review cycle."
            )
        if story.review is Review.APPROVED and not story.passes:
            found.append(
                f"Story {story.id} has reviewStatus 'approved' but passes=false: the two are out of sync. "
                "Only a review iteration sets them, and always both."
            )
        if story.review is Review.CHANGES and not story.review_feedback.strip():
            found.append(
                f"Story {story.id} has reviewStatus 'changes_requested' but reviewFeedback is empty: "
                "feedback required. Say exactly what needs to be fixed and where."
            )
        if not 0 <= story.review_count <= cap + 1:
            found.append(
                f"Story {story.id} has reviewCount {story.review_count}, "
                f"which is not between 0 and the review cap + 1 ({cap + 1})."
            )
        return found

    def check_transitions(
        before: Mapping[str, ReviewState],
        document: TasksDocument,
        mode: IterationMode,
        *,
        skip_review: bool = False,
    ) -> dict[str, list[str]]:
        """Check 2.5: only what the mode allows may have changed since the snapshot. By story id."""
        if skip_review:
            return {}
        found: dict[str, list[str]] = {}
        moved = []
        for story in document.stories:
            earlier = before.get(story.id)
            if earlier is None:
                messages = newcomer_faults(story)
            elif earlier == story.state:
                continue
            else:
                moved.append(story.id)
                done = [key for key, state in before.items() if state.passes and state.review is Review.APPROVED]
                messages = [*transition_faults(earlier, story, mode), *waiting_faults(story, done)]
                if not messages and mode is IterationMode.REVIEW_FIX and story.review_feedback.strip():
                    messages = [STALE_FEEDBACK.format(key=story.id)]
            if messages:
                found[story.id] = messages
        if len(moved) > 1:
            for key in moved:
                found.setdefault(key, []).append(_only_one(mode, key))
        if mode is IterationMode.REVIEW and not moved:
            waiting = [key for key, state in before.items() if state.review is Review.NEEDED]
            for key in waiting[:1]:
                found.setdefault(key, []).append(illegal_review(key, "review must increment reviewCount"))
        missing = "Story {} is gone from tasks.json. Stories may be split or added, never removed."
        return {**found, **{key: [missing.format(key)] for key in before if key not in document.by_id}}

    def waiting_faults(story: Story, done: Sequence[str]) -> list[str]:
        """``done``: the stories that were done before the session."""
        missing = [key for key in story.depends_on if key not in done]
        if not missing:
            return []
        return [
            f"Story {story.id} depends on {', '.join(missing)}, not done yet: it cannot be submitted or reviewed before."
        ]

    def newcomer_faults(story: Story) -> list[str]:
        """New stories are welcome in every mode, in their initial state."""
        return [
            f"New story {story.id} must start incomplete: passes=false, reviewStatus=null, reviewCount=0, "
            f"but {change}."
            for change in changes_between(ReviewState(), story.state)[:1]
        ]

    def transition_faults(before: ReviewState, story: Story, mode: IterationMode) -> list[str]:
        """What was wrong with one story's change."""
        if mode is IterationMode.REVIEW:
            return [illegal_review(story.id, details) for details in review_faults(before, story)]
        found, message = (
            (None, ILLEGAL_IMPLEMENT) if mode is IterationMode.IMPLEMENT else (Review.CHANGES, ILLEGAL_FIX)
        )
        count = before.review_count
        if before == ReviewState(False, found, count) and story.state == ReviewState(False, Review.NEEDED, count):
            return []
        changes = changes_between(before, story.state)
        return [message.format(key=story.id, change=change) for change in changes]

    def review_faults(before: ReviewState, story: Story) -> list[str]:
        found = []
        if before.review is not Review.NEEDED:
            found.append(f"its reviewStatus was {_json(before.review)}, it did not wait for a review")
        if story.review_count == before.review_count:
            found.append("review must increment reviewCount")
        elif story.review_count != before.review_count + 1:
            found.append(f"reviewCount must grow by exactly 1, not {before.review_count} → {story.review_count}")
        approved = story.review is Review.APPROVED and story.passes
        refused = story.review is Review.CHANGES and not story.passes
        if not approved and not refused:
            found.append(
                "it must end as approved with passes=true or as changes_requested with passes=false, "
                f"not as {_json(story.review)} with passes={_json(story.passes)}"
            )
        if refused and not story.review_feedback.strip():
            found.append("changes_requested needs a reviewFeedback that says what to fix")
        return found

    def illegal_review(key: str, details: str) -> str:
        return f"Review iteration made illegal transition on story {key}: {details}."

    def _only_one(mode: IterationMode, key: str) -> str:
        if mode is IterationMode.REVIEW:
            return illegal_review(key, "review may only modify one story")
        return (
            f"One story per iteration: {mode} may only modify the review fields of one story, "
            f"but changed {key} among others."
        )

    def changes_between(before: ReviewState, after: ReviewState) -> list[str]:
        """``passes false → true``, one per field."""
        fields = (
            ("passes", before.passes, after.passes),
            ("reviewStatus", before.review, after.review),
            ("reviewCount", before.review_count, after.review_count),
        )
        return [f"{name} {_json(old)} → {_json(new)}" for name, old, new in fields if old != new]

    def _json(value: object) -> str:
        return json.dumps(value)

    def check_uncommitted(paths: Sequence[str], *, folder: str = "ralph") -> tuple[str, ...]:
        """Check 3. ``paths`` as ``git status`` names them, ralph's own files left out."""
        if not paths:
            return ()
        named = ", ".join(paths[:FILES_NAMED]) + (", …" if len(paths) > FILES_NAMED else "")
        return (UNCOMMITTED.format(files=f" ({named})" if named else "", folder=folder),)

    def stop_reasons(
        text: str | None,
        *,
        snapshot: Mapping[str, ReviewState] | None,
        mode: IterationMode | None,
        rules: ReviewRules = DEFAULT_REVIEW_RULES,
        uncommitted: Sequence[str] = (),
        folder: str = "ralph",
    ) -> tuple[str, ...]:
        """All four checks: why the session may not stop yet. Nothing: it may.

    Without snapshot or mode only the transitions go unchecked; ``SNAPSHOT_MISSING`` is the warning for that.
    """
        found = list(check_schema(text))
        document = read_document(text) if text is not None else ()
        if isinstance(document, TasksDocument):
            found += flat(check_invariants(document, rules))
            if snapshot is not None and mode is not None:
                found += flat(check_transitions(snapshot, document, mode, skip_review=rules.skip))
        return (*found, *check_uncommitted(uncommitted, folder=folder))

    def flat(by_story: Mapping[str, Sequence[str]]) -> list[str]:
        return [message for messages in by_story.values() for message in messages]

    def snapshot_of(document: TasksDocument) -> dict[str, ReviewState]:
        """``preIterationSnapshot``"""
        return {story.id: story.state for story in document.stories}

    def snapshot_json(snapshot: Mapping[str, ReviewState]) -> dict[str, dict[str, object]]:
        return {
            key: {
                "passes": state.passes,
                "reviewStatus": None if state.review is None else state.review.value,
                "reviewCount": state.review_count,
            }
            for key, state in snapshot.items()
        }

    def snapshot_from_json(value: object) -> dict[str, ReviewState] | None:
        """None if it is not what ``snapshot_json`` writes: then there is no snapshot to trust."""
        if not isinstance(value, Mapping):
            return None
        found: dict[str, ReviewState] = {}
        for key, fields in value.items():
            if not isinstance(key, str) or not isinstance(fields, Mapping):
                return None
            passes, review, count = (fields.get(name) for name in ("passes", "reviewStatus", "reviewCount"))
            if not isinstance(passes, bool) or not isinstance(count, int) or isinstance(count, bool):
                return None
            if review is not None and review not in tuple(Review):
                return None
            found[key] = ReviewState(passes, None if review is None else Review(review), count)
        return found
    return locals()

def ralph_domain_plan_story():
    """A story: one entry of tasks.json; which one is next, and in which of the modes implement, review and review-fix."""

    from enum import StrEnum
    from typing import TYPE_CHECKING

    _m = _module("ralph.values"); dataclass = _m["dataclass"]

    class Review(StrEnum):
        """``reviewStatus``; a story nobody has implemented yet has none."""

        NEEDED = "needs_review"
        CHANGES = "changes_requested"
        APPROVED = "approved"

    @dataclass(frozen=True, slots=True)
    class ReviewState:
        """The review-critical fields: what only the right kind of iteration may change."""

        passes: bool = False
        review: Review | None = None
        review_count: int = 0

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Story:
        """What the review cycle needs to know; all other fields stay in the document."""

        id: str
        title: str
        passes: bool = False
        review: Review | None = None
        review_count: int = 0
        review_feedback: str = ""
        description: str = ""
        acceptance_criteria: tuple[str, ...] = ()
        priority: float = 0
        notes: str = ""
        depends_on: tuple[str, ...] = ()

        @property
        def state(self) -> ReviewState:
            return ReviewState(self.passes, self.review, self.review_count)

        def is_done(self, *, skip_review: bool = False) -> bool:
            """Passed, and by a review unless reviews are skipped."""
            return self.passes and (skip_review or self.review is Review.APPROVED)

    # --- which story is next, and in which mode ---

    DEFAULT_REVIEW_CAP = 5
    ITERATIONS_PER_REVIEW = 2
    """One review, and now and then a fix and another review."""

    class IterationMode(StrEnum):
        """The values of ``iterationMode`` in ``.ralph-active``."""

        IMPLEMENT = "implement"
        REVIEW = "review"
        REVIEW_FIX = "review-fix"

    @dataclass(frozen=True, slots=True)
    class StoryMode:
        """What one iteration is for."""

        story: Story
        mode: IterationMode

    @dataclass(frozen=True, slots=True)
    class ReviewRules:
        """How a run reviews. ``block_at_cap``: a story that is still not good at the cap waits for a person."""

        cap: int = DEFAULT_REVIEW_CAP
        skip: bool = False
        block_at_cap: bool = False

    DEFAULT_REVIEW_RULES = ReviewRules()

    def mode_for(document: TasksDocument, *, skip_review: bool = False) -> StoryMode | None:
        """review-fix before review before implement; None: complete, or nothing can start.

    In every mode a story waits for those that it depends on. The lowest ``priority`` comes first, then the order in the document.
    """
        ready = (story for story in document.stories if not waits_for(document, story, skip_review=skip_review))
        ordered = sorted(ready, key=lambda story: story.priority)
        reviews = {Review.CHANGES: IterationMode.REVIEW_FIX, Review.NEEDED: IterationMode.REVIEW}
        for review, mode in () if skip_review else reviews.items():
            for story in ordered:
                if story.review is review and not story.passes:
                    return StoryMode(story, mode)
        for story in ordered:
            if not story.passes and (skip_review or story.review is None):
                return StoryMode(story, IterationMode.IMPLEMENT)
        return None

    def waits_for(document: TasksDocument, story: Story, *, skip_review: bool = False) -> tuple[str, ...]:
        """The stories it depends on that are not done."""
        return tuple(key for key in story.depends_on if not document.by_id[key].is_done(skip_review=skip_review))

    def next_step(document: TasksDocument, story: Story, *, skip_review: bool) -> str:
        """The mode that the story needs next, or why it needs none."""
        if story.is_done(skip_review=skip_review):
            return "done"
        if story.passes:
            return "not approved"
        if missing := waits_for(document, story, skip_review=skip_review):
            return f"waits for {', '.join(missing)}"
        if not skip_review and story.review is Review.CHANGES:
            return "review-fix"
        if not skip_review and story.review is Review.NEEDED:
            return "review"
        return "implement"

    def is_complete(document: TasksDocument, *, skip_review: bool = False) -> bool:
        """Every story passes, and by a review unless reviews are skipped. A plan without stories is not complete."""
        return bool(document.stories) and not unfinished_stories(document, skip_review=skip_review)

    def unfinished_stories(document: TasksDocument, *, skip_review: bool = False) -> tuple[str, ...]:
        return tuple(story.id for story in document.stories if not story.is_done(skip_review=skip_review))

    def estimated_iterations(document: TasksDocument, *, skip_review: bool = False) -> int:
        """About how many are left: three for a story without reviews so far."""
        return sum(_left_for(story, skip_review=skip_review) for story in document.stories)

    def _left_for(story: Story, *, skip_review: bool) -> int:
        if story.is_done(skip_review=skip_review):
            return 0
        if skip_review:
            return 1
        return ITERATIONS_PER_REVIEW if story.review is Review.NEEDED else 1 + ITERATIONS_PER_REVIEW

    def estimate_text(document: TasksDocument, *, skip_review: bool = False) -> str:
        """Five fresh stories at about three iterations each need about 15."""
        left = len(unfinished_stories(document, skip_review=skip_review))
        needed = estimated_iterations(document, skip_review=skip_review)
        if not left:
            return "every story is done: no iterations needed"
        stories = "1 story" if left == 1 else f"{left} stories"
        iterations = "1 iteration" if needed == 1 else f"{needed} iterations"
        each = needed / left
        return f"{stories} × ~{each:.3g} iteration{'' if each == 1 else 's'} each = ~{iterations} needed"  # noqa: RUF001
    return locals()

def ralph_domain_promise_loop_state():
    """The promise loop: its state, its promise and its prompts."""

    import re

    _m = _module("ralph.domain.loop.prompt"); compose = _m["compose"]; fill = _m["fill"]
    _m = _module("ralph.patterns"); pattern = _m["pattern"]
    _m = _module("ralph.values"); dataclass = _m["dataclass"]; field = _m["field"]; replace = _m["replace"]

    DEFAULT_MAX_ITERATIONS = 100
    DEFAULT_COMPLETION_PROMISE = "DONE"
    RALPH_LOOP_STATE_FILE = "ralph-loop"
    """The name of its state file, without the extension."""

    COMPLETION_TAG_PATTERN: re.Pattern[str] = pattern(r"<promise>(.*?)</promise>", re.IGNORECASE | re.DOTALL)
    """The first promise in a text, whatever it says."""

    CONTINUATION_PROMPT = """Ralph loop, iteration {{ITERATION}}/{{MAX}}.

Your previous attempt did not output the completion promise. Continue working on the task:
- Review your progress so far.
- Continue from where you left off.
- When the task is FULLY complete, output: <promise>{{PROMISE}}</promise>
- Do not stop until the task is truly done.

Original task:
{{PROMPT}}"""

    NO_PROMISE = "Your previous attempt did not output the completion promise."
    NOT_ACCEPTED = "Your previous attempt was not accepted; why is said in this prompt."

    _SPECIAL: re.Pattern[str] = pattern(r"[.*+?^${}()|\[\]\\]")

    @dataclass(frozen=True, slots=True)
    class RalphLoopState:
        """``iteration`` counts from 1; ``started_at`` is ISO 8601."""

        active: bool
        iteration: int
        max_iterations: int
        completion_promise: str
        started_at: str
        prompt: str
        extra: Mapping[str, object] = field(default_factory=dict, hash=False)  # other keys of the file, kept

    @dataclass(frozen=True, slots=True)
    class RalphLoopConfig:
        """None is the default."""

        max_iterations: int | None = None
        completion_promise: str | None = None

    def new_state(prompt: str, config: RalphLoopConfig, *, started_at: str) -> RalphLoopState:
        maximum, promise = config.max_iterations, config.completion_promise
        return RalphLoopState(
            active=True,
            iteration=1,
            max_iterations=DEFAULT_MAX_ITERATIONS if maximum is None else maximum,
            completion_promise=DEFAULT_COMPLETION_PROMISE if promise is None else promise,
            started_at=started_at,
            prompt=prompt,
        )

    def config_problem(config: RalphLoopConfig) -> str | None:
        """What would make a loop end at once or never, if anything."""
        if config.max_iterations is not None and config.max_iterations < 1:
            return f"max_iterations must be 1 or more, not {config.max_iterations}"
        if config.completion_promise is not None and not config.completion_promise.strip():
            return "completion_promise must not be empty"
        return None

    def increment_iteration(state: RalphLoopState) -> RalphLoopState:
        return replace(state, iteration=state.iteration + 1)

    def escape_regex(text: str) -> str:
        """``text`` as a pattern that matches nothing but itself."""
        return _SPECIAL.sub(r"\\\g<0>", text)

    def detect_completion(text: str, promise: str) -> bool:
        """Whether any ``<promise>`` in the text says this, ignoring case and surrounding white space.

    Pass only what the assistant said: prompts and tool output contain the tag without promising anything.
    """
        wanted = promise.strip()
        if not wanted:
            return False
        # ASCII: without it IGNORECASE lets a long s (U+017F) match "s", and the tag would not be ours.
        pattern = rf"(?a:<promise>)\s*{escape_regex(wanted)}\s*(?a:</promise>)"
        return re.search(pattern, text, re.IGNORECASE) is not None

    def build_continuation_prompt(state: RalphLoopState) -> str:
        promise, maximum = state.completion_promise, state.max_iterations
        return continuation_prompt(state.prompt, promise=promise, iteration=state.iteration, maximum=maximum)

    def continuation_prompt(
        task: str, *, promise: str, iteration: int, maximum: int | None, why: str = NO_PROMISE
    ) -> str:
        """Every value literally: a task that contains ``{{MAX}}`` comes out unchanged."""
        values = {
            "ITERATION": str(iteration),
            "MAX": str(maximum) if maximum is not None else "unlimited",
            "PROMISE": promise,
            "PROMPT": task,
        }
        return fill(CONTINUATION_PROMPT.replace(NO_PROMISE, why), values)

    @dataclass(frozen=True, slots=True)
    class ContinuationStyle:
        """A ``PromptStyle``: the task first, the continuation later. An assignment's own promise wins."""

        promise: str

        def __call__(
            self, assignment: Assignment, feedback: Sequence[Feedback], *, iteration: int, maximum: int | None
        ) -> str:
            if iteration == 1:
                return compose(assignment.objective, feedback)
            promise, task = assignment.promise or self.promise, assignment.objective
            is_denied = any(not item.is_history for item in feedback)  # a denied promise was given
            why = NOT_ACCEPTED if is_denied else NO_PROMISE
            base = continuation_prompt(task, promise=promise, iteration=iteration, maximum=maximum, why=why)
            return compose(base, feedback)

    # --- as a document -----------------------------------------------------------------------------------------

    _FIELDS: dict[str, tuple[str, type]] = {
        "active": ("active", bool),
        "iteration": ("iteration", int),
        "maxIterations": ("max_iterations", int),
        "completionPromise": ("completion_promise", str),
        "startedAt": ("started_at", str),
        "prompt": ("prompt", str),
    }
    _TYPE_NAMES = {bool: "true or false", int: "a whole number", str: "a text"}

    def state_to_document(state: RalphLoopState) -> dict[str, object]:
        """Our own keys first, then the other keys of the file."""
        known: dict[str, object] = {key: getattr(state, name) for key, (name, _) in _FIELDS.items()}
        return known | {key: value for key, value in state.extra.items() if key not in known}

    def state_from_document(document: object) -> tuple[RalphLoopState | None, tuple[str, ...]]:
        """The state, or None and what is wrong with it. Never raises."""
        if not isinstance(document, dict):
            return None, ("it is not a JSON object",)
        problems = tuple(
            f"{key} must be {_TYPE_NAMES[kind]}" if key in document else f"{key} is missing"
            for key, (_, kind) in _FIELDS.items()
            if type(document.get(key)) is not kind  # not isinstance: to Python, true is a number
        )
        if problems:
            return None, problems
        known = {name: document[key] for key, (name, _) in _FIELDS.items()}
        others = {key: value for key, value in document.items() if key not in _FIELDS}
        return RalphLoopState(**known, extra=others), ()
    return locals()

def ralph_domain_promise_session_loop():
    """The promise loop in one session of Claude Code: ``/ralph:loop`` starts it, Stop continues it, ``/ralph:cancel`` ends it.

It belongs to the session that started it. States of ``ralph run`` name no session, so no hook touches them.
"""

    import re
    from collections.abc import Mapping

    _m = _module("ralph.domain.holder"); Owner = _m["Owner"]
    _m = _module("ralph.domain.promise.loop_state"); RalphLoopConfig = _m["RalphLoopConfig"]; build_continuation_prompt = _m["build_continuation_prompt"]; config_problem = _m["config_problem"]; detect_completion = _m["detect_completion"]; increment_iteration = _m["increment_iteration"]; new_state = _m["new_state"]
    _m = _module("ralph.patterns"); pattern = _m["pattern"]
    _m = _module("ralph.values"); dataclass = _m["dataclass"]; replace = _m["replace"]

    SESSION_KEY = "sessionId"
    PROCESS_KEY = "process"
    """Extra keys of the state file: the session, and the process that it runs in."""

    LONGEST_TASK = 100_000

    _COMMAND = pattern(r"\s*/ralph:(loop|cancel)(?:\s+(.*))?\s*", re.DOTALL)
    _OPTION = pattern(
        r"""(?:^|(?<=\s))--(max-iterations|completion-promise)(?:=|\s+)(?:"([^"]*)"|'([^']*)'|(\S+))(?=\s|$)"""
    )
    _UNFINISHED_OPTION = pattern(r"(?:^|\s)--(max-iterations|completion-promise)(?=\s|=|$)")
    _DIGITS = 9

    USAGE = "/ralph:loop [--max-iterations N] [--completion-promise TEXT] TASK"

    @dataclass(frozen=True, slots=True)
    class LoopRequest:
        """The arguments of ``/ralph:loop``."""

        task: str
        config: RalphLoopConfig

    def loop_command(prompt: str) -> tuple[str, str] | None:
        """``("loop", arguments)`` or ``("cancel", …)``; None if the prompt is neither."""
        found = _COMMAND.fullmatch(prompt)
        return (found[1], (found[2] or "").strip()) if found is not None else None

    def loop_request(arguments: str) -> LoopRequest | str:
        """The request, or what is wrong with it. Options may be anywhere; the rest is the task, word for word."""
        values: dict[str, str] = {}
        for option in _OPTION.finditer(arguments):
            values[option[1]] = next(value for value in option.groups()[1:] if value is not None)
        task = _OPTION.sub("", arguments).strip()
        if unfinished := _UNFINISHED_OPTION.search(task):
            return f"--{unfinished[1]} needs a value: {USAGE}"
        if not task:
            return f"there is no task: {USAGE}"
        if len(task) > LONGEST_TASK:
            return f"the task is longer than {LONGEST_TASK:,} characters: put it into a file and give its name"
        maximum = values.get("max-iterations")
        if maximum is not None and not (maximum.isascii() and maximum.isdigit() and len(maximum) <= _DIGITS):
            return f"--max-iterations must be a whole number, not {maximum[:40]!r}"
        config = RalphLoopConfig(
            max_iterations=None if maximum is None else int(maximum),
            completion_promise=values.get("completion-promise"),
        )
        return config_problem(config) or LoopRequest(task, config)

    Process = Mapping[str, object]

    def started_loop(
        request: LoopRequest, *, session: str, started_at: str, process: Process | None = None
    ) -> RalphLoopState:
        state = new_state(request.task, request.config, started_at=started_at)
        return in_process(replace(state, extra={SESSION_KEY: session}), process)

    def in_process(state: RalphLoopState, process: Process | None) -> RalphLoopState:
        """A session that is resumed goes on in another process. None: it is not known."""
        others = {key: value for key, value in state.extra.items() if key != PROCESS_KEY}
        return replace(state, extra=others if process is None else {**others, PROCESS_KEY: dict(process)})

    def session_of(state: RalphLoopState) -> str:
        """Empty: it is not the loop of a session."""
        session = state.extra.get(SESSION_KEY)
        return session if isinstance(session, str) else ""

    def owner_of(state: RalphLoopState) -> Owner | None:
        match state.extra.get(PROCESS_KEY):
            case {"pid": int(pid), "processStarted": str(started), "bootId": str(boot), "host": str(host)}:
                return Owner(pid, started, boot, host)
            case _:
                return None

    def belongs_to(state: RalphLoopState, session: str) -> bool:
        return state.active and bool(session) and state.extra.get(SESSION_KEY) == session

    def in_the_way(state: RalphLoopState | None, session: str, *, run: str | None = None) -> str:
        """Why no new loop can start here; empty if one can. The session's own loop simply starts again.

    ``run`` is the run of ``ralph`` that holds the project; empty: none does; None: that cannot be known, and only the
    state of a run tells.
    """
        if run:
            return f"a run of `ralph` is under way here ({run}): wait for it, or end it with `ralph stop`"
        if state is None or not state.active or belongs_to(state, session):
            return ""
        if SESSION_KEY not in state.extra:
            if run is not None:  # left by one that was killed
                return ""
            return "a run of `ralph` is under way here: wait for it, or end it with `ralph stop`"
        return (
            "another session has a loop here "
            f"({_progress(state)}): end it there, or with /ralph:cancel if that session has ended"
        )

    def opening(state: RalphLoopState) -> str:
        """What the agent reads besides the user's prompt."""
        return (
            f"Ralph loop, iteration {_progress(state)}. Each time you stop, you will be asked to continue until the task is done. "
            f"When it is FULLY complete, and not before, output: <promise>{state.completion_promise}</promise>\n\n"
            f"Task:\n{state.prompt}"
        )

    @dataclass(frozen=True, slots=True)
    class LoopTurn:
        """What happens to a loop when its session wants to stop.

    ``state`` None: it is over. ``prompt`` empty: the session may stop. ``message`` is for the user.
    """

        state: RalphLoopState | None
        prompt: str = ""
        message: str = ""

    def next_turn(state: RalphLoopState, said: str, *, blocks: int, cap: int) -> LoopTurn:
        """``said``: the session's last words. ``blocks``: refused stops in a row without any work, at most ``cap``."""
        count = "1 iteration" if state.iteration == 1 else f"{state.iteration} iterations"
        if detect_completion(said, state.completion_promise):
            return LoopTurn(None, message=f"ralph loop: complete after {count} ({state.completion_promise}).")
        if state.iteration >= state.max_iterations:
            missing = f"<promise>{state.completion_promise}</promise>"
            return LoopTurn(None, message=f"ralph loop: ended after {count} without {missing}.")
        if blocks >= cap:
            reason = f"nothing was done in {blocks} answers in a row"
            return LoopTurn(
                state,
                message=f"ralph loop: paused at {_progress(state)}: {reason}. Say how to continue, or /ralph:cancel.",
            )
        following = increment_iteration(state)
        return LoopTurn(following, build_continuation_prompt(following))

    def _progress(state: RalphLoopState) -> str:
        return f"{state.iteration}/{state.max_iterations}"
    return locals()

def ralph_domain_sandbox_own_git():
    """How ralph runs its own git: no questions, and no program that a repository's configuration could slip in.

An agent may have written that configuration, or made its own repository in the workspace: never start its hooks,
monitors, signing or diff programs. Standard library only: the hooks use this too.
"""

    RUNS_NOTHING: Mapping[str, str] = {
        "core.fsmonitor": "false",
        "core.hooksPath": "/dev/null",
        "submodule.recurse": "false",
    }
    """Configuration for any git that works on what an agent wrote, including the user's own commands."""
    _CONFIGURATION: Mapping[str, str] = {
        **RUNS_NOTHING,
        "diff.ignoreSubmodules": "dirty",
        "diff.external": "",
        "commit.gpgSign": "false",
        "tag.gpgSign": "false",
        "log.showSignature": "false",
        "merge.verifySignatures": "false",
        **{f"gpg.{kind}program": "false" for kind in ("", "openpgp.", "ssh.", "x509.")},
        "core.alternateRefsCommand": "true",
        "advice.graftFileDeprecated": "false",  # what is said of the empty one that ENVIRONMENT names
        "gc.auto": "0",  # it may run a hook of its own
        "maintenance.auto": "false",
        "safe.bareRepository": "explicit",  # a folder of the work may look like one
    }
    ENVIRONMENT: Mapping[str, str] = {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "true",
        "GIT_SEQUENCE_EDITOR": "true",
        "GIT_PAGER": "cat",
        "GIT_ALLOW_PROTOCOL": "file",  # nothing is fetched from where a repository says
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",  # the agent's own git may be running
        "GIT_NO_REPLACE_OBJECTS": "1",  # a commit stays what it was
        "GIT_GRAFT_FILE": "/dev/null",  # and so do its parents
        "LC_ALL": "C",
    }
    _OPTIONS = ("git", *(part for key, value in _CONFIGURATION.items() for part in ("-c", f"{key}={value}")))
    # Looking into a submodule would run what its configuration names. An option, because .gitmodules overrides settings.
    _NOT_INTO_SUBMODULES = "--ignore-submodules=dirty"
    _ALWAYS = {
        "diff": ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", _NOT_INTO_SUBMODULES),
        "diff-files": (_NOT_INTO_SUBMODULES,),
        "diff-index": (_NOT_INTO_SUBMODULES,),
        "fetch": ("--upload-pack=git-upload-pack",),
        "ls-remote": ("--upload-pack=git-upload-pack",),
        "log": ("--no-ext-diff", "--no-textconv", "--submodule=short"),
        "push": ("--receive-pack=git-receive-pack",),
        "show": ("--no-ext-diff", "--no-textconv", "--submodule=short"),
        "status": (_NOT_INTO_SUBMODULES,),
    }

    OWN = (".ralph", ".ralph-active")
    """What ralph writes is never part of the work."""
    NOT_OWN = (".", *(f":(exclude){name}" for name in OWN))

    def own_git(command: str, *arguments: str, configuration: Sequence[str] = ()) -> tuple[str, ...]:
        """The command line, to run with ``ENVIRONMENT``. ``configuration``: further settings, as ``key=value``."""
        more = (part for setting in configuration for part in ("-c", setting))
        return (*_OPTIONS, *more, command, *_ALWAYS.get(command, ()), *arguments)
    return locals()

def ralph_domain_tasks_circles():
    """Dependencies that lead back to where they began: with one, there is no order to work in."""

    def find_circles(needs: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
        """``(a, b)`` if a needs b and b needs a; each circle once. Linear, and no recursion: a chain may be long."""
        finished: set[str] = set()
        for start in needs:
            if start in finished:
                continue
            way = {start: 0}  # in order; the value is the place in it
            left = [iter(needs[start])]
            while left:
                following = next(left[-1], None)
                if following is None:
                    left.pop()
                    finished.add(way.popitem()[0])
                elif following in way:
                    yield tuple(way)[way[following] :]
                elif following in needs and following not in finished:
                    way[following] = len(way)
                    left.append(iter(needs[following]))
    return locals()

def ralph_domain_text_reader():
    """Reads values that people wrote, key by key, and collects all problems before reporting any."""

    import math
    from collections.abc import Mapping

    _m = _module("ralph.values"); dataclass = _m["dataclass"]

    KeyPath = tuple[str | int, ...]
    """``("tasks", 1, "completion", "outcome")``: where in the document."""

    LARGEST_NUMBER = 1_000_000_000
    LONGEST_PLACE = 200
    LONGEST_MESSAGE = 500

    @dataclass(frozen=True, slots=True)
    class Problem:
        """What is wrong (``message``) and what to do about it (``hint``).

    ``path`` is empty for the whole document; ``where`` is the file, the flag or the line, if known.
    """

        path: KeyPath
        message: str
        hint: str = ""
        where: str = ""

        @property
        def key(self) -> str:
            return spell(self.path)

        def __str__(self) -> str:
            """Bounded: an agent may have written what it quotes."""
            message = self.message
            if len(message) > LONGEST_MESSAGE:
                message = f"{message[:LONGEST_MESSAGE]} …"
            text = ": ".join(part for part in (self.where, self.key[:LONGEST_PLACE], message) if part)
            return f"{text}; {self.hint}" if self.hint else text

    def spell(path: KeyPath) -> str:
        """``tasks[1].completion.outcome``."""
        text = ""
        for step in path:
            text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
        return text

    class Reader:
        """Reads one mapping; notes problems and returns defaults instead. ``seen``: the keys that were asked for."""

        __slots__ = ("path", "problems", "seen", "value")

        def __init__(self, value: Mapping[str, object], path: KeyPath, problems: list[Problem]) -> None:
            self.value = value
            self.path = path
            self.problems = problems
            self.seen: set[str] = set()

        def wrong(self, key: str | None, message: str, hint: str = "") -> None:
            self.problems.append(Problem(self.path if key is None else (*self.path, key), message, hint))

        def has(self, key: str) -> bool:
            return self.value.get(key) is not None

        def text(self, key: str, *, one_line: bool = False) -> str:
            """Trimmed; empty if missing."""
            found = self._take(key)
            if found is None:
                return ""
            if not isinstance(found, str):
                self.wrong(key, f"expected text, found {kind_of(found)}", _how_to_fix(found))
                return ""
            return self._check_text(key, found, one_line=one_line)

        def texts(self, key: str) -> tuple[str, ...]:
            found = self._take(key)
            if found is None:
                return ()
            if not isinstance(found, list):
                self.wrong(key, f"expected a list, found {kind_of(found)}", 'one entry a line, each after "- "')
                return ()
            texts: list[str] = []
            for index, entry in enumerate(found):
                if isinstance(entry, str):
                    if text := self._check_text((key, index), entry):
                        texts.append(text)
                    else:
                        self.problems.append(Problem((*self.path, key, index), "is empty"))
                else:
                    at = (*self.path, key, index)
                    message = f"expected text, found {kind_of(entry)}"
                    self.problems.append(Problem(at, message, _how_to_fix(entry)))
            return tuple(texts)

        def whole(self, key: str, *, least: int, most: int = LARGEST_NUMBER) -> int | None:
            found = self._take(key)
            if found is None:
                return None
            if not isinstance(found, int) or isinstance(found, bool):
                self.wrong(key, f"expected a whole number, found {kind_of(found)}")
                return None
            if not least <= found <= most:
                limits = f"at least {least}" if found < least else f"at most {most}"
                self.wrong(key, f"expected a whole number of {limits}, found {found}")
                return None
            return found

        def amount(self, key: str) -> float | None:
            """A number above zero."""
            found = self._take(key)
            if found is None:
                return None
            if not isinstance(found, int | float) or isinstance(found, bool):
                self.wrong(key, f"expected a number, found {kind_of(found)}")
                return None
            if not 0 < found <= LARGEST_NUMBER or math.isnan(found):
                self.wrong(key, f"expected a number above 0, found {found:g}")
                return None
            return found

        def flag(self, key: str) -> bool | None:
            found = self._take(key)
            if found is None or isinstance(found, bool):
                return found
            self.wrong(key, f"expected true or false, found {kind_of(found)}")
            return None

        def inside(self, key: str) -> Reader | None:
            """The mapping under ``key``; None if there is none."""
            found = self._take(key)
            if found is None:
                return None
            if not isinstance(found, Mapping):
                self.wrong(key, f"expected a mapping, found {kind_of(found)}")
                return None
            return Reader(found, (*self.path, key), self.problems)

        def allow(self, *keys: str) -> None:
            """Known keys that are read elsewhere."""
            self.seen.update(keys)

        def refuse_others(self, what: str) -> None:
            """Any key that was not asked for is probably a typo."""
            for key in self.value:
                if key not in self.seen:
                    self.wrong(key, f"unknown {what}", closest(key, self.seen))

        def _take(self, key: str) -> object:
            self.seen.add(key)
            return self.value.get(key)

        def _check_text(self, key: str | KeyPath, text: str, *, one_line: bool = False) -> str:
            path = (*self.path, *((key,) if isinstance(key, str) else key))
            text = text.strip()
            if any("\ud800" <= character <= "\udfff" or character == "\0" for character in text):
                self.problems.append(Problem(path, "contains characters that are not text"))
                return "?"
            if one_line and "\n" in text:
                self.problems.append(Problem(path, "expected one line, found several"))
            return text

    def kind_of(value: object) -> str:
        """In words, with the value if it is short: ``the number 3``, ``a list``."""
        match value:
            case None:
                return "nothing"
            case bool():
                return str(value).lower()
            case int() | float():
                return f"the number {value}" if len(str(value)) <= 20 else "a number"
            case str():
                return f"{value!r}" if len(value) <= 40 else "text"
            case Mapping():
                return "a mapping"
            case _:
                return "a list"

    def closest(word: str, known: Collection[str]) -> str:
        """A hint: the known word that was probably meant, otherwise all of them."""
        near = nearest(word, known)
        return f"did you mean {near}?" if near else f"known: {', '.join(sorted(known))}"

    def nearest(word: str, known: Collection[str]) -> str:
        """The known word that was probably meant, ignoring case; empty if none is similar."""
        import difflib

        by_lower = {name.lower(): name for name in known}
        close = difflib.get_close_matches(word.lower(), list(by_lower), n=1)
        return by_lower[close[0]] if close else ""

    def _how_to_fix(value: object) -> str:
        if isinstance(value, Mapping):
            return "a colon turns a line into a mapping: put the line in quotes"
        return "" if isinstance(value, list) else "put it in quotes"
    return locals()

def ralph_domain_text_strict_json():
    """Reads JSON strictly and says what is wrong and where, in our own words: Python's differ between releases."""

    import functools
    import json
    import math

    _m = _module("ralph.values"); dataclass = _m["dataclass"]

    TYPE_CHECKING = False

    DEEPEST = 64
    MOST_DIGITS = 4300
    """In a whole number: Python's own limit."""
    _CONSTANTS = ("NaN", "Infinity", "-Infinity")
    _SPACE = " \t\n\r"

    class BadJson(ValueError):
        """``str()`` says what is wrong and, if known, at which line and column."""

        def __init__(self, message: str, line: int | None = None, column: int = 0) -> None:
            super().__init__(message if line is None else f"line {line}, column {column}: {message}")
            self.message = message
            self.line = line
            self.column = column

    @dataclass(frozen=True, slots=True)
    class Repeated:
        """A key that appears twice in one object."""

        path: KeyPath
        line: int
        first_line: int

    class Json:
        """``value`` is what was read. Lines are found only on request: most texts are right."""

        def __init__(self, text: str, value: object, *, repeats: bool) -> None:
            self.value = value
            self._text = text
            self._places: _Places | None = None
            self.repeated: tuple[Repeated, ...] = tuple(self._found.repeated) if repeats else ()

        def line_of(self, path: KeyPath) -> int:
            """Of the value, or of the nearest one around it."""
            lines = self._found.lines
            while path not in lines:
                path = path[:-1]
            return lines[path]

        @property
        def _found(self) -> _Places:
            if self._places is None:
                self._places = _walk(self._text)
            return self._places

    def parse_json(text: str) -> Json:
        """The last of repeated keys counts. Raises BadJson."""
        text = text.removeprefix("\ufeff")  # some editors start a file with it
        repeats = False

        def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
            nonlocal repeats
            result = dict(found)
            repeats = repeats or len(result) != len(found)
            return result

        try:
            value = json.loads(text, object_pairs_hook=pairs, parse_constant=_refuse, parse_float=_finite)
        except (ValueError, RecursionError):
            _walk(text)  # finds the same thing, and says where
            message = "a number is too large"  # the only thing that a walk does not check
            raise BadJson(message) from None
        if _is_too_deep(value):
            _walk(text)
        return Json(text, value, repeats=repeats)

    _TOO_DEEP = f"nested deeper than {DEEPEST} levels"

    def _refuse(word: str) -> NoReturn:
        raise ValueError(word)

    def _finite(digits: str) -> float:
        number = float(digits)
        if not math.isfinite(number):
            raise ValueError(digits)
        return number

    def _is_too_deep(value: object) -> bool:
        level = [value] if isinstance(value, dict | list) else []
        for _ in range(DEEPEST):
            level = [
                child
                for item in level
                for child in (item.values() if isinstance(item, dict) else item)
                if isinstance(child, dict | list)
            ]
            if not level:
                return False
        return True

    # --- token by token: where everything is, and what is wrong ---

    @dataclass(frozen=True, slots=True)
    class _Places:
        lines: dict[KeyPath, int]
        repeated: list[Repeated]

    def _walk(text: str) -> _Places:
        """Raises BadJson at the first thing that is not JSON. No recursion."""
        places = _Places({}, [])
        path: list[str | int] = []  # of the value that comes next
        closers: list[str] = []  # of each open object and list
        expected = "value"
        is_first = False  # right after an opening bracket
        after_comma = False
        position, line = 0, 1
        while True:
            start = _skip_space(text, position)
            line += text.count("\n", position, start)
            word = _token(text, start)
            position = start + len(word)
            closer = closers[-1] if closers else ""
            if word == closer != "" and (expected == "comma" or is_first):
                closers.pop()
                path.pop()
                expected, is_first = "comma", False
            elif expected == "comma":
                if not closers:
                    if start < len(text):
                        raise _bad(text, start, "more text after the end of the JSON")
                    return places
                if word != ",":
                    raise _unexpected(text, start, f"a comma or {closer}")
                expected = "name" if closer == "}" else "value"
                last = path[-1]
                path[-1] = last + 1 if isinstance(last, int) else last
                after_comma = True
                continue
            elif expected == "name":
                if not word.startswith('"'):
                    raise _unexpected(
                        text, start, "a name in double quotes", closer=closer if after_comma else ""
                    )
                path[-1] = json.loads(word)
                _take_name(places, tuple(path), line)
                expected, is_first = "colon", False
            elif expected == "colon":
                if word != ":":
                    raise _unexpected(text, start, "a colon after the name")
                expected = "value"
            else:
                if word in ("", "}", "]", ",", ":"):
                    raise _unexpected(text, start, "a value", closer=closer if after_comma else "")
                places.lines.setdefault(tuple(path), line)
                is_first = word in "{["
                if is_first:
                    if len(closers) == DEEPEST:
                        raise _bad(text, start, _TOO_DEEP)
                    closers.append("}" if word == "{" else "]")
                    path.append(0)  # the first name takes its place in an object
                elif word[0] in "-0123456789":
                    _check_number(text, start, word)
                expected = "comma" if not is_first else "name" if word == "{" else "value"
            after_comma = False

    def _take_name(places: _Places, path: KeyPath, line: int) -> None:
        if path in places.lines:
            places.repeated.append(Repeated(path, line, places.lines[path]))
        places.lines[path] = line

    def _skip_space(text: str, position: int) -> int:
        while position < len(text) and text[position] in _SPACE:
            position += 1
        return position

    def _token(text: str, start: int) -> str:
        """The token that starts there; empty if none does."""
        found = _patterns()[0].match(text, start)
        return found[0] if found else ""

    @functools.cache
    def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
        """Of a token, and of a string up to its error; compiled only for an error or a line number."""
        import re

        escape = r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
        plain = r'[^"\\\x00-\x1f]'
        return (
            re.compile(
                rf'"{plain}*(?:{escape}{plain}*)*"'
                r"|[{}\[\],:]|true|false|null"
                r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
            ),
            re.compile(rf'"{plain}*(?:{escape}{plain}*)*'),
        )

    def _check_number(text: str, start: int, word: str) -> None:
        is_whole = not any(sign in word for sign in ".eE")
        if len(word) > MOST_DIGITS if is_whole else not math.isfinite(float(word)):
            raise _bad(text, start, f"the number {word[:40]}{'…' if len(word) > 40 else ''} is too large")

    def _unexpected(text: str, start: int, expected: str, *, closer: str = "") -> BadJson:
        """``closer``: the bracket that must not come right after a comma."""
        found = text[start : start + 1]
        if not text.strip(_SPACE):
            return _bad(text, 0, "it is empty")
        if not found:
            return _bad(text, start, f"expected {expected}, but the text ends here")
        if closer and found == closer:
            return _bad(text, text.rindex(",", 0, start), f"remove this comma: {closer} follows it")
        if found == '"' and not _token(text, start):
            return _bad_string(text, start)
        if word := next((word for word in _CONSTANTS if text.startswith(word, start)), ""):
            return _bad(text, start, f"{word} is not JSON")
        if found in "/#":
            return _bad(text, start, "JSON has no comments: remove this one")
        return _bad(text, start, f"expected {expected}, found {found if found.isprintable() else repr(found)}")

    def _bad_string(text: str, start: int) -> BadJson:
        good = _patterns()[1].match(text, start)
        end = good.end() if good else start
        if end == len(text):
            return _bad(text, start, "this text has no closing quote")
        if text[end] == "\\":
            return _bad(text, end, f"{text[end : end + 2]} is not an escape in JSON: write \\\\ for a backslash")
        if text[end] in "\n\r":
            return _bad(text, start, "this text has no closing quote on its line: write \\n for a line break")
        return _bad(text, end, f"{text[end]!r} cannot be part of a text: write \\u{ord(text[end]):04x}")

    def _bad(text: str, position: int, message: str) -> BadJson:
        line = text.count("\n", 0, position) + 1
        return BadJson(message, line, position - text.rfind("\n", 0, position))
    return locals()

def ralph_domain_trust_demand():
    """What a repository asks of its user: a command that it wants to run, or something that it wants to open."""

    import json
    import re
    from typing import NamedTuple

    class Demand(NamedTuple):
        """``means`` says what it does with ``value``, ``key`` in ``source`` says so.

    ``whole``: what it is a part of. Values that are read together are trusted together. ``place``: what to leave out of
    the settings if it is not trusted. ``says``: all of it in words, where ``means`` and the value would make no sentence.
    """

        means: str
        value: object
        key: str
        source: str
        whole: object = None
        place: tuple[str | int, ...] = ()
        says: str = ""

    VARIABLE = "RALPH_TRUST"
    """``1``: the user agrees to everything; or the digests of what was agreed to, which an agent's ralph inherits."""
    AGREED_RECORDS = Demand("", "", ".ralph", "")
    """The records of runs and tasks that ralph cannot tell from a stranger's, and that were agreed to."""

    def digest_of(project: str, demand: Demand) -> str:
        """What is remembered of a demand that was agreed to, in this project."""
        _m = _module("ralph.domain.trust.digest"); blake2b = _m["blake2b"]

        # Wherever it is in a list.
        known = [project, re.sub(r"\[[0-9]+\]", "[]", demand.key), demand.value, demand.whole]
        data = json.dumps(known, sort_keys=True, separators=(",", ":"))
        return blake2b(data.encode(), digest_size=16).hexdigest()
    return locals()

def ralph_domain_trust_digest():
    """The hash that trust is remembered by."""

    try:
        from _blake2 import blake2b  # importing all of hashlib takes longer than the whole check
    except ImportError:
        from hashlib import blake2b

    __all__ = ["blake2b"]
    return locals()

def ralph_domain_trust_seal():
    """The seal of a state folder: it tells a record that ralph wrote here from one that came with a clone.

It says nothing of what git or an archive put into the folder later: what names commands has a mark of its own.
"""

    import json

    LOGS = frozenset({"ralph.db-wal", "ralph.db-journal", "ralph.db-shm"})
    """SQLite's own files beside the database."""
    RECORDS = LOGS | {
        *("ralph.db", "runs", "state", "tasks", "plans", "worktrees", "forward", "PROJECT-MESSAGE-BUS.md")
    }
    """What ralph writes in a state folder and acts on later."""

    def seal_of(folder: str, key: bytes) -> str:
        """Nobody else has the key, and a folder elsewhere needs another seal."""
        _m = _module("ralph.domain.trust.digest"); blake2b = _m["blake2b"]

        return blake2b(folder.encode(errors="surrogateescape"), key=key, digest_size=32).hexdigest()

    def mark_of(folder: str, name: str, content: object, key: bytes) -> str:
        """For something that ralph wrote under this name in a state folder: elsewhere it needs another, too."""
        _m = _module("ralph.domain.trust.digest"); blake2b = _m["blake2b"]

        data = json.dumps([folder, name, content], sort_keys=True, separators=(",", ":"))
        return blake2b(data.encode(), key=key, digest_size=32).hexdigest()
    return locals()

def ralph_guard_families_call():
    """One program call as the families see it (wrappers removed, words expanded), and rules on its options and operands."""

    from collections.abc import Callable
    from typing import NamedTuple

    _m = _module("ralph.guard.judgement"); Danger = _m["Danger"]
    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.marks"); INPUT = _m["INPUT"]
    _m = _module("ralph.guard.options"); has_flag = _m["has_flag"]
    _m = _module("ralph.guard.places"); place_of = _m["place_of"]

    class Call(NamedTuple):
        program: str
        arguments: list[str]
        cwd: str
        rules: GuardRules
        environment: Mapping[str, str]
        """Variables that the command line itself set for this call."""
        is_torn: bool = False
        """A quote or bracket was left open: what we read may not be what runs."""
        input_text: str = ""
        """What comes on stdin; unknown text if that is not known, nothing if nothing comes."""

        def place(self, path: str) -> Place:
            return place_of(path, self.cwd, self.rules.cwd)

        @property
        def has_input(self) -> bool:
            """xargs or parallel puts words into this call."""
            return any(INPUT in argument for argument in self.arguments)

    class Words(NamedTuple):
        call: Call
        arguments: list[str]
        options: list[str]
        operands: list[str]

        def has(self, short: str = "", long: str = "") -> bool:
            return has_flag(self.options, short, long)

        @property
        def verb(self) -> str:
            """The first operand: ``drop`` of ``git stash drop``."""
            return self.operands[0] if self.operands else ""

    class Rule(NamedTuple):
        """A row in a table."""

        family: str
        conditions: list[Condition]
        what: str
        """May name ``{program}`` and ``{verb}``."""
        instead: str

    def find_danger(rules: Iterable[Rule], words: Words) -> Danger | None:
        for rule in rules:
            if all(condition(words) for condition in rule.conditions):
                what = rule.what.format(program=words.call.program, verb=words.verb)
                return Danger(rule.family, what, rule.instead)
        return None

    Condition: TypeAlias = Callable[[Words], object]

    def read_rules(
        table: str, conditions: Mapping[str, Condition], advice: Mapping[str, str]
    ) -> dict[str, list[Rule]]:
        """A table of lines ``family :: names :: what must be given :: the danger :: the advice``.

    Given, with ``&`` all of it: flags (``-f/--force``), a verb (``stop/disable``), a word anywhere (``has prod|live``), a
    word that matches (``like ^--del``), any operand (``named``), nothing (``always``), a pack that is on (``strict pack``), a
    condition by its name; or ``not`` that. Words are compared in lower case.
    """
        rules: dict[str, list[Rule]] = {}
        for line in table.strip().splitlines():
            family, names, given, what, instead = line.split(" :: ")
            needed = [_read_condition(part, conditions) for part in given.split(" & ")]
            rule = Rule(family, needed, what, advice[instead])
            for name in names.split():
                rules.setdefault(name, []).append(rule)
        return rules

    def _read_condition(text: str, conditions: Mapping[str, Condition]) -> Condition:
        if text in conditions:
            return conditions[text]
        if text in ("always", "named"):
            return lambda words: text == "always" or words.operands
        kind, _, rest = text.partition(" ")
        if kind == "not":
            condition = _read_condition(rest, conditions)
            return lambda words: not condition(words)
        if kind == "has":
            wanted = frozenset(rest.split("|"))
            return lambda words: not wanted.isdisjoint(map(str.lower, words.arguments))
        if kind == "like":
            pattern = LazyPattern(rest)
            return lambda words: any(pattern.search(word.lower()) for word in words.arguments)
        if rest == "pack":
            return lambda words: words.call.rules.has_pack(kind)
        names = text.split("/")
        if not text.startswith("-"):
            return lambda words: words.verb in names
        short = next((name[1:] for name in names if name[:2] != "--"), "")
        long = next((name[2:] for name in names if name[:2] == "--"), "")
        return lambda words: words.has(short, long)
    return locals()

def ralph_guard_families_catalogue():
    """All families: the core, which is always on, and those that the user may switch off with one word of ``guard.allow``."""

    _m = _module("ralph.guard.families.clients"); check_clients = _m["check_clients"]
    _m = _module("ralph.guard.families.containers"); check_containers = _m["check_containers"]
    _m = _module("ralph.guard.families.databases"); check_databases = _m["check_databases"]
    _m = _module("ralph.guard.families.files"); check_files = _m["check_files"]
    _m = _module("ralph.guard.families.git"); check_git = _m["check_git"]
    _m = _module("ralph.guard.families.permissions"); check_permissions = _m["check_permissions"]
    _m = _module("ralph.guard.families.program_table"); check_program = _m["check_program"]
    _m = _module("ralph.guard.families.secrets"); check_secrets = _m["check_secrets"]

    _CHECKS = (
        check_files,
        check_git,
        check_program,
        check_permissions,
        check_secrets,
        check_clients,
        check_containers,
        check_databases,
    )

    def check_families(call: Call) -> Danger | None:
        for check in _CHECKS:
            danger = check(call)
            if danger is not None and not call.rules.is_off(danger.family):
                return danger
        return None
    return locals()

def ralph_guard_families_clients():
    """Clients of clouds, clusters, services, backups and registries. Each is a row: the verbs that destroy, and those of its pack only."""

    from typing import NamedTuple

    _m = _module("ralph.guard.judgement"); Danger = _m["Danger"]
    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.marks"); is_opaque = _m["is_opaque"]
    _m = _module("ralph.guard.options"); command_words = _m["command_words"]; destructive_word = _m["destructive_word"]; is_only_asking = _m["is_only_asking"]; value_of_option = _m["value_of_option"]; words_in = _m["words_in"]

    class _Client(NamedTuple):
        family: str
        destroys: frozenset[str]
        strict: frozenset[str]

    _TABLE = """
backup :: restic :: forget prune :: unlock rebuild-index
backup :: borg :: prune recreate :: compact break-lock
backup :: rclone :: purge deletefile :: sync rmdir rmdirs move moveto cleanup dedupe
backup :: duplicity :: remove-older-than remove-all-but-n-full :: cleanup
backup :: kopia tarsnap velero :: expire nuke ::
cloud :: aws :: schedule-key-deletion leave-organization :: put-secret-value update-secret stop-instances
cloud :: gcloud az :: :: disable untag
cloud :: terraform tofu terragrunt :: :: taint run-all
cloud :: heroku :: pg:reset :: restart
cloud :: railway deck fastly :: down reset :: sync activate
cloud :: pulumi cdk serverless sls eksctl nomad consul cloudflared supabase firebase wrangler cf :: ::
cloud :: gsutil mc azcopy bq s3cmd s5cmd oci ibmcloud scw exo doctl hcloud linode-cli vultr-cli yc :: ::
cloud :: fly flyctl vercel netlify render apigeecli upctl :: ::
containers :: helm argocd flux istioctl :: ::
containers :: kind k3d minikube k9s :: :: delete
services :: gh glab vault op doppler :: :: archive disable cancel reset stop
services :: rabbitmqctl rabbitmqadmin :: reset purge_queue :: clear_permissions stop_app force_boot
services :: kafka-topics kafka-consumer-groups kafka-acls kafka-configs pulsar-admin nats etcdctl :: :: archive roll clear clean disable remove-secret reset cancel restore stop
services :: stripe auth0 okta twilio sendgrid mailgun postmark sentry-cli launchdarkly ldcli flipt :: :: archive roll clear clean disable remove-secret reset cancel restore stop
services :: elastic opensearch-cli algolia meilisearch newrelic datadog-ci splunk pd amtool logcli :: :: archive roll clear clean disable remove-secret reset cancel restore stop
services :: circleci gitlab-runner jenkins-cli knife chef puppet grafana-cli unleash :: :: archive roll clear clean disable remove-secret reset cancel restore stop
services :: gitlab-rake gitlab-backup :: :: gitlab:backup:restore restore
publish :: npm pnpm yarn bun vsce ovsx :: unpublish :: publish deprecate
publish :: cargo gem twine pod goreleaser :: yank trunk/delete :: publish push upload trunk release
publish :: poetry uv hatch flit pdm docker :: :: publish push
publish :: dotnet nuget mix :: nuget/delete delete hex.retire :: publish push hex.publish
publish :: mvn mvnw :: :: deploy release:perform release:prepare
publish :: gradle gradlew :: :: publish uploadArchives publishToMavenCentral
publish :: pip pip3 pipx :: uninstall-all :: uninstall
publish :: snap brew flatpak port winget choco scoop :: uninstall remove rm autoremove ::
publish :: apt apt-get aptitude yum dnf microdnf zypper apk pkg nala :: remove purge erase autoremove autopurge rm del delete group/remove ::
publish :: pacman yay paru :: -R -Rs -Rn -Rns -Rsn -Rc -Rsc -Rnsc -Rcns -Rscn -Rdd --remove ::
publish :: dpkg rpm :: -r -P -e --remove --purge --erase ::
"""
    """Family, programs, verbs that destroy (besides those that mean it everywhere), verbs that count only when the pack is on."""

    def _read_table() -> dict[str, _Client]:
        rows = [line.split("::") for line in _TABLE.strip().splitlines()]
        return {
            program: _Client(family.strip(), words_in(destroys), words_in(strict))
            for family, programs, destroys, strict in rows
            for program in programs.split()
        }

    _CLIENTS = _read_table()
    _EFFECTS = {
        "backup": "deletes backups or remote files",
        "cloud": "destroys or changes running resources",
        "containers": "takes down what is running",
        "services": "deletes or disables something",
        "publish": "publishes software, which cannot be undone, or removes it",
    }
    _ASK = "ask the user to do it"
    _OWN_NOTES = {
        **dict.fromkeys(("gh", "glab"), words_in("cache alias extension run label")),
        "helm": words_in("repo plugin registry"),
    }
    """What is made again, or concerns the user's own tool only."""
    _SYNCS = words_in("sync rsync mirror")
    _SYNC_DELETES = words_in("--delete --delete-destination --remove -d --delete-destination=true")
    _STRICT_FLAGS = LazyPattern(
        r"--(?:delete|remove|reset-offsets|delete-config|delete-records)\b.*|--purge", hints="--"
    )
    _PUBLISH_TASK = LazyPattern(r"(?::?[\w-]+:)?publish\w*")
    _LOCAL_ENDPOINT = LazyPattern(r"https?://(?:localhost|127\.0\.0\.1|localstack|minio)\b.*", hints="http")

    def check_clients(call: Call) -> Danger | None:
        client = _CLIENTS.get(call.program)
        if client is None or is_only_asking(call.arguments):
            return None
        arguments = call.arguments
        if _LOCAL_ENDPOINT.fullmatch(value_of_option(arguments, ("--endpoint-url",)) or ""):
            return None
        words = command_words(arguments)
        if client.family == "publish" and _removes_software(call, client, words):
            return Danger("publish", f"{call.program} removes software that was installed or published", _ASK)
        if _destroys(call, client, words):
            shown = " ".join(words[:3])
            return Danger(client.family, f"{call.program} {shown} {_EFFECTS[client.family]}", _ASK)
        if client.family == "cloud":
            if _SYNCS & {*words, *arguments[:3]} and _SYNC_DELETES & set(arguments):
                return Danger("cloud", "this deletes whatever the source does not have", "sync without deleting")
            if {"-destroy", "--destroy"} & set(arguments) and words[:1] != ["plan"]:
                return Danger("cloud", "this destroys infrastructure", "show the user terraform plan -destroy")
        return None

    def _destroys(call: Call, client: _Client, words: list[str]) -> bool:
        is_strict = call.rules.has_pack(client.family)
        if client.family == "publish":
            return is_strict and _publishes(call, client, words)
        if call.program in ("kind", "k3d", "minikube", "k9s"):
            return is_strict and bool(client.strict & set(words))
        if call.program == "restic" and "-n" in call.arguments:
            return False
        verbs = client.destroys | client.strict if is_strict else client.destroys
        if not is_strict and not _OWN_NOTES.get(call.program, frozenset()).isdisjoint(words[:1]):
            return False
        if call.program.startswith("kafka-") and "--delete" in call.arguments:
            return True
        if (value_of_option(call.arguments, ("-X", "--method")) or "").upper() == "DELETE":
            return True
        has_flag = is_strict and client.family == "services" and any(map(_STRICT_FLAGS.fullmatch, call.arguments))
        return has_flag or bool(destructive_word(words, verbs))

    def _publishes(call: Call, client: _Client, words: list[str]) -> bool:
        is_task = call.program.startswith("gradle") and any(map(_PUBLISH_TASK.fullmatch, words))
        return is_task or not client.strict.isdisjoint((*words[:3], *call.arguments[:3]))

    def _removes_software(call: Call, client: _Client, words: list[str]) -> bool:
        """From a registry, from the machine, or whatever a list names."""
        if "--undo" in call.arguments:
            return False
        options = [word for word in call.arguments if word.startswith("-")]
        if not client.destroys.isdisjoint((*words[:1], "/".join(words[:2]), *options)):
            return True
        is_pip = words[:2] == ["pip", "uninstall"] or (call.program[:3] == "pip" and words[:1] == ["uninstall"])
        return is_pip and (
            any(option.startswith(("-r", "--requirement")) for option in options) or any(map(is_opaque, words))
        )
    return locals()

def ralph_guard_families_containers():
    """Containers and clusters. By default: volumes, everything at once, what runs in a cluster. The pack: any removal by force."""

    _m = _module("ralph.guard.judgement"); Danger = _m["Danger"]
    _m = _module("ralph.guard.marks"); EVERYTHING = _m["EVERYTHING"]; INPUT = _m["INPUT"]
    _m = _module("ralph.guard.options"); command_words = _m["command_words"]; destructive_word = _m["destructive_word"]; has_flag = _m["has_flag"]; is_only_asking = _m["is_only_asking"]; split_options = _m["split_options"]; value_of_option = _m["value_of_option"]; words_in = _m["words_in"]
    _m = _module("ralph.guard.places"); is_throwaway = _m["is_throwaway"]

    ENGINES = words_in("docker podman nerdctl docker-compose podman-compose")
    _CLUSTERS = words_in("kubectl oc")
    _CLUSTER_VERBS = words_in("delete drain")
    _MADE_AGAIN = words_in("pod pods po job jobs event events")
    """What a cluster makes again, or made for one purpose: may be deleted by name."""
    _PRUNED_CACHES = words_in("image images builder buildx network")
    _BY_NAME = "remove only what this project created, by name"

    def check_containers(call: Call) -> Danger | None:
        if call.program not in ENGINES | _CLUSTERS or is_only_asking(call.arguments):
            return None
        words = command_words(call.arguments)
        if call.program in ENGINES:
            what, instead = _engine_danger(call, words)
        else:
            what, instead = _cluster_danger(call, words), "ask the user to do it"
        return Danger("containers", what, instead) if what else None

    def _cluster_danger(call: Call, words: list[str]) -> str:
        is_strict = call.rules.has_pack("containers")
        options, _ = split_options(call.arguments)
        verb = destructive_word(words[:2], _CLUSTER_VERBS | {"replace"} if is_strict else _CLUSTER_VERBS)
        if not verb and "replace" in words[:1] and has_flag(options, long="force"):
            verb = "replace --force"
        if not verb or words[0] == "config":
            return ""
        everything = has_flag(options, long="all") or has_flag(options, "A", "all-namespaces")
        kind = words[words.index(verb) + 1 :][:1] if verb in words else []
        is_one = bool(kind) and kind[0].partition("/")[0] in _MADE_AGAIN and not everything
        places = (
            value_of_option(call.arguments, ("--context", "--kube-context")),
            value_of_option(call.arguments, ("-n", "--namespace")),
        )
        is_local = any(place and is_throwaway(place) for place in (*places, *words[1:3]))
        if not is_strict and verb == "delete" and (is_one or is_local):
            return ""
        return f"{call.program} {verb} takes down what is running"

    def _engine_danger(call: Call, words: list[str]) -> tuple[str, str]:
        options, operands = split_options(call.arguments)
        is_strict = call.rules.has_pack("containers")
        what = words[0] if words else ""
        verb = words[1] if what in words_in("container image volume system network service stack") else what
        names = [operand for operand in operands[1:] if operand not in (what, verb)]
        if "prune" in words[:3] and (is_strict or what not in _PRUNED_CACHES):
            return "prune also deletes containers, images or volumes of other projects", _BY_NAME
        if what == "volume" and verb in ("rm", "remove") and not all(map(is_throwaway, names)):
            return "this deletes a volume with its data", "ask the user to do it"
        if (what == "system" and verb == "reset") or (what in ("stack", "service") and verb in ("rm", "remove")):
            return "this takes down what is running", "ask the user to do it"
        removes = verb in ("rm", "rmi", "remove") and what not in ("volume", "network")
        at_once = has_flag(options, "a", "all") or any(EVERYTHING in name or INPUT in name for name in names)
        if (removes and has_flag(options, "f", "force")) or verb in ("stop", "kill"):
            if is_strict and not (names and all(map(is_throwaway, names))):
                return "this stops or removes containers or images by force", _BY_NAME
            if at_once:
                return "this stops or removes the containers of every project", _BY_NAME
        is_compose = what == "compose" or call.program.endswith("-compose")
        if ("down" in words[:4] or (is_compose and "rm" in words[:4])) and has_flag(options, "v", "volumes"):
            named = [
                value_of_option(call.arguments, names) for names in (("-f", "--file"), ("-p", "--project-name"))
            ]
            if is_strict or not any(name and is_throwaway(name) for name in (*named, *names)):
                return "this deletes volumes with their data", "do it without -v, which keeps them"
        return "", ""
    return locals()

def ralph_guard_families_databases():
    """Databases: dropping, emptying, resetting by a migration tool.

A name that says test is enough to be left alone, one that says production to be watched. In a database that is a file, one
that says development is enough too, and so are the rows of a cache or log. The pack also covers single indexes and steps
back in migrations.
"""

    _m = _module("ralph.guard.judgement"); Danger = _m["Danger"]
    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.options"); base_name = _m["base_name"]; is_only_asking = _m["is_only_asking"]; words_in = _m["words_in"]
    _m = _module("ralph.guard.places"); is_throwaway = _m["is_throwaway"]

    _CLIENTS = words_in(
        "psql mysql mariadb sqlite3 sqlcmd duckdb cockroach clickhouse-client cqlsh mongosh mongo redis-cli usql pgcli mycli bq snowsql"
        " influx valkey-cli neo4j cypher-shell"
    )
    _LOSS = LazyPattern(
        r"(?is)\bdrop\s+(?:table|database|schema|keyspace|collection|owned)\b|\btruncate\s+(?:table\s+)?\w|\bflush(?:all|db)\b"
        r"|\bdelete\s+from\s+[\w.\"`\[\]]+\s*(?:;|$|\"|--|\breturning\b|\bwhere\s+(?:true\b|1\s*(?:;|$|=\s*1\b)))"
        r"|\bupdate\s+[\w.\"`]+\s+set\s+(?:(?!\bwhere\b)[^;]){0,300}(?:;|$)"
        r"|dropDatabase\s*\(|\.drop\s*\(|\.(?:deleteMany|remove)\s*\(\s*(?:\{\s*\}\s*)?\)"
    )
    _TEST_DROP = LazyPattern(
        r"(?i)\bdrop\s+(?:database|schema|table)\s+(?:if\s+exists\s+)?[\"`]?(?:test_\w+|\w+_test)\b",
        hints="test TEST",
    )
    _TEXT = LazyPattern(r"'(?:[^']|'')*'", hints="'")
    _MADE_AGAIN = LazyPattern(
        r"(?i)\bdelete\s+from\s+[\"`]?(?:\w+_)?(?:cache\w*|sessions?|logs?|queue|tmp|temp)(?:_\w+)?\b[\"`]?"
    )
    _DEVELOPMENT = LazyPattern(r"(?i):memory:|(?:.*[^a-z])?(?:dev|development|demo|sample)(?:[^a-z].*)?")
    _STRICT_LOSS = LazyPattern(
        r"(?is)\bdrop\s+(?:index|view|user|role)\b|\balter\s+table\s+\S+\s+drop\b|\.(?:deleteMany|remove|dropIndexes)\s*\("
        r"|\bconfig\s+resetstat|\bdebug\s+segfault"
    )
    _RESETS = r"""
rails rake :: \bdb:(?:drop|reset|purge|truncate\w*|migrate:reset) :: db:(?:schema:load|rollback)
artisan :: migrate:(?:fresh|reset)|db:wipe :: migrate:rollback
console :: doctrine:(?:database|schema):drop
prisma :: migrate reset|db push .*--force-reset
manage.py django-admin :: (?:^| )(?:flush|reset_db)\b|\bmigrate \w+ zero\b
alembic flask :: \bdowngrade (?:.* )?base\b
knex :: migrate:rollback .*--all
sequelize sequelize-cli :: db:drop|undo:all
typeorm typeorm-ts-node-commonjs mikro-orm :: schema:(?:drop|fresh)
mix :: ecto\.(?:drop|reset)
dotnet :: ef database drop
flyway :: \bclean\b
liquibase :: drop-?all
dbmate migrate :: (?:^| )drop\b|(?:^| )down\b.* -all
goose :: \breset\b|down-to 0
sqlx diesel :: database (?:drop|reset)
sea-orm-cli :: migrate (?:fresh|reset|refresh)
atlas :: schema clean
supabase :: db reset
mongorestore :: --drop\b
mysqladmin :: \bdrop\b :: shutdown
dropdb :: .*
dropuser :: $^ :: .*
"""
    """Tools, what of their words empties or drops a database, and what does so for the pack only."""

    def _read_resets() -> dict[str, list[LazyPattern]]:
        rows = [line.split(" :: ") for line in _RESETS.strip().splitlines()]
        return {
            tool: [LazyPattern(f"(?i){text}") for text in texts]
            for tools, *texts in rows
            for tool in tools.split()
        }

    _TOOLS = _read_resets()
    _WITH_HOST = _CLIENTS | {"dropdb", "dropuser", "mysqladmin"}
    """Their -h names a host."""
    _LOCAL = words_in("sqlite3 duckdb")
    _PRODUCTION = LazyPattern(r"(?i)\bprod(?:uction)?\b")
    _BACKUP_FIRST = "take a backup and ask the user; a SELECT shows what would be lost"

    def check_databases(call: Call) -> Danger | None:
        tool, words = _tool_of(call)
        if tool not in _CLIENTS and tool not in _TOOLS:
            return None
        if is_only_asking([word for word in words if word != "-h" or tool not in _WITH_HOST]):
            return None
        settings = [
            value for name, value in call.environment.items() if name.endswith(("ENV", "URL", "DATABASE"))
        ]
        named = [*words, *settings]
        is_production = any(map(_PRODUCTION.search, named))
        is_strict = call.rules.has_pack("databases") or is_production
        if not is_production and any(is_throwaway(word) for word in named if " " not in word):
            return None
        if tool in _CLIENTS:
            is_own = tool in _LOCAL and not is_strict
            if is_own and any(_DEVELOPMENT.fullmatch(word) for word in words if " " not in word):
                return None
            for said in (" ".join(words), *words, call.input_text):
                text = _TEXT.sub("''", _TEST_DROP.sub("", said))
                text = _MADE_AGAIN.sub("", text) if is_own else text
                if _LOSS.search(text) or (is_strict and _STRICT_LOSS.search(text)):
                    return Danger("databases", "this deletes data", _BACKUP_FIRST)
            return None
        line = " ".join(words)
        if any(pattern.search(line) for pattern in _TOOLS[tool][: 2 if is_strict else 1]):
            return Danger("databases", f"{tool} empties or drops a database", _BACKUP_FIRST)
        return None

    def _tool_of(call: Call) -> tuple[str, list[str]]:
        """``python manage.py`` and ``php artisan`` are manage.py and artisan."""
        words = call.arguments
        if call.program not in _TOOLS and (call.program == "php" or call.program.startswith("py")):
            return (base_name(words[0]), words[1:]) if words else ("", [])
        return call.program, words
    return locals()

def ralph_guard_families_files():
    """Files: removing, overwriting and formatting what cannot be restored."""

    import re

    _m = _module("ralph.guard.judgement"); Danger = _m["Danger"]
    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.marks"); INPUT = _m["INPUT"]; UNKNOWN = _m["UNKNOWN"]
    _m = _module("ralph.guard.options"); has_flag = _m["has_flag"]; may_gain_options = _m["may_gain_options"]; split_options = _m["split_options"]; value_of_option = _m["value_of_option"]; words_in = _m["words_in"]
    _m = _module("ralph.guard.places"); HARMLESS = _m["HARMLESS"]; VITAL = _m["VITAL"]; Place = _m["Place"]; is_personal_file = _m["is_personal_file"]; is_regenerated = _m["is_regenerated"]; is_vital_file = _m["is_vital_file"]

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
    return locals()

def ralph_guard_families_git():
    """git: losing uncommitted work, rewriting or deleting history, forcing it on others."""

    _m = _module("ralph.guard.families.call"); Words = _m["Words"]; find_danger = _m["find_danger"]; read_rules = _m["read_rules"]
    _m = _module("ralph.guard.git_call"); GitWords = _m["GitWords"]; read_git = _m["read_git"]
    _m = _module("ralph.guard.judgement"); Danger = _m["Danger"]
    _m = _module("ralph.guard.marks"); INPUT = _m["INPUT"]
    _m = _module("ralph.guard.options"); has_flag = _m["has_flag"]; may_gain_options = _m["may_gain_options"]; split_options = _m["split_options"]

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
    return locals()

def ralph_guard_families_permissions():
    """Permissions and ownership: opened to everyone, or changed for a whole tree of the system."""

    _m = _module("ralph.guard.judgement"); Danger = _m["Danger"]
    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.options"); has_flag = _m["has_flag"]; split_options = _m["split_options"]
    _m = _module("ralph.guard.places"); MACHINE = _m["MACHINE"]; Place = _m["Place"]; is_regenerated = _m["is_regenerated"]

    _OPEN_MODE = LazyPattern(r"0?[0-7]?[0-7][2367][2367]|(?:[augo]*o[augo]*|a+|)[+=][rxst]*w[rwxst]*")
    _CLOSED_MODE = LazyPattern(r"0*[0-3]?[0-7]{0,2}|(?:[ugo]*[ua][ugoa]*|)(?:-[wx]*r[rwxX]*|=[wxX]*)")
    """The owner can no longer read."""
    _FOLDER_CLOSING_MODE = LazyPattern(r"0*[0246][0-7]{2}|(?:[ugo]*[ua][ugoa]*|)-[rw]*x[rw]*")
    """The owner can no longer enter folders."""
    _TAKEN_RIGHTS = LazyPattern(r"-[rwxXst]+", hints="-")
    _OWN_FILES = "name the project's own files"
    _SETUID_MODE = LazyPattern(r"0?[4-7][0-7]{3}|[ugoa]*\+[rwx]*s[rwx]*")

    def check_permissions(call: Call) -> Danger | None:
        if call.program not in ("chmod", "chown", "chgrp", "setfacl", "chattr", "icacls", "takeown"):
            return None
        is_chmod, is_acl = call.program == "chmod", call.program == "setfacl"
        options, operands = split_options(call.arguments, ("-m", "-x") if is_acl else ("--reference",))
        is_recursive = has_flag(options, "R", "recursive") or "/t" in [word.lower() for word in operands]
        taken = [word for word in options if is_chmod and _TAKEN_RIGHTS.fullmatch(word)]
        mode, *paths = ("", *operands) if is_acl else (*taken[:1], *operands, "")
        paths = [path for path in paths if path]
        if not paths:
            return None
        places = [call.place(path) for path in paths]
        if is_chmod and _SETUID_MODE.fullmatch(mode):
            return _danger(
                f"chmod {mode} lets a program run with its owner's rights", "run it as the user who needs it"
            )
        on_machine = not MACHINE.isdisjoint(places)
        if is_chmod and _OPEN_MODE.fullmatch(mode) and (is_recursive or on_machine):
            return _danger(
                f"chmod {mode} makes files writable by everyone", "use chmod u+rwX on the files that need it"
            )
        if is_recursive and on_machine:
            return _danger(f"{call.program} -R changes a part of the system", _OWN_FILES)
        if call.program != "chattr" and not {Place.ROOT, Place.DEVICE}.isdisjoint(places):
            return _danger(f"{call.program} changes a part of the system", _OWN_FILES)
        for path, place in zip(paths, places, strict=True):
            if is_chmod and _closes(mode, path, place, is_recursive=is_recursive):
                return _danger(
                    f"chmod {mode} locks the user out of {path}", "take rights from others only (go-rwx)"
                )
        return None

    def _danger(what: str, instead: str) -> Danger:
        return Danger("permissions", what, instead)

    def _closes(mode: str, path: str, place: Place, *, is_recursive: bool) -> bool:
        """The files below a folder, or the project, become useless to their owner."""
        is_whole = place is Place.PROJECT and is_recursive and "**" not in path
        if is_whole and _FOLDER_CLOSING_MODE.fullmatch(mode):
            return True
        is_much = place is Place.PROJECT or (is_recursive and place is not Place.TEMPORARY)
        return is_much and not is_regenerated(path) and _CLOSED_MODE.fullmatch(mode) is not None
    return locals()

def ralph_guard_families_program_table():
    """Programs whose words alone tell the danger, a row each: the machine, its disks, other version control, other machines, services."""

    import re

    _m = _module("ralph.guard.families.call"); Words = _m["Words"]; find_danger = _m["find_danger"]; read_rules = _m["read_rules"]
    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.marks"); EVERYTHING = _m["EVERYTHING"]
    _m = _module("ralph.guard.options"); split_options = _m["split_options"]; value_of_option = _m["value_of_option"]; words_in = _m["words_in"]
    _m = _module("ralph.guard.places"); is_disk = _m["is_disk"]; is_public_host = _m["is_public_host"]

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
    return locals()

def ralph_guard_families_secrets():
    """Secrets that leave the machine: keys and passwords sent by curl, scp, nc and the like."""

    import re

    _m = _module("ralph.guard.judgement"); Danger = _m["Danger"]
    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.marks"); UNKNOWN = _m["UNKNOWN"]
    _m = _module("ralph.guard.options"); base_name = _m["base_name"]; has_flag = _m["has_flag"]; split_options = _m["split_options"]; value_of_option = _m["value_of_option"]; words_in = _m["words_in"]
    _m = _module("ralph.guard.places"); Place = _m["Place"]; is_secret_file = _m["is_secret_file"]

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
    return locals()

def ralph_guard_git_call():
    """A git call taken apart: global options, inline configuration, subcommand and its words."""

    from typing import NamedTuple

    _m = _module("ralph.guard.options"); read_own_words = _m["read_own_words"]; words_in = _m["words_in"]

    _VALUED = words_in(
        "-c -C --config-env --git-dir --work-tree --namespace --super-prefix --exec-path --attr-source"
    )

    class GitWords(NamedTuple):
        subcommand: str
        arguments: list[str]
        config: dict[str, str]
        """Set by ``-c``; keys are lower case."""
        directory: str
        config_from_environment: list[str]
        """Keys whose value ``--config-env`` takes from a variable."""

    def read_git(words: list[str]) -> GitWords:
        own = read_own_words(words, _VALUED)
        config = {
            key.lower(): value for key, _, value in (setting.partition("=") for setting in own.values("-c"))
        }
        return GitWords(
            own.command[0].lower() if own.command else "",
            own.command[1:],
            config,
            "".join(own.values("-C")[-1:]),
            [setting.partition("=")[0].lower() for setting in own.values("--config-env")],
        )
    return locals()

def ralph_guard_guard():
    """``judge``: is this shell command dangerous? Never raises, never runs anything, bounded in time."""

    _m = _module("ralph.guard.judgement"); ALLOWED = _m["ALLOWED"]; DEFAULT_RULES = _m["DEFAULT_RULES"]; Danger = _m["Danger"]; blocked = _m["blocked"]
    _m = _module("ralph.guard.limits"); MAX_COMMAND_CHARS = _m["MAX_COMMAND_CHARS"]; TOO_DEEP = _m["TOO_DEEP"]; TooComplex = _m["TooComplex"]
    _m = _module("ralph.guard.marks"); EVERYTHING = _m["EVERYTHING"]; INPUT = _m["INPUT"]; UNKNOWN = _m["UNKNOWN"]
    _m = _module("ralph.guard.programs.handlers"); start_program = _m["start_program"]
    _m = _module("ralph.guard.script_walk"); walk_script = _m["walk_script"]; walk_text = _m["walk_text"]
    _m = _module("ralph.guard.shell.scope"); Scope = _m["Scope"]
    _m = _module("ralph.guard.shell.scripts"); read_script = _m["read_script"]
    _m = _module("ralph.guard.walk"); DangerFound = _m["DangerFound"]; Tally = _m["Tally"]; Walk = _m["Walk"]

    _DASHES = dict.fromkeys((*range(0x2010, 0x2016), 0x2212, 0xFE63, 0xFF0D), "-")
    """Characters that look like a hyphen: whoever copies the command reads an option."""
    _SHORTER = "split it into shorter commands"

    def judge(command: str, rules: GuardRules = DEFAULT_RULES) -> Judgement:
        if command.strip() in rules.allow:
            return ALLOWED
        if len(command) > MAX_COMMAND_CHARS:
            return _unreadable("the command is too long to judge")
        # The guard's own marks must not pass for ones that it put there.
        text = (
            command.translate(_DASHES)
            .replace(UNKNOWN, "\ufffd")
            .replace(INPUT, "\ufffd")
            .replace(EVERYTHING, "\ufffd")
            .replace("\r\n", "\n")
            .replace("\0", "")
        )
        try:
            script, is_torn = read_script(text)
            tally = Tally(is_torn=is_torn)
            walk_script(Walk(rules, tally, start_program), script, Scope())
            while tally.later:
                walk_text(*tally.later.pop())
            for danger in () if tally.is_torn else tally.emptied.values():
                return blocked(danger)
        except DangerFound as found:
            return blocked(found.danger)
        except TooComplex as error:
            return _unreadable(str(error))
        except RecursionError:
            return _unreadable(TOO_DEEP)
        except Exception as error:
            # Fails closed: a bug in the guard must neither let a command through nor stop the agent's session.
            return _unreadable(f"the guard could not read the command ({type(error).__name__})")
        return ALLOWED

    def _unreadable(what: str) -> Judgement:
        return blocked(Danger("unreadable", what, _SHORTER))
    return locals()

def ralph_guard_judgement():
    """The guard's answer, and what the user may set."""

    from enum import StrEnum
    from typing import NamedTuple

    _m = _module("ralph.guard.packs"); PACKS = _m["PACKS"]

    class GuardDecision(StrEnum):
        BLOCK = "block"
        ALLOW = "allow"

    class Danger(NamedTuple):
        """Why a command is dangerous and what to do instead."""

        family: str
        what: str
        instead: str

    class Judgement(NamedTuple):
        decision: GuardDecision
        reason: str = ""
        family: str = ""

        @property
        def is_blocked(self) -> bool:
            return self.decision is GuardDecision.BLOCK

    ALLOWED = Judgement(GuardDecision.ALLOW)

    def blocked(danger: Danger) -> Judgement:
        return Judgement(GuardDecision.BLOCK, f"{danger.what}. Instead: {danger.instead}.", danger.family)

    class GuardRules(NamedTuple):
        """What the user chose."""

        allow: tuple[str, ...] = ()
        """Commands that are always allowed: the exact text, a pattern with ``*`` for one simple command, or one of ``PACKS``."""
        packs: frozenset[str] = frozenset()
        """Families that are to be strict."""
        cwd: str = ""
        """The absolute working directory, if known: absolute paths below it count as the project's own."""

        def has_pack(self, pack: str) -> bool:
            return pack in self.packs or "all" in self.packs

        def is_off(self, family: str) -> bool:
            """Switched off by its name alone; the core cannot be."""
            return family in self.allow and family in PACKS

    DEFAULT_RULES = GuardRules()
    return locals()

def ralph_guard_lazy_pattern():
    """Patterns that are compiled on first use: most commands need few of them, and hooks start often."""

    import re

    class LazyPattern:
        """A regular expression with the methods that the guard uses.

    A text in which none of the ``hints`` (words, apart by blanks) occurs cannot match: then nothing is compiled.
    """

        __slots__ = ("_compiled", "_flags", "_hints", "text")

        def __init__(self, text: str, flags: int = 0, *, hints: str = "") -> None:
            self.text = text
            self._flags = flags
            self._hints = hints.split()
            self._compiled: re.Pattern[str] | None = None

        @property
        def compiled(self) -> re.Pattern[str]:
            if self._compiled is None:
                self._compiled = re.compile(self.text, self._flags)
            return self._compiled

        def may_match(self, text: str) -> bool:
            return not self._hints or any(hint in text for hint in self._hints)

        def search(self, text: str) -> re.Match[str] | None:
            return self.compiled.search(text) if self.may_match(text) else None

        def match(self, text: str, *span: int) -> re.Match[str] | None:
            return self.compiled.match(text, *span) if self.may_match(text) else None

        def fullmatch(self, text: str) -> re.Match[str] | None:
            return self.compiled.fullmatch(text) if self.may_match(text) else None

        def covers(self, name: str) -> bool:
            """Matches all of a name, which is never long."""
            return len(name) < 1_000 and self.fullmatch(name) is not None

        def finditer(self, text: str) -> Iterator[re.Match[str]]:
            return self.compiled.finditer(text) if self.may_match(text) else iter(())

        def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
            return self.compiled.sub(replacement, text) if self.may_match(text) else text
    return locals()

def ralph_guard_limits():
    """How much the guard reads before it refuses a command as too complex to judge."""

    MAX_COMMAND_CHARS = 200_000
    MAX_TEXT_CHARS = 200_000
    """Of a text within the command that a shell or an interpreter reads."""
    MAX_NODES = 30_000
    """Parts of words and commands in one text."""
    MAX_NESTING = 25
    """Substitutions and groups inside each other."""
    MAX_DEPTH = 12
    """Scripts, functions and programs that run each other."""
    MAX_CALLS = 1_000
    MAX_WORDS = 2_000
    MAX_WORD_CHARS = 100_000
    MAX_WORDS_CHARS = 400_000
    MAX_PRINTED_CHARS = 50_000
    MAX_PARALLEL_VALUES = 50
    MAX_ARGUMENT_CHARS = 2_000
    """Of one call in code of another language."""
    MAX_SEARCHED_CHARS = 300_000
    """Arguments of all calls in such code together."""
    MAX_PATHS_IN_CODE = 20
    """That one expression may name."""
    MAX_PATH_CHARS_IN_CODE = 500
    """Of such an expression; a longer one is unknown."""

    TOO_DEEP = "the command is nested too deeply"
    TOO_LONG = "a word in the command is too long"
    TOO_MANY_PARTS = "the command has too many parts"
    TOO_MANY_PROGRAMS = "the command starts too many programs"
    TOO_MANY_WORDS = "the command expands to too many words"

    class TooComplex(Exception):
        """The command is nested too deeply, too long, or expands to too much to be judged."""
    return locals()

def ralph_guard_marks():
    """Placeholders in words for unknown text."""

    UNKNOWN = "\ue000"
    """Text that only the running shell knows."""
    INPUT = "\ue001"
    """What xargs or parallel inserts: anything at all."""
    EVERYTHING = "\ue002"
    """Before what a listing names: ``docker ps`` all containers, ``pgrep NAME`` all processes of that name."""

    TEMPORARY_FOLDER = "/tmp"  # noqa: S108 (what commands say, not a file of ours)

    def is_opaque(word: str) -> bool:
        """Only the running shell knows any of it."""
        return bool(word) and not word.strip(UNKNOWN + INPUT + " \n;")

    def is_partly_opaque(word: str) -> bool:
        return UNKNOWN in word or INPUT in word
    return locals()

def ralph_guard_options():
    """Reading a program's words: options, operands, verbs."""

    import shlex
    from typing import NamedTuple

    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.marks"); INPUT = _m["INPUT"]

    def words_in(text: str) -> frozenset[str]:
        """A table of words that reads like one."""
        return frozenset(text.split())

    def split_words(text: str) -> list[str]:
        """Split as a shell would; at blanks if the quotes do not match."""
        try:
            return shlex.split(text)
        except ValueError:
            return text.split()

    def base_name(program: str) -> str:
        """``/usr/bin/git``, ``git.exe`` and ``GIT`` are ``git``: some file systems do not care about case."""
        name = program.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
        return name[: -len(".exe")] if name.endswith(".exe") else name

    def split_options(words: list[str], valued: Collection[str] = ()) -> tuple[list[str], list[str]]:
        """Options and operands, in any order; ``--`` ends the options. Values of ``valued`` ones are dropped."""
        options: list[str] = []
        operands: list[str] = []
        waiting = False
        for number, word in enumerate(words):
            if waiting:
                waiting = False
            elif word == "--":
                return options, operands + words[number + 1 :]
            elif word.startswith("-") and word != "-":
                options.append(word)
                waiting = word in valued
            else:
                operands.append(word)
        return options, operands

    class OwnWords(NamedTuple):
        """A program's words up to the command that it runs."""

        options: list[tuple[str, str]]
        """Names and values; a variable that it sets has no name, and the assignment as value."""
        command: list[str]

        def values(self, *names: str) -> list[str]:
            return [value for name, value in self.options if name in names]

    def read_own_words(
        words: list[str],
        valued: Collection[str] = (),
        *,
        last: Collection[str] = (),
        takes_assignments: bool = False,
    ) -> OwnWords:
        """As getopt reads them: ``-xI{}`` is ``-x -I {}``. After ``--`` and an option of ``last``, the command begins."""
        options: list[tuple[str, str]] = []
        at = 0
        while at < len(words):
            word = words[at]
            at += 1
            if word == "--":
                break
            if takes_assignments and is_assignment(word):
                options.append(("", word))
                continue
            if not word.startswith("-") or word == "-":
                at -= 1
                break
            name, value, needs_value = _read_option(word, valued)
            if needs_value:
                value = "".join(words[at : at + 1])
                at += 1
            options.append((name, value))
            if name in last:
                break
        return OwnWords(options, words[at:])

    def _read_option(word: str, valued: Collection[str]) -> tuple[str, str, bool]:
        """Its name, its value, and whether the value is the next word."""
        if word in valued:
            return word, "", True
        if word.startswith("--"):
            name, _, value = word.partition("=")
            return name, value, False
        for at, letter in enumerate(word[1:], start=2):
            if f"-{letter}" in valued:
                return f"-{letter}", word[at:], not word[at:]
            if not letter.isalnum():
                break
        return word, "", False

    def words_after_options(words: list[str], valued: Collection[str]) -> list[str]:
        return read_own_words(words, valued).command

    def may_gain_options(words: list[str]) -> bool:
        """Words from stdin come where options are still read."""
        before = words[: words.index("--")] if "--" in words else words
        return any(word.startswith(INPUT) or (word.startswith("-") and INPUT in word) for word in before)

    def is_assignment(word: str) -> bool:
        name, equals, _ = word.partition("=")
        return bool(equals) and name.replace("_", "a").isalnum()

    def has_flag(options: list[str], short: str = "", long: str = "") -> bool:
        """Whether a flag is given: ``-f`` alone or among others (``-df``), ``--force`` or any abbreviation (``--fo``).

    The last of ``--force`` and ``--no-force`` decides, as in git and in GNU programs.
    """
        given = False
        for option in options:
            if option.startswith("--"):
                name = option[2:].partition("=")[0].lower()
                if not long or not name:
                    continue
                if long.startswith(name):
                    given = True
                elif name.startswith("no-") and long.startswith(name[3:]) and len(name) > 5:
                    given = False
            elif short and short in option[1:]:
                given = True
        return given

    def value_of_option(words: list[str], names: Collection[str]) -> str | None:
        """``-X POST``, ``-XPOST``, ``--request POST`` and ``--request=POST``."""
        for number, word in enumerate(words):
            if word in names:
                return words[number + 1] if number + 1 < len(words) else ""
            for name in names:
                if name.startswith("--") and word.startswith(name + "="):
                    return word[len(name) + 1 :]
                if not name.startswith("--") and word.startswith(name) and not word.startswith("--"):
                    return word[len(name) :]
        return None

    _VERB = LazyPattern(
        r"(?:batch-)?(?:delete|destroy|remove|purge|terminate|drop|prune|wipe|erase|deregister|revoke|unregister|uninstall)(?:[-_:].*)?"
        r"|rm|rb|rmi|del|rmdir|deletefile|.*[-_:](?:delete|destroy|remove|purge)"
    )
    _GLOBAL_VALUED = words_in(
        "--region --profile --output --endpoint-url --project --account --configuration --subscription --format --org --context -n --namespace"
        " --kubeconfig --cluster -s -H --host -c --config -p --port -u --user --bootstrap-server --zookeeper -o -C --chdir --server -w --workspace"
    )
    _QUESTIONS = words_in("--help -h help --dry-run --dryrun --dry-run=client --dry-run=server")

    def command_words(arguments: list[str]) -> list[str]:
        """The leading words, without options before them: ``s3api delete-bucket`` of ``--region x s3api delete-bucket --bucket y``."""
        words: list[str] = []
        at = 0
        while at < len(arguments):
            word = arguments[at]
            if word.startswith("-"):
                if len(words) >= 2:
                    break
                at += 2 if word in _GLOBAL_VALUED else 1
                continue
            words.append(word)
            at += 1
        return words

    def destructive_word(words: list[str], more: frozenset[str] = frozenset()) -> str:
        """The first destructive verb, or nothing. A word with a dot or slash is a name."""
        for word in words[:5]:
            if word in more or (not {*"./"} & {*word} and _VERB.fullmatch(word.lower())):
                return word
        return ""

    def is_only_asking(arguments: list[str]) -> bool:
        # `cargo yank --version 1.0` names one.
        return not _QUESTIONS.isdisjoint(arguments) or arguments[-1:] == ["--version"]
    return locals()

def ralph_guard_packs():
    """The names of the families that settings may speak of."""

    PACKS = ("backup", "cloud", "containers", "databases", "publish", "remote", "services", "strict")
    """Families that the user may make stricter (``guard.packs``; ``all``: every one) or switch off (``guard.allow``)."""
    return locals()

def ralph_guard_places():
    """What kind of place a path is: the project's own, a temporary folder, the system, a home … Nothing is looked up: its text decides."""

    import re
    from enum import Enum
    from posixpath import normpath

    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.marks"); INPUT = _m["INPUT"]; UNKNOWN = _m["UNKNOWN"]

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
    return locals()

def ralph_guard_program_lists():
    """Programs by what they do with text."""

    _m = _module("ralph.guard.options"); words_in = _m["words_in"]

    SHELLS = words_in("sh bash zsh dash ksh ash fish mksh rbash tcsh csh pwsh powershell")

    TEXT_TOOLS = words_in(
        "echo printf cat tee tac less more head tail grep egrep fgrep zgrep rg ag ack ugrep sed awk gawk mawk "
        "wc sort uniq cut tr rev nl fold fmt column paste join comm diff cmp patch md5sum sha1sum sha256sum "
        "shasum cksum base64 xxd od hexdump strings jq yq xq xmllint tidy curl wget http git gh glab hub man "
        "info help apropos whatis which whereis type hash tldr say read mapfile readarray test [ [[ ls stat "
        "file dirname basename realpath readlink tree du df touch mkdir logger wall write mail sendmail "
        "notify-send osascript kubectl oc helm docker podman nerdctl ssh mysql psql sqlite3 mongosh redis-cli "
        "duckdb cp mv ln rm rmdir chmod chown python python3 node ruby perl php lua pandoc pbcopy xclip xsel "
        "wl-copy clip code vim vi nano emacs ed ex export declare local typeset readonly alias unalias set "
        "unset shift return exit true false : let expr seq date rtk tar zip unzip gzip bat batcat delta fzf "
        "gum glow bc dc claude codex gemini opencode amp ralph cargo go npm yarn pnpm aws az gcloud gsutil "
        "terraform ansible openssl gpg apt apt-get brew pip pip3 uv make cmake"
    )
    """Programs that show or store what they are given and never run it."""

    FETCHERS = words_in(
        "curl wget fetch aria2c http https xh xhs httpie lwp-request lynx links w3m nc ncat netcat ssh"
    )
    """Programs whose output comes from another machine."""

    SETUP_TOOLS = words_in(
        "ssh-agent direnv brew pyenv rbenv nodenv goenv jenv zoxide fnm starship mise rtx asdf opam conda "
        "mamba micromamba dircolors thefuck atuin keychain gpg-agent docker-machine minikube "
        "register-python-argcomplete luarocks vault-env oh-my-posh nodebrew swiftenv perlbrew plenv xdg-user-dirs lesspipe "
        "tset fasd navi devbox pkgx volta sdk"
    )
    """Programs made to print shell code that is then run: ``eval "$(pyenv init -)"``."""

    SETUP_WORDS = frozenset(["completion", "completions", "shellenv", "completion-script"])
    """A tool asked for its shell code: ``source <(kubectl completion bash)``."""

    DANGEROUS_PROGRAMS = words_in(
        "rm git find dd shred sudo doas bash sh zsh eval mkfs mkfs.ext4 chmod chown xargs shutdown reboot"
    )
    """Programs to look for among the words of an unknown program."""
    return locals()

def ralph_guard_programs_builtins():
    """What belongs to the shell itself and changes what follows: functions, cd, export, alias, read."""

    _m = _module("ralph.guard.marks"); UNKNOWN = _m["UNKNOWN"]
    _m = _module("ralph.guard.options"); base_name = _m["base_name"]
    _m = _module("ralph.guard.places"); join_path = _m["join_path"]
    _m = _module("ralph.guard.script_walk"); walk_script = _m["walk_script"]
    _m = _module("ralph.guard.shell.scripts"); read_script = _m["read_script"]
    _m = _module("ralph.guard.shell.syntax"); Simple = _m["Simple"]
    _m = _module("ralph.guard.walk"); refuse = _m["refuse"]

    _ENDLESS: Script = ((Simple((), (), ()),),)

    def call_function(walk: Walk, start: Start) -> None:
        name = start.words[0]
        body = start.scope.functions[name]
        inner = start.scope.with_arguments(start.words[1:])
        # Within itself it is unknown: a second call is an endless loop, or a fork bomb.
        inner.functions[name] = _ENDLESS
        if body is _ENDLESS:
            refuse("system", f"the function {name} calls itself endlessly", "write a loop that ends")
        walk_script(walk.deeper(), body, inner, start.feed)
        start.scope.cwd = inner.cwd

    def change_directory(walk: Walk, start: Start) -> None:
        scope = start.scope
        operands = [word for word in start.words[1:] if not word.startswith("-") or word == "-"]
        if not operands:
            scope.cwd = "~"
        elif operands[0] == "-":
            scope.cwd = UNKNOWN
        elif operands[0]:
            scope.cwd = join_path(scope.cwd, operands[0])

    def declare(walk: Walk, start: Start) -> None:
        """``export X=1``, ``alias x='…'``, ``read x``."""
        program = base_name(start.words[0])
        for word in start.words[1:]:
            name, equals, value = word.partition("=")
            if program == "alias" and equals:
                start.scope.functions[name] = read_script(value)[0]
            elif equals:
                start.scope.variables[name] = (value,)
            elif program in ("read", "mapfile", "readarray", "getopts"):
                start.scope.variables[name] = (UNKNOWN,)
        if program == "export" and "-f" in start.words:
            start.scope.exports_functions = True
    return locals()

def ralph_guard_programs_carriers():
    """Programs that run commands on many things: find, xargs, parallel."""

    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.limits"); MAX_PARALLEL_VALUES = _m["MAX_PARALLEL_VALUES"]
    _m = _module("ralph.guard.marks"); INPUT = _m["INPUT"]; UNKNOWN = _m["UNKNOWN"]; is_partly_opaque = _m["is_partly_opaque"]
    _m = _module("ralph.guard.options"); base_name = _m["base_name"]; read_own_words = _m["read_own_words"]; split_words = _m["split_words"]; value_of_option = _m["value_of_option"]; words_in = _m["words_in"]
    _m = _module("ralph.guard.places"); Place = _m["Place"]; is_regenerated = _m["is_regenerated"]; join_path = _m["join_path"]
    _m = _module("ralph.guard.program_lists"); SHELLS = _m["SHELLS"]
    _m = _module("ralph.guard.shell.listings"); read_fd = _m["read_fd"]; read_find = _m["read_find"]
    _m = _module("ralph.guard.walk"); Start = _m["Start"]; refuse = _m["refuse"]; refuse_hidden = _m["refuse_hidden"]

    _LIST_FIRST = "list the files with -print first, then rm them by name"

    def start_find(walk: Walk, start: Start) -> None:
        find = read_find(start.words[1:])
        if find.may_gain_actions:
            refuse_hidden("words from stdin may become find actions")
        if not all(_may_go(pattern, walk.place_of(pattern, start.scope)) for pattern in find.removed):
            refuse("files", "find -delete removes everything that matches", _LIST_FIRST)
        for command in find.commands:
            if command and base_name(command[0]) in ("chmod", "chown", "chgrp"):
                # On every file below a root is as good as recursive.
                walk.ask_families(start._replace(words=[command[0], "-R", *command[1:]]))
            _start_each(walk, start, command, start.scope.cwd)

    def start_fd(walk: Walk, start: Start) -> None:
        for command in read_fd(start.words[1:]).commands:
            _start_each(walk, start, command, start.scope.cwd)

    def _may_go(pattern: str, place: Place) -> bool:
        """Everything that matches may be removed: it is temporary, or is made again."""
        if place is Place.TEMPORARY:
            return not set(pattern.partition("/**")[0]) & {*"*?[", UNKNOWN, INPUT} and ".." not in pattern
        return place is Place.INSIDE and is_regenerated(pattern)

    def _start_each(walk: Walk, start: Start, command: list[str], cwd: str) -> None:
        """A carrier starts its commands in a new scope, with unknown stdin."""
        scope = start.scope.copy()
        scope.cwd = cwd
        inner = walk.deeper()
        inner.start(inner, Start(command, scope, environment=start.environment))

    _XARGS_VALUED = words_in(
        "-I -J -n -P -L -d -E -e -s -a -R -S --max-args --max-procs --max-lines --delimiter --eof --max-chars "
        "--arg-file --process-slot-var"
    )

    def read_xargs(arguments: list[str]) -> list[str]:
        """The command with ``INPUT`` where the words from stdin go."""
        own = read_own_words(arguments, _XARGS_VALUED)
        command = own.command
        placeholder = "".join(own.values("-I", "-J")[-1:])
        old_form = [
            (value if name == "--replace" else name[2:]) or "{}"
            for name, value in own.options
            if name.startswith(("-i", "--replace"))
        ]
        if not command:
            return ["echo", INPUT]
        if old_form and any(old_form[0] in word for word in command):
            placeholder = old_form[0]
        if placeholder:
            return [word.replace(placeholder, INPUT) for word in command]
        return [*command, INPUT]

    def _values_of(start: Start) -> list[str]:
        """The words that come on stdin, if they are known and not too many."""
        text = start.feed.text or ""
        values = [] if is_partly_opaque(text) else split_words(text.replace("\0", "\n"))
        return values if len(values) <= MAX_PARALLEL_VALUES else []

    def start_xargs(walk: Walk, start: Start) -> None:
        command = read_xargs(start.words[1:])
        if any(_is_code_with_input(command, number) for number in range(len(command))):
            what = "words from stdin become part of a script"
            refuse("hidden", what, "pass them as \"$1\": sh -c '…' _ {}")
        values = _values_of(start)
        if values and command[-1] == INPUT:
            _start_each(walk, start, [*command[:-1], *values], start.scope.cwd)
            return
        for value in values or [INPUT]:
            _start_each(walk, start, [word.replace(INPUT, value) for word in command], start.scope.cwd)

    def _is_code_with_input(words: list[str], number: int) -> bool:
        """``sh -c '… {} …'``: xargs puts the words in as they are, quotes and all."""
        return (
            number >= 2
            and INPUT in words[number]
            and words[number - 1] == "-c"
            and base_name(words[number - 2]) in SHELLS
        )

    _PARALLEL_VALUED = words_in(
        "-j -n -N -L -I -a -S -C -E -P -s --jobs --max-args --max-replace-args --results --joblog --delay "
        "--timeout --retries --arg-file --colsep --workdir --wd --tmpdir --sshlogin --halt --load --memfree "
        "--nice --tagstring --rpl --env --basefile --return --block --recstart --recend --delimiter -d "
        "--max-procs --header --shuf-seed --tempdir"
    )
    _PARALLEL_PLACES = LazyPattern(r"\{(?:\d+|[.#%/]|//|/\.|\d+[./]+)?\}")

    def read_parallel(arguments: list[str], given: list[str]) -> list[list[str]] | None:
        """The commands that it runs; None if they are not known."""
        separators = [number for number, word in enumerate(arguments) if word.startswith(":::")]
        own = read_own_words(arguments[: separators[0]] if separators else arguments, _PARALLEL_VALUED)
        names = {name for name, _ in own.options}
        if not names.isdisjoint(words_in("--dry-run --dryrun --dry --version --help --citation")):
            return []
        values = (
            [word for word in arguments[separators[0] :] if not word.startswith(":::")] if separators else given
        )
        if any(word.startswith("::::") for word in arguments):  # their words are in files
            values = []
        rewrites = "--rpl" in names or any("{=" in word for word in own.command)
        if rewrites or len(values) > MAX_PARALLEL_VALUES or not (own.command or values):
            return None
        return [_fill(own.command, value) for value in values or [INPUT]]

    def _fill(command: list[str], value: str) -> list[str]:
        if any(_PARALLEL_PLACES.search(word) for word in command):
            return [_PARALLEL_PLACES.sub(lambda _: value, word) for word in command]
        return [*command, value]

    def start_parallel(walk: Walk, start: Start) -> None:
        commands = read_parallel(start.words[1:], _values_of(start))
        if commands is None:
            refuse_hidden("parallel runs commands from stdin")
        folder = value_of_option(start.words[1:], ("--workdir", "--wd"))
        cwd = join_path(start.scope.cwd, folder) if folder else start.scope.cwd
        for command in commands:
            _start_each(walk, start, command, cwd)
    return locals()

def ralph_guard_programs_code():
    """One-liners and here-documents of Python, Node, Ruby, Perl, PHP and awk: which shell commands they run, what they remove.

No parser of any of these languages: it looks for the calls that start processes or delete files, and for the
strings in them.
"""

    import re
    from typing import NamedTuple

    _m = _module("ralph.guard.judgement"); Danger = _m["Danger"]
    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.limits"); MAX_ARGUMENT_CHARS = _m["MAX_ARGUMENT_CHARS"]; MAX_SEARCHED_CHARS = _m["MAX_SEARCHED_CHARS"]; MAX_TEXT_CHARS = _m["MAX_TEXT_CHARS"]; TOO_MANY_PARTS = _m["TOO_MANY_PARTS"]; TooComplex = _m["TooComplex"]
    _m = _module("ralph.guard.marks"); UNKNOWN = _m["UNKNOWN"]
    _m = _module("ralph.guard.program_lists"); TEXT_TOOLS = _m["TEXT_TOOLS"]
    _m = _module("ralph.guard.programs.code_paths"); STRING = _m["STRING"]; CodePaths = _m["CodePaths"]; end_of_expression = _m["end_of_expression"]; first_argument = _m["first_argument"]; strings_in = _m["strings_in"]
    _m = _module("ralph.guard.shell.escapes"); decode_escapes = _m["decode_escapes"]

    _PROCESS_CALL = LazyPattern(
        r"\b(?:os\s*\.\s*(?:system|popen|exec\w*|spawn\w*)|(?:subprocess|sp)\s*\.\s*\w+|(?:check_)?(?:call|output)|Popen|getoutput"
        r"|pty\.spawn|asyncio\.create_subprocess_\w+|system|exec|popen|spawn|shell_exec|passthru|proc_open|execSync|execFile\w*"
        r"|spawnSync|execa\w*|IO\.popen|Open3\.\w+|Process\.spawn|Kernel\.\w+|Deno\.Command|Bun\.spawn\w*|sh|run|do\s+shell\s+script)"
        r"(?:\s*\(\s*|\s+(?=[\"'`\[]))",
        hints="os subprocess sp call output open system exec spawn passthru IO. Open3 Process Kernel Deno Bun sh run",
    )
    _TREE_REMOVAL = LazyPattern(
        r"\b(?:rmtree|rm_rf|rm_r|remove_entry_secure|remove_tree|removedirs|remove_dir(?:_all)?|rimraf(?:['\"]\))?(?:\.sync)?|emptyDir(?:Sync)?"
        r"|(?:require\(['\"](?:node:)?fs(?:/promises|-extra)?['\"]\)|fs(?:Promises|\.promises)?)\.(?:rm|rmdir|remove)(?:Sync)?|rmSync|rmdirSync|removeSync|Deno\.remove(?:Sync)?|deltree)\b\s*\(?\s*",
        hints="rm remove rimraf emptyDir deltree",
    )
    _FILE_REMOVAL = LazyPattern(
        r"\b(?:os\.(?:remove|unlink|rmdir)|unlink(?:Sync)?|File\.(?:delete|unlink)|FileUtils\.rm(?:_f)?|fs\.unlink(?:Sync)?"
        r"|Path)\b\s*\(?\s*|\b(?!os\b|fs\b)([A-Za-z_]\w*)\.(?:unlink|rmdir)\(\s*(?:missing_ok=True)?\s*\)",
        hints="remove unlink delete rm Path",
    )
    _NEEDS_RECURSIVE = LazyPattern(r"(?:fs|require)\b.*\.rm|rmSync|rmdirSync|Deno")
    _UNLINKS = LazyPattern(r"\s*\.\s*(?:unlink|rmdir)")
    _UNLINK_EACH = LazyPattern(
        r"array_map\(\s*['\"]unlink['\"]|map\(\s*os\.(?:remove|unlink)\b", hints="unlink os.remove"
    )
    _NAMED = r"\(\s*['\"]([^'\"\n]+)['\"]"
    _NO_TEXT = r"\s*,\s*b?(?:''|\"\"|``)\s*[,)]"
    _EMPTIED = LazyPattern(
        rf"\bopen{_NAMED}\s*,\s*['\"]w[bt+]?['\"]\s*\)\s*\.close|\bPath{_NAMED}\s*\)\.write_(?:text|bytes)\(\s*b?(?:''|\"\")\s*\)"
        rf"|(?:writeFile(?:Sync)?|File\.write|file_put_contents){_NAMED}{_NO_TEXT}|\btruncate(?:Sync)?{_NAMED}\s*(?:,\s*0\s*)?\)",
        hints="open write truncate put_contents",
    )
    _OPENED = LazyPattern(
        r"\b(?:open|File\.(?:open|write)|writeFile(?:Sync)?|file_put_contents)\s*\(?\s*",
        hints="open write writeFile put_contents",
    )
    _SHELL_QUOTES = LazyPattern(
        r"`([^`]+)`|%x[({\[|!]([^)}\]|!]+)[)}\]|!]|qx\s*[({/|!\[]([^)}/|!\]]+)[)}/|!\]]", hints="` %x qx"
    )
    _DECODED = LazyPattern(
        r"(?:b64decode|atob|decode64|base64_decode|from)\s*\(\s*b?[\"'][A-Za-z0-9+/=]{8,}[\"']",
        hints="decode atob from",
    )
    _FETCH = LazyPattern(
        r"\b(?:urlopen|urlretrieve|(?:requests|httpx|session|client)\s*\.\s*get|fetch|axios(?:\.get)?|https?\.get|open-uri|URI\.open"
        r"|Net::HTTP|LWP::Simple|file_get_contents\s*\(\s*[\"']https?:)",
        hints="url requests http session client fetch axios URI open-uri Net:: LWP file_get_contents",
    )
    RUNS_TEXT = LazyPattern(
        r"(?<![\w.])(?:exec|eval|new\s+Function|instance_eval)\s*\(|\(\s*eval\s*\)", hints="exec eval Function"
    )
    _CONNECTION = LazyPattern(r"(?i)socket|fsockopen|net\.connect")
    _FORK_BOMB = LazyPattern(
        r"\bfork\s*(?:\(\s*\))?\s*while\b|\bwhile\b[^\n;]{0,30}?[\s:;{(]+(?:os\s*\.\s*)?fork\b|\bloop\s*[{d]o?\s*fork\b",
        hints="fork",
    )
    _REVERSE_SHELL = LazyPattern(r"dup2\s*\(|pty\.spawn|/bin/(?:ba)?sh", hints="dup2 pty.spawn /bin/")
    _READ_FIRST = "save it to a file and read it before you run it"
    _SIGNS = (
        (
            (_CONNECTION, _REVERSE_SHELL),
            Danger("network", "this code gives another machine a shell", "use a client that the user named"),
        ),
        ((RUNS_TEXT, _FETCH), Danger("network", "this code runs what it downloads", _READ_FIRST)),
        ((RUNS_TEXT, _DECODED), Danger("hidden", "this code runs what it decodes", "write it out in full")),
        ((_FORK_BOMB,), Danger("system", "this starts processes endlessly", "start only as many as needed")),
    )
    _AWK_SYSTEM = LazyPattern(r"system\s*\(([^)]*)\)", hints="system")
    _AWK_PIPE = LazyPattern(r"\"((?:[^\"\\]|\\.)*)\"\s*\|&?\s*getline|\|&?\s*\"((?:[^\"\\]|\\.)*)\"", hints="|")

    _COMMAND_LINE = LazyPattern(
        r"(?m)^[ \t]*(?:sudo[ \t]+)?(?:rm|git|dd|mkfs\S*|find|shred)\s", hints="rm git dd mkfs find shred"
    )

    class FoundInCode(NamedTuple):
        """What a piece of code would do."""

        scripts: list[str]
        """Shell command lines."""
        calls: list[list[str]]
        """Programs started without a shell."""
        removed_trees: list[str]
        removed_files: list[str]
        emptied_files: list[str]
        written_files: list[str]

    _FROM_SHELL = frozenset(["ruby", "perl", "php"])

    def strip_comments(code: str) -> str:
        return re.sub(r"(?m)^[ \t]*(?:#|//).*$", "", code[:MAX_TEXT_CHARS])

    def read_code(language: str, code: str) -> FoundInCode:
        found = FoundInCode([], [], [], [], [], [])
        if language == "awk":
            return _read_awk(code, found)
        arguments = _Arguments(code)
        for call in _PROCESS_CALL.finditer(code):
            argument = arguments.of_call(call.end())
            strings = strings_in(argument)
            if strings:
                found.scripts.append(UNKNOWN if _DECODED.search(argument) else strings[0])
                if len(strings) > 1:
                    found.calls.append(strings)
        if language in _FROM_SHELL:
            for quoted in _SHELL_QUOTES.finditer(code):
                found.scripts.append(next(text for text in quoted.groups() if text))
        paths = CodePaths(code)
        is_temporary = any(word in code for word in ("tempfile", "mkdtemp", "mktmpdir"))
        for call in _TREE_REMOVAL.finditer(code):
            argument = arguments.of_call(call.end())
            first = first_argument(argument)
            # Perl's remove_tree takes any number of names.
            removed = [*paths.of(first), *(strings_in(argument[len(first) :]) if language == "perl" else ())]
            if _NEEDS_RECURSIVE.match(call[0]) and "recursive" not in argument:
                found.removed_files.extend(removed)
            else:
                found.removed_trees.extend(path for path in removed if not (is_temporary and path == UNKNOWN))
        for call in _FILE_REMOVAL.finditer(code):
            argument = call[1] or arguments.of_call(call.end())
            if call[0].startswith("Path") and not _UNLINKS.match(code, call.end() + len(argument) + 1):
                continue
            found.removed_files.extend(paths.of(first_argument(argument)))
        if _UNLINK_EACH.search(code):
            found.removed_files.extend(paths.listed())
        for call in _EMPTIED.finditer(code):
            found.emptied_files.append(next(text for text in call.groups() if text))
        for call in _OPENED.finditer(code):
            strings = strings_in(arguments.of_call(call.end()))
            if strings and (
                "write" in call[0]
                or "put" in call[0]
                or any(re.fullmatch(r"[wax+b]+", text) and "w" in text for text in strings[1:])
            ):
                found.written_files.append(strings[0])
        return found

    def danger_in_code(code: str) -> Danger | None:
        """What needs no look at names: the code runs what it fetches, gives a shell away, or forks without end."""
        return next(
            (danger for patterns, danger in _SIGNS if all(pattern.search(code) for pattern in patterns)), None
        )

    def _read_awk(code: str, found: FoundInCode) -> FoundInCode:
        for call in _AWK_SYSTEM.finditer(code):
            is_literal = STRING.fullmatch(call[1].strip()) is not None
            found.scripts.append("".join(strings_in(call[1])) if is_literal else UNKNOWN)
        for pipe in _AWK_PIPE.finditer(code):
            found.scripts.append(decode_escapes(pipe[1] or pipe[2] or ""))
        return found

    class _Arguments:
        """Cuts out the arguments of calls, within a bound on what is looked at in all."""

        def __init__(self, code: str) -> None:
            self._code = code
            self._left = MAX_SEARCHED_CHARS

        def of_call(self, start: int) -> str:
            """Up to the bracket that closes the call, or the end of the line if none was opened."""
            has_bracket = "(" in self._code[max(0, start - 3) : start]
            limit = min(len(self._code), start + MAX_ARGUMENT_CHARS)
            end = end_of_expression(self._code, start, limit, stops="" if has_bracket else "\n;")
            self._left -= end - start
            if self._left < 0:
                raise TooComplex(TOO_MANY_PARTS)
            return self._code[start:end]

    def looks_like_commands(program: str, text: str) -> bool:
        """A here-document for a program that we do not know: is it a script?"""
        return program not in TEXT_TOOLS and _COMMAND_LINE.search(text) is not None
    return locals()

def ralph_guard_programs_code_paths():
    """Which paths an expression of Python, Node, Ruby, Perl or PHP names: literals, joins, variables, the home, listings of folders."""

    import re

    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.limits"); MAX_PATH_CHARS_IN_CODE = _m["MAX_PATH_CHARS_IN_CODE"]; MAX_PATHS_IN_CODE = _m["MAX_PATHS_IN_CODE"]
    _m = _module("ralph.guard.marks"); TEMPORARY_FOLDER = _m["TEMPORARY_FOLDER"]; UNKNOWN = _m["UNKNOWN"]
    _m = _module("ralph.guard.options"); words_in = _m["words_in"]
    _m = _module("ralph.guard.shell.escapes"); decode_escapes = _m["decode_escapes"]

    STRING = LazyPattern(
        r"'''(.*?)'''|\"\"\"(.*?)\"\"\"|'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\]|\\.)*)`",
        re.DOTALL,
    )
    _HOME = LazyPattern(
        r"(?:pathlib\.)?Path\.home\(\)|(?:require\([^)\n]{0,20}\)\.|\w{1,20}\.)?homedir\(\)|\bDir\.home\b|\bprocess\.env\.HOME\b"
        r"|\$ENV\{['\"]?HOME['\"]?\}|(?:(?:require|__import__)\([^)\n]{0,20}\)\.|\w{1,20}\.)?(?:environ|env|ENV|getenv|fetch|get|_SERVER)"
        r"(?:\.get|\.fetch)?[\[(]\s*['\"]HOME['\"]\s*[\])]"
    )
    _HERE = LazyPattern(
        r"(?:pathlib\.)?Path\.cwd\(\)|(?:os\.)?getcwd\(\)|\bprocess\.cwd\(\)|\bDir\.pwd\b|\b__dirname\b|\b__DIR__\b|\bcwd\(\)"
    )
    _TEMPORARY = LazyPattern(
        r"(?:tempfile\.)?(?:mkdtemp|gettempdir|TemporaryDirectory)(?:Sync)?\([^)\n]{0,80}\)|(?:\w{1,20}\.)?(?:tmpdir|mktmpdir)\b(?:\(\))?"
    )
    _KNOWN_PLACES = ((_HOME, "\ue010"), (_HERE, "\ue011"), (_TEMPORARY, "\ue012"))
    """Calls that name a place, and a character in its stead: it may stand within a string or outside."""
    _PLACE_MARKS = {"\ue010": "~", "\ue011": ".", "\ue012": f"{TEMPORARY_FOLDER}/made"}
    _PLACES = str.maketrans(_PLACE_MARKS)
    _TOKEN = LazyPattern(
        rf"[bfru]{{0,2}}(?:{STRING.text})|[$@]?[A-Za-z_][\w.]*|\.\w+|[/+,\ue010-\ue012]", re.DOTALL
    )
    _INTERPOLATED = LazyPattern(r"[$#]?\{([^{}]*)\}")
    _SAID = words_in(
        "Path PurePath Pathname path join str String resolve absolute abspath realpath normpath expanduser expand_path as_posix new"
        " to_s require fs os File pathlib posixpath true false True False None"
    )
    """Names that leave a path as it is."""
    _ASSIGNMENT = LazyPattern(r"[$@]?\b(\w+)\s*=(?![=>~])\s*([^\n;]+)")
    _LOOP = LazyPattern(
        r"\bfor\b[^\n:;)]{0,80}?\b(?:in|of)\b\s*(\[[^\[\]]{0,500}\]|\([^()]{0,500}\))"
        r"|((?:%w)?\[[^\[\]]{0,500}\])\s*\.\s*(?:forEach|each|map)"
    )
    _LISTING = LazyPattern(
        r"\.\s*(rglob|glob|iterdir)\s*\(([^()]*)\)|\b(?:glob\.i?glob|glob['\"]\)\.sync|i?glob|globSync|Dir\.glob|Dir)\s*(?:[(\[]|(?=['\"]))\s*([^()\[\]]*)"
        r"|\b(walk|listdir|scandir|readdirSync|readdir|children|entries|each_child)\s*\(([^()]*)\)"
        r"|<([^<>\s]*\*[^<>\s]*)>"
    )

    class CodePaths:
        """Reads the assignments and listings of a piece of code when they are first asked for."""

        def __init__(self, code: str) -> None:
            self._code = code
            self._assigned: dict[str, list[str]] | None = None
            self._values: dict[str, list[str]] = {}
            self._listed: list[str] | None = None

        def of(self, expression: str, depth: int = 0) -> list[str]:
            """Each path that it may be; unknown text where it is not known."""
            if depth > 3 or len(expression) > MAX_PATH_CHARS_IN_CODE:
                return [UNKNOWN]
            expression = _mark_places(expression)
            listed = self._listings_in(expression, depth)
            if listed:
                return listed
            if expression.lstrip().startswith(("[", "%w")):
                return strings_in(expression) or expression.strip("%w[]() ").split() or [UNKNOWN]
            paths, glue = [""], ""
            for token in _TOKEN.finditer(expression):
                text = token[0]
                if text in ("/", "+", ","):
                    glue = "/" if text != "+" else ""
                    continue
                values = self._values_of(text, depth)
                if values:
                    paths = [path + (glue if path else "") + value for path in paths for value in values]
                    paths, glue = paths[:MAX_PATHS_IN_CODE], ""
            return [path.translate(_PLACES) for path in paths if path] or [UNKNOWN]

        def _values_of(self, part: str, depth: int) -> list[str]:
            if part in _PLACE_MARKS:
                return [part]
            if part[-1] in "'\"`":
                return [
                    _INTERPOLATED.sub(lambda found: self.of(found[1], depth + 1)[0], text)
                    for text in strings_in(part)[:1]
                ]
            name, _, rest = part.lstrip("$@").partition(".")
            last = rest.rpartition(".")[2] or name
            if last == "parent":
                return ["/.."]
            return (
                []
                if not name or last in _SAID or name in ("fs", "os", "pathlib")
                else self._of_variable(name, depth)
            )

        def _of_variable(self, name: str, depth: int) -> list[str]:
            if self._assigned is None:
                self._assigned = {}
                for found in _ASSIGNMENT.finditer(self._code):
                    self._assigned.setdefault(found[1], []).append(found[2][: 2 * MAX_PATH_CHARS_IN_CODE])
            if name not in self._values:
                self._values[name] = [UNKNOWN]  # within its own value
                given = self._assigned.get(name, [])[:MAX_PATHS_IN_CODE]
                paths = [path for value in given for path in self.of(first_argument(value), depth + 1)]
                self._values[name] = list(dict.fromkeys(paths or self.listed(depth)))[:MAX_PATHS_IN_CODE]
            return self._values[name] or [UNKNOWN]

        def listed(self, depth: int = 0) -> list[str]:
            """What a loop goes through: the patterns of listings, or the strings of a list."""
            if self._listed is None:
                self._listed = []
                self._listed = self._listings_in(_mark_places(self._code), depth + 1) or [
                    name
                    for found in _LOOP.finditer(self._code)
                    for name in self.of(found[1] or found[2], depth + 1)
                ]
            return self._listed[:MAX_PATHS_IN_CODE]

        def _listings_in(self, text: str, depth: int) -> list[str]:
            patterns: list[str] = []
            for found in _LISTING.finditer(text):
                method, name, pattern, lister, folder, perl_glob = found.groups()
                if perl_glob:
                    patterns.append(perl_glob)
                elif method:
                    before = text[max(0, found.start() - 200) : found.start()]
                    opened = re.search(
                        r"\([^()]*\)$|[\w.\ue010-\ue012]+(?:\([^()]*\))?(?:\s*/\s*['\"\w.]+)*$|['\"][^'\"]*['\"]\)?$",
                        before,
                    )
                    roots = self.of(opened[0] if opened else "", depth + 1)
                    below = "".join(strings_in(name)[:1]) or "*"
                    patterns += [f"{root}/{'**/' if method == 'rglob' else ''}{below}" for root in roots]
                elif lister:
                    roots = self.of(first_argument(folder), depth + 1) if folder.strip() else ["."]
                    patterns += [f"{root}/{'**' if lister == 'walk' else '*'}" for root in roots]
                elif pattern and strings_in(pattern):
                    patterns += self.of(pattern.partition(", recursive")[0], depth + 1)
                if len(patterns) > MAX_PATHS_IN_CODE:
                    break
            return patterns

    def _mark_places(text: str) -> str:
        for pattern, mark in _KNOWN_PLACES:
            text = pattern.sub(mark, text)
        return text

    def first_argument(text: str) -> str:
        return text[: end_of_expression(text, 0, len(text), stops=",")]

    def end_of_expression(text: str, at: int, limit: int, *, stops: str) -> int:
        """Where a bracket closes that was not opened in it, or one of ``stops`` stands outside of brackets."""
        depth = 0
        while at < limit:
            character = text[at]
            if character in "'\"`":
                string = STRING.match(text, at, limit)
                at = string.end() if string else limit
                continue
            depth += (character in "([{") - (character in ")]}")
            if depth < 0 or (depth == 0 and character in stops):
                break
            at += 1
        return at

    def strings_in(text: str) -> list[str]:
        return [
            decode_escapes(next((group for group in found.groups() if group is not None), ""))
            for found in STRING.finditer(text)
        ]
    return locals()

def ralph_guard_programs_containers():
    """Containers: what runs inside is judged where it touches this machine, through mounts, or the data of a database."""

    from typing import NamedTuple

    _m = _module("ralph.guard.families.containers"); ENGINES = _m["ENGINES"]
    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.marks"); TEMPORARY_FOLDER = _m["TEMPORARY_FOLDER"]; UNKNOWN = _m["UNKNOWN"]
    _m = _module("ralph.guard.options"); base_name = _m["base_name"]; read_own_words = _m["read_own_words"]; words_after_options = _m["words_after_options"]; words_in = _m["words_in"]
    _m = _module("ralph.guard.places"); Place = _m["Place"]; join_path = _m["join_path"]
    _m = _module("ralph.guard.shell.scope"); Scope = _m["Scope"]
    _m = _module("ralph.guard.walk"); DangerFound = _m["DangerFound"]; Start = _m["Start"]; refuse = _m["refuse"]

    _GLOBAL_VALUED = words_in(
        "-H --host -c --context -l --log-level -f --file -p --project-name --profile -n --namespace --kubeconfig"
    )
    _VALUED = words_in(
        "-v --volume --mount -w --workdir -e --env -p --publish -u --user -h --hostname -m --memory -l --label -a --attach --name"
        " --network --net --entrypoint --env-file --add-host --platform --restart --ulimit --device --cap-add --cap-drop --cpus"
        " --security-opt --shm-size --tmpfs --pull --ipc --pid --gpus --runtime --log-driver --log-opt --link --volumes-from --cidfile"
        " --group-add --dns --userns --stop-signal --index -n --namespace -c --container"
    )
    _INSIDE = f"{TEMPORARY_FOLDER}/inside"
    """Where a path that is not mounted counts as being: it goes with the container."""
    _PROJECT = f"/{UNKNOWN}/project"
    """Stands for the working directory if that is not known: paths inside a container are absolute."""
    _PATH = LazyPattern(r"(?<![\w.~$/:-])/[^\s'\";:*?&|()]*")
    _JUDGED = ("files", "git", "databases")
    _VERBS = words_in("run create exec rsh")

    class _Container(NamedTuple):
        mounts: list[tuple[str, str]]
        """Folders of the container, and those of this machine that appear there and may be written."""
        directory: str
        command: list[str]

    def start_engine(walk: Walk, start: Start) -> None:
        walk.ask_families(start)
        container = _read_container(start.words)
        if container is None:
            return
        project = walk.rules.cwd or _PROJECT
        here = join_path(project, start.scope.cwd)
        mounts = [(target, join_path(here, source)) for target, source in container.mounts]
        if any(walk.place_of(source, start.scope) is Place.ROOT for _, source in mounts):
            what = "this gives a container the whole file system to write"
            refuse("files", what, "mount the folder that it needs, or add :ro")
        scope = Scope()
        scope.cwd = _on_host(container.directory, mounts) if container.directory else _INSIDE
        words = [_on_host(word, mounts) for word in container.command]
        feed = start.feed
        if feed.text:
            feed = feed._replace(text=_on_host(feed.text, mounts))
        emptied = dict(walk.tally.emptied)
        inner = walk.deeper()._replace(rules=walk.rules._replace(cwd=project))
        try:
            inner.start(inner, Start(words, scope, feed))
        except DangerFound as found:
            if found.danger.family in _JUDGED:
                raise
        walk.tally.emptied = emptied

    def _on_host(text: str, mounts: list[tuple[str, str]]) -> str:
        """Paths of the container as this machine knows them."""

        def moved(found: re.Match[str]) -> str:
            path = found[0].rstrip("/")
            for target, source in mounts:
                if path == target or path.startswith(target + "/"):
                    return source + found[0][len(target) :]
                if target.startswith(path + "/"):
                    return source  # a folder above it takes it along
            return _INSIDE + found[0]

        return _PATH.sub(moved, text)

    def _read_container(words: list[str]) -> _Container | None:
        program = base_name(words[0])
        rest = words_after_options(words[1:], _GLOBAL_VALUED)
        while rest[:1] and rest[0] in ("container", "compose", "pod"):
            rest = words_after_options(rest[1:], _GLOBAL_VALUED)
        if not rest or rest[0] not in _VERBS:
            return None
        own = read_own_words(rest[1:], _VALUED)
        image, command = "".join(own.command[:1]), own.command[1:]
        if program not in ENGINES and command[:1] == ["--"]:
            command = command[1:]
        is_git = base_name(image).partition(":")[0] == "git"
        entry = own.values("--entrypoint") or (["git"] if is_git else [])
        mounts = [
            mount
            for value in own.values("-v", "--volume", "--mount")
            if (mount := _read_mount(value)) is not None
        ]
        directory = own.values("-w", "--workdir")
        return _Container(mounts, directory[-1] if directory else "", [*entry, *command])

    def _read_mount(value: str) -> tuple[str, str] | None:
        """Target and source; None for a named volume and for one that cannot be written."""
        if "=" in value:
            fields = dict(part.partition("=")[::2] for part in value.split(","))
            source = fields.get("source") or fields.get("src") or ""
            target = fields.get("target") or fields.get("dst") or fields.get("destination") or ""
            is_fixed = "readonly" in fields or "ro" in fields or fields.get("type", "bind") != "bind"
        else:
            source, _, target = value.partition(":")
            target, _, mode = target.partition(":")
            is_fixed = "ro" in mode.split(",")
        if is_fixed or not target or not source.startswith(("/", ".", "~", UNKNOWN)):
            return None
        return target.rstrip("/"), source.rstrip("/") or "/"
    return locals()

def ralph_guard_programs_git_helpers():
    """git as a program that runs others: aliases, pagers, ssh commands, ``bisect run``."""

    from itertools import pairwise

    _m = _module("ralph.guard.git_call"); read_git = _m["read_git"]
    _m = _module("ralph.guard.marks"); INPUT = _m["INPUT"]; is_opaque = _m["is_opaque"]
    _m = _module("ralph.guard.options"); base_name = _m["base_name"]; split_words = _m["split_words"]; value_of_option = _m["value_of_option"]; words_in = _m["words_in"]
    _m = _module("ralph.guard.places"); join_path = _m["join_path"]
    _m = _module("ralph.guard.script_walk"); walk_text = _m["walk_text"]
    _m = _module("ralph.guard.walk"); Start = _m["Start"]; refuse_hidden = _m["refuse_hidden"]

    _PROGRAM_KEYS = words_in(
        "core.pager core.editor core.fsmonitor core.askpass diff.external credential.helper sequence.editor gpg.program"
    )
    _PROGRAM_VARIABLES = ("GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_EXTERNAL_DIFF")
    _SETTING_VARIABLES = frozenset(["GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"])
    _NETWORK_SUBCOMMANDS = words_in("fetch pull push clone ls-remote remote submodule fetch-pack send-pack")

    def start_git(walk: Walk, start: Start) -> None:
        words = read_git(start.words[1:])
        environment = start.environment
        if not _SETTING_VARIABLES.isdisjoint(environment) or any(
            map(_runs_programs, words.config_from_environment)
        ):
            refuse_hidden("git's settings come from variables")
        config = words.config
        for key, value in config.items():
            if key.startswith("alias.") and value.lstrip().startswith("!"):
                walk_text(walk, value.lstrip()[1:], start.scope.copy())
                refuse_hidden("this git alias is a shell command")
        named = [config.get(key) for key in _PROGRAM_KEYS] + [
            environment.get(name) for name in _PROGRAM_VARIABLES
        ]
        for program in named:
            if program and not is_opaque(program):
                walk_text(walk, program.lstrip("!"), start.scope.copy())
        if any(INPUT in key for key in config):
            refuse_hidden("words from stdin become git settings")
        is_listing = words.subcommand == "remote" and not {"update", "show", "prune"} & set(words.arguments)
        _check_connection("" if is_listing else words.subcommand, config, environment)
        alias = config.get(f"alias.{words.subcommand}")
        if alias is not None:
            inner = walk.deeper()
            inner.start(inner, start.with_words(["git", *split_words(alias), *words.arguments]))
            return
        _walk_inner_commands(walk, words.subcommand, words.arguments, start.scope)
        scope = start.scope
        if words.directory:
            scope = scope.copy()
            scope.cwd = join_path(scope.cwd, words.directory)
        walk.ask_families(start._replace(scope=scope))

    def _runs_programs(key: str) -> bool:
        return key.startswith("alias.") or key.endswith(("command", "pager", "editor"))

    def _check_connection(subcommand: str, config: dict[str, str], environment: Mapping[str, str]) -> None:
        if subcommand not in _NETWORK_SUBCOMMANDS:
            return
        variables = ("GIT_SSH_COMMAND", "GIT_SSH", "GIT_PROXY_COMMAND")
        for command in (config.get("core.sshcommand"), *map(environment.get, variables)):
            if command and base_name(command.split()[0] if command.split() else "") != "ssh":
                refuse_hidden("git connects through a program named in this command")

    def _walk_inner_commands(walk: Walk, subcommand: str, arguments: list[str], scope: Scope) -> None:
        """Commands that git itself runs: ``bisect run``, ``rebase --exec``, ``submodule foreach``, an alias being set."""
        if subcommand == "bisect" and arguments[:1] == ["run"]:
            walk.start(walk, Start(arguments[1:], scope.copy()))
        if subcommand == "submodule" and "foreach" in arguments:
            rest = [word for word in arguments[arguments.index("foreach") + 1 :] if not word.startswith("--")]
            walk_text(walk, " ".join(rest), scope.copy())
        if subcommand == "rebase" and (text := value_of_option(arguments, ("-x", "--exec"))):
            walk_text(walk, text, scope.copy())
        for name, value in pairwise(arguments) if subcommand == "config" else ():
            if name.startswith("alias."):
                walk_text(walk, value[1:] if value.startswith("!") else f"git {value}", scope.copy())
    return locals()

def ralph_guard_programs_handlers():
    """Which handler follows which program; all others are judged by the families alone."""

    _m = _module("ralph.guard.families.secrets"); check_sending = _m["check_sending"]; reads_secrets = _m["reads_secrets"]
    _m = _module("ralph.guard.marks"); INPUT = _m["INPUT"]; UNKNOWN = _m["UNKNOWN"]; is_opaque = _m["is_opaque"]
    _m = _module("ralph.guard.options"); base_name = _m["base_name"]; has_flag = _m["has_flag"]; words_in = _m["words_in"]
    _m = _module("ralph.guard.program_lists"); DANGEROUS_PROGRAMS = _m["DANGEROUS_PROGRAMS"]; SHELLS = _m["SHELLS"]; TEXT_TOOLS = _m["TEXT_TOOLS"]
    _m = _module("ralph.guard.programs.builtins"); call_function = _m["call_function"]; change_directory = _m["change_directory"]; declare = _m["declare"]
    _m = _module("ralph.guard.programs.carriers"); start_fd = _m["start_fd"]; start_find = _m["start_find"]; start_parallel = _m["start_parallel"]; start_xargs = _m["start_xargs"]
    _m = _module("ralph.guard.programs.code"); looks_like_commands = _m["looks_like_commands"]
    _m = _module("ralph.guard.programs.containers"); start_engine = _m["start_engine"]
    _m = _module("ralph.guard.programs.git_helpers"); start_git = _m["start_git"]
    _m = _module("ralph.guard.programs.interpreters"); interpreter_named = _m["interpreter_named"]; start_interpreter = _m["start_interpreter"]
    _m = _module("ralph.guard.programs.shells"); origin_of_words = _m["origin_of_words"]; refuse_unread = _m["refuse_unread"]; run_text = _m["run_text"]; start_eval = _m["start_eval"]; start_shell = _m["start_shell"]; start_source = _m["start_source"]; start_trap = _m["start_trap"]
    _m = _module("ralph.guard.programs.text_runners"); start_at = _m["start_at"]; start_cmd = _m["start_cmd"]; start_editor = _m["start_editor"]; start_ssh = _m["start_ssh"]; start_su = _m["start_su"]; start_watch = _m["start_watch"]
    _m = _module("ralph.guard.programs.wrappers"); package_command = _m["package_command"]; start_env = _m["start_env"]; start_package = _m["start_package"]; start_sudo = _m["start_sudo"]; start_wrapped = _m["start_wrapped"]; wrapped_command = _m["wrapped_command"]
    _m = _module("ralph.guard.script_walk"); walk_text = _m["walk_text"]
    _m = _module("ralph.guard.shell.escapes"); NO_CHARACTER = _m["NO_CHARACTER"]
    _m = _module("ralph.guard.shell.expansion"); expand_words = _m["expand_words"]
    _m = _module("ralph.guard.shell.syntax"); Simple = _m["Simple"]; scripts_of = _m["scripts_of"]
    _m = _module("ralph.guard.walk"); refuse_hidden = _m["refuse_hidden"]; refuse_if = _m["refuse_if"]

    _HANDLERS: dict[str, Callable[[Walk, Start], None]] = {
        **dict.fromkeys(SHELLS, start_shell),
        "eval": start_eval,
        "source": start_source,
        ".": start_source,
        "trap": start_trap,
        **dict.fromkeys(words_in("cd pushd chdir"), change_directory),
        **dict.fromkeys(
            words_in("export declare typeset local readonly alias read mapfile readarray getopts"), declare
        ),
        **dict.fromkeys(words_in("sudo doas"), start_sudo),
        "env": start_env,
        **dict.fromkeys(words_in("find gfind"), start_find),
        **dict.fromkeys(words_in("fd fdfind"), start_fd),
        **dict.fromkeys(words_in("xargs gxargs"), start_xargs),
        "parallel": start_parallel,
        "git": start_git,
        **dict.fromkeys(words_in("docker podman nerdctl docker-compose podman-compose kubectl oc"), start_engine),
        **dict.fromkeys(words_in("su runuser flock script sg"), start_su),
        "watch": start_watch,
        "ssh": start_ssh,
        **dict.fromkeys(words_in("vim vi nvim ex view"), start_editor),
        **dict.fromkeys(words_in("at batch"), start_at),
        "cmd": start_cmd,
    }

    def start_program(walk: Walk, start: Start) -> None:
        walk.count_call()
        words = start.words
        has_prefix = start.source is not None and bool(start.source.assignments)
        while words and (not words[0] or (words[0] == "!" and not has_prefix)):
            words = words[1:]
        if not words or walk.allows(words):
            return
        start = start._replace(words=words)
        name = words[0]
        if INPUT in name or NO_CHARACTER in name:
            refuse_hidden("the program's name comes from stdin or cannot be read")
        if is_opaque(name) and (origin := origin_of_words(start)) != "file":
            refuse_unread(origin)
        if name in start.scope.functions:
            call_function(walk, start)
            return
        if any(character.isspace() for character in name.strip()) and not _is_path(name):
            _start_quoted(walk, start)
            return
        written = start.scope.written(name) if "/" in name else None
        if written is not None:
            run_text(walk, start, written, "network", words[1:])
            return
        program = base_name(name)
        handler = _HANDLERS.get(program)
        if handler is not None:
            handler(walk, start)
        elif (interpreter := interpreter_named(program)) is not None:
            start_interpreter(walk, start, interpreter)
        elif (package := package_command(program, words[1:])) is not None:
            start_package(walk, start, package)
        elif (wrapped := wrapped_command(program, words[1:])) is not None:
            start_wrapped(walk, start, wrapped)
        else:
            _start_other(walk, start)

    def _start_quoted(walk: Walk, start: Start) -> None:
        """A program whose name has blanks in it."""
        walk.tally.is_torn = True  # a misplaced quote: read the rest strictly
        walk_text(walk, " ".join(" ".join(start.words).split()), start.scope)

    def _is_path(name: str) -> bool:
        r"""``C:\Program Files\Git\bin\git.exe``: a path with a space, not a command in quotes."""
        return name[:1] == "/" or (
            name[1:3] == ":\\" and not any(character.isspace() for character in base_name(name))
        )

    def _start_other(walk: Walk, start: Start) -> None:
        """A program that runs nothing else, as far as we know."""
        words, text, source = start.words, start.feed.text, start.source
        walk.ask_families(start)
        if is_opaque(words[0]) and has_flag(words[1:], "r") and has_flag(words[1:], "f"):
            walk.ask_families(start._replace(words=["rm", *words[1:]]))
        embedded = _embedded_command(words)
        if embedded:
            walk.start(walk, start.with_words(embedded))
        if text and looks_like_commands(base_name(words[0]), text) and source and source.redirects:
            walk_text(walk, text, start.scope.copy())
        if source is not None and any(_prints_secrets(script, start.scope) for script in scripts_of(source)):
            refuse_if(check_sending([*words, UNKNOWN]))

    def _embedded_command(words: list[str]) -> list[str]:
        """A dangerous program among the words of one that we do not know: ``tool exec -- rm -rf /``."""
        if base_name(words[0]) in TEXT_TOOLS or base_name(words[0]) in DANGEROUS_PROGRAMS:
            return []
        for number, word in enumerate(words[1:], start=1):
            if base_name(word) in DANGEROUS_PROGRAMS and not word.endswith("/"):
                return words[number:]
        return []

    def _prints_secrets(script: Script, scope: Scope) -> bool:
        return any(
            isinstance(command, Simple) and reads_secrets(expand_words(command.words, scope))
            for pipeline in script
            for command in pipeline
        )
    return locals()

def ralph_guard_programs_interpreters():
    """Interpreters of other languages: where their code comes from, and what it would do."""

    import re
    from typing import NamedTuple

    _m = _module("ralph.guard.families.files"); check_emptied_file = _m["check_emptied_file"]; shown_path = _m["shown_path"]
    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.marks"); INPUT = _m["INPUT"]; is_opaque = _m["is_opaque"]
    _m = _module("ralph.guard.options"); base_name = _m["base_name"]; read_own_words = _m["read_own_words"]
    _m = _module("ralph.guard.places"); HARMLESS = _m["HARMLESS"]; Place = _m["Place"]; is_regenerated = _m["is_regenerated"]; is_vital_file = _m["is_vital_file"]
    _m = _module("ralph.guard.programs.code"); RUNS_TEXT = _m["RUNS_TEXT"]; danger_in_code = _m["danger_in_code"]; looks_like_commands = _m["looks_like_commands"]; read_code = _m["read_code"]; strip_comments = _m["strip_comments"]
    _m = _module("ralph.guard.programs.shells"); STDIN_FILES = _m["STDIN_FILES"]; origin_of_words = _m["origin_of_words"]; refuse_unread = _m["refuse_unread"]
    _m = _module("ralph.guard.script_walk"); walk_text = _m["walk_text"]
    _m = _module("ralph.guard.shell.expansion"); origin_of = _m["origin_of"]; output_of = _m["output_of"]
    _m = _module("ralph.guard.shell.syntax"); process_files = _m["process_files"]
    _m = _module("ralph.guard.walk"); NOTHING = _m["NOTHING"]; Start = _m["Start"]; refuse = _m["refuse"]; refuse_hidden = _m["refuse_hidden"]; refuse_if = _m["refuse_if"]

    class Interpreter(NamedTuple):
        language: str
        code: tuple[str, ...]
        """Options whose value is code."""
        valued: tuple[str, ...] = ()
        """Options with another value."""

    _PYTHON = Interpreter("python", ("-c",), ("-m", "-W", "-X", "--check-hash-based-pycs"))
    _NODE = Interpreter(
        "node",
        ("-e", "--eval", "-p", "--print", "-pe"),
        ("-r", "--require", "--import", "--loader", "--title", "--env-file", "-C", "--conditions"),
    )
    _AWK = Interpreter("awk", ("-e", "--source"), ("-f", "--file", "-v", "-F", "--assign", "--field-separator"))
    _LUA = Interpreter("lua", ("-e",), ("-l",))
    _INTERPRETERS = {
        **dict.fromkeys(("node", "nodejs", "bun", "tsx"), _NODE),
        "deno": Interpreter("node", ("eval",)),
        "ruby": Interpreter("ruby", ("-e",), ("-r", "-I", "-C")),
        "irb": Interpreter("ruby", ("-e",)),
        "perl": Interpreter("perl", ("-e", "-E"), ("-M", "-m", "-I")),
        "php": Interpreter("php", ("-r", "--run"), ("-d", "-c")),
        **dict.fromkeys(("lua", "luajit", "osascript"), _LUA),
        "rscript": Interpreter("r", ("-e",)),
        "julia": Interpreter("julia", ("-e", "-E", "--eval")),
        **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK),
    }
    _HARMLESS_VALUES = ("-W", "-X", "-v", "-F", "--title", "--conditions")
    """Options whose value is never code."""
    _PYTHON_NAME = LazyPattern(r"(?:python|pypy)[\d.]*w?|py|ipython3?", hints="py")

    def interpreter_named(program: str) -> Interpreter | None:
        if _PYTHON_NAME.fullmatch(program):
            return _PYTHON
        return _INTERPRETERS.get(program.rstrip("0123456789."))

    class CodeSource(NamedTuple):
        codes: list[str]
        script: str = ""
        """The script file, if there is no code."""
        reads_stdin: bool = False
        may_gain_code: bool = False
        """Words from stdin come where code or options are read."""

    def read_interpreter(interpreter: Interpreter, arguments: list[str]) -> CodeSource:
        is_python, language = interpreter is _PYTHON, interpreter.language
        own = read_own_words(
            arguments, (*interpreter.valued, *interpreter.code), last=interpreter.code if is_python else ()
        )
        codes, rest = own.values(*interpreter.code), own.command
        if rest[:1] == ["eval"] and "eval" in interpreter.code:
            codes, rest = rest[1:2], rest[2:]
        names_module = bool(own.values("-m", "-f", "--file"))
        if language == "awk" and not codes and not names_module:
            codes, rest = rest[:1], rest[1:]
        elif not codes and not names_module:
            script = "".join(rest[:1])
            return CodeSource([], script, script in ("", *STDIN_FILES), script.startswith(INPUT))
        given = [value for name, value in own.options if name not in _HARMLESS_VALUES]
        if any(INPUT in text for text in (*codes, *given, *(name for name, _ in own.options))):
            return CodeSource(codes, may_gain_code=True)
        # `python -c`, `perl -pi -e '…' FILES`: what follows is never an option again.
        takes_files = (
            is_python or language == "awk" or any(re.fullmatch(r"-\w*[pn]\w*", word) for word in arguments)
        )
        is_open = not takes_files and "--" not in arguments
        return CodeSource(codes, may_gain_code=is_open and any(word.startswith(INPUT) for word in rest))

    def start_interpreter(walk: Walk, start: Start, interpreter: Interpreter) -> None:
        language = interpreter.language
        source = read_interpreter(interpreter, start.words[1:])
        if source.may_gain_code:
            refuse_hidden(f"words from stdin become code for {base_name(start.words[0])}")
        for code in source.codes:
            if is_opaque(code):
                _run_code_from(walk, start, language, None, origin_of_words(start))
            _walk_code(walk, start, language, code)
        if process_files(start.source) and not source.codes and language != "awk":
            for script in process_files(start.source):
                text, origin = output_of(script, start.scope), origin_of(script, start.scope)
                _run_code_from(walk, start, language, text, origin)
        elif source.reads_stdin and start.feed != NOTHING and language != "awk":
            _run_code_from(walk, start, language, start.feed.text, start.feed.origin)
        elif (written := start.scope.written(source.script)) is not None:
            _run_code_from(walk, start, language, written, "network")
        walk.ask_families(start)
        if interpreter is _PYTHON and start.words[1:2] == ["-m"] and start.words[2:]:
            walk.ask_families(start.with_words(start.words[2:]))

    def _run_code_from(walk: Walk, start: Start, language: str, text: str | None, origin: str) -> None:
        """Code that is not in the command itself: known, or from somewhere. A file that exists already is not read."""
        if text is not None and not is_opaque(text):
            _walk_code(walk, start, language, text)
        elif origin in ("network", "decoder"):
            refuse_unread(origin)

    def _walk_code(walk: Walk, start: Start, language: str, code: str) -> None:
        walk = walk.deeper()
        scope = start.scope
        if language != "awk":
            code = strip_comments(code)
            refuse_if(danger_in_code(code))
            if start.feed.origin == "network" and "stdin" in code and RUNS_TEXT.search(code):
                refuse_unread("network")
        found = read_code(language, code)
        for script in found.scripts:
            if is_opaque(script) or INPUT in script:
                refuse_hidden("this code runs a command that is not known in advance")
            walk_text(walk, script, scope.copy())
        for words in found.calls:
            walk.start(walk, Start(words, scope.copy()))
        for tree in found.removed_trees:
            if walk.place_of(tree, scope) not in HARMLESS:
                refuse("files", "this code removes a whole directory", "remove files inside the project by name")
        for path in found.removed_files:
            place = walk.place_of(path, scope)
            is_pattern = "*" in path
            if place not in (HARMLESS if is_pattern else HARMLESS | {Place.OUTSIDE, Place.UNKNOWN}) or (
                is_pattern and place is Place.INSIDE and not is_regenerated(path)
            ):
                refuse(
                    "files", f"this code removes {shown_path(path)}", "remove files inside the project by name"
                )
        for path in found.emptied_files:
            refuse_if(check_emptied_file(path, walk.place_of(path, scope)))
        for path in found.written_files:
            if is_vital_file(path, scope.cwd):
                refuse("files", f"this code overwrites {path}", "write inside the project")
        if looks_like_commands("", code) and language != "awk":
            walk_text(walk, code, scope.copy())
    return locals()

def ralph_guard_programs_shells():
    """Shells, and what runs a text as a shell does: ``bash -c``, ``sh script``, eval, source, trap."""

    from typing import NamedTuple

    _m = _module("ralph.guard.marks"); INPUT = _m["INPUT"]; is_opaque = _m["is_opaque"]; is_partly_opaque = _m["is_partly_opaque"]
    _m = _module("ralph.guard.options"); base_name = _m["base_name"]; read_own_words = _m["read_own_words"]; split_options = _m["split_options"]; words_in = _m["words_in"]
    _m = _module("ralph.guard.program_lists"); FETCHERS = _m["FETCHERS"]; SETUP_TOOLS = _m["SETUP_TOOLS"]; SETUP_WORDS = _m["SETUP_WORDS"]; SHELLS = _m["SHELLS"]
    _m = _module("ralph.guard.script_walk"); walk_text = _m["walk_text"]
    _m = _module("ralph.guard.shell.expansion"); origin_of = _m["origin_of"]; output_of = _m["output_of"]
    _m = _module("ralph.guard.shell.syntax"); Simple = _m["Simple"]; Text = _m["Text"]; only_substitution = _m["only_substitution"]; process_files = _m["process_files"]; scripts_of = _m["scripts_of"]
    _m = _module("ralph.guard.walk"); NOTHING = _m["NOTHING"]; refuse = _m["refuse"]; refuse_hidden = _m["refuse_hidden"]

    class ShellWords(NamedTuple):
        code: str | None
        """After ``-c``."""
        script: str
        arguments: list[str]
        flags: str
        """Letters of its options."""

    STDIN_FILES = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
    _VALUED = words_in("-o +o -O +O --rcfile --init-file -File -ExecutionPolicy")
    _LONG_CODE = words_in("-command -encodedcommand --command")
    """PowerShell's and fish's ``-c``."""

    def read_shell(words: list[str]) -> ShellWords:
        own = read_own_words(words, _VALUED)
        given = words[: len(words) - len(own.command)]
        flags = "".join(
            word for word in given if word[:2] != "--" and word not in _VALUED and word.lower() not in _LONG_CODE
        )
        rest = own.command[1:] if own.command[:1] in (["-"], ["--"]) else own.command
        if "c" in flags or not _LONG_CODE.isdisjoint(map(str.lower, given)):
            return ShellWords("".join(rest[:1]), "", rest[1:], flags)
        if "s" in flags or not rest or rest[0] in STDIN_FILES:
            return ShellWords(None, "", rest, flags)
        return ShellWords(None, rest[0], rest[1:], flags)

    def run_text(walk: Walk, start: Start, text: str | None, origin: str, arguments: Sequence[str] = ()) -> None:
        """A script that is not in the command itself: known, or from somewhere."""
        if text is None or is_opaque(text):
            refuse_unread(origin)
        walk_text(walk, text, start.scope.with_arguments(arguments))

    def refuse_unread(origin: str) -> NoReturn:
        if origin == "network":
            refuse(
                "network",
                "this runs code straight from the network",
                "save it to a file, read it, then run the file by name",
            )
        refuse_hidden("this runs a script that cannot be read in advance")

    def origin_of_words(start: Start) -> str:
        """Where unknown words come from."""
        scripts = scripts_of(start.source) if start.source is not None else []
        return next(
            (origin for script in scripts if (origin := origin_of(script, start.scope)) != "file"), "file"
        )

    def start_shell(walk: Walk, start: Start) -> None:
        if any(word.startswith("-") and INPUT in word for word in start.words[1:]):
            refuse_hidden("words from stdin become options of a shell")
        shell = read_shell(start.words[1:])
        if "n" in shell.flags:  # it only reads them
            return
        if shell.code is not None:
            _run_code(walk, start, shell.code, shell.arguments)
        elif _run_process_files(walk, start):
            return
        elif shell.script:
            if is_opaque(shell.script):
                refuse_hidden("this runs a script whose name is unknown")
            written = start.scope.written(shell.script)
            if written is not None:
                run_text(walk, start, written, "file", shell.arguments)
        elif start.feed != NOTHING:
            run_text(walk, start, start.feed.text, start.feed.origin, shell.arguments)

    def _run_process_files(walk: Walk, start: Start) -> bool:
        """``bash <(…)``; False if there is none."""
        scripts = process_files(start.source)
        for script in scripts:
            if not (only_substitution(start.source) is script and _prints_setup_code(script)):
                run_text(walk, start, output_of(script, start.scope), origin_of(script, start.scope))
        return bool(scripts)

    def _run_code(walk: Walk, start: Start, code: str, arguments: Sequence[str]) -> None:
        """After ``-c``."""
        if is_opaque(code):
            if INPUT in code:
                refuse_hidden("words from stdin become a script")
            refuse_unread(origin_of_words(start))
        walk_text(walk, code, start.scope.of_child(arguments[1:]), start.feed)

    def start_eval(walk: Walk, start: Start) -> None:
        text = " ".join(start.words[1:])
        if not is_partly_opaque(text):
            walk_text(walk, text, start.scope)
            return
        script = only_substitution(start.source)
        if script is not None and _prints_setup_code(script):
            return
        if start.words[1:3] == ["set", "--"]:
            return
        if origin_of_words(start) == "network":
            refuse_unread("network")
        refuse_hidden("eval runs text that is not known in advance")

    def start_source(walk: Walk, start: Start) -> None:
        if _run_process_files(walk, start):
            return
        _, operands = split_options(start.words[1:], ("-p",))
        if any(is_opaque(word) for word in (*operands[:1], *start.words[1:3])):
            refuse_hidden("this runs a script whose name is unknown")
        written = start.scope.written(operands[0]) if operands else None
        if written is not None:
            run_text(walk, start, written, "file")
        elif operands and operands[0] in STDIN_FILES and start.feed != NOTHING:
            run_text(walk, start, start.feed.text, start.feed.origin)

    def start_trap(walk: Walk, start: Start) -> None:
        _, operands = split_options(start.words[1:])
        if len(operands) > 1 and operands[0] != "-":
            if is_partly_opaque(operands[0]):
                refuse_hidden("trap runs text that is not known in advance")
            # It runs at the end, with the variables that are set by then.
            walk.tally.later.append((walk, operands[0], start.scope))

    def _prints_setup_code(script: Script) -> bool:
        """One call of a tool that is made to print shell code, with nothing around it."""
        if len(script) != 1 or len(script[0]) != 1:
            return False
        command = script[0][0]
        if not isinstance(command, Simple) or command.redirects or command.assignments or not command.words:
            return False
        if not all(isinstance(part, Text) for word in command.words for part in word):
            return False
        words = ["".join(part.text for part in word if isinstance(part, Text)) for word in command.words]
        name = base_name(words[0])
        if name in SHELLS or name in FETCHERS or name in ("command", "env", "sudo", "cat", "echo", "printf"):
            return False
        return name in SETUP_TOOLS or bool(SETUP_WORDS & set(words[1:]))
    return locals()

def ralph_guard_programs_text_runners():
    """Programs that hand a text to a shell: su, watch, ssh, vim, at, cmd …"""

    import shlex

    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.options"); base_name = _m["base_name"]; has_flag = _m["has_flag"]; split_options = _m["split_options"]; split_words = _m["split_words"]; value_of_option = _m["value_of_option"]; words_after_options = _m["words_after_options"]; words_in = _m["words_in"]
    _m = _module("ralph.guard.programs.wrappers"); wrapped_command = _m["wrapped_command"]
    _m = _module("ralph.guard.script_walk"); walk_text = _m["walk_text"]
    _m = _module("ralph.guard.shell.scope"); Scope = _m["Scope"]
    _m = _module("ralph.guard.walk"); NOTHING = _m["NOTHING"]

    _SSH_VALUED = words_in("-p -i -l -o -F -J -L -R -D -b -c -E -e -I -m -O -Q -S -W -w")

    _KEY_ADDED = LazyPattern(r">>\s*\S*\.ssh/authorized_keys")

    def start_su(walk: Walk, start: Start) -> None:
        """``su -c``, ``flock FILE -c``, ``script -c``: a text for a shell among the options."""
        words = start.words[1:]
        text = value_of_option(words, ("-c", "--command"))
        if text is not None:
            walk_text(walk, text, start.scope.copy())
            return
        if base_name(start.words[0]) == "flock":
            _, operands = split_options(words, ("-w", "-E", "--timeout"))
            walk.start(walk, start.with_words(operands[1:]))

    def start_watch(walk: Walk, start: Start) -> None:
        wrapped = wrapped_command("watch", start.words[1:]) or []
        if wrapped and not has_flag(start.words[1:2], "x", "exec"):
            text = wrapped[0] if len(wrapped) == 1 else shlex.join(wrapped)
            walk_text(walk, text, start.scope.copy())
        else:
            walk.start(walk, start.with_words(wrapped))

    def start_ssh(walk: Walk, start: Start) -> None:
        """What it runs on another machine is judged like a command here."""
        walk.ask_families(start)
        if walk.rules.is_off("remote"):
            return
        words = words_after_options(start.words[1:], _SSH_VALUED)
        given = start.feed.text
        text = " ".join(words[1:]) or given or ""
        # Adding a key there is how people log in, and there is no other way to write it.
        walk_text(walk, _KEY_ADDED.sub("", text), Scope(), start.feed if given else NOTHING)

    def start_cmd(walk: Walk, start: Start) -> None:
        """``cmd /c …``."""
        for number, word in enumerate(start.words):
            if word.lower() in ("/c", "/k"):
                rest = start.words[number + 1 :]
                walk.start(walk, start.with_words(split_words(rest[0]) if len(rest) == 1 else rest))
                return

    def start_editor(walk: Walk, start: Start) -> None:
        """``vim -c '!command'``."""
        for word in start.words[1:]:
            command = word.lstrip("+:")
            if command.startswith("!"):
                walk_text(walk, command[1:], start.scope.copy())

    def start_at(walk: Walk, start: Start) -> None:
        """``at`` and ``batch`` run what comes on stdin."""
        walk_text(walk, start.feed.text or "", start.scope.copy())
    return locals()

def ralph_guard_programs_wrappers():
    """Programs that run another command: sudo, env, timeout … A new one is one row."""

    import re

    _m = _module("ralph.guard.marks"); is_opaque = _m["is_opaque"]
    _m = _module("ralph.guard.options"); base_name = _m["base_name"]; has_flag = _m["has_flag"]; is_assignment = _m["is_assignment"]; read_own_words = _m["read_own_words"]; split_words = _m["split_words"]; value_of_option = _m["value_of_option"]; words_after_options = _m["words_after_options"]; words_in = _m["words_in"]
    _m = _module("ralph.guard.places"); join_path = _m["join_path"]
    _m = _module("ralph.guard.programs.shells"); run_text = _m["run_text"]
    _m = _module("ralph.guard.script_walk"); walk_text = _m["walk_text"]
    _m = _module("ralph.guard.walk"); NOTHING = _m["NOTHING"]; Start = _m["Start"]; refuse = _m["refuse"]

    _TABLE = """
sudo doas :: -u -g -p -C -c -h -D -R -r -t -T -U -a --user --group --prompt --chdir --chroot --host --role --type --close-from --other-user
pkexec run0 :: -u -g -D --user --group --chdir --setenv
nohup command builtin setsid busybox toybox noglob nocorrect unbuffer torsocks rtk shx entr ::
nice ionice :: -n -c -p -P -u --adjustment --class --classdata
time gtime :: -f -o --format --output
exec :: -a
stdbuf :: -i -o -e --input --output --error
cpulimit :: -l -p -e --limit
unshare :: -S -G -R -w --root --wd
nsenter :: -t -S -G --target
fakeroot :: -l -s -i -b
watch :: -n --interval -q --equexit
caffeinate :: -t -w
strace ltrace :: -o -e -p -s -u -E -P -a -b -O -S -X
arch :: -e -d -arch --arch
xvfb-run :: -e -f -n -s -w -p --error-file --auth-file --server-num --server-args
dbus-run-session :: --config-file --dbus-daemon
systemd-run systemd-inhibit :: -p -u -t -M -E --unit --property --slice --working-directory --uid --gid --what --who --why --mode
proxychains proxychains4 :: -f
timeout gtimeout :: -s -k --signal --kill-after
chrt taskset chroot :: -T -P -D
"""
    """Wrappers, and those of their options that take the next word as value."""
    _WITH_OPERAND = words_in("timeout gtimeout chrt taskset chroot")
    """They take a word of their own before the command: a duration, a directory."""
    _RUNNERS = """
mise :: exec x
direnv rbenv pyenv asdf bundle aws-vault :: exec
poetry pipenv uv pdm hatch rye conda op doppler dotenvx :: run
nix :: run shell develop
flatpak-spawn :: --host
npm pnpm yarn bun :: exec dlx x
npx bunx pnpx ::
"""
    """Programs, and the subcommands before options and the command; the last two rows run packages."""

    def _read_table(text: str) -> dict[str, frozenset[str]]:
        rows = [line.partition(" ::") for line in text.strip().splitlines()]
        return {program: words_in(words) for programs, _, words in rows for program in programs.split()}

    _VALUED_OF, _VERBS_OF = _read_table(_TABLE), _read_table(_RUNNERS)

    def wrapped_command(program: str, arguments: list[str]) -> list[str] | None:
        """The words of the command that ``program`` runs; None if it is not a wrapper."""
        if program in _VERBS_OF:
            if not arguments or arguments[0] not in _VERBS_OF[program]:
                return None
            if "--" in arguments:
                return arguments[arguments.index("--") + 1 :]
            command = words_after_options(arguments[2 if program == "direnv" else 1 :], ())
            is_python = program == "uv" and "".join(command[:1]).endswith(("-", ".py"))
            return ["python", *command] if is_python else command
        if program not in _VALUED_OF:
            return None
        if program == "command" and arguments[:1] and arguments[0] in ("-v", "-V"):
            return []
        return _own_words(program, arguments).command

    def _own_words(program: str, arguments: list[str]) -> OwnWords:
        own = read_own_words(arguments, _VALUED_OF[program], takes_assignments=program in ("sudo", "doas"))
        return own._replace(command=own.command[program in _WITH_OPERAND :])

    _PACKAGE_RUNNERS = words_in("npx bunx pnpx npm pnpm yarn bun")
    _PACKAGE_VALUED = words_in("-p --package -w --workspace -c --call --filter -F --cwd")
    _PACKAGES = words_in("prisma rimraf shx del-cli knex sequelize sequelize-cli typeorm mikro-orm supabase")
    """Programs that pnpm and yarn also start without a subcommand."""

    def package_command(program: str, arguments: list[str]) -> list[str] | None:
        """The command of ``npx rimraf@5 dist``, ``pnpm dlx …``, ``yarn prisma …``; None if it is none of them."""
        if program not in _PACKAGE_RUNNERS:
            return None
        verbs = _VERBS_OF[program]
        words = words_after_options(arguments, _PACKAGE_VALUED)
        if verbs and words[:1] == ["run"] and words[1:2] and words[1] in _PACKAGES:
            words = [word for word in words[1:] if word != "--"]
        elif verbs and words[:1] and words[0] in verbs:
            words = words_after_options(words[1:], _PACKAGE_VALUED)
        elif verbs and not (words and words[0] in _PACKAGES):
            return None
        name = words[0] if words else ""
        return [name[:1] + name[1:].partition("@")[0], *words[1:]]

    def start_package(walk: Walk, start: Start, command: list[str]) -> None:
        words = start.words[1:]
        package = value_of_option(words, ("-p", "--package")) or ""
        if any(re.match(r"(?:git\+)?https?://", word) for word in (command[0], package)):
            what = "this runs a program straight from the network"
            refuse("network", what, "install it, read it, then run it by name")
        text = value_of_option(words, ("-c", "--call"))
        if text and not command[0]:
            walk_text(walk, text, start.scope.copy())
        walk.start(walk, start.beyond_shell(command))

    def start_wrapped(walk: Walk, start: Start, wrapped: list[str]) -> None:
        name = base_name(start.words[0])
        # As a word of the shell, `time` measures functions too; after an assignment it is a program.
        has_prefix = start.source is not None and bool(start.source.assignments)
        stays = name in ("builtin", "command") or (name == "time" and not has_prefix)
        walk.start(walk, start.with_words(wrapped) if stays else start.beyond_shell(wrapped))

    def start_sudo(walk: Walk, start: Start) -> None:
        own = _own_words(base_name(start.words[0]), start.words[1:])
        for directory in own.values("-D", "--chdir"):
            start.scope.cwd = join_path(start.scope.cwd, directory)
        is_shell = has_flag([name for name, _ in own.options], "s")
        if is_shell and not own.command and start.feed != NOTHING:
            run_text(walk, start, start.feed.text, start.feed.origin)
        walk.start(walk, start.with_words(own.command))

    _ENV_VALUED = words_in("-u --unset -C --chdir -P -a --argv0 -S --split-string")

    def start_env(walk: Walk, start: Start) -> None:
        own = read_own_words(start.words[1:], _ENV_VALUED, last=("-S", "--split-string"), takes_assignments=True)
        scope, environment, command = start.scope.copy(), dict(start.environment), own.command
        for text in own.values("-S", "--split-string"):
            if is_opaque(text):
                return
            command = [*split_words(text), *command]
        settings = own.values("")
        while command and is_assignment(command[0]):
            settings.append(command.pop(0))
        for name, _, value in (setting.partition("=") for setting in settings):
            scope.variables[name] = (value,)
            environment[name] = value
        for directory in own.values("-C", "--chdir"):
            scope.cwd = join_path(scope.cwd, directory)
        if command:
            walk.start(walk, Start(command, scope, start.feed, environment))
    return locals()

def ralph_guard_script_walk():
    """Walks scripts, pipelines and commands of a shell, and follows every program that they would start."""

    _m = _module("ralph.guard.families.files"); check_emptied_file = _m["check_emptied_file"]; check_written_file = _m["check_written_file"]
    _m = _module("ralph.guard.families.secrets"); check_bulk_sending = _m["check_bulk_sending"]; check_sending = _m["check_sending"]; check_sent_input = _m["check_sent_input"]; packs_files = _m["packs_files"]; reads_secrets = _m["reads_secrets"]; saved_file = _m["saved_file"]
    _m = _module("ralph.guard.limits"); MAX_TEXT_CHARS = _m["MAX_TEXT_CHARS"]; TOO_LONG = _m["TOO_LONG"]; TooComplex = _m["TooComplex"]
    _m = _module("ralph.guard.marks"); UNKNOWN = _m["UNKNOWN"]
    _m = _module("ralph.guard.options"); base_name = _m["base_name"]; value_of_option = _m["value_of_option"]; words_in = _m["words_in"]
    _m = _module("ralph.guard.places"); is_startup_file = _m["is_startup_file"]; join_path = _m["join_path"]
    _m = _module("ralph.guard.program_lists"); FETCHERS = _m["FETCHERS"]
    _m = _module("ralph.guard.shell.expansion"); expand_text = _m["expand_text"]; expand_words = _m["expand_words"]; origin_of = _m["origin_of"]; output_of_command = _m["output_of_command"]; stdin_text = _m["stdin_text"]
    _m = _module("ralph.guard.shell.output"); output_of_call = _m["output_of_call"]
    _m = _module("ralph.guard.shell.scripts"); read_script = _m["read_script"]
    _m = _module("ralph.guard.shell.syntax"); Function = _m["Function"]; Group = _m["Group"]; Simple = _m["Simple"]; Text = _m["Text"]; substituted_scripts = _m["substituted_scripts"]
    _m = _module("ralph.guard.walk"); NOTHING = _m["NOTHING"]; DangerFound = _m["DangerFound"]; Feed = _m["Feed"]; Start = _m["Start"]; refuse_if = _m["refuse_if"]

    _UNPACKERS = words_in("tar bsdtar unzip 7z cpio")

    def walk_text(walk: Walk, text: str, scope: Scope, feed: Feed = NOTHING) -> None:
        """Text that a shell will read."""
        if len(text) > MAX_TEXT_CHARS:
            raise TooComplex(TOO_LONG)
        inner = walk.deeper()
        walk_script(inner, read_script(text, inner.depth)[0], scope, feed)

    def walk_script(walk: Walk, script: Script, scope: Scope, feed: Feed = NOTHING) -> None:
        for pipeline in script:
            _walk_pipeline(walk, pipeline, scope, feed)

    def _walk_pipeline(walk: Walk, pipeline: Pipeline, scope: Scope, feed: Feed) -> None:
        secret = packed = False
        for number, command in enumerate(pipeline):
            if isinstance(command, Function):
                scope.functions[command.name] = command.body
            elif isinstance(command, Group):
                _walk_group(walk, command, scope, feed)
            else:
                words = _walk_simple(walk, command, scope, feed)
                refuse_if(check_sending(words) if secret else None)
                refuse_if(check_bulk_sending(words) if packed else None)
                secret = secret or reads_secrets(words)
                packed = packed or packs_files(words)
            if number + 1 < len(pipeline):
                feed = _feed_after(command, scope, feed)

    def _walk_group(walk: Walk, group: Group, scope: Scope, feed: Feed) -> None:
        walk_script(walk.deeper(), group.body, scope.copy() if group.is_subshell else scope, feed)
        _walk_redirects(walk, group, scope)

    def _feed_after(command: Command, scope: Scope, feed: Feed) -> Feed:
        """What a stage of a pipeline gives to the next."""
        text = output_of_command(command, scope, feed.text)
        if text is not None and UNKNOWN not in text:
            return Feed(text)
        origin = origin_of(((command,),), scope)
        return Feed(None, origin if origin != "file" or not feed.origin else feed.origin)

    def _walk_redirects(walk: Walk, command: Simple | Group, scope: Scope) -> None:
        for redirect in command.redirects:
            for script in substituted_scripts(redirect.target):
                walk_script(walk, script, scope.copy())
            if ">" in redirect.operator:
                path = expand_text(redirect.target, scope)
                refuse_if(check_written_file(path, scope.cwd, appends=">>" in redirect.operator))
            elif redirect.operator == "<" and isinstance(command, Simple):
                path = expand_text(redirect.target, scope)
                refuse_if(check_sent_input(expand_words(command.words, scope), path))

    def _walk_simple(walk: Walk, command: Simple, scope: Scope, feed: Feed) -> list[str]:
        for word in (*(value for given in command.assignments for value in given.values), *command.words):
            for script in substituted_scripts(word):
                walk_script(walk.deeper(), script, scope.copy())
        _walk_redirects(walk, command, scope)
        values = {
            assignment.name: tuple(
                text for value in assignment.values for text in _assign(value, scope, len(assignment.values))
            )
            for assignment in command.assignments
        }
        if not command.words:
            for assignment in command.assignments:
                before = scope.variables.get(assignment.name, ("",)) if assignment.appends else ("",)
                scope.variables[assignment.name] = tuple(
                    old + new for old in before[:1] for new in values[assignment.name]
                )
            _remember_files(walk, command, [], scope, NOTHING)
            return []
        words = expand_words(command.words, scope)
        feed = _own_feed(command, scope, feed)
        environment = {name: " ".join(value) for name, value in scope.variables.items()}
        environment |= {name: " ".join(value) for name, value in values.items()}
        walk.start(walk, Start(words, scope, feed, environment, command))
        _remember_files(walk, command, words, scope, feed)
        return words

    def _assign(value: Word, scope: Scope, count: int) -> list[str]:
        if count > 1:
            return expand_words((value,), scope)
        return [expand_text(value, scope)]

    def _own_feed(command: Simple, scope: Scope, feed: Feed) -> Feed:
        text = stdin_text(command.redirects, scope)
        if text is not None:
            return Feed(None, "file") if text.strip() == UNKNOWN else Feed(text)
        for redirect in command.redirects:
            if redirect.operator == "<":
                scripts = substituted_scripts(redirect.target)
                return Feed(None, origin_of(scripts[0], scope) if scripts else "file")
        return feed

    def _remember_files(walk: Walk, command: Simple, words: list[str], scope: Scope, feed: Feed) -> None:
        """``cat > x.sh <<EOF`` … ``bash x.sh``: the text that was written is what will run."""
        paths = [
            (expand_text(redirect.target, scope), redirect.operator)
            for redirect in command.redirects
            if redirect.operator in (">", ">>", ">|") and redirect.fd in ("", "1")
        ]
        program = base_name(words[0]) if words else ""
        if program == "tee":
            paths += [(word, ">") for word in words[1:] if not word.startswith("-")]
        text = output_of_call(words, scope, feed.text) if paths and words else None if words else ""
        if text is None and feed.origin == "network":
            text = UNKNOWN
        if program in _UNPACKERS:
            _remember_unpacked(words, scope, feed)
        if program in FETCHERS:
            text = UNKNOWN
            saved = saved_file(program, words[1:])
            paths += [(saved, ">")] if saved else []
        for path, operator in paths:
            key = join_path(scope.cwd, path)
            walk.tally.emptied.pop(key, None)
            if text is not None and not text.strip() and operator != ">>" and _is_literal(command):
                danger = check_emptied_file(path, walk.place_of(path, scope))
                walk.tally.emptied |= {key: danger} if danger else {}
            if text is None:
                scope.files.pop(key, None)
            else:
                scope.files[key] = (scope.files.get(key, "") if operator == ">>" else "") + text
                if is_startup_file(key):
                    _walk_later(walk, text, scope)
        if program in ("cp", "mv", "ln", "install", "rsync"):
            for word in words[1:]:
                scope.files.pop(join_path(scope.cwd, word), None)

    def _is_literal(command: Simple) -> bool:
        """No variable in it: one that is empty here may have a value there."""
        return all(isinstance(part, Text) for word in command.words for part in word)

    def _remember_unpacked(words: list[str], scope: Scope, feed: Feed) -> None:
        """``curl … | tar xz``, ``unzip fetched.zip``: what comes out of it came from another machine."""
        fetched = [word for word in words[1:] if scope.files.get(join_path(scope.cwd, word)) == UNKNOWN]
        if fetched or feed.origin == "network":
            folder = value_of_option(words, ("-C", "--directory", "-d"))
            stems = [word.rpartition("/")[2].partition(".")[0] for word in fetched]
            places = [folder] if folder else [*stems, "unpacked"]
            scope.unpacked += tuple(join_path(scope.cwd, place) + "/" for place in places)

    def _walk_later(walk: Walk, text: str, scope: Scope) -> None:
        """A shell will read it later. Code that is merely hard to read is common in start-up files."""
        try:
            walk_text(walk, text, scope.copy())
        except DangerFound as found:
            if found.danger.family != "hidden":
                raise
    return locals()

def ralph_guard_shell_cursor():
    """A place in the text of a command line, and what has been noticed on the way there."""

    _m = _module("ralph.guard.limits"); MAX_NESTING = _m["MAX_NESTING"]; MAX_NODES = _m["MAX_NODES"]; TOO_DEEP = _m["TOO_DEEP"]; TOO_MANY_PARTS = _m["TOO_MANY_PARTS"]; TooComplex = _m["TooComplex"]

    class Cursor:
        """Reads ``text`` from ``at`` on. What is open is closed at the end of the text, and ``is_torn`` says so."""

        __slots__ = ("at", "awaited", "cases", "is_torn", "nesting", "nodes", "read_inner", "text")

        def __init__(self, text: str, nesting: int, read_inner: Callable[[Cursor, str], Script]) -> None:
            if nesting > MAX_NESTING:
                raise TooComplex(TOO_DEEP)
            self.text = text
            self.at = 0
            self.nesting = nesting
            self.is_torn = False
            self.nodes = 0
            self.cases = 0
            """How many ``case`` are open here."""
            self.awaited: list[tuple[Redirect, str, bool, bool]] = []
            """Here-documents whose body comes after this line: delimiter, is it quoted, are tabs stripped?"""
            self.read_inner = read_inner
            """Reads the script within a word, up to the bracket that closes it: ``scripts.read_inner``, which needs the words."""

        def peek(self) -> str:
            return self.text[self.at : self.at + 1]

        def find(self, sign: str, start: int) -> int:
            end = self.text.find(sign, start)
            if end < 0:
                self.is_torn = True
                return len(self.text)
            return end

        def find_unescaped(self, sign: str, start: int) -> int:
            """As ``find``, but a backslash hides the character after it."""
            text, end = self.text, start
            while end < len(text) and text[end] != sign:
                end += 2 if text[end] == "\\" else 1
            if end >= len(text):
                self.is_torn = True
            return end

        def ends_word(self, at: int) -> bool:
            return at >= len(self.text) or self.text[at].isspace() or self.text[at] in ";&|)<>"

        def deeper(self) -> None:
            self.nesting += 1
            if self.nesting > MAX_NESTING:
                raise TooComplex(TOO_DEEP)

        def count(self) -> None:
            self.nodes += 1
            if self.nodes > MAX_NODES:
                raise TooComplex(TOO_MANY_PARTS)
    return locals()

def ralph_guard_shell_escapes():
    r"""Escapes of ``$'…'``, ``echo -e`` and ``printf``: ``\n``, ``\x72``, ``\162``, ``\u0072``."""

    import re

    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]

    _ESCAPE = LazyPattern(
        r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|c(.)|(.))", re.DOTALL
    )
    _NAMED_ESCAPES = dict(zip("ntrabeEfv", "\n\t\r\a\b\x1b\x1b\f\v", strict=True))
    NO_CHARACTER = "\ufffd"

    def decode_escapes(text: str) -> str:
        return _ESCAPE.sub(_character_of, text) if "\\" in text else text

    def _character_of(found: re.Match[str]) -> str:
        hexadecimal = found[1] or found[2] or found[3]
        if hexadecimal:
            return _character(int(hexadecimal, 16))
        if found[4]:
            return _character(int(found[4], 8) & 0xFF)
        if found[5]:
            return _character(ord(found[5]) & 0x1F)
        return _NAMED_ESCAPES.get(found[6], found[6])

    def _character(code: int) -> str:
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            return NO_CHARACTER
        return chr(code)
    return locals()

def ralph_guard_shell_expansion():
    """What words become when the shell expands them, as far as that is known; so also what a substituted script prints."""

    import re

    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.limits"); MAX_PRINTED_CHARS = _m["MAX_PRINTED_CHARS"]; MAX_WORD_CHARS = _m["MAX_WORD_CHARS"]; MAX_WORDS = _m["MAX_WORDS"]; MAX_WORDS_CHARS = _m["MAX_WORDS_CHARS"]; TOO_LONG = _m["TOO_LONG"]; TOO_MANY_WORDS = _m["TOO_MANY_WORDS"]; TooComplex = _m["TooComplex"]
    _m = _module("ralph.guard.marks"); UNKNOWN = _m["UNKNOWN"]
    _m = _module("ralph.guard.options"); base_name = _m["base_name"]; words_in = _m["words_in"]
    _m = _module("ralph.guard.program_lists"); FETCHERS = _m["FETCHERS"]
    _m = _module("ralph.guard.shell.output"); output_of_call = _m["output_of_call"]
    _m = _module("ralph.guard.shell.syntax"); ProcessFile = _m["ProcessFile"]; Simple = _m["Simple"]; Substitution = _m["Substitution"]; Text = _m["Text"]; Variable = _m["Variable"]

    _DECODERS = words_in("base64 base32 basenc xxd openssl gunzip zcat uudecode tr rev")
    _BRACES = LazyPattern(r"\{([^{}]*,[^{}]*)\}")
    _RANGE = LazyPattern(r"\{(\w+)\.\.(\w+)\}")

    def expand_words(words: tuple[Word, ...], scope: Scope) -> list[str]:
        expanded: list[str] = []
        for word in words:
            expanded += expand_word(word, scope, names_program=not expanded)
            if len(expanded) > MAX_WORDS:
                raise TooComplex(TOO_MANY_WORDS)
        if sum(map(len, expanded)) > MAX_WORDS_CHARS:
            raise TooComplex(TOO_LONG)
        return expanded

    def expand_word(word: Word, scope: Scope, *, names_program: bool = False) -> list[str]:
        fields = _Fields()
        for part in word:
            if isinstance(part, Text):
                fields.add(part.text, is_quoted=part.quoted)
            elif isinstance(part, Variable):
                _add_variable(fields, part, scope)
            elif isinstance(part, Substitution):
                _add_output(fields, part, scope, names_program=names_program)
            elif isinstance(part, ProcessFile):
                fields.add("/dev/fd/63", is_quoted=True)
            else:
                fields.add("0", is_quoted=True)
        words = fields.finished()
        if any(isinstance(part, Text) and not part.quoted and "{" in part.text for part in word):
            words = [piece for whole in words for piece in expand_braces(whole)]
        return words

    def expand_text(word: Word, scope: Scope) -> str:
        """As in an assignment, a here-document or a redirection: one text, never split."""
        return " ".join(expand_word(tuple(_quoted(part) for part in word), scope, names_program=True))

    def expand_braces(text: str) -> list[str]:
        """``{a,b}c`` is ``ac bc``."""
        pending = [text]
        done: list[str] = []
        while pending:
            if len(pending) + len(done) > MAX_WORDS:
                raise TooComplex(TOO_MANY_WORDS)
            current = pending.pop()
            found = _BRACES.search(current)
            if found:
                before, after = current[: found.start()], current[found.end() :]
                pending += [before + choice + after for choice in reversed(found[1].split(","))]
                continue
            found = _RANGE.search(current)
            if found and current.count("..") == 1:
                # The ends are enough: no rule depends on what lies between them.
                done += [current[: found.start()] + end + current[found.end() :] for end in (found[1], found[2])]
                continue
            done.append(current)
        return done

    class _Fields:
        """Builds the words one word expands to."""

        def __init__(self) -> None:
            self._words: list[str] = []
            self._current: str | None = None

        def add(self, text: str, *, is_quoted: bool) -> None:
            if text or is_quoted:
                self._current = (self._current or "") + text
                if len(self._current) > MAX_WORD_CHARS:
                    raise TooComplex(TOO_LONG)

        def add_split(self, text: str, separators: str) -> None:
            """An unquoted value: cut at the separators."""
            if not separators:
                self.add(text, is_quoted=False)
                return
            pieces = re.split("[" + re.escape(separators) + "]+", text)
            for number, piece in enumerate(pieces):
                if number:
                    self.end_word()
                self.add(piece, is_quoted=False)

        @property
        def is_option(self) -> bool:
            return (self._current or "").startswith("-")

        def end_word(self) -> None:
            if self._current is not None:
                self._words.append(self._current)
                self._current = None
                if len(self._words) > MAX_WORDS:
                    raise TooComplex(TOO_MANY_WORDS)

        def finished(self) -> list[str]:
            self.end_word()
            return self._words

    def _add_variable(fields: _Fields, part: Variable, scope: Scope) -> None:
        values = _values_of(part, scope)
        if part.name == "*" and part.quoted:
            fields.add(scope.separators[:1].join(values), is_quoted=True)
            return
        for number, value in enumerate(values):
            if number:
                fields.end_word()
            if part.quoted:
                fields.add(value, is_quoted=True)
            else:
                fields.add_split(value, scope.separators)
        if not values and part.quoted and part.name != "@":
            fields.add("", is_quoted=True)

    def _values_of(part: Variable, scope: Scope) -> tuple[str, ...]:
        if part.operator == "!":
            inner = scope.value_of(part.name)
            return tuple(value for name in inner for value in scope.value_of(name)) or inner or (UNKNOWN,)
        if part.operator == "#len":
            return ("1",)
        values = scope.value_of(part.name)
        if part.operator in (":-", "-", ":=", "="):
            if not any(values) or (values == (UNKNOWN,) and part.operand):
                return (expand_text(part.operand, scope),)
            return values
        if part.operator in (":+", "+"):
            return (expand_text(part.operand, scope),) if any(values) else ()
        if part.operator in (":?", "?"):
            return values if any(values) else (UNKNOWN,)
        if not part.operator:
            return values
        return tuple(_transform(value, part, scope) for value in values)

    def _transform(value: str, part: Variable, scope: Scope) -> str:
        """The commonest of bash's string operators; others leave the value unknown."""
        operand = expand_text(part.operand, scope)
        if part.operator in ("^", "^^", ",", ",,"):
            return value.upper() if "^" in part.operator else value.lower()
        if part.operator == ":" and (found := re.fullmatch(r"\s*(\d{1,4})(?::(\d{1,4}))?", operand)):
            start = int(found[1])
            return value[start : start + int(found[2])] if found[2] else value[start:]
        if part.operator in ("/", "//") and not set(operand) & set("*?["):
            old, _, new = operand.partition("/")
            return value.replace(old, new, 1 if part.operator == "/" else -1) if old else value
        return value if value == UNKNOWN else value + UNKNOWN

    def _add_output(fields: _Fields, part: Substitution, scope: Scope, *, names_program: bool) -> None:
        output = output_of(part.script, scope)
        text = UNKNOWN if output is None else output.rstrip("\n")
        if (text.startswith("-") or fields.is_option) and not names_program:
            text = UNKNOWN  # an option from a substitution: see "accepted" in docs/guard.md
        if part.quoted:
            fields.add(text, is_quoted=True)
        else:
            fields.add_split(text, scope.separators)

    def _quoted(part: Part) -> Part:
        return part._replace(quoted=True) if isinstance(part, Text | Variable | Substitution) else part

    def output_of(script: Script, scope: Scope) -> str | None:
        """What a script prints; None if it cannot be known without running it."""
        outputs = [_output_of_pipeline(pipeline, scope) for pipeline in script]
        if any(output is None for output in outputs) or not outputs:
            return None
        return "".join(output or "" for output in outputs)[:MAX_PRINTED_CHARS]

    def _output_of_pipeline(pipeline: Pipeline, scope: Scope) -> str | None:
        text: str | None = None
        for command in pipeline:
            text = output_of_command(command, scope, text)
            if text is None:
                return None
        return text

    def stdin_text(redirects: tuple[Redirect, ...], scope: Scope) -> str | None:
        """The text of a here-document or here-string, or of a file that the command line itself wrote."""
        text = None
        for redirect in redirects:
            if redirect.operator == "<<" and redirect.fd in ("", "0"):
                text = expand_text(redirect.target, scope)
            elif redirect.operator == "<<<":
                text = expand_text(redirect.target, scope) + "\n"
            elif redirect.operator == "<":
                text = scope.written(expand_text(redirect.target, scope))
        return text

    def output_of_command(command: Command, scope: Scope, stdin: str | None) -> str | None:
        if not isinstance(command, Simple) or not command.words:
            return None
        if any(">" in redirect.operator and redirect.fd != "2" for redirect in command.redirects):
            return None
        given = stdin_text(command.redirects, scope)
        words = expand_words(command.words, scope)
        if not words:
            return None
        return output_of_call(words, scope, stdin if given is None else given)

    def origin_of(script: Script, scope: Scope) -> str:
        """Where the output of a script comes from."""
        for pipeline in script:
            for command in pipeline:
                if not isinstance(command, Simple) or not command.words:
                    continue
                words = expand_words(command.words, scope)
                names = {base_name(word) for word in words[:3]}
                if names & FETCHERS:
                    return "network"
                if names & _DECODERS:
                    return "decoder"
        return "file"
    return locals()

def ralph_guard_shell_listings():
    """What find, fd, ls, git ls-files, pgrep, ps and docker ps list, as far as their words say: patterns in place of names."""

    import re
    from typing import NamedTuple

    _m = _module("ralph.guard.marks"); EVERYTHING = _m["EVERYTHING"]; INPUT = _m["INPUT"]
    _m = _module("ralph.guard.options"); split_options = _m["split_options"]; value_of_option = _m["value_of_option"]; words_in = _m["words_in"]

    class FindCall(NamedTuple):
        removed: list[str]
        """What ``-delete`` removes, as patterns: ``./**/*.pyc``."""
        commands: list[list[str]]
        """What ``-exec`` and its kin run, with patterns for ``{}``."""
        listed: list[str]
        """What it prints, as patterns."""
        may_gain_actions: bool
        """Words from stdin come where ``-delete`` could be."""

    _FIND_VALUED = words_in(
        "-regex -iregex -lname -ilname -xtype -size -mtime -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -user -group -uid"
        " -gid -perm -links -inum -samefile -maxdepth -mindepth -fstype -used -printf -fprint -fprint0 -fls -regextype -context"
        " -D -files0-from"
    )
    _FIND_NAMES = words_in("-name -iname -path -ipath -wholename -iwholename")
    _FIND_RUNNERS = ("-exec", "-execdir", "-ok", "-okdir")
    _EMPTY_FOLDER = "tmp"
    """An empty folder is as good as a temporary one."""

    class _Tests:
        """The tests before an action: each alternative must name what it wants."""

        def __init__(self, roots: list[str]) -> None:
            self._roots = roots
            self._names: list[str] = []
            self._alternatives = 1
            self.is_negated = False
            self.wants_folders = False

        def add_name(self, name: str) -> None:
            if not self.is_negated and name.strip("*./"):
                self._names.append(name)

        def add_alternative(self) -> None:
            self._alternatives += 1

        def patterns(self) -> list[str]:
            if len(self._names) < self._alternatives:
                return [f"{root}/**" for root in self._roots]
            return [
                name if "/" in name and name.startswith(root) else f"{root}/**/{name.removeprefix('*/')}"
                for root in self._roots
                for name in self._names
            ]

    def read_find(arguments: list[str]) -> FindCall:
        at = 0
        while at < len(arguments) and (arguments[at] in ("-H", "-L", "-P") or arguments[at].startswith("-O")):
            at += 1
        roots: list[str] = []
        while at < len(arguments) and not arguments[at].startswith(("-", "(", "!")):
            roots.append(arguments[at].rstrip("/") or "/")
            at += 1
        may_gain = any(root.startswith(INPUT) for root in roots)
        tests = _Tests(roots or ["."])
        removed: list[str] = []
        commands: list[list[str]] = []
        while at < len(arguments):
            word = arguments[at]
            at += 1
            if word in ("!", "-not"):
                tests.is_negated = True
                continue
            if word == "-delete":
                removed += tests.patterns()
            elif word in _FIND_RUNNERS:
                command: list[str] = []
                while at < len(arguments) and arguments[at] not in (";", "+", "\\;"):
                    command.append(arguments[at])
                    at += 1
                at += 1
                commands.append(_fill_places(command, tests.patterns()))
            elif word in ("-o", "-or", ","):
                tests.add_alternative()
            elif word in _FIND_NAMES:
                tests.add_name(arguments[at] if at < len(arguments) else "")
                at += 1
            elif word == "-type":
                tests.wants_folders = arguments[at : at + 1] == ["d"]
                at += 1
            elif word == "-empty" and tests.wants_folders:
                tests.add_name(_EMPTY_FOLDER)
            elif word == "-fprintf":
                at += 2
            elif word in _FIND_VALUED or re.fullmatch(r"-newer[aBcm][aBcmt]", word):
                at += 1
            elif word.startswith(INPUT) or (word.startswith("-") and INPUT in word):
                may_gain = True
            tests.is_negated = False
        return FindCall(removed, commands, tests.patterns(), may_gain)

    def _fill_places(command: list[str], patterns: list[str]) -> list[str]:
        filled: list[str] = []
        for word in command:
            if word == "{}":
                filled += patterns
            else:
                filled.append(word.replace("{}", patterns[0]))
        return filled

    _FD_VALUED = words_in(
        "-e --extension -t --type -d --max-depth --min-depth -E --exclude -c --color -j --threads -S --size --changed-within"
        " --changed-before -o --owner --base-directory --exact-depth"
    )

    def read_fd(arguments: list[str]) -> FindCall:
        """``fd PATTERN ROOT… -x COMMAND``."""
        at = next(
            (n for n, word in enumerate(arguments) if word in ("-x", "--exec", "-X", "--exec-batch")),
            len(arguments),
        )
        own, command = arguments[:at], arguments[at + 1 :]
        _, operands = split_options(own, _FD_VALUED)
        extension = value_of_option(own, ("-e", "--extension"))
        name = f"*.{extension}" if extension else "".join(operands[:1]).strip("^$")
        tests = _Tests([root.rstrip("/") or "/" for root in operands[1:]] or ["."])
        tests.add_name(name)
        if command and not any("{" in word for word in command):
            command = [*command, "{}"]
        commands = [_fill_places(command, tests.patterns())] if command else []
        return FindCall([], commands, tests.patterns(), False)

    _PGREP_VALUED = words_in("-u -U -g -G -P -t -s -d --euid --uid --parent --pgroup --signal")

    def list_names(program: str, arguments: list[str], stdin: str | None) -> str | None:
        """What a program would list; None if its words do not say."""
        options, operands = split_options(arguments)
        if program in ("find", "gfind"):
            find = read_find(arguments)
            return None if find.commands or find.removed or "-printf" in arguments else "\n".join(find.listed)
        if program in ("fd", "fdfind"):
            return None if "-x" in arguments or "-X" in arguments else "\n".join(read_fd(arguments).listed)
        if program == "ls":
            is_plain = all("*" in operand for operand in operands)
            return ("\n".join(operands) or "./*") if is_plain else None
        if program == "git" and operands[:1] == ["ls-files"]:
            return "\n".join(f"./**/{name}" for name in operands[1:]) or "./**"
        if program in ("docker", "podman", "nerdctl") and {"ps", "ls", "images"} & set(operands[:2]):
            is_chosen = any(option.startswith(("-f", "--filter", "-n", "-l")) for option in options)
            return None if is_chosen else EVERYTHING + program
        if program in ("pgrep", "pidof", "ps"):
            _, names = split_options(arguments, _PGREP_VALUED)
            is_child = not {"-P", "--parent"}.isdisjoint(options)
            return _name_all("" if program == "ps" else "children" if is_child else " ".join(names))
        return _filter_names(program, options, operands, stdin)

    def _name_all(pattern: str) -> str:
        """All processes that match, as one word."""
        return EVERYTHING + "+".join(re.sub(r"[][]", "", pattern).split())

    def _filter_names(program: str, options: list[str], operands: list[str], stdin: str | None) -> str | None:
        """What is left of a listing after grep, awk, sort …"""
        if stdin is None or not (stdin.startswith(EVERYTHING) or "**" in stdin):
            return None
        if program in ("sort", "uniq", "tr"):
            return stdin
        if program == "grep" and any(option[:2] != "--" and "v" in option for option in options):
            return stdin
        if not stdin.startswith(EVERYTHING):
            return None
        if program in ("grep", "egrep"):
            return _name_all(f"{stdin.strip(EVERYTHING)} {' '.join(operands)}")
        return stdin if program in ("awk", "cut", "tr", "head", "tail", "sed") else None
    return locals()

def ralph_guard_shell_output():
    """What a program prints, where we know it without running it: echo, printf, listings, a few queries."""

    import re

    _m = _module("ralph.guard.lazy_pattern"); LazyPattern = _m["LazyPattern"]
    _m = _module("ralph.guard.limits"); MAX_PRINTED_CHARS = _m["MAX_PRINTED_CHARS"]
    _m = _module("ralph.guard.marks"); TEMPORARY_FOLDER = _m["TEMPORARY_FOLDER"]
    _m = _module("ralph.guard.options"); base_name = _m["base_name"]; split_options = _m["split_options"]
    _m = _module("ralph.guard.shell.escapes"); decode_escapes = _m["decode_escapes"]
    _m = _module("ralph.guard.shell.listings"); list_names = _m["list_names"]

    _FORMAT = LazyPattern(r"%[-+ #0]*\d*(?:\.\d+)?([a-zA-Z%])")

    def output_of_call(words: list[str], scope: Scope, stdin: str | None) -> str | None:
        """None if it cannot be known."""
        program, arguments = base_name(words[0]), words[1:]
        if (
            program in ("sudo", "command", "builtin", "env", "exec")
            and arguments
            and not arguments[0].startswith("-")
        ):
            return output_of_call(arguments, scope, stdin)
        if program == "echo":
            return _echo(arguments)
        if program == "printf":
            return _format(arguments)
        if program == "tee":
            return stdin
        if program in ("cat", "tac"):
            return _concatenate(arguments, scope, stdin)
        listed = list_names(program, arguments, stdin)
        return _answer(program, arguments) if listed is None else listed

    def _answer(program: str, arguments: list[str]) -> str | None:
        """Programs whose answer can be predicted well enough."""
        operands = [argument for argument in arguments if not argument.startswith("-")]
        if program == "mktemp":
            return f"{TEMPORARY_FOLDER}/made" if not any("/" in operand for operand in operands) else operands[-1]
        if program == "pwd" or (
            program == "git" and arguments[:1] == ["rev-parse"] and "--show-toplevel" in arguments
        ):
            return "."
        if program in ("which", "realpath", "readlink", "type") and operands:
            return operands[-1]
        if program == "command" and arguments[:1] in (["-v"], ["-V"]) and operands:
            return operands[-1]
        if program == "whoami":
            return "user"
        if program in ("true", ":"):
            return ""
        return None

    def _echo(arguments: list[str]) -> str:
        has_escapes = False
        newline = "\n"
        while arguments and re.fullmatch(r"-[neE]+", arguments[0]):
            has_escapes = has_escapes or "e" in arguments[0]
            newline = "" if "n" in arguments[0] else newline
            arguments = arguments[1:]
        text = " ".join(arguments)
        return (decode_escapes(text) if has_escapes else text) + newline

    def _format(arguments: list[str]) -> str | None:
        if arguments[:1] == ["--"]:
            arguments = arguments[1:]
        if not arguments or arguments[0] == "-v":
            return None
        template, values = decode_escapes(arguments[0]), arguments[1:]
        printed = ""
        while True:
            before = len(values)

            def replaced(found: re.Match[str]) -> str:
                if found[1] == "%":
                    return "%"
                value = values.pop(0) if values else ""
                return decode_escapes(value) if found[1] == "b" else value

            printed += _FORMAT.sub(replaced, template)
            if not values or len(values) == before or len(printed) > MAX_PRINTED_CHARS:
                return printed

    def _concatenate(arguments: list[str], scope: Scope, stdin: str | None) -> str | None:
        _, operands = split_options(arguments)
        if not operands or operands == ["-"]:
            return stdin
        texts = [stdin if operand == "-" else scope.written(operand) for operand in operands]
        if any(text is None for text in texts):
            return None
        return "".join(text or "" for text in texts)
    return locals()

def ralph_guard_shell_redirects():
    """Redirections, here-documents and blanks: what stands between the words of a command."""

    _m = _module("ralph.guard.shell.cursor"); Cursor = _m["Cursor"]
    _m = _module("ralph.guard.shell.syntax"); Redirect = _m["Redirect"]; Text = _m["Text"]
    _m = _module("ralph.guard.shell.words"); read_double_quoted = _m["read_double_quoted"]; read_word = _m["read_word"]
    _m = _module("ralph.patterns"); pattern = _m["pattern"]

    _REDIRECT = pattern(r"(\d*|\{\w+\})(<<<|<<-|<<|<>|>>|>\||>&|<&|&>>|&>|<|>)")
    OPERATOR = pattern(r";;&|;;|;&|&&|\|\||\|&|[;&|\n]")
    _BLANKS = pattern(r"(?:[^\S\n]|\\\n)*(?:(?<![^ \t\n;&|(])#[^\n]*)?")
    """Blanks, continued lines, a comment."""

    def read_redirects(cursor: Cursor) -> tuple[Redirect, ...]:
        redirects: list[Redirect] = []
        while True:
            skip_blanks(cursor)
            redirect = read_redirect(cursor)
            if redirect is None:
                return tuple(redirects)
            redirects.append(redirect)

    def match_redirect(cursor: Cursor) -> re.Match[str] | None:
        found = _REDIRECT.match(cursor.text, cursor.at)
        is_process_file = found and found[2] in ("<", ">") and cursor.text.startswith("(", found.end())
        return None if is_process_file else found

    def read_redirect(cursor: Cursor) -> Redirect | None:
        found = match_redirect(cursor)
        if found is None:
            return None
        cursor.at = found.end()
        skip_blanks(cursor)
        redirect = Redirect(found[2], (), found[1])
        start = cursor.at
        target = read_word(cursor) or ()
        if found[2] in ("<<", "<<-"):
            redirect.operator = "<<"
            is_quoted = any(sign in cursor.text[start : cursor.at] for sign in "'\"\\")
            delimiter = "".join(part.text for part in target if isinstance(part, Text))
            cursor.awaited.append((redirect, delimiter, is_quoted, found[2] == "<<-"))
        else:
            redirect.target = target
        return redirect

    def read_here_documents(cursor: Cursor) -> None:
        """``at`` is at the beginning of a line."""
        awaited, cursor.awaited = cursor.awaited, []
        for redirect, delimiter, is_quoted, strips_tabs in awaited:
            lines: list[str] = []
            while cursor.at < len(cursor.text):
                end = cursor.text.find("\n", cursor.at)
                end = len(cursor.text) if end < 0 else end
                line = cursor.text[cursor.at : end]
                cursor.at = min(end + 1, len(cursor.text))
                if strips_tabs:
                    line = line.lstrip("\t")
                if line == delimiter:
                    break
                lines.append(line + "\n")
            else:
                cursor.is_torn = True
            body = "".join(lines)
            if is_quoted:
                redirect.target = (Text(body, True),)
            else:  # substitutions count, quotes do not
                redirect.target = read_double_quoted(Cursor(body, cursor.nesting + 1, cursor.read_inner), end="")

    def skip_blanks(cursor: Cursor) -> None:
        found = _BLANKS.match(cursor.text, cursor.at)
        cursor.at = found.end() if found else cursor.at

    def skip_blanks_and_newlines(cursor: Cursor) -> None:
        while True:
            skip_blanks(cursor)
            if cursor.peek() != "\n":
                operator = OPERATOR.match(cursor.text, cursor.at)
                if operator is None:
                    return
                cursor.at = operator.end()  # `; ;`, a leading `|`: nothing runs here
                continue
            cursor.at += 1
            read_here_documents(cursor)
    return locals()

def ralph_guard_shell_scope():
    """What a command line has set up before a command runs: variables, functions, directory, files it wrote."""

    _m = _module("ralph.guard.marks"); INPUT = _m["INPUT"]; TEMPORARY_FOLDER = _m["TEMPORARY_FOLDER"]; UNKNOWN = _m["UNKNOWN"]
    _m = _module("ralph.guard.places"); join_path = _m["join_path"]

    _ENVIRONMENT = {
        "HOME": "~",
        "PWD": ".",
        "OLDPWD": UNKNOWN,
        **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), TEMPORARY_FOLDER),
        **dict.fromkeys(("SHELL", "BASH"), "bash"),
        **dict.fromkeys(("USER", "LOGNAME"), "user"),
        **dict.fromkeys(("UID", "EUID"), "1000"),
        "IFS": " \t\n",
    }
    _NUMBERS = {"#": "1", "?": "1", "-": "1", "$": "4242", "!": "4242"}
    _INSTALLERS = frozenset(["install", "install.sh", "setup", "setup.sh", "bootstrap", "bootstrap.sh"])

    class Scope:
        """Copied for a subshell, shared by a group."""

        __slots__ = ("cwd", "exports_functions", "files", "functions", "unpacked", "variables")

        def __init__(self) -> None:
            self.variables: dict[str, tuple[str, ...]] = {}
            self.functions: dict[str, Script] = {}
            self.files: dict[str, str] = {}
            self.unpacked: tuple[str, ...] = ()
            """Folders into which an archive from another machine was unpacked, each with a slash at its end."""
            self.cwd = "."
            self.exports_functions = False

        def copy(self) -> Scope:
            other = Scope()
            other.variables = dict(self.variables)
            other.functions = dict(self.functions)
            other.files = dict(self.files)
            other.unpacked = self.unpacked
            other.cwd = self.cwd
            other.exports_functions = self.exports_functions
            return other

        def of_child(self, arguments: Sequence[str]) -> Scope:
            """For another shell: it sees functions only if they were exported."""
            other = self.with_arguments(arguments)
            if not self.exports_functions:
                other.functions = {}
            return other

        def with_arguments(self, arguments: Sequence[str]) -> Scope:
            """For a function or ``sh -c``: ``$1`` … and ``$@``."""
            other = self.copy()
            other.variables = {name: value for name, value in self.variables.items() if not name.isdigit()}
            for number, argument in enumerate(arguments, start=1):
                other.variables[str(number)] = (argument,)
            other.variables["@"] = other.variables["*"] = tuple(arguments)
            if any(INPUT in argument for argument in arguments):
                # xargs appends any number of arguments.
                for number in range(1, 21):
                    other.variables.setdefault(str(number), (INPUT,))
            return other

        def written(self, path: str) -> str | None:
            """The text of a file that the command line itself wrote; unknown text if it was fetched or unpacked."""
            if path == "/dev/null":
                return ""
            if not self.files and not self.unpacked:
                return None
            whole = join_path(self.cwd, path)
            name = whole.rpartition("/")[2]
            if self.unpacked and (
                name in _INSTALLERS or (name != "configure" and whole.startswith(self.unpacked))
            ):
                return UNKNOWN
            return self.files.get(whole)

        def value_of(self, name: str) -> tuple[str, ...]:
            """The values of a variable.

        A name in capitals that was not set here comes from the environment and may be anything. One in small
        letters is empty: every command of an agent starts in a fresh shell.
        """
            if name in self.variables:
                return self.variables[name]
            if name in _ENVIRONMENT:
                return (_ENVIRONMENT[name],)
            if name.isdigit() or name in ("@", "*"):
                return ()
            if name in _NUMBERS:
                return (_NUMBERS[name],)
            return (UNKNOWN,) if name.isupper() else ()

        @property
        def separators(self) -> str:
            return "".join(self.value_of("IFS"))
    return locals()

def ralph_guard_shell_scripts():
    """Reads a script. Total: whatever the text, a script comes out or ``TooComplex`` is raised."""

    _m = _module("ralph.guard.shell.cursor"); Cursor = _m["Cursor"]
    _m = _module("ralph.guard.shell.redirects"); OPERATOR = _m["OPERATOR"]; match_redirect = _m["match_redirect"]; read_here_documents = _m["read_here_documents"]; read_redirect = _m["read_redirect"]; read_redirects = _m["read_redirects"]; skip_blanks = _m["skip_blanks"]; skip_blanks_and_newlines = _m["skip_blanks_and_newlines"]
    _m = _module("ralph.guard.shell.syntax"); Assignment = _m["Assignment"]; Function = _m["Function"]; Group = _m["Group"]; Simple = _m["Simple"]; Text = _m["Text"]; Variable = _m["Variable"]; plain_text = _m["plain_text"]
    _m = _module("ralph.guard.shell.words"); is_arithmetic = _m["is_arithmetic"]; read_arithmetic = _m["read_arithmetic"]; read_word = _m["read_word"]
    _m = _module("ralph.patterns"); pattern = _m["pattern"]

    _ASSIGNMENT = pattern(r"(\w+)(\[[^]]*\])?(\+?)=")
    _PARENTHESES = pattern(r"\s*\(\s*\)")
    _IN = pattern(r"in\b")
    _SKIPPED_KEYWORDS = frozenset(
        ["if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "coproc"]
    )

    def read_script(text: str, nesting: int = 0) -> tuple[Script, bool]:
        """The script, and whether a quote, substitution or here-document was left open in its text."""
        cursor = Cursor(text, nesting, _read_inner)
        return _read_whole(cursor), cursor.is_torn

    def _read_inner(cursor: Cursor, closing: str) -> Script:
        """A script within a word: up to ``closing``, or all of the text."""
        return _read_enclosed(cursor, closing) if closing else _read_whole(cursor)

    def _read_whole(cursor: Cursor) -> Script:
        script = _read_pipelines(cursor, "")
        while cursor.at < len(cursor.text):  # skip a stray closing bracket
            cursor.at += 1
            script += _read_pipelines(cursor, "")
        return script

    def _read_pipelines(cursor: Cursor, closing: str) -> Script:
        """Pipelines up to ``closing`` (``)`` or ``}`` in command position), which is not consumed."""
        pipelines: list[Pipeline] = []
        while True:
            skip_blanks_and_newlines(cursor)
            if cursor.at >= len(cursor.text):
                read_here_documents(cursor)
                return tuple(pipelines)
            character = cursor.text[cursor.at]
            if character == ")":
                if not cursor.cases:
                    return tuple(pipelines)
                cursor.at += 1  # the end of a pattern in `case`
                continue
            if closing == "}" and character == "}" and cursor.ends_word(cursor.at + 1):
                return tuple(pipelines)
            before = cursor.at
            pipeline = _read_pipeline(cursor)
            if cursor.cases and cursor.peek() == ")":
                cursor.at += 1
                continue  # it was a pattern of `case`
            if pipeline:
                pipelines.append(pipeline)
            if cursor.at == before:
                if cursor.text[cursor.at] == ")":
                    return tuple(pipelines)
                cursor.at += 1

    def _read_pipeline(cursor: Cursor) -> Pipeline:
        commands: list[Command] = []
        while True:
            command = _read_command(cursor)
            if command is not None:
                commands.append(command)
            skip_blanks(cursor)
            operator = OPERATOR.match(cursor.text, cursor.at)
            if operator is None:
                return tuple(commands)
            if operator[0] == "\n":
                return tuple(commands)
            cursor.at = operator.end()
            if operator[0] not in ("|", "|&"):
                return tuple(commands)
            if not commands:
                # What a loop prints goes into the next command: unknown, but not nothing.
                commands.append(Group((), False))
            skip_blanks_and_newlines(cursor)

    def _read_command(cursor: Cursor) -> Command | None:
        cursor.count()
        ends_block = False
        while True:
            skip_blanks(cursor)
            if cursor.at >= len(cursor.text):
                return None
            if is_arithmetic(cursor):
                return _read_arithmetic_command(cursor)
            if cursor.text[cursor.at] == "(":
                cursor.at += 1
                return _read_group(cursor, ")", is_subshell=True)
            if ends_block and match_redirect(cursor):  # `done > file`: the loop writes it
                return Group((), False, read_redirects(cursor))
            if match_redirect(cursor) or _ASSIGNMENT.match(cursor.text, cursor.at):
                return _read_simple(cursor, [])
            word = read_word(cursor)
            if word is None:
                return None
            keyword = plain_text(word)
            if keyword == "{":
                return _read_group(cursor, "}", is_subshell=False)
            ends_block = keyword in ("done", "fi", "esac")
            if keyword in _SKIPPED_KEYWORDS:
                continue
            if keyword == "case":
                skip_blanks(cursor)
                read_word(cursor)
                cursor.cases += 1
                skip_blanks_and_newlines(cursor)
                if cursor.text.startswith("in", cursor.at):
                    cursor.at += 2
                return None
            if keyword == "esac":
                cursor.cases = max(0, cursor.cases - 1)
                continue
            if keyword in ("for", "select"):
                return _read_loop(cursor)
            if keyword == "function":
                skip_blanks(cursor)
                name = plain_text(read_word(cursor) or ()) or ""
                _skip_parentheses(cursor)
                return _read_function(cursor, name)
            if keyword and _skip_parentheses(cursor):
                return _read_function(cursor, keyword)
            return _read_simple(cursor, [word])

    def _skip_parentheses(cursor: Cursor) -> bool:
        found = _PARENTHESES.match(cursor.text, cursor.at)
        if found:
            cursor.at = found.end()
        return found is not None

    def _read_function(cursor: Cursor, name: str) -> Function:
        skip_blanks_and_newlines(cursor)
        cursor.deeper()
        if cursor.peek() == "{":  # also without a blank after it: people write fork bombs so
            cursor.at += 1
            body: Command | None = _read_group(cursor, "}", is_subshell=False)
        else:
            body = _read_command(cursor)
        cursor.nesting -= 1
        return Function(name, ((body,),) if body is not None else ())

    def _read_enclosed(cursor: Cursor, closing: str) -> Script:
        cursor.deeper()
        cases, cursor.cases = cursor.cases, 0
        script = _read_pipelines(cursor, closing)
        cursor.cases = cases
        cursor.nesting -= 1
        if cursor.peek() == closing:
            cursor.at += 1
        else:
            cursor.is_torn = True
        return script

    def _read_group(cursor: Cursor, closing: str, *, is_subshell: bool) -> Group:
        return Group(_read_enclosed(cursor, closing), is_subshell, read_redirects(cursor))

    def _read_loop(cursor: Cursor) -> Simple:
        """``for name in words``: an assignment with several values; the body follows as commands of its own."""
        skip_blanks(cursor)
        if is_arithmetic(cursor):
            return _read_arithmetic_command(cursor)
        name = plain_text(read_word(cursor) or ()) or "_"
        skip_blanks_and_newlines(cursor)
        values: list[Word] = []
        if _IN.match(cursor.text, cursor.at):
            cursor.at += 2
            skip_blanks(cursor)
            while (word := read_word(cursor)) is not None:
                values.append(word)
                skip_blanks(cursor)
        else:
            values.append((Variable("@", True),))
        return Simple((Assignment(name, tuple(values)),), (), ())

    def _read_arithmetic_command(cursor: Cursor) -> Simple:
        cursor.at += 2
        return Simple((), ((Text(":"),), (read_arithmetic(cursor),)), ())

    def _read_simple(cursor: Cursor, words: list[Word]) -> Command | None:
        assignments: list[Assignment] = []
        redirects: list[Redirect] = []
        while True:
            skip_blanks(cursor)
            redirect = read_redirect(cursor)
            if redirect is not None:
                redirects.append(redirect)
                continue
            if not words:
                assignment = _read_assignment(cursor)
                if assignment is not None:
                    assignments.append(assignment)
                    continue
            word = read_word(cursor)
            if word is None:
                if not (assignments or words or redirects):
                    return None
                return Simple(tuple(assignments), tuple(words), tuple(redirects))
            words.append(word)

    def _read_assignment(cursor: Cursor) -> Assignment | None:
        found = _ASSIGNMENT.match(cursor.text, cursor.at)
        if found is None:
            return None
        cursor.at = found.end()
        if cursor.peek() != "(":
            return Assignment(found[1], (read_word(cursor) or (),), bool(found[3]))
        cursor.at += 1
        values: list[Word] = []
        skip_blanks_and_newlines(cursor)
        while cursor.at < len(cursor.text) and cursor.peek() != ")":
            word = read_word(cursor)
            if word is None:
                cursor.at += 1  # nothing that a list may hold
            else:
                values.append(word)
            skip_blanks_and_newlines(cursor)
        cursor.is_torn = cursor.is_torn or cursor.at >= len(cursor.text)
        cursor.at += 1
        return Assignment(found[1], tuple(values), bool(found[3]))
    return locals()

def ralph_guard_shell_syntax():
    """The parts of a shell command line, as far as a guard needs them.

Control flow is flat: ``if``, ``while`` and ``case`` only mark where commands begin, because every branch is judged.
"""

    from typing import NamedTuple

    class Text(NamedTuple):
        text: str
        quoted: bool = False

    class Variable(NamedTuple):
        """``$name`` or ``${name<operator><operand>}``."""

        name: str
        quoted: bool
        operator: str = ""
        operand: Word = ()

    class Substitution(NamedTuple):
        """``$( )``, backticks."""

        script: Script
        quoted: bool

    class ProcessFile(NamedTuple):
        """``<( )`` and ``>( )``: a file name whose content is a command's output."""

        script: Script

    class Arithmetic(NamedTuple):
        """``$(( ))``: a number; what it substitutes is judged."""

        inner: Word

    Part: TypeAlias = Text | Variable | Substitution | ProcessFile | Arithmetic
    Word: TypeAlias = "tuple[Part, ...]"

    class Redirect:
        """``operator`` is ``<``, ``>``, ``>>``, ``<<`` (here-document), ``<<<`` …; the body of a here-document comes late."""

        __slots__ = ("fd", "operator", "target")

        def __init__(self, operator: str, target: Word, fd: str = "") -> None:
            self.operator = operator
            self.target = target
            self.fd = fd

    class Assignment(NamedTuple):
        """``name=value``; several values for an array and for the variable of a ``for`` loop."""

        name: str
        values: tuple[Word, ...]
        appends: bool = False

    class Simple(NamedTuple):
        assignments: tuple[Assignment, ...]
        words: tuple[Word, ...]
        redirects: tuple[Redirect, ...]

    class Group(NamedTuple):
        """``{ }`` or, as a subshell, ``( )``."""

        body: Script
        is_subshell: bool
        redirects: tuple[Redirect, ...] = ()

    class Function(NamedTuple):
        name: str
        body: Script

    Command: TypeAlias = Simple | Group | Function
    Pipeline: TypeAlias = "tuple[Command, ...]"
    Script: TypeAlias = "tuple[Pipeline, ...]"

    def plain_text(word: Word) -> str | None:
        """The text of a word that is only unquoted text: only such a word can be a keyword."""
        if len(word) == 1 and isinstance(word[0], Text) and not word[0].quoted:
            return word[0].text
        return None

    def substituted_scripts(word: Word) -> list[Script]:
        """The scripts that run while the word is expanded."""
        scripts: list[Script] = []
        for part in word:
            if isinstance(part, Substitution | ProcessFile):
                scripts.append(part.script)
            elif isinstance(part, Variable):
                scripts += substituted_scripts(part.operand)
            elif isinstance(part, Arithmetic):
                scripts += substituted_scripts(part.inner)
        return scripts

    def scripts_of(command: Simple) -> list[Script]:
        return [script for word in command.words for script in substituted_scripts(word)]

    def process_files(command: Simple | None) -> list[Script]:
        if command is None:
            return []
        return [part.script for word in command.words for part in word if isinstance(part, ProcessFile)]

    def only_substitution(command: Simple | None) -> Script | None:
        """The script of ``program "$(…)"`` or ``program <(…)`` when nothing else is given."""
        if command is None or len(command.words) != 2 or command.redirects or command.assignments:
            return None
        parts = [part for part in command.words[1] if part != Text("", True)]
        if len(parts) == 1 and isinstance(parts[0], Substitution | ProcessFile):
            return parts[0].script
        return None
    return locals()

def ralph_guard_shell_words():
    """Reads one word of a command line: quotes, variables, substitutions."""

    import re

    _m = _module("ralph.guard.shell.cursor"); Cursor = _m["Cursor"]
    _m = _module("ralph.guard.shell.escapes"); decode_escapes = _m["decode_escapes"]
    _m = _module("ralph.guard.shell.syntax"); Arithmetic = _m["Arithmetic"]; ProcessFile = _m["ProcessFile"]; Substitution = _m["Substitution"]; Text = _m["Text"]; Variable = _m["Variable"]
    _m = _module("ralph.patterns"); pattern = _m["pattern"]

    _PLAIN = pattern(r"[^\s\\'\"`$|&;()<>#@!?+*]+")
    _PLAIN_QUOTED = pattern(r"[^\\\"`$]+")
    _NAME = pattern(r"[A-Za-z_]\w*")
    _BRACED_NAME = pattern(r"[A-Za-z_]\w*|\d+|[@*#?$!-]")
    _PARENTHESIS = pattern(r"[()]")
    _SPECIAL_NAMES = "@*#?$!-0123456789"
    _VALUE_OPERATOR = pattern(r":?[-=+?]|\^\^?|,,?|##?|%%?|//?|:|@")

    def read_word(cursor: Cursor) -> Word | None:
        """The word at ``at``, or None if there is none."""
        parts: list[Part] = []
        text = cursor.text
        start = cursor.at
        while cursor.at < len(text):
            cursor.count()
            character = text[cursor.at]
            if character.isspace():
                break
            plain = _PLAIN.match(text, cursor.at)
            if plain:
                parts.append(Text(plain[0]))
                cursor.at = plain.end()
            elif character in "@!?+*":
                parts.append(Text(_read_glob(cursor)))
            elif character == "#":
                if cursor.at == start:
                    break
                parts.append(Text("#"))
                cursor.at += 1
            elif character in "<>" and text.startswith("(", cursor.at + 1):
                cursor.at += 2
                parts.append(ProcessFile(cursor.read_inner(cursor, ")")))
            elif character in "|&;()<>":
                break
            else:
                parts.extend(_read_special(cursor, quoted=False))
        if cursor.at == start:
            return None
        return tuple(parts)

    def _read_glob(cursor: Cursor) -> str:
        """``*``, or ``!(keep|that)`` as one piece."""
        start = cursor.at
        cursor.at += 1
        if cursor.peek() == "(":
            end = _after_bracket(cursor.text, cursor.at, len(cursor.text))
            cursor.at = len(cursor.text) if end is None else end
        return cursor.text[start : cursor.at]

    def _after_bracket(text: str, start: int, limit: int) -> int | None:
        """After the bracket that closes the one at ``start``."""
        depth = 0
        for found in _PARENTHESIS.finditer(text, start, limit):
            depth += 1 if found[0] == "(" else -1
            if depth == 0:
                return found.end()
        return None

    def _read_special(cursor: Cursor, *, quoted: bool) -> list[Part]:
        """What begins with a backslash, quote, dollar or backtick."""
        text, character = cursor.text, cursor.text[cursor.at]
        if character == "\\":
            following = text[cursor.at + 1 : cursor.at + 2]
            cursor.at += 2
            if following == "\n":
                return []
            if quoted and following not in '"\\$`':
                return [Text("\\" + following, True)]
            return [Text(following, True)]
        if character == "'":
            end = cursor.find("'", cursor.at + 1)
            content = text[cursor.at + 1 : end]
            cursor.at = end + 1
            return [Text(content, True)]
        if character == '"':
            cursor.at += 1
            return [Text("", True), *read_double_quoted(cursor, end='"')]
        if character == "`":
            return [_read_backticks(cursor, quoted)]
        return [_read_dollar(cursor, quoted)]

    def read_double_quoted(cursor: Cursor, end: str) -> Word:
        parts: list[Part] = []
        while cursor.at < len(cursor.text):
            cursor.count()
            character = cursor.text[cursor.at]
            if character == end:
                cursor.at += 1
                return tuple(parts)
            plain = _PLAIN_QUOTED.match(cursor.text, cursor.at)
            if plain:
                parts.append(Text(plain[0], True))
                cursor.at = plain.end()
            elif character == '"':
                parts.append(Text('"', True))
                cursor.at += 1
            else:
                parts.extend(_read_special(cursor, quoted=True))
        cursor.is_torn = cursor.is_torn or bool(end)
        return tuple(parts)

    def _read_backticks(cursor: Cursor, quoted: bool) -> Part:
        start = cursor.at + 1
        end = cursor.find_unescaped("`", start)
        inner = re.sub(r"\\([`\\$])", r"\1", cursor.text[start:end])
        cursor.at = min(end + 1, len(cursor.text))
        inside = Cursor(inner, cursor.nesting + 1, cursor.read_inner)
        return Substitution(cursor.read_inner(inside, ""), quoted)

    def _read_dollar(cursor: Cursor, quoted: bool) -> Part:
        text, start = cursor.text, cursor.at
        cursor.at += 1
        following = cursor.peek()
        if following == "'" and not quoted:
            end = cursor.find_unescaped("'", cursor.at + 1)
            content = text[cursor.at + 1 : end]
            cursor.at = min(end + 1, len(text))
            return Text(decode_escapes(content), True)
        if following == '"' and not quoted:
            return Text("", True)  # a translated string: the quote is read next
        if is_arithmetic(cursor):
            cursor.at += 2
            return read_arithmetic(cursor)
        if following == "(":
            cursor.at += 1
            return Substitution(cursor.read_inner(cursor, ")"), quoted)
        if following == "{":
            cursor.at += 1
            return _read_braced(cursor, quoted)
        name = _NAME.match(text, cursor.at)
        if name:
            cursor.at = name.end()
            return Variable(name[0], quoted)
        if following and following in _SPECIAL_NAMES:
            cursor.at += 1
            return Variable(following, quoted)
        return Text(text[start : cursor.at], quoted)

    def is_arithmetic(cursor: Cursor) -> bool:
        """``((`` that a ``))`` closes; ``((a) ; b)`` is a subshell in a subshell."""
        if not cursor.text.startswith("((", cursor.at):
            return False
        cursor.nodes += 20
        end = _after_bracket(cursor.text, cursor.at + 1, cursor.at + 2_000)
        return end is not None and cursor.text.startswith(")", end)

    def read_arithmetic(cursor: Cursor) -> Arithmetic:
        """After ``((``, up to ``))``; only what it substitutes matters."""
        parts: list[Part] = []
        depth = 2
        while cursor.at < len(cursor.text):
            cursor.count()
            character = cursor.text[cursor.at]
            if character in "()":
                depth += 1 if character == "(" else -1
                cursor.at += 1
                if depth == 0:
                    return Arithmetic(tuple(parts))
            elif character in "$`":
                parts.extend(_read_special(cursor, quoted=True))
            else:
                cursor.at += 1
        cursor.is_torn = True
        return Arithmetic(tuple(parts))

    def _read_braced(cursor: Cursor, quoted: bool) -> Part:
        """After ``${``."""
        text = cursor.text
        is_indirect = text.startswith("!", cursor.at)
        is_length = bool(re.compile(r"#[\w@*]").match(text, cursor.at))
        if is_indirect or is_length:
            cursor.at += 1
        found = _BRACED_NAME.match(text, cursor.at)
        name = found[0] if found else ""
        cursor.at = found.end() if found else cursor.at
        if text.startswith("[", cursor.at):
            cursor.at = cursor.find("]", cursor.at) + 1
        operator_found = _VALUE_OPERATOR.match(text, cursor.at)
        operator = operator_found[0] if operator_found else ""
        cursor.at += len(operator)
        operand: list[Part] = []
        while cursor.at < len(text) and text[cursor.at] != "}":
            cursor.count()
            if text[cursor.at] in "\\'\"`$":
                operand.extend(_read_special(cursor, quoted=quoted))
            else:
                operand.append(Text(text[cursor.at], quoted))
                cursor.at += 1
        if cursor.at >= len(text):
            cursor.is_torn = True
        cursor.at += 1
        if is_indirect or is_length:
            operator = "!" if is_indirect else "#len"
        return Variable(name, quoted, operator, tuple(operand))
    return locals()

def ralph_guard_walk():
    """One walk through a command line: what it carries from program to program, and how it ends."""

    from fnmatch import fnmatchcase
    from types import MappingProxyType
    from typing import NamedTuple

    _m = _module("ralph.guard.families.call"); Call = _m["Call"]
    _m = _module("ralph.guard.families.catalogue"); check_families = _m["check_families"]
    _m = _module("ralph.guard.judgement"); Danger = _m["Danger"]
    _m = _module("ralph.guard.limits"); MAX_CALLS = _m["MAX_CALLS"]; MAX_DEPTH = _m["MAX_DEPTH"]; TOO_DEEP = _m["TOO_DEEP"]; TOO_MANY_PROGRAMS = _m["TOO_MANY_PROGRAMS"]; TooComplex = _m["TooComplex"]
    _m = _module("ralph.guard.marks"); UNKNOWN = _m["UNKNOWN"]
    _m = _module("ralph.guard.options"); base_name = _m["base_name"]
    _m = _module("ralph.guard.places"); place_of = _m["place_of"]

    class DangerFound(Exception):
        """Ends the walk: one danger is enough."""

        def __init__(self, danger: Danger) -> None:
            self.danger = danger

    class Feed(NamedTuple):
        """What comes on stdin."""

        text: str | None = None
        origin: str = ""
        """Where unknown text comes from: ``network``, ``decoder``, ``file``; empty if there is none."""

    NOTHING = Feed()

    class Start(NamedTuple):
        """One program that is about to start."""

        words: list[str]
        scope: Scope
        feed: Feed = NOTHING
        environment: Mapping[str, str] = MappingProxyType({})
        source: Simple | None = None
        """As it was written, for the rules that need to know."""

        def with_words(self, words: list[str]) -> Start:
            return self._replace(words=words, source=None)

        def beyond_shell(self, words: list[str]) -> Start:
            """Another program starts it: the shell's functions do not count there."""
            scope = self.scope.copy()
            scope.functions = {}
            return self._replace(words=words, source=None, scope=scope)

    class Tally:
        """What has been seen on the way."""

        __slots__ = ("calls", "emptied", "is_torn", "later")

        def __init__(self, *, is_torn: bool) -> None:
            self.calls = 0
            self.is_torn = is_torn
            """A quote or bracket was left open: what we read may not be what runs."""
            self.later: list[tuple[Walk, str, Scope]] = []
            """Texts that run when the shell ends."""
            self.emptied: dict[str, Danger] = {}
            """Files that are left empty, unless something is written to them later."""

    class Walk(NamedTuple):
        rules: GuardRules
        tally: Tally
        start: Callable[[Walk, Start], None]
        """Follows a program that starts: ``programs.handlers.start_program``, which the handlers cannot import."""
        depth: int = 0

        def deeper(self) -> Walk:
            """Within what one program runs."""
            if self.depth >= MAX_DEPTH:
                raise TooComplex(TOO_DEEP)
            return Walk(self.rules, self.tally, self.start, self.depth + 1)

        def count_call(self) -> None:
            self.tally.calls += 1
            if self.tally.calls > MAX_CALLS:
                raise TooComplex(TOO_MANY_PROGRAMS)

        def allows(self, words: list[str]) -> bool:
            """Whether the user has allowed it, by a pattern for one simple command."""
            if not self.rules.allow:
                return False
            command = " ".join(words)
            return any(command == pattern or fnmatchcase(command, pattern) for pattern in self.rules.allow)

        def place_of(self, path: str, scope: Scope) -> Place:
            return place_of(path, scope.cwd, self.rules.cwd)

        def ask_families(self, start: Start) -> None:
            """Ends the walk if one of them knows the program's words as a danger."""
            words = start.words
            call = Call(
                base_name(words[0]),
                words[1:],
                start.scope.cwd,
                self.rules,
                start.environment,
                self.tally.is_torn,
                start.feed.text or (UNKNOWN if start.feed.origin else ""),
            )
            refuse_if(check_families(call))

    def refuse(family: str, what: str, instead: str) -> NoReturn:
        raise DangerFound(Danger(family, what, instead))

    def refuse_hidden(what: str) -> NoReturn:
        """What runs cannot be read in advance."""
        refuse("hidden", what, "write the command out in full, where it can be read")

    def refuse_if(danger: Danger | None) -> None:
        if danger is not None:
            raise DangerFound(danger)
    return locals()

def ralph_interfaces_hooks_context_hook():
    """PostToolUse: tells the agent how full its context is, once per threshold and session."""

    from typing import TYPE_CHECKING

    _m = _module("ralph.domain.plan.context_use"); DEFAULT_DIVISOR = _m["DEFAULT_DIVISOR"]; alert = _m["alert"]; estimated_tokens = _m["estimated_tokens"]; last_usage = _m["last_usage"]; thresholds_due = _m["thresholds_due"]; window_of = _m["window_of"]
    _m = _module("ralph.interfaces.hooks.places"); MARKER = _m["MARKER"]; nearest_with = _m["nearest_with"]
    _m = _module("ralph.interfaces.hooks.protocol"); add_context = _m["add_context"]
    _m = _module("ralph.interfaces.hooks.session_files"); ALERTS = _m["ALERTS"]; BLOCKS = _m["BLOCKS"]; forget = _m["forget"]; locked_numbers = _m["locked_numbers"]; session_file = _m["session_file"]
    _m = _module("ralph.interfaces.hooks.transcript"); Transcript = _m["Transcript"]

    WINDOW_VARIABLE = "CLAUDE_CONTEXT_WINDOW"
    DIVISOR_VARIABLE = "CLAUDE_CONTEXT_DIVISOR"

    def watch_context(event: HookEvent) -> Answer | None:
        forget(BLOCKS, event.session, event.environ)  # a tool was used: refused stops are no longer "in a row"
        transcript = Transcript(event)
        if not transcript.size:
            return None
        usage = last_usage(transcript.newest_lines())
        divisor = _number(event, DIVISOR_VARIABLE) or DEFAULT_DIVISOR
        tokens = usage[0] if usage is not None else estimated_tokens(transcript.size, divisor)
        window = int(_number(event, WINDOW_VARIABLE)) or window_of(usage[1] if usage is not None else "")
        percent = 100 * tokens / window
        alerts = session_file(ALERTS, event.session, event.environ)
        if not alerts or not thresholds_due(percent, ()):
            return None
        with locked_numbers(alerts) as thresholds:
            due = thresholds_due(percent, thresholds)
            thresholds += due
        if not due:
            return None
        text = alert(
            due[-1], tokens=tokens, window=window, is_exact=usage is not None, in_plan=_is_in_plan(event)
        )
        return add_context(event.text("hook_event_name") or "PostToolUse", text)

    def _is_in_plan(event: HookEvent) -> bool:
        """Whether it is a session of `ralph plan run`; most have no marker, and import nothing more."""
        if not any(nearest_with(start, MARKER, event.environ) for start in event.starts):
            return False
        _m = _module("ralph.interfaces.hooks.plan_stop"); active_run = _m["active_run"]

        return active_run(event) is not None

    def _number(event: HookEvent, variable: str) -> float:
        """0 unless it is set to a sensible number."""
        try:
            number = float(event.environ.get(variable, ""))
        except ValueError:
            return 0
        return number if 1 <= number < 1e12 else 0
    return locals()

def ralph_interfaces_hooks_guard_hook():
    """PreToolUse: refuses dangerous shell commands. Fails closed: a command that cannot be judged does not run."""

    import json
    from typing import TYPE_CHECKING

    _m = _module("ralph.guard.guard"); judge = _m["judge"]
    _m = _module("ralph.guard.judgement"); GuardRules = _m["GuardRules"]
    _m = _module("ralph.interfaces.hooks.places"); STATE_FOLDER = _m["STATE_FOLDER"]; own_settings = _m["own_settings"]; settings_of = _m["settings_of"]
    _m = _module("ralph.interfaces.hooks.protocol"); deny = _m["deny"]
    _m = _module("ralph.operations.atomic_files"); read_whole = _m["read_whole"]

    SETTINGS = ("settings.json", "settings.local.json")
    LARGEST_SETTINGS = 1_000_000
    SHELL_TOOL = "Bash"

    def guard_tool(event: HookEvent) -> Answer | None:
        given = event.fields.get("tool_input")
        command = given.get("command") if isinstance(given, dict) else None
        if not isinstance(command, str):
            is_shell = event.text("tool_name") == SHELL_TOOL
            return deny("ralph's guard: the command is not a string") if is_shell else None
        judgement = judge(command, rules_for(event))
        return deny(f"ralph's guard refuses this command: {judgement.reason}") if judgement.is_blocked else None

    def rules_for(event: HookEvent) -> GuardRules:
        """``guard.allow`` and ``guard.packs`` of the user and of the project; unreadable settings allow nothing.

    A project may tighten what the user chose, and loosen it once the user trusts it.
    """
        own = _guard_settings(read_whole(own_settings(event.environ), LARGEST_SETTINGS))
        project = settings_of(event.starts[0], event.environ) if event.starts else None
        wanted: dict[str, list[str]] = {}
        for name in SETTINGS if project is not None else ():
            wanted |= _guard_settings(read_whole(f"{project}/{STATE_FOLDER}/{name}", LARGEST_SETTINGS))
        allow, packs = own.get("allow", []), own.get("packs", [])
        if project is not None and wanted:
            allow = _chosen(
                event, project, wanted, "allow", allow, is_free=set(wanted.get("allow", [])) <= set(allow)
            )
            is_stricter = set(wanted.get("packs", [])) >= set(packs)
            packs = _chosen(event, project, wanted, "packs", packs, is_free=is_stricter)
        cwd = event.text("cwd")
        return GuardRules(tuple(allow), frozenset(packs), cwd if cwd.startswith("/") else "")

    def _chosen(
        event: HookEvent, project: str, wanted: dict[str, list[str]], key: str, own: list[str], *, is_free: bool
    ) -> list[str]:
        if key not in wanted:
            return own
        if is_free:
            return wanted[key]
        _m = _module("ralph.operations.agreement"); Demand = _m["Demand"]; is_agreed = _m["is_agreed"]

        demand = Demand("", wanted[key], f"guard.{key}", "", wanted)
        return wanted[key] if is_agreed(project, demand, event.environ) else own

    def _guard_settings(data: bytes | None) -> dict[str, list[str]]:
        """The lists as they are written; one with anything but texts is not there."""
        try:
            settings = json.loads(data.decode("utf-8-sig")) if data else None
        except (ValueError, RecursionError):
            return {}
        guard = settings.get("guard") if isinstance(settings, dict) else None
        if not isinstance(guard, dict):
            return {}
        lists = {key: guard[key] for key in ("allow", "packs") if isinstance(guard.get(key), list)}
        return {
            key: items for key, items in lists.items() if all(isinstance(item, str) and item for item in items)
        }
    return locals()

def ralph_interfaces_hooks_holders():
    """Who works on a project: runs of ``ralph``, beside which no loop of a session starts, and the process of this session."""
    # Importing pathlib alone would cost a hook a quarter of its start.
    # ruff: noqa: PTH118, PTH121, PTH123

    import os
    import stat

    _m = _module("ralph.config.project_search"); record_place = _m["record_place"]; stranger_in = _m["stranger_in"]
    _m = _module("ralph.domain.holder"); Owner = _m["Owner"]; is_stale = _m["is_stale"]
    _m = _module("ralph.interfaces.hooks.places"); STATE_FOLDER = _m["STATE_FOLDER"]

    SHELLS = frozenset({"sh", "ash", "bash", "dash", "zsh", "fish", "busybox"})
    HOLDS = """SELECT workspace, run_id, pid, process_started, boot_id, host FROM claims
    UNION ALL SELECT root, id, pid, process_started, boot_id, host FROM runs WHERE outcome IS NULL AND pid <> 0"""

    MOST_STEPS = 20_000_000
    """Instructions of SQLite: a second or so."""

    def run_under_way(project: str) -> str | None:
        """The run (or mode) that holds the project; empty if none does, None if that cannot be known."""
        import sqlite3
        from urllib.parse import quote

        home = record_place(project)
        if stranger_in(home, os.environ):
            return None
        database = os.path.join(home, STATE_FOLDER, "ralph.db")
        if not all(map(_is_plain, (database, f"{database}-wal", f"{database}-shm"))):
            return None
        try:
            connection = sqlite3.connect(f"file:{quote(database)}?mode=ro", uri=True, timeout=1)
            connection.set_progress_handler(lambda: 1, MOST_STEPS)
            try:
                rows = connection.execute(HOLDS).fetchall()
            finally:
                connection.close()
        except sqlite3.Error:
            return None
        for workspace, run_id, *process in rows:
            if not isinstance(workspace, str) or not isinstance(process[0], int):
                continue
            owner = Owner(*process)
            silent = (
                _silence(os.path.join(home, STATE_FOLDER, "runs", str(run_id), "elapsed")) if run_id else None
            )
            if _is_same(os.path.join(home, workspace), project) and _is_alive(owner, silent):
                return f"run {run_id}" if run_id else f"process {owner.pid}"
        return ""

    def _is_plain(path: str) -> bool:
        """SQLite would wait for a pipe. What is not there is no trap."""
        try:
            return stat.S_ISREG(os.lstat(path).st_mode)
        except OSError:
            return True

    def session_process() -> dict[str, object] | None:
        """The program of this session: the nearest process above this one that is no shell. None where it cannot be seen."""
        pid = os.getppid()
        while pid > 1 and (name := _name_of(pid)) in SHELLS:
            pid = _parent_of(pid)
        started = _started_of(pid)
        if pid <= 1 or not name or started is None:
            return None
        return {"pid": pid, "processStarted": started, "bootId": _boot_id(), "host": os.uname().nodename}

    def _silence(file: str) -> float | None:
        """Seconds since a run has last written; None if it does not."""
        import time

        try:
            return time.time() - os.lstat(file).st_mtime
        except (OSError, ValueError):
            return None

    def _is_alive(owner: Owner, silent: float | None = None) -> bool:
        here = Owner(0, "", _boot_id(), os.uname().nodename)
        if here.boot_id:
            return not is_stale(owner, here=here, started_of=_started_of(owner.pid), silent=silent)
        try:  # no /proc: a process of that number will do
            os.kill(owner.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            pass
        return True

    def _is_same(one: str, other: str) -> bool:
        try:
            return os.path.samefile(one, other)
        except OSError:
            return False

    def _fields_of(pid: int) -> list[str]:
        # The name in parentheses may itself hold parentheses: count from the last one.
        return _read(f"/proc/{pid}/stat").rpartition(")")[2].split()

    def _started_of(pid: int) -> str | None:
        fields = _fields_of(pid)
        return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else None

    def _parent_of(pid: int) -> int:
        fields = _fields_of(pid)
        return int(fields[1]) if len(fields) > 1 else 0

    def _name_of(pid: int) -> str:
        return _read(f"/proc/{pid}/comm").strip()

    def _boot_id() -> str:
        return _read("/proc/sys/kernel/random/boot_id").strip()

    def _read(path: str) -> str:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read(65536)
        except OSError:
            return ""
    return locals()

def ralph_interfaces_hooks_loop_files():
    """The state file of a loop inside a session, as ``ralph`` itself keeps it: ``.ralph/state/ralph-loop.json``."""
    # Importing pathlib alone would cost a hook a quarter of its start.
    # ruff: noqa: PTH118

    import os
    from typing import TYPE_CHECKING

    _m = _module("ralph.interfaces.hooks.places"); STATE_FOLDER = _m["STATE_FOLDER"]; project_of = _m["project_of"]
    _m = _module("ralph.operations.atomic_files"); read_whole = _m["read_whole"]

    STATE_FILE = f"{STATE_FOLDER}/state/ralph-loop.json"
    LARGEST_STATE = 1_000_000

    def loop_places(event: HookEvent) -> list[str]:
        """Where a loop of this session may be kept; a new one goes to the first. None in the project of another user."""
        projects = (project_of(start, event.environ) for start in event.starts)
        return [os.path.join(project, STATE_FILE) for project in projects if project is not None]

    def loop_file(event: HookEvent) -> str | None:
        """The file, if there is one."""
        return next(filter(os.path.lexists, loop_places(event)), None)

    def read_loop(path: str | None) -> RalphLoopState | None:
        """None if there is none or it makes no sense; ``ralph`` sets such a file aside, a hook leaves it alone."""
        import json

        _m = _module("ralph.domain.promise.loop_state"); state_from_document = _m["state_from_document"]

        data = read_whole(path, LARGEST_STATE) if path is not None else None
        try:
            document = json.loads(data) if data else None
        except (ValueError, RecursionError):
            return None
        return state_from_document(document)[0]

    def write_loop(path: str, state: RalphLoopState) -> None:
        import json
        from pathlib import Path

        _m = _module("ralph.domain.promise.loop_state"); state_to_document = _m["state_to_document"]
        _m = _module("ralph.operations.atomic_files"); make_state_folder = _m["make_state_folder"]; write_atomic = _m["write_atomic"]

        file = Path(path)
        make_state_folder(file.parent.parent)
        file.parent.mkdir(0o700, exist_ok=True)
        write_atomic(file, json.dumps(state_to_document(state), indent=2) + "\n")
    return locals()

def ralph_interfaces_hooks_main():
    """``ralph_hooks.py NAME``: run one hook, its event on stdin, its answer on stdout.

A bug in a hook must not stop anyone's work, so hooks fail open: exit code 1, which Claude Code only reports.
The guard fails closed: exit code 2 refuses the tool call.
"""

    import json
    import os
    import signal
    import sys
    from typing import TYPE_CHECKING

    _m = _module("ralph.interfaces.hooks.protocol"); read_event = _m["read_event"]

    GUARD = "guard"
    FAILED = 1
    REFUSED = 2
    MOST_SECONDS = 20
    """Claude Code runs the tool if its hook times out, so the guard ends itself well before that: that refuses the call."""

    def main(arguments: Sequence[str]) -> int:
        name = arguments[0] if arguments else ""
        if name == GUARD:
            signal.alarm(MOST_SECONDS)
        try:
            answer = answer_of(name, read_event(sys.stdin.buffer, os.environ))
        except Exception as error:
            what = str(error) or type(error).__name__
            sys.stderr.write(f"ralph: the hook {name!r} failed: {what}\n")
            return REFUSED if name == GUARD else FAILED
        if answer is not None:
            sys.stdout.write(json.dumps(answer) + "\n")
        return 0

    def answer_of(name: str, event: HookEvent) -> Answer | None:
        """Import only the hook that was asked for."""
        if name == "context":
            _m = _module("ralph.interfaces.hooks.context_hook"); watch_context = _m["watch_context"]

            return watch_context(event)
        if name == GUARD:
            _m = _module("ralph.interfaces.hooks.guard_hook"); guard_tool = _m["guard_tool"]

            return guard_tool(event)
        if name == "stop":
            _m = _module("ralph.interfaces.hooks.stop_hook"); check_stop = _m["check_stop"]

            return check_stop(event)
        if name == "prompt":
            _m = _module("ralph.interfaces.hooks.prompt_hook"); take_prompt = _m["take_prompt"]

            return take_prompt(event)
        if name == "session":
            _m = _module("ralph.interfaces.hooks.session_files"); forget_session = _m["forget_session"]

            forget_session(event.session, event.environ)
            return None
        message = "there is no such hook"
        raise ValueError(message)
    return locals()

def ralph_interfaces_hooks_places():
    """Where a session's project is, by the same rule as for ``ralph`` itself."""
    # Importing pathlib alone would cost a hook a quarter of its start.
    # ruff: noqa: PTH118

    import os
    from typing import TYPE_CHECKING

    _m = _module("ralph.config.project_search"); STATE_FOLDER = _m["STATE_FOLDER"]; climb = _m["climb"]; own_settings = _m["own_settings"]; record_place = _m["record_place"]; search = _m["search"]; stranger_in = _m["stranger_in"]; trusted_owners = _m["trusted_owners"]

    __all__ = ["MARKER", "STATE_FOLDER", "nearest_with", "own_settings", "project_of", "settings_of"]

    MARKER = ".ralph-active"
    """As in domain/plan/active_marker, which a mere look need not import."""

    def nearest_with(start: str, name: str, environ: Mapping[str, str]) -> str | None:
        """The nearest folder of the project, from here upwards, that has an entry of this name; another user's does not count."""
        owners = trusted_owners(environ)
        for folder in climb(os.path.realpath(start), _home(environ)):
            try:
                owner = os.lstat(os.path.join(folder, name)).st_uid
            except (OSError, ValueError):
                continue
            if owner in owners:
                return folder
        return None

    def project_of(start: str, environ: Mapping[str, str]) -> str | None:
        """As ``ralph`` finds it; None if another user owns it, for then nothing in it is obeyed."""
        project = search(os.path.realpath(start), _home(environ))
        return None if stranger_in(project, environ) else project

    def settings_of(start: str, environ: Mapping[str, str]) -> str | None:
        """The folder whose ``.ralph`` holds the settings for what runs here, and by which the user trusts them.

    None if another user could have written them.
    """
        project = project_of(start, environ)
        place = record_place(project) if project is not None else None
        return None if place is None or stranger_in(place, environ) else place

    def _home(environ: Mapping[str, str]) -> str:
        return os.path.realpath(environ.get("HOME") or "/")
    return locals()

def ralph_interfaces_hooks_plan_stop():
    """Whether a session of ``ralph plan run`` may stop: the plan's files and git, judged by ``domain/plan/stop_checks``."""

    import os
    import subprocess  # noqa: TID251 (a hook is one file without adapters; git alone is asked, bounded in time)
    from typing import TYPE_CHECKING

    _m = _module("ralph.domain.plan.active_marker"); MARKER_FILE = _m["MARKER_FILE"]; active_marker_from = _m["active_marker_from"]
    _m = _module("ralph.domain.plan.stop_checks"); SNAPSHOT_MISSING = _m["SNAPSHOT_MISSING"]; stop_reasons = _m["stop_reasons"]
    _m = _module("ralph.domain.sandbox.own_git"); ENVIRONMENT = _m["ENVIRONMENT"]; NOT_OWN = _m["NOT_OWN"]; own_git = _m["own_git"]
    _m = _module("ralph.interfaces.hooks.places"); nearest_with = _m["nearest_with"]
    _m = _module("ralph.operations.atomic_files"); read_whole = _m["read_whole"]
    _m = _module("ralph.values"); dataclass = _m["dataclass"]

    LARGEST_FILE = 20_000_000
    MOST_REASONS = 20
    LONGEST_TEXT = 9_000
    GIT_SECONDS = 20
    STATUS = ("status", "--porcelain", "-z", "--no-renames")

    @dataclass(frozen=True, slots=True)
    class PlanVerdict:
        """``reasons``: why the session may not stop yet."""

        reasons: tuple[str, ...] = ()
        warning: str = ""

        @property
        def text(self) -> str:
            shown = self.reasons[:MOST_REASONS]
            more = len(self.reasons) - len(shown)
            lines = [f"- {reason}" for reason in shown] + ([f"- and {more} more"] if more else [])
            return ("This iteration cannot stop yet:\n" + "\n".join(lines))[:LONGEST_TEXT]

    def plan_verdict(event: HookEvent) -> PlanVerdict:
        found = active_run(event)
        if found is None:
            return PlanVerdict()
        root, marker = found
        data = read_whole(os.path.join(root, marker.ralph_dir, "tasks.json"), LARGEST_FILE)  # noqa: PTH118
        reasons = stop_reasons(
            data.decode(errors="replace") if data is not None else None,
            snapshot=marker.snapshot,
            mode=marker.iteration_mode,
            rules=marker.rules,
            uncommitted=uncommitted(root, event.environ, before=marker.uncommitted),
            folder=marker.ralph_dir,
        )
        unchecked = not marker.skip_review and (marker.snapshot is None or marker.iteration_mode is None)
        return PlanVerdict(reasons, f"ralph: {SNAPSHOT_MISSING}" if unchecked else "")

    def active_run(event: HookEvent) -> tuple[str, ActiveMarker] | None:
        """The project and marker of the run that this session belongs to."""
        for start in event.starts:
            root = nearest_with(start, MARKER_FILE, event.environ)
            data = read_whole(f"{root}/{MARKER_FILE}", LARGEST_FILE) if root is not None else None
            marker = active_marker_from(data.decode(errors="replace")) if data is not None else None
            if root is not None and marker is not None and is_ours(marker, event.environ):
                return root, marker
        return None

    def is_ours(marker: ActiveMarker, environ: Mapping[str, str]) -> bool:
        """The marker of a killed run binds no session, nor does a run that merely shares the project with one."""
        run = environ.get("RALPH_RUN_ID")
        if not run:
            return marker.pid > 1 and marker.pid in ancestors()  # anyone can guess the first process
        if marker.run_id and marker.run_id != run:  # a run that a session of that run started
            return False
        return marker.mode == "sandbox" or is_alive(marker.pid)  # a sandbox hides other processes

    def is_alive(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except PermissionError:  # another user's, and alive
            return True
        except (OSError, OverflowError):
            return False
        return True

    def ancestors() -> list[int]:
        """The processes above this one, as far as the system says."""
        found = [os.getppid()]
        while found[-1] > 1:
            data = read_whole(f"/proc/{found[-1]}/stat", 10_000)
            if data is None:
                break
            found.append(int(data.rpartition(b")")[2].split()[1]))
        return found

    def _path_outside(root: str, path: str) -> str:
        """Without folders of the project: an agent could have put a git there."""
        top = f"{os.path.realpath(root)}/"
        return os.pathsep.join(
            folder
            for folder in path.split(os.pathsep)
            if folder.startswith("/") and not f"{os.path.realpath(folder)}/".startswith(top)
        )

    def uncommitted(root: str, environ: Mapping[str, str], *, before: Sequence[str] = ()) -> list[str]:
        """What was not so ``before`` the session. Nothing if there is no repository, or git cannot say."""
        # Only where it matters: a new folder that is not ignored may be large.
        new_files = ("--untracked-files=all",) if before else ()
        environment = {**environ, **ENVIRONMENT, "PATH": _path_outside(root, environ.get("PATH", os.defpath))}
        try:
            ran = subprocess.run(
                own_git(*STATUS, *new_files, "--", *NOT_OWN), cwd=root, env=environment, capture_output=True, timeout=GIT_SECONDS, check=False,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            return []
        entries = ran.stdout.decode(errors="surrogateescape").split("\0") if ran.returncode == 0 else []
        known = frozenset(before)
        return [entry[3:] for entry in entries if entry and entry[3:] not in known]
    return locals()

def ralph_interfaces_hooks_prompt_hook():
    """UserPromptSubmit: ``/ralph:loop`` and ``/ralph:cancel``, done here because the model might not do them."""

    from typing import TYPE_CHECKING

    PREFIX = "/ralph:"

    def take_prompt(event: HookEvent) -> Answer | None:
        prompt = event.text("prompt")
        if not prompt.lstrip().startswith(PREFIX):
            return None
        _m = _module("ralph.domain.promise.session_loop"); loop_command = _m["loop_command"]

        command = loop_command(prompt)
        if command is None:
            return None
        name, arguments = command
        return _start(event, arguments) if name == "loop" else _cancel(event)

    def _start(event: HookEvent, arguments: str) -> Answer:
        from time import gmtime, strftime

        _m = _module("ralph.domain.promise.session_loop"); in_the_way = _m["in_the_way"]; loop_request = _m["loop_request"]; opening = _m["opening"]; started_loop = _m["started_loop"]
        _m = _module("ralph.interfaces.hooks.holders"); run_under_way = _m["run_under_way"]; session_process = _m["session_process"]
        _m = _module("ralph.interfaces.hooks.loop_files"); loop_file = _m["loop_file"]; loop_places = _m["loop_places"]; read_loop = _m["read_loop"]; write_loop = _m["write_loop"]
        _m = _module("ralph.interfaces.hooks.places"); project_of = _m["project_of"]
        _m = _module("ralph.interfaces.hooks.protocol"); add_context = _m["add_context"]; block = _m["block"]

        request = loop_request(arguments)
        if isinstance(request, str):
            return block(f"ralph loop: {request}")
        if not event.starts:
            message = "the session has no working directory"
            raise ValueError(message)
        project = project_of(event.starts[0], event.environ)
        if project is None:
            return block("ralph loop: the project belongs to another user; `ralph status` says more")
        path = loop_file(event)
        run = run_under_way(project)
        if reason := in_the_way(read_loop(path), event.session, run=run):
            return block(f"ralph loop: {reason}")
        now = strftime("%Y-%m-%dT%H:%M:%S.000Z", gmtime())
        state = started_loop(request, session=event.session, started_at=now, process=session_process())
        write_loop(path or loop_places(event)[0], state)
        return add_context("UserPromptSubmit", opening(state))

    def _cancel(event: HookEvent) -> Answer:
        """Without asking the model: there is nothing for it to do."""
        import os

        _m = _module("ralph.domain.promise.session_loop"); SESSION_KEY = _m["SESSION_KEY"]
        _m = _module("ralph.interfaces.hooks.loop_files"); loop_file = _m["loop_file"]; read_loop = _m["read_loop"]
        _m = _module("ralph.interfaces.hooks.protocol"); block = _m["block"]

        path = loop_file(event)
        state = read_loop(path)
        if path is None or state is None or not state.active:
            return block("ralph loop: there is none here.")
        if SESSION_KEY not in state.extra:
            return block("ralph loop: this one belongs to a run of `ralph`; end it with `ralph stop`.")
        os.unlink(path)  # noqa: PTH108
        return block(f"ralph loop: cancelled at iteration {state.iteration} of {state.max_iterations}.")
    return locals()

def ralph_interfaces_hooks_protocol():
    """What Claude Code sends a hook on stdin, and what a hook may answer on stdout."""

    import json
    from typing import TYPE_CHECKING

    LARGEST_EVENT = 64_000_000
    Answer = dict[str, object]

    class UnreadableEvent(ValueError):
        """Not what Claude Code sends."""

    class HookEvent:
        """One event. Foreign data: a field that is missing or has another type reads as empty."""

        def __init__(self, fields: Mapping[str, object], environ: Mapping[str, str]) -> None:
            self.fields = fields
            self.environ = environ

        def text(self, name: str) -> str:
            value = self.fields.get(name)
            return value if isinstance(value, str) else ""

        @property
        def session(self) -> str:
            return self.text("session_id")

        @property
        def starts(self) -> list[str]:
            """Where to look for the project: where the session began, then where it is now."""
            named = (self.environ.get("CLAUDE_PROJECT_DIR", ""), self.text("cwd"))
            return [place for place in dict.fromkeys(named) if place.startswith("/") and "\0" not in place]

    def read_event(stream: BinaryIO, environ: Mapping[str, str]) -> HookEvent:
        data = stream.read(LARGEST_EVENT + 1)
        if len(data) > LARGEST_EVENT:
            message = f"the event is larger than {LARGEST_EVENT // 1_000_000} MB"
            raise UnreadableEvent(message)
        try:
            fields = json.loads(data)
        except (ValueError, RecursionError) as error:
            message = "the event is not JSON"
            raise UnreadableEvent(message) from error
        if not isinstance(fields, dict):
            message = "the event is not a JSON object"
            raise UnreadableEvent(message)
        return HookEvent(fields, environ)

    def block(reason: str) -> Answer:
        """Stop: continue the session with the reason as its next prompt. UserPromptSubmit: do not send the prompt."""
        return {"decision": "block", "reason": reason}

    def deny(reason: str) -> Answer:
        """PreToolUse: do not run the tool, and tell the model why. Holds even when permissions are skipped."""
        decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}

    def add_context(event: str, text: str) -> Answer:
        """Give the model this text as well."""
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}

    def say(text: str) -> Answer:
        """Tell the user; the model does not see it."""
        return {"systemMessage": text}
    return locals()

def ralph_interfaces_hooks_session_files():
    """Notes on one session, in the temporary folder: which alerts it was given, how often its stop was refused."""
    # Importing pathlib alone would cost a hook a quarter of its start.
    # ruff: noqa: PTH108, PTH118

    import contextlib
    import fcntl
    import os
    import stat
    from typing import TYPE_CHECKING

    ALERTS = "claude-context-alerts"
    """The name that the reviewed profile documents: /tmp/claude-context-alerts-<session>."""
    BLOCKS = "claude-stop-blocks"
    ALERTS_VARIABLE = "CLAUDE_CONTEXT_STATE_FILE"
    """Another place for the alerts; ``{session}`` in it is replaced by the session."""

    LONGEST_NOTE = 1_000
    LONGEST_SESSION = 100

    def session_file(kind: str, session: str, environ: Mapping[str, str]) -> str:
        """Empty if the session's name cannot be part of a file name."""
        plain = session.replace("-", "").replace("_", "")
        if not (plain.isascii() and plain.isalnum()) or len(session) > LONGEST_SESSION:
            return ""
        configured = environ.get(ALERTS_VARIABLE, "") if kind == ALERTS else ""
        if configured and "\0" not in configured:
            return configured.replace("{session}", session)
        return os.path.join(environ.get("TMPDIR") or "/tmp", f"{kind}-{session}")  # noqa: S108 (opened with care below)

    @contextlib.contextmanager
    def locked_numbers(path: str) -> Iterator[list[int]]:
        """The numbers in the file, to change while the lock is held.

    Anyone may write to the temporary folder: a link, or another user's file of this name, is an error.
    """
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                message = f"{path} is not a file of ours"
                raise OSError(message)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            before = os.read(descriptor, LONGEST_NOTE)
            numbers = [int(word) for word in before.split() if word.isdigit() and len(word) < 10]
            yield numbers
            after = "".join(f"{number}\n" for number in numbers).encode()
            if after != before:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, after, 0)
        finally:
            os.close(descriptor)

    def forget(kind: str, session: str, environ: Mapping[str, str]) -> None:
        if path := session_file(kind, session, environ):
            with contextlib.suppress(OSError):
                os.unlink(path)

    def forget_session(session: str, environ: Mapping[str, str]) -> None:
        """SessionStart and SessionEnd: every alert may be given again."""
        forget(ALERTS, session, environ)
        forget(BLOCKS, session, environ)
    return locals()

def ralph_interfaces_hooks_stop_hook():
    """Stop: the plan's checks in a session of ``ralph plan run``, then the promise loop in a session that has one."""

    from typing import TYPE_CHECKING

    _m = _module("ralph.interfaces.hooks.places"); MARKER = _m["MARKER"]; nearest_with = _m["nearest_with"]
    _m = _module("ralph.interfaces.hooks.protocol"); block = _m["block"]; say = _m["say"]
    _m = _module("ralph.interfaces.hooks.session_files"); BLOCKS = _m["BLOCKS"]; locked_numbers = _m["locked_numbers"]; session_file = _m["session_file"]

    CAP_VARIABLE = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"
    DEFAULT_CAP = 8
    """Claude Code overrides the block after so many in a row without a tool call, and the answer is lost with it."""

    def check_stop(event: HookEvent) -> Answer | None:
        """Most sessions have neither marker nor loop: for them, import nothing more."""
        if any(nearest_with(start, MARKER, event.environ) for start in event.starts):
            _m = _module("ralph.interfaces.hooks.plan_stop"); plan_verdict = _m["plan_verdict"]

            verdict = plan_verdict(event)
            if verdict.reasons:
                return _refuse(event, verdict.text)
            if verdict.warning:
                return say(verdict.warning)
        _m = _module("ralph.interfaces.hooks.loop_files"); loop_file = _m["loop_file"]

        path = loop_file(event)
        return _continue_loop(event, path) if path is not None else None

    def _refuse(event: HookEvent, reason: str) -> Answer:
        """Until Claude Code would override it: then the session may stop, and the engine judges anyway."""
        blocks = blocks_before(event)
        if blocks >= block_cap(event):
            return say(
                f"ralph: the stop was refused {blocks} times in a row and is allowed now, although: {reason}"
            )
        count_block(event)
        return block(reason)

    def _continue_loop(event: HookEvent, path: str) -> Answer | None:
        """Until the agent gives the promise or the iterations are used up."""
        import os

        _m = _module("ralph.domain.promise.session_loop"); belongs_to = _m["belongs_to"]; in_process = _m["in_process"]; next_turn = _m["next_turn"]
        _m = _module("ralph.interfaces.hooks.holders"); session_process = _m["session_process"]
        _m = _module("ralph.interfaces.hooks.loop_files"); read_loop = _m["read_loop"]; write_loop = _m["write_loop"]
        _m = _module("ralph.interfaces.hooks.transcript"); last_words = _m["last_words"]

        state = read_loop(path)
        if state is None or not belongs_to(state, event.session):
            return None
        turn = next_turn(state, last_words(event), blocks=blocks_before(event), cap=block_cap(event))
        if turn.state is None:
            os.unlink(path)  # noqa: PTH108
        elif turn.state != state:
            write_loop(path, in_process(turn.state, session_process()))
        if not turn.prompt:
            return say(turn.message)
        count_block(event)
        return block(turn.prompt)

    def block_cap(event: HookEvent) -> int:
        given = event.environ.get(CAP_VARIABLE, "")
        is_number = given.isascii() and given.isdigit() and len(given) < 10
        return (int(given) if is_number else 0) or DEFAULT_CAP

    def blocks_before(event: HookEvent) -> int:
        """How many stops in a row were refused already, without a tool call between them."""
        path = session_file(BLOCKS, event.session, event.environ)
        if not path or event.fields.get("stop_hook_active") is not True:
            return 0
        with locked_numbers(path) as numbers:
            return sum(numbers)

    def count_block(event: HookEvent) -> None:
        if path := session_file(BLOCKS, event.session, event.environ):
            with locked_numbers(path) as numbers:
                before = sum(numbers) if event.fields.get("stop_hook_active") is True else 0
                numbers[:] = [before + 1]
    return locals()

def ralph_interfaces_hooks_transcript():
    """A session's transcript, newest line first. It may be huge, and is never read whole."""
    # Importing pathlib alone would cost a hook a quarter of its start.
    # ruff: noqa: PTH116, PTH123

    import os
    import stat
    from typing import TYPE_CHECKING

    FIRST_CHUNK = 65_536
    MOST_READ = 4_194_304

    class Transcript:
        """``size`` in bytes; 0 if there is no such file."""

        def __init__(self, event: HookEvent) -> None:
            self._path = path = event.text("transcript_path")
            try:
                status = os.stat(path) if path and "\0" not in path else None
            except OSError:
                status = None
            self.size = status.st_size if status is not None and stat.S_ISREG(status.st_mode) else 0

        def newest_lines(self) -> Iterator[bytes]:
            """Whole lines from the last few megabytes, read only as far back as the caller asks."""
            if not self.size:
                return
            with open(self._path, "rb") as file:
                end, chunk, rest = self.size, FIRST_CHUNK, b""
                while end > 0 and self.size - end < MOST_READ:
                    start = max(0, end - chunk)
                    file.seek(start)
                    first, *whole = (file.read(end - start) + rest).split(b"\n")
                    yield from reversed(whole)
                    end, chunk, rest = start, chunk * 2, first  # the beginning of that line is further up
                if end == 0:
                    yield rest

    def last_words(event: HookEvent) -> str:
        """What the assistant said last; older versions of Claude Code leave it to the transcript."""
        if "last_assistant_message" in event.fields:
            return event.text("last_assistant_message")
        return next(filter(None, map(_assistant_text, Transcript(event).newest_lines())), "")

    def _assistant_text(line: bytes) -> str:
        import json

        try:
            entry = json.loads(line) if b'"assistant"' in line else None
        except (ValueError, RecursionError):
            return ""
        if not isinstance(entry, dict) or entry.get("type") != "assistant" or entry.get("isSidechain") is True:
            return ""
        message = entry.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        parts = content if isinstance(content, list) else []
        texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
        return "\n".join(text for text in texts if isinstance(text, str))
    return locals()

def ralph_operations_agreement():
    """Whether the user has agreed to what a project asks for. Hooks import this: it needs the standard library only."""

    from typing import TYPE_CHECKING

    _m = _module("ralph.adapters.trust_store"); trusted_digests = _m["trusted_digests"]
    _m = _module("ralph.domain.trust.demand"); VARIABLE = _m["VARIABLE"]; Demand = _m["Demand"]; digest_of = _m["digest_of"]

    __all__ = ["VARIABLE", "Demand"]

    _YES = frozenset({"1", "true", "yes", "on"})

    def is_waived(environ: Mapping[str, str]) -> bool:
        """For scripts and tests, which run what they have looked at; and for whoever is in our sandbox, and runs what they like."""
        return environ.get(VARIABLE, "").strip().lower() in _YES or bool(environ.get("RALPH_SANDBOX"))

    def not_agreed(project: str, demands: Iterable[Demand], environ: Mapping[str, str]) -> tuple[Demand, ...]:
        """What the user has not agreed to in the project at this real path."""
        agreed = trusted_digests(project, environ) | inherited(environ)
        return tuple(demand for demand in demands if digest_of(project, demand) not in agreed)

    def inherited(environ: Mapping[str, str]) -> frozenset[str]:
        """The digests of what was agreed to for the run that we are a part of."""
        return frozenset(environ.get(VARIABLE, "").split(","))

    def is_agreed(project: str, demand: Demand, environ: Mapping[str, str]) -> bool:
        return is_waived(environ) or not not_agreed(project, [demand], environ)
    return locals()

def ralph_operations_atomic_files():
    """Small files, written whole and read with care. Hooks import this: it needs the standard library only."""

    _m = _module("ralph.adapters.files"); make_state_folder = _m["make_state_folder"]; read_whole = _m["read_whole"]; write_atomic = _m["write_atomic"]

    __all__ = ["make_state_folder", "read_whole", "write_atomic"]
    return locals()

def ralph_patterns():
    """Regular expressions that are compiled when they are first used: a run loads hundreds of them, and needs a few."""

    import re
    from typing import TYPE_CHECKING

    class _Pattern:
        """Stands for a ``re.Pattern``: the first use of an attribute compiles, later ones find it in the instance."""

        def __init__(self, text: str | bytes, flags: int | re.RegexFlag = 0) -> None:
            self._given: tuple[Any, Any] = (text, flags)

        def __getattr__(self, name: str) -> Any:
            compiled = re.compile(*self._given)
            for attribute in ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"):
                self.__dict__[attribute] = getattr(compiled, attribute)
            self.__dict__["pattern"] = compiled.pattern
            return getattr(compiled, name)

        def __repr__(self) -> str:
            return f"pattern({self._given[0]!r})"

    if not TYPE_CHECKING:
        pattern = _Pattern
    return locals()

def ralph_values():
    """``dataclass``, ``field``, ``fields`` and ``replace`` as in the standard library, whose methods are made when they are first used.

The standard decorator writes and compiles the methods of a class while its module is loaded. That takes half a
millisecond for each class, and a run loads hundreds of which it uses a few dozen. Here a class gets its slots at once and the
rest on demand. To type checkers, to ``dataclasses.fields`` and its like, and to msgspec, these are ordinary dataclasses.
"""

    from functools import cache
    from operator import attrgetter
    from reprlib import recursive_repr
    from typing import TYPE_CHECKING

    _MISSING: Any = object()
    _WITHOUT_BASES = 2
    """Classes in the ``__mro__`` of one that is derived from ``object`` alone."""
    _MADE = "__made_here__"
    _WORTH_COMPILING = 8
    """Instances after which the ``__init__`` of a class is compiled. Most classes have fewer, and compiling takes longer."""

    class _Field:
        """What ``field(…)`` says; a plain default says the same in short."""

        __slots__ = (
            "compare",
            "default",
            "default_factory",
            "hash",
            "init",
            "kw_only",
            "metadata",
            "name",
            "repr",
        )

        def __init__(
            self,
            *,
            default: Any = _MISSING,
            default_factory: Any = _MISSING,
            init: bool = True,
            repr: bool = True,  # noqa: A002
            compare: bool = True,
            hash: bool | None = None,  # noqa: A002
            kw_only: bool = False,
            metadata: Any = None,
        ) -> None:
            self.name = ""
            self.default, self.default_factory = default, default_factory
            self.init, self.repr, self.compare, self.kw_only = init, repr, compare, kw_only
            self.hash = compare if hash is None else hash
            self.metadata = metadata

    class _Shape:
        """The fields of a class, in order, and what has been made of them so far.

    ``given``: by name, what stands behind each field that the class itself declares.
    """

        __slots__ = ("_compared", "_fields", "_given", "_hashed", "_is_keyword", "by_place", "is_frozen", "owner")

        def __init__(self, owner: type, given: dict[str, Any], *, is_keyword: bool, is_frozen: bool) -> None:
            self.owner = owner
            self._given = given
            self._is_keyword = is_keyword
            self.is_frozen = is_frozen
            self._fields: dict[str, _Field] | None = None
            self._compared: Any = None
            self._hashed: Any = None
            self.by_place = self._names_by_place()

        def _names_by_place(self) -> tuple[str, ...]:
            """Without making a field of what has none: most classes are never asked for theirs."""
            is_plain = not self._is_keyword and len(self.owner.__mro__) == _WITHOUT_BASES
            if is_plain and not any(type(each) is _Field for each in self._given.values()):
                return tuple(self._given)
            return tuple([name for name, each in self.fields.items() if each.init and not each.kw_only])

        @property
        def fields(self) -> dict[str, _Field]:
            if self._fields is None:
                fields: dict[str, _Field] = {}
                for base in reversed(self.owner.__mro__[1:]):
                    if shape := base.__dict__.get("__shape__"):
                        fields.update(shape.fields)
                for name, given in self._given.items():
                    each = given if type(given) is _Field else _Field(default=given)
                    each.name, each.kw_only = name, each.kw_only or self._is_keyword
                    fields[name] = each
                self._fields = fields  # whole, or another thread might see a part of them
            return self._fields

        def compared(self, instance: object) -> Any:
            """What equality goes by."""
            if self._compared is None:
                self._compared = _getter([name for name, each in self.fields.items() if each.compare])
            return self._compared(instance)

        def hashed(self, instance: object) -> Any:
            if self._hashed is None:
                self._hashed = _getter([name for name, each in self.fields.items() if each.hash])
            return self._hashed(instance)

    def _getter(names: list[str]) -> Any:
        """Always a tuple: it knows the same object for equal, whatever that says of itself."""
        if len(names) > 1:
            return attrgetter(*names)
        return lambda instance: tuple([getattr(instance, name) for name in names])

    @cache
    def _dataclass(
        *,
        frozen: bool = False,
        slots: bool = False,
        kw_only: bool = False,
        eq: bool = True,
        repr: bool = True,  # noqa: A002
    ) -> Any:
        usual: dict[str, Any] = {"__replace__": _replace}  # for Python 3.13's `copy.replace`
        if frozen:
            usual |= _FROZEN
        if repr:
            usual["__repr__"] = _repr
        if eq:
            usual["__eq__"] = _eq

        def decorate(cls: type) -> type:
            namespace = usual | cls.__dict__
            namespace.pop("__dict__", None)
            namespace.pop("__weakref__", None)
            given = _take_given(namespace)
            if eq and namespace.get("__hash__") is None:
                namespace["__hash__"] = _hash if frozen else None
            if slots:
                inherited = [name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())]
                namespace["__slots__"] = tuple([name for name in given if name not in inherited])
            namespace["__qualname__"] = cls.__qualname__
            namespace["__dataclass_fields__"] = _STANDARD_FIELDS
            namespace["__dataclass_params__"] = _STANDARD_PARAMETERS
            namespace["__signature__"] = _SIGNATURE
            made: Any = type(cls)(cls.__name__, cls.__bases__, namespace)
            made.__shape__ = shape = _Shape(made, given, is_keyword=kw_only, is_frozen=frozen)
            made.__match_args__ = shape.by_place  # type: ignore[misc]
            if "__init__" not in namespace:
                made.__init__ = _first_inits(shape)
            return made  # type: ignore[no-any-return]

        return decorate

    def _take_given(namespace: dict[str, Any]) -> dict[str, Any]:
        """What stands behind the fields that the class itself declares; it leaves the namespace, where slots will be."""
        return {
            name: namespace.pop(name, _MISSING)
            for name, kind in namespace.get("__annotations__", {}).items()
            if not kind.startswith("ClassVar")  # all our annotations are strings
        }

    def _first_inits(shape: _Shape) -> Any:
        """An ``__init__`` that puts the arguments where they belong by looking, and soon makes place for a compiled one."""
        left = _WORTH_COMPILING

        def __init__(self: object, *arguments: Any, **named: Any) -> None:  # noqa: N807
            nonlocal left
            left -= 1
            if left < 0 or not _fill(self, shape, arguments, named):
                compiled = _compile_init(shape)
                shape.owner.__init__ = compiled  # type: ignore[misc]
                compiled(self, *arguments, **named)  # arguments that do not fit get the error of any function

        setattr(__init__, _MADE, True)
        return __init__

    def _fill(instance: object, shape: _Shape, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
        """Whether the arguments fit."""
        if len(arguments) > len(shape.by_place):
            return False
        placed = dict(zip(shape.by_place, arguments, strict=False))
        if named.keys() & placed.keys():
            return False
        given = {**placed, **named}
        put = object.__setattr__
        for name, each in shape.fields.items():
            if each.init and name in given:
                put(instance, name, given.pop(name))
            elif each.default_factory is not _MISSING:
                put(instance, name, each.default_factory())
            elif each.default is not _MISSING:
                put(instance, name, each.default)
            elif each.init:
                return False
        if given:
            return False
        if hasattr(instance, "__post_init__"):
            instance.__post_init__()
        return True

    def _compile_init(shape: _Shape) -> Any:
        scope: dict[str, Any] = {"_MISSING": _MISSING}
        by_place: list[str] = ["self"]
        by_name: list[str] = []
        body: list[str] = []
        for name, each in shape.fields.items():
            value = name
            if each.default_factory is not _MISSING:
                scope[f"_make_{name}"] = each.default_factory
                value = f"_make_{name}() if {name} is _MISSING else {name}" if each.init else f"_make_{name}()"
                parameter = f"{name}=_MISSING"
            elif each.default is not _MISSING:
                scope[f"_default_{name}"] = each.default
                value = name if each.init else f"_default_{name}"
                parameter = f"{name}=_default_{name}"
            elif each.init:
                parameter = name
            else:
                continue  # __post_init__ sets it
            if each.init:
                (by_name if each.kw_only else by_place).append(parameter)
            if shape.is_frozen:  # past __setattr__, which refuses
                if slot := getattr(shape.owner, name, None):
                    scope[f"_set_{name}"] = slot.__set__
                    body.append(f"_set_{name}(self, {value})")
                else:
                    body.append(f"object.__setattr__(self, {name!r}, {value})")
            else:
                body.append(f"self.{name} = {value}")
        if hasattr(shape.owner, "__post_init__"):
            body.append("self.__post_init__()")
        parameters = ", ".join([*by_place, *(["*", *by_name] if by_name else [])])
        text = f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"])
        exec(text, scope)  # noqa: S102 (names of fields, as the standard library does)
        made = scope["__init__"]
        made.__qualname__ = f"{shape.owner.__qualname__}.__init__"
        setattr(made, _MADE, True)
        return made

    def _shape(instance: Any) -> _Shape:
        shape: _Shape = type(instance).__shape__
        return shape

    @recursive_repr()
    def _repr(self: Any) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name, each in _shape(self).fields.items() if each.repr]
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def _eq(self: Any, other: object) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        shape = _shape(self)
        return shape.compared(self) == shape.compared(other)

    def _hash(self: Any) -> int:
        return hash(_shape(self).hashed(self))

    def _refuse_to_set(self: Any, name: str, value: object) -> None:
        _refuse(self, name, "assign to")
        object.__setattr__(self, name, value)

    def _refuse_to_delete(self: Any, name: str) -> None:
        _refuse(self, name, "delete")
        object.__delattr__(self, name)

    def _refuse(instance: Any, name: str, what: str) -> None:
        shape = _shape(instance)
        if type(instance) is shape.owner or name in shape.fields:
            from dataclasses import FrozenInstanceError

            message = f"cannot {what} field {name!r}"
            raise FrozenInstanceError(message)

    def _state(self: Any) -> list[Any]:
        """To be copied and pickled: whatever does that sets attributes otherwise, which is refused."""
        return [getattr(self, name) for name in _shape(self).fields]

    def _take_state(self: Any, state: list[Any]) -> None:
        for name, value in zip(_shape(self).fields, state, strict=True):
            object.__setattr__(self, name, value)

    _FROZEN = {
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
        "__getstate__": _state,
        "__setstate__": _take_state,
    }

    class _Standard:
        """An attribute by which others know a dataclass: taken from a standard one, once it is asked for."""

        def __init__(self, name: str, make: Any) -> None:
            self._name = name
            self._make = make

        def __get__(self, _: object, asked: Any) -> Any:
            shape: _Shape = asked.__shape__
            value = getattr(self._make(shape), self._name)
            setattr(shape.owner, self._name, value)
            return value

    def _as_strict(shape: _Shape) -> type:
        import dataclasses

        return dataclasses.make_dataclass(shape.owner.__name__, [], frozen=shape.is_frozen)

    def _with_fields(shape: _Shape) -> type:
        """Without any method: nobody asks for them, and they are what takes time."""
        import dataclasses

        plain = _plain_class(shape, dict.fromkeys(shape.fields, object))
        made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False)(plain)
        # Put in afterwards: the standard library would look into each text for what is no field.
        for name, kind in _kinds(shape).items():
            made.__dataclass_fields__[name].type = kind
        return made  # type: ignore[no-any-return]

    def _plain_class(shape: _Shape, kinds: dict[str, Any]) -> type:
        """What the standard decorator makes the same dataclass of."""
        import dataclasses

        namespace: dict[str, Any] = {"__doc__": "Never seen.", "__annotations__": kinds}
        for name, each in shape.fields.items():
            options: dict[str, Any] = {}
            if each.default is not _MISSING:
                options["default"] = each.default
            if each.default_factory is not _MISSING:
                options["default_factory"] = each.default_factory
            namespace[name] = dataclasses.field(
                init=each.init,
                repr=each.repr,
                compare=each.compare,
                hash=each.hash,
                kw_only=each.kw_only,
                metadata=each.metadata,
                **options,
            )
        return type(shape.owner.__name__, (), namespace)

    def _kinds(shape: _Shape) -> dict[str, Any]:
        """The annotations of the fields, in the order of the fields."""
        found: dict[str, Any] = {}
        for base in reversed(shape.owner.__mro__):
            found |= base.__dict__.get("__annotations__", {})  # noqa: RUF063 (imports a lot)
        return {name: found[name] for name in shape.fields}

    class _Signature:
        """What ``help`` and editors show of a class, whose own ``__init__`` takes whatever it is given at first."""

        def __get__(self, _: object, asked: Any) -> Any:
            import dataclasses
            import inspect

            shape: _Shape = asked.__shape__
            if asked is not shape.owner or not hasattr(vars(asked)["__init__"], _MADE):
                return None  # it has another way to be made: look there
            plain = _plain_class(shape, _kinds(shape))
            return inspect.signature(dataclasses.dataclass(repr=False, eq=False)(plain))

    _SIGNATURE = _Signature()
    _STANDARD_FIELDS = _Standard("__dataclass_fields__", _with_fields)
    _STANDARD_PARAMETERS = _Standard("__dataclass_params__", _as_strict)

    def _replace(instance: Any, /, **changes: Any) -> Any:
        shape: _Shape | None = vars(type(instance)).get("__shape__")
        if shape is None:
            import dataclasses

            return dataclasses.replace(instance, **changes)
        for name, each in shape.fields.items():
            if each.init and name not in changes:
                changes[name] = getattr(instance, name)
        return type(instance)(**changes)

    def _fields(of: Any) -> tuple[Any, ...]:
        shape: _Shape | None = vars(of if isinstance(of, type) else type(of)).get("__shape__")
        if shape is None:  # somebody else's dataclass, which may be derived from one of ours
            import dataclasses

            return dataclasses.fields(of)
        return tuple(shape.fields.values())

    if not TYPE_CHECKING:
        MISSING, Field, field = _MISSING, _Field, _Field
        dataclass, fields, replace = _dataclass, _fields, _replace
    return locals()

_MODULES = {
    "ralph.adapters.files": ralph_adapters_files,
    "ralph.adapters.trust_store": ralph_adapters_trust_store,
    "ralph.config.project_search": ralph_config_project_search,
    "ralph.domain.agent.events": ralph_domain_agent_events,
    "ralph.domain.agent.network": ralph_domain_agent_network,
    "ralph.domain.holder": ralph_domain_holder,
    "ralph.domain.loop.feedback": ralph_domain_loop_feedback,
    "ralph.domain.loop.prompt": ralph_domain_loop_prompt,
    "ralph.domain.loop.session_report": ralph_domain_loop_session_report,
    "ralph.domain.plan.active_marker": ralph_domain_plan_active_marker,
    "ralph.domain.plan.context_use": ralph_domain_plan_context_use,
    "ralph.domain.plan.document": ralph_domain_plan_document,
    "ralph.domain.plan.document_problems": ralph_domain_plan_document_problems,
    "ralph.domain.plan.stop_checks": ralph_domain_plan_stop_checks,
    "ralph.domain.plan.story": ralph_domain_plan_story,
    "ralph.domain.promise.loop_state": ralph_domain_promise_loop_state,
    "ralph.domain.promise.session_loop": ralph_domain_promise_session_loop,
    "ralph.domain.sandbox.own_git": ralph_domain_sandbox_own_git,
    "ralph.domain.tasks.circles": ralph_domain_tasks_circles,
    "ralph.domain.text.reader": ralph_domain_text_reader,
    "ralph.domain.text.strict_json": ralph_domain_text_strict_json,
    "ralph.domain.trust.demand": ralph_domain_trust_demand,
    "ralph.domain.trust.digest": ralph_domain_trust_digest,
    "ralph.domain.trust.seal": ralph_domain_trust_seal,
    "ralph.guard.families.call": ralph_guard_families_call,
    "ralph.guard.families.catalogue": ralph_guard_families_catalogue,
    "ralph.guard.families.clients": ralph_guard_families_clients,
    "ralph.guard.families.containers": ralph_guard_families_containers,
    "ralph.guard.families.databases": ralph_guard_families_databases,
    "ralph.guard.families.files": ralph_guard_families_files,
    "ralph.guard.families.git": ralph_guard_families_git,
    "ralph.guard.families.permissions": ralph_guard_families_permissions,
    "ralph.guard.families.program_table": ralph_guard_families_program_table,
    "ralph.guard.families.secrets": ralph_guard_families_secrets,
    "ralph.guard.git_call": ralph_guard_git_call,
    "ralph.guard.guard": ralph_guard_guard,
    "ralph.guard.judgement": ralph_guard_judgement,
    "ralph.guard.lazy_pattern": ralph_guard_lazy_pattern,
    "ralph.guard.limits": ralph_guard_limits,
    "ralph.guard.marks": ralph_guard_marks,
    "ralph.guard.options": ralph_guard_options,
    "ralph.guard.packs": ralph_guard_packs,
    "ralph.guard.places": ralph_guard_places,
    "ralph.guard.program_lists": ralph_guard_program_lists,
    "ralph.guard.programs.builtins": ralph_guard_programs_builtins,
    "ralph.guard.programs.carriers": ralph_guard_programs_carriers,
    "ralph.guard.programs.code": ralph_guard_programs_code,
    "ralph.guard.programs.code_paths": ralph_guard_programs_code_paths,
    "ralph.guard.programs.containers": ralph_guard_programs_containers,
    "ralph.guard.programs.git_helpers": ralph_guard_programs_git_helpers,
    "ralph.guard.programs.handlers": ralph_guard_programs_handlers,
    "ralph.guard.programs.interpreters": ralph_guard_programs_interpreters,
    "ralph.guard.programs.shells": ralph_guard_programs_shells,
    "ralph.guard.programs.text_runners": ralph_guard_programs_text_runners,
    "ralph.guard.programs.wrappers": ralph_guard_programs_wrappers,
    "ralph.guard.script_walk": ralph_guard_script_walk,
    "ralph.guard.shell.cursor": ralph_guard_shell_cursor,
    "ralph.guard.shell.escapes": ralph_guard_shell_escapes,
    "ralph.guard.shell.expansion": ralph_guard_shell_expansion,
    "ralph.guard.shell.listings": ralph_guard_shell_listings,
    "ralph.guard.shell.output": ralph_guard_shell_output,
    "ralph.guard.shell.redirects": ralph_guard_shell_redirects,
    "ralph.guard.shell.scope": ralph_guard_shell_scope,
    "ralph.guard.shell.scripts": ralph_guard_shell_scripts,
    "ralph.guard.shell.syntax": ralph_guard_shell_syntax,
    "ralph.guard.shell.words": ralph_guard_shell_words,
    "ralph.guard.walk": ralph_guard_walk,
    "ralph.interfaces.hooks.context_hook": ralph_interfaces_hooks_context_hook,
    "ralph.interfaces.hooks.guard_hook": ralph_interfaces_hooks_guard_hook,
    "ralph.interfaces.hooks.holders": ralph_interfaces_hooks_holders,
    "ralph.interfaces.hooks.loop_files": ralph_interfaces_hooks_loop_files,
    "ralph.interfaces.hooks.main": ralph_interfaces_hooks_main,
    "ralph.interfaces.hooks.places": ralph_interfaces_hooks_places,
    "ralph.interfaces.hooks.plan_stop": ralph_interfaces_hooks_plan_stop,
    "ralph.interfaces.hooks.prompt_hook": ralph_interfaces_hooks_prompt_hook,
    "ralph.interfaces.hooks.protocol": ralph_interfaces_hooks_protocol,
    "ralph.interfaces.hooks.session_files": ralph_interfaces_hooks_session_files,
    "ralph.interfaces.hooks.stop_hook": ralph_interfaces_hooks_stop_hook,
    "ralph.interfaces.hooks.transcript": ralph_interfaces_hooks_transcript,
    "ralph.operations.agreement": ralph_operations_agreement,
    "ralph.operations.atomic_files": ralph_operations_atomic_files,
    "ralph.patterns": ralph_patterns,
    "ralph.values": ralph_values,
}


def main(arguments):
    return _module("ralph.interfaces.hooks.main")["main"](arguments)

"""What a command line has set up before a command runs: variables, functions, directory, files it wrote."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.guard.marks import INPUT, TEMPORARY_FOLDER, UNKNOWN
from ralph.guard.places import join_path
from ralph.guard.shell.syntax import Script

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

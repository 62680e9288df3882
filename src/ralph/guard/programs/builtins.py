"""What belongs to the shell itself and changes what follows: functions, cd, export, alias, read."""

from __future__ import annotations

from ralph.guard.marks import UNKNOWN
from ralph.guard.options import base_name
from ralph.guard.places import join_path
from ralph.guard.script_walk import walk_script
from ralph.guard.shell.scripts import read_script
from ralph.guard.shell.syntax import Script, Simple
from ralph.guard.walk import Start, Walk, refuse

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

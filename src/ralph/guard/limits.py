"""How much the guard reads before it refuses a command as too complex to judge."""

from __future__ import annotations

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

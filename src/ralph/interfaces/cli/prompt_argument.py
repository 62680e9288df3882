"""The prompt as a user gives it: text, a file that is read again each time, or standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.domain.text.safe_text import is_text
from ralph.errors import UsageError

if TYPE_CHECKING:
    from ralph.operations.runs.prepare import GivenPrompt


def prompt_argument(text: str | None, file: Path | None) -> GivenPrompt | None:
    """None if neither was given. Raises UsageError for what cannot be a prompt."""
    from ralph.operations.runs.prepare import GivenPrompt

    if text is None and file is None:
        return None
    if text is not None and file is not None:
        message = "only one of --prompt and --prompt-file can be given"
        raise UsageError(message, hint="put everything into the file")
    if text is not None and not text.strip():
        message = "--prompt is empty"
        raise UsageError(message, hint="say what the agent should do")
    if text is not None and not is_text(text):
        message = "--prompt holds bytes that are not UTF-8 text"
        raise UsageError(message, hint="put it into a file and give that with --prompt-file")
    if file is not None and (file == Path("-") or file.is_fifo()):
        return GivenPrompt(_read_once(file))
    return GivenPrompt(text, file.absolute() if file is not None else None)


def _read_once(file: Path) -> str:
    """Standard input, or the pipe of a shell's ``<(…)``: it can be read only once, so it stays as it is."""
    data = sys.stdin.buffer.read() if file == Path("-") else file.read_bytes()
    text = data.decode(errors="surrogateescape")
    if not text.strip() or not is_text(text):
        what = "not UTF-8 text" if text.strip() else "empty"
        message = f"the prompt on {'standard input' if file == Path('-') else file} is {what}"
        raise UsageError(message, hint="say what the agent should do")
    return text

from __future__ import annotations

import pytest

from ralph.domain.loop.claims import commit_message


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("<response>Fix the parser</response>", "Fix the parser"),
        ("Sure!\n<response>Fix it\n\nBecause.</response>", "Fix it\n\nBecause."),
        ("\n  \n  Add tests \nand more", "Add tests"),
        ("```\nAdd tests\n```", "Add tests"),
        ("<response>done</response>", None),
        ("<response>DONE</response>\nAdd tests", "Add tests"),
        ("<response></response>", None),
        (" \n", None),
        ("", None),
    ],
)
def test_a_commit_message_is_the_tag_or_the_first_line_that_says_something(
    answer: str, message: str | None
) -> None:
    assert commit_message(answer, completion="DONE") == message

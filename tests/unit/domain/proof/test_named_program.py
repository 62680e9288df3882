from __future__ import annotations

import pytest

from ralph.domain.proof.named_program import named_program


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("pytest -q", "pytest"),
        (" npm test && npm run lint", "npm"),
        ("python3.11 -m unittest", "python3.11"),
        ("test -f made", ""),
        ("cd web && npm test", ""),
        ("./check.sh", ""),
        (".venv/bin/pytest", ""),
        ("CI=1 npm test", ""),
        ("$RUNNER test", ""),
        ("'my tool' x", ""),
        ("(make)", ""),
        ("make;", ""),
        ("! grep -r TODO src", ""),
        ("", ""),
    ],
)
def test_only_a_bare_name_is_told(command: str, program: str) -> None:
    assert named_program(command) == program

"""The same as git reads: compared with git itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralph.domain.text.git_config import parse_git_config

ODD = (
    '[filter "x"] clean = "a \\"b\\" c" # no\n',
    "[filter.Dotted.Name]\nClean=evil\n",
    '[FILTER "Keeps \\\\ Case\\""]\n\tsmudge = one\\\n two ; three\n',
    "[a]\n\tb\n\tc=\n\td = ' # x'\n",
    '[a "b"]x=1\n[c]y = "#;" ; z\n',
    "\ufeff[core]\r\n\tworktree = /x\r\n",
    "[include]path=../evil\n",
    "[a]\n  b = c   d  \n",
    "# only [x]\n; y = z\n",
    '[a]\nb = "open\nc = d\n',
    "[a]\nb = \\q\n",
    "[a]b=1\n[bad section]c=2\n",
    "b = no section\n",
    '[s ""]k=v\n',
    "[a]\nx = a\\\\b\\tc\\n\n",
    "[a] ; comment\nx=1",
)


def git_says(file: Path) -> list[tuple[str, str]] | None:
    listed = ["git", "config", "--file", str(file), "--list", "-z"]
    ran = subprocess.run(listed, capture_output=True, check=False)
    if ran.returncode:
        return None
    entries = (entry.partition("\n") for entry in ran.stdout.decode().split("\0") if entry)
    return [(key, value) for key, _, value in entries]


@pytest.mark.parametrize("text", ODD)
def test_it_reads_what_git_reads(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_bytes(text.encode())
    expected = git_says(file)
    if expected is not None:
        assert [*parse_git_config(text)] == expected


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(
        st.sampled_from(
            [
                "[a]",
                '[b "c d"]',
                "[e.f]",
                "k",
                "=",
                " ",
                "\t",
                "\n",
                "v w",
                '"',
                "\\",
                "#",
                ";",
                "\\\n",
                "x-y",
                "\r\n",
            ]
        ),
        max_size=14,
    )
)
def test_whatever_is_written_reads_as_git_reads_it(parts: list[str], tmp_path: Path) -> None:
    text = "[a]\n" + "".join(parts)
    file = tmp_path / "config"
    file.write_bytes(text.encode())
    expected = git_says(file)
    if expected is not None:
        assert [*parse_git_config(text)] == expected, text

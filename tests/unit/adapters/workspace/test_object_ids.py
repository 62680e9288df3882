"""The names that git gives to content, with and without OpenSSL."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ralph.adapters.workspace.object_ids import object_id

OF_HELLO = {
    "sha1": "ce013625030ba8dba906f756967f9e9ca394464a",
    "sha256": "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4",
}


@pytest.mark.parametrize("kind", OF_HELLO)
def test_content_is_named_as_git_names_it(kind: str) -> None:
    assert object_id(b"hello\n", like=OF_HELLO[kind]) == OF_HELLO[kind]


@pytest.mark.parametrize("kind", OF_HELLO)
def test_it_needs_no_openssl(kind: str) -> None:
    code = (
        "import sys\n"
        "from ralph.adapters.workspace.object_ids import object_id\n"
        f"print(object_id(b'hello\\n', like='{OF_HELLO[kind]}'))\n"
        "assert '_hashlib' not in sys.modules\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == OF_HELLO[kind]

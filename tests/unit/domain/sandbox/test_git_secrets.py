"""No password or token of the user's git settings gets into a sandbox; the rest stays as it is."""

from __future__ import annotations

import pytest

from ralph.domain.sandbox.git_secrets import without_secrets

S = "s3cret"

HARMLESS = """\
[user]
\tname = Some One
\temail = some@one.example
\tsigningKey = /home/u/.ssh/key.pub
[url "ssh://git@host.example/"]
\tinsteadOf = https://host.example/
[alias]
\tlong = "!f() { \\
\t  git log; }; f"
[credential]
\thelper = store
[include]
\tpath = ~/.gitconfig.local
"""


def test_settings_without_secrets_stay_as_they_are() -> None:
    assert without_secrets(HARMLESS) == HARMLESS


@pytest.mark.parametrize(
    "secret",
    [
        f'[url "https://user:{S}@host.example/"]\n\tinsteadOf = https://host.example/\n',
        f'[url "https://{S}@host.example/"]\n\tinsteadOf = gh:\n',
        f'[url "https://user:{S}@x@host.example/"]\n\tinsteadOf = gh:\n',
        f"[http]\n\tproxy = http://me:{S}@proxy:8080\n",
        f"[http]\n\tproxy = socks5://me:{S}@proxy:8080\n",
        f"[http]\n\textraHeader = Authorization: Basic {S}\n",
        f'[http "https://host.example/"] extraheader = X-Private: {S}\n',
        f"[http]\n\textraHeader = \\\n  Authorization: \\\n  Basic {S}\n",
        f"[sendemail]\n\tsmtpPass = {S}\n",
        f"[github]\n\ttoken = {S}\n\toauth-token = {S}\n",
        f'[credential "https://host.example"]\n\thelper = "!f() {{ echo password={S}; }}; f"\n',
        f"[core]\n\tsshCommand = sshpass -p {S} ssh\n",
    ],
)
def test_secrets_are_left_out(secret: str) -> None:
    shown = without_secrets(secret + HARMLESS)
    assert S not in shown
    assert "name = Some One" in shown

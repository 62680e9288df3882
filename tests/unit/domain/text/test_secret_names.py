"""Secrets stay off the screen."""

from __future__ import annotations

import pytest

from ralph.domain.text.masking import mask_values
from ralph.domain.text.secret_names import MASK, looks_secret


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("ANTHROPIC_API_KEY", True),
        ("GITHUB_TOKEN", True),
        ("token", True),
        ("dbPassword", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("api-key", True),
        ("apikey", True),
        ("MAX_OUTPUT_TOKENS", False),
        ("TOKENIZERS_PARALLELISM", False),
        ("KEYBOARD", False),
        ("AUTHOR", False),
        ("HTTP_PROXY", False),
    ],
)
def test_a_secret_is_known_by_its_name(name: str, secret: bool) -> None:
    assert looks_secret(name) is secret


def test_secrets_are_replaced_wherever_they_stand() -> None:
    assert mask_values(
        {
            "agent": {
                "environment": {"API_KEY": "s3cret", "EMPTY_TOKEN": "", "LEVEL": "high"},
                "flags": ["--api-key=s3cret", "--api-key s3cret", "--token", "s3cret", "--model", "opus"],
            },
            "profiles": {"x": {"password": "s3cret", "maxTokens": 5}},
        }
    ) == {
        "agent": {
            "environment": {"API_KEY": MASK, "EMPTY_TOKEN": "", "LEVEL": "high"},
            "flags": [
                f"--api-key={MASK}",
                f"--api-key {MASK}",
                "--token",
                MASK,
                "--model",
                "opus",
            ],
        },
        "profiles": {"x": {"password": MASK, "maxTokens": 5}},
    }

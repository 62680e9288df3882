from __future__ import annotations

from ralph.adapters.isolation.sandbox import kept_variables
from ralph.domain.sandbox.allow_list import host_rules

ENVIRON = dict.fromkeys(
    [
        "PATH",
        "HOME",
        "LC_ALL",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "ANTHROPIC_API_KEY",
        "MY_X_URL",
        "SSH_AUTH_SOCK",
    ]
)


def test_only_listed_variables_stay() -> None:
    assert kept_variables(dict.fromkeys(ENVIRON, "v")) == {"PATH", "HOME", "LC_ALL"}


def test_patterns_have_a_star_anywhere() -> None:
    kept = kept_variables(dict.fromkeys(ENVIRON, "v"), ("MY_*_URL", "GITHUB_TOKEN", "*AUTH_SOCK"))
    assert kept >= {"MY_X_URL", "GITHUB_TOKEN", "SSH_AUTH_SOCK"}
    assert "AWS_SECRET_ACCESS_KEY" not in kept


def test_an_address_in_the_environment_is_a_host_to_reach() -> None:
    environ = {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:4000/v1",
        "OPENAI_BASE_URL": "https://gateway.example",
        "A_BASE_URL": "not an address",
        "B_BASE_URL": "ftp://files.example",
        "C_BASE_URL": "http://x:port",
    }
    rules = [str(rule) for rule in host_rules(("api.example",), environ)]
    assert rules == ["api.example", "127.0.0.1:4000", "gateway.example"]

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.sandbox.allow_list import Reach, is_within_reach, matching_rule, normal_host, parse_rule


@pytest.mark.parametrize(
    ("rule", "host", "port", "expected"),
    [
        ("example.com", "example.com", 443, True),
        ("example.com", "example.com", 80, True),
        ("example.com", "example.com", 22, False),
        ("example.com", "www.example.com", 443, False),
        ("example.com", "example.com.evil.org", 443, False),
        ("example.com", "notexample.com", 443, False),
        ("EXAMPLE.com.", "example.com", 443, True),
        ("*.example.com", "www.example.com", 443, True),
        ("*.example.com", "a.b.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "evilexample.com", 443, False),
        ("example.com:8443", "example.com", 8443, True),
        ("example.com:8443", "example.com", 443, False),
        ("example.com:*", "example.com", 22, True),
        ("*", "anything.org", 443, True),
        ("*", "anything.org", 22, False),
        ("127.0.0.1:9000", "127.0.0.1", 9000, True),
        ("[::1]:9000", "::1", 9000, True),
        ("::1", "::1", 443, True),
    ],
)
def test_a_rule_permits(rule: str, host: str, port: int, expected: bool) -> None:
    assert parse_rule(rule).permits(normal_host(host), port) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no host"),
        ("https://example.com", "is the address of a page"),
        ("example.com/path", "has a path"),
        ("*.com", "is too wide"),
        ("*.10.0.0.1", "is too wide"),
        ("ex*mple.com", "is not a host name"),
        ("exa mple.com", "is not a host name"),
        ("-x.com", "is not a host name"),
        ("a..b", "is not a host name"),
        ("x.com:0", "has the port '0'"),
        ("x.com:65536", "has the port"),
        ("x.com:http", "has the port"),
        ("[::1", "an unclosed bracket"),
        ("münchen.example", "xn--"),
        ("127.1", "not a complete address"),
        ("[fe80::1%\x1b[31m]", "names a network interface"),
        ("2130706433", "not a complete address"),
        ("a" * 64 + ".com", "is not a host name"),
    ],
)
def test_a_rule_that_makes_no_sense_says_why(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        parse_rule(text)


@given(st.text(max_size=60))
def test_any_text_is_a_rule_or_a_value_error(text: str) -> None:
    try:
        rule = parse_rule(text)
    except ValueError:
        return
    assert parse_rule(str(rule)) == rule


@pytest.mark.parametrize(
    ("address", "public", "internal"),
    [
        ("93.184.216.34", True, True),
        ("10.0.0.1", False, True),
        ("192.168.1.1", False, True),
        ("fd00::1", False, True),
        ("127.0.0.1", False, False),
        ("::1", False, False),
        ("::ffff:127.0.0.1", False, False),
        ("169.254.169.254", False, False),
        ("fe80::1%eth0", False, False),
        ("0.0.0.0", False, False),
        ("224.0.0.1", False, False),
        ("168.63.129.16", False, False),
        ("100.100.100.200", False, False),
        ("fd00:ec2::254", False, False),
        ("64:ff9b::a9fe:a9fe", False, False),
        ("64:ff9b::808:808", True, True),
        ("2002:7f00:1::", False, False),
        ("not an address", False, False),
    ],
)
def test_a_name_leads_no_further_than_its_rule(address: str, public: bool, internal: bool) -> None:
    assert is_within_reach(address, Reach.PUBLIC) is public
    assert is_within_reach(address, Reach.INTERNAL) is internal
    assert is_within_reach(address, Reach.ANYWHERE)


def test_the_rule_that_reaches_furthest_counts() -> None:
    rules = [parse_rule(text) for text in ("*", "localhost", "git.example.com")]
    for host, reach in (
        ("localhost", Reach.ANYWHERE),
        ("git.example.com", Reach.INTERNAL),
        ("x.org", Reach.PUBLIC),
    ):
        found = matching_rule(rules, host, 443)
        assert found is not None
        assert found.reach is reach
    assert matching_rule(rules, "x.org", 22) is None

"""Which faults mean that the model cannot be reached."""

from __future__ import annotations

import pytest

from ralph.domain.agent.network import no_network

MAYBE_WRONG = "address is wrong"


@pytest.mark.parametrize(
    "reason",
    [
        "API Error: Unable to connect to API (ENOTFOUND)",
        "getaddrinfo EAI_AGAIN api.example.com:443",
        "exit status 6: curl: (6) Could not resolve host: api.example.com",
        "[Errno -3] Temporary failure in name resolution",
        "Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)",
        "Unable to connect to API (ConnectionRefused)",
        "exit status 7: curl: (7) Failed to connect to api.example.com port 443 after 500 ms: Connection refused",
    ],
)
def test_a_name_or_a_port_that_does_not_answer_may_be_wrong_as_well(reason: str) -> None:
    assert MAYBE_WRONG in no_network(reason)


@pytest.mark.parametrize(
    "reason",
    [
        "API Error: Connection error.",
        "connect ENETUNREACH 203.0.113.4:443",
        "Reconnecting... waiting for network (Connection failed: error sending request)",
        "stream disconnected before completion: error sending request for url (https://api.example.com:443/v1)",
        "[API Error: exception TypeError: fetch failed sending request]",
        "exit status 1: Network is unreachable",
    ],
)
def test_a_network_that_is_away(reason: str) -> None:
    assert no_network(reason) == "no network"


@pytest.mark.parametrize(
    "reason",
    [
        "",
        "empty response",
        "API Error: 529 overloaded",
        "API Error: 503 upstream connection error",
        "HTTP 502: connection refused by the gateway",
        "API Error: 401 invalid key",
        "ended by SIGKILL before it was done",
        "socket hang up (ECONNRESET)",
        "exit status 1",
    ],
)
def test_other_faults_are_none_of_the_networks(reason: str) -> None:
    assert no_network(reason) == ""

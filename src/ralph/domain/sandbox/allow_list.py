"""Which hosts may be reached: rules as people write them, and whether one applies."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from enum import Enum, auto
from urllib.parse import urlsplit

from ralph.patterns import pattern
from ralph.values import dataclass

WEB_PORTS = (80, 443)
ANY_PORT = 0
# Clouds give a machine's keys to anyone who asks here, and not all of these are link-local.
_METADATA_HOSTS = ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254")
_METADATA = frozenset(map(ipaddress.ip_address, _METADATA_HOSTS))
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")  # IPv4 as seen from an IPv6-only network
_LABEL = pattern(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")


class Reach(Enum):
    """Which addresses a name may resolve to: a name deserves no more trust than the rule that admits it."""

    PUBLIC = auto()  #: anyone may own this name: never the local network
    INTERNAL = auto()  #: named by the user: the local network too, not this machine or a cloud's metadata
    ANYWHERE = auto()  #: the user wrote the address itself, or ``localhost``


@dataclass(frozen=True, slots=True)
class HostRule:
    """``example.com``, ``*.example.com``, ``10.0.0.7:8080``, ``example.com:*``, or ``*`` for everything public."""

    host: str  # lower case, without the wildcard
    is_wildcard: bool = False
    port: int | None = None  # None: the web's; ANY_PORT: any

    def permits(self, host: str, port: int) -> bool:
        if self.port is None and port not in WEB_PORTS:
            return False
        if self.port not in (None, ANY_PORT, port):
            return False
        if self.is_wildcard:
            return not self.host or host.endswith("." + self.host)
        return host == self.host

    @property
    def reach(self) -> Reach:
        if self.is_wildcard:
            return Reach.PUBLIC
        return Reach.ANYWHERE if self.is_literal else Reach.INTERNAL

    @property
    def is_literal(self) -> bool:
        return self.host == "localhost" or _address(self.host) is not None

    def __str__(self) -> str:
        host = ("*." + self.host if self.host else "*") if self.is_wildcard else self.host
        if ":" in host:
            host = f"[{host}]"
        if self.port is None:
            return host
        return f"{host}:{'*' if self.port == ANY_PORT else self.port}"


def parse_rule(text: str) -> HostRule:
    """Raises ``ValueError`` that says what is wrong."""
    written = text.strip()
    if "://" in written:
        message = "is the address of a page; write only the host, such as example.com or example.com:8080"
        raise ValueError(message)
    if "/" in written:
        message = "has a path; only whole hosts can be allowed"
        raise ValueError(message)
    host, port = _split_port(written)
    if host == "*":
        return HostRule("", is_wildcard=True, port=port)
    is_wildcard = host.startswith("*.")
    host = normal_host(host[2:] if is_wildcard else host)
    if is_wildcard and ("." not in host or _address(host) is not None):
        message = "is too wide; a wildcard needs a domain of at least two parts, such as *.example.com"
        raise ValueError(message)
    return HostRule(host, is_wildcard=is_wildcard, port=port)


def matching_rule(rules: Iterable[HostRule], host: str, port: int) -> HostRule | None:
    """The rule with the widest reach that permits it; ``host`` comes from ``normal_host``."""
    matches = [rule for rule in rules if rule.permits(host, port)]
    return max(matches, key=lambda rule: rule.reach.value, default=None)


def normal_host(host: str) -> str:
    """Lower case, without a final dot. Raises ``ValueError`` for an impossible host."""
    host = host.lower().removesuffix(".")
    if "%" in host:  # any text may follow
        message = "names a network interface; write the address without it"
        raise ValueError(message)
    address = _address(host)
    if address is not None:
        return str(address)
    if not host:
        message = "names no host"
        raise ValueError(message)
    if not host.isascii():
        message = "has letters outside ASCII; write the name in its xn-- form"
        raise ValueError(message)
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        message = "is not a host name; write it like example.com, *.example.com or 192.0.2.7:8080"
        raise ValueError(message)
    if re.fullmatch(r"[0-9.]+|0x[0-9a-f]+", host):  # 127.1 and 0x7f000001 are addresses to some resolvers
        message = "is not a complete address; write all four numbers"
        raise ValueError(message)
    return host


def is_within_reach(address: str, reach: Reach) -> bool:
    """Whether a resolved address may be connected to."""
    if reach is Reach.ANYWHERE:
        return True
    parsed = _address(address.partition("%")[0])
    if parsed is None:
        return False
    parsed = _embedded(parsed) or parsed
    if parsed.is_loopback or parsed.is_link_local or parsed.is_unspecified or parsed.is_multicast:
        return False
    if parsed in _METADATA:
        return False
    return parsed.is_global if reach is Reach.PUBLIC else True


def meant_address(address: str) -> str:
    """In one form for each: an IPv6 address may be the long name of an IPv4 one."""
    parsed = _address(address.partition("%")[0])
    return address if parsed is None else str(_embedded(parsed) or parsed)


def _embedded(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address in an IPv6 one."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def _split_port(text: str) -> tuple[str, int | None]:
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            message = "has an unclosed bracket"
            raise ValueError(message)
        return host, _port(rest[1:]) if rest else None
    if text.count(":") > 1:  # an IPv6 address without brackets
        return text, None
    host, colon, port = text.partition(":")
    return host, _port(port) if colon else None


def _port(text: str) -> int:
    if text == "*":
        return ANY_PORT
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        message = f"has the port {text!r}; a port is a number from 1 to 65535, or * for any"
        raise ValueError(message)
    return int(text)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def host_rules(hosts: Iterable[str], environ: Mapping[str, str]) -> tuple[HostRule, ...]:
    """An agent's own hosts, and those that the environment names instead (``…_BASE_URL``)."""
    rules = [parse_rule(host) for host in hosts]
    for name in sorted(environ):
        if name.endswith("_BASE_URL") and (rule := _rule_of_url(environ[name])) is not None:
            rules.append(rule)
    return tuple(dict.fromkeys(rules))


def _rule_of_url(url: str) -> HostRule | None:
    try:
        parts = urlsplit(url)
        port = parts.port
        rule = parse_rule(parts.hostname or "")
    except ValueError:
        return None
    return HostRule(rule.host, rule.is_wildcard, port) if parts.scheme in ("http", "https") else None

"""Secrets recognised by their shape: the tokens of well-known services, and private keys.

Each shape has an anchor, a literal that every match contains: nearly every text has none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from ralph.domain.text.secret_names import MASK
from ralph.patterns import pattern

_BODY = "[A-Za-z0-9_-]"
# For short beginnings, which may also be the end of a word. The letter of an escape in JSON belongs to none, nor does the end of
# a colour.
_ALONE = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=[\[;0-9][0-9]m)|(?<=\[m))"

# One that is very long, or was cut off, is known by its lines.
_OF_KEY = r"[A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----"
_KEY_GAP = r"(?:\s|\\[nrt]){0,40}"
_KEY_HEADERS = rf"(?:{_KEY_GAP}[A-Z][A-Za-z-]{{1,20}}: [^\r\n\\]{{1,80}}){{0,4}}"
_KEY_LINES = rf"(?:{_KEY_GAP}[A-Za-z0-9+/=]{{40,}})+(?:(?:{_KEY_GAP}[A-Za-z0-9+/=]{{1,80}})?{_KEY_GAP}-----END {_OF_KEY})?"

Search = Callable[[str], "re.Match[str] | None"]


class Shape(NamedTuple):
    service: str
    pattern: str
    anchors: tuple[str, ...]  #: every match contains one
    source: str  #: who says so: the service's own documentation, or gitleaks' rule of that name


SHAPES = (
    Shape("Anthropic", rf"sk-ant-{_BODY}{{20,}}", ("sk-ant-",), "gitleaks anthropic-api-key"),
    Shape(
        "OpenAI",
        rf"sk-(?:proj|svcacct|admin)-{_BODY}{{20,}}",
        ("sk-proj-", "sk-svcacct-", "sk-admin-"),
        "gitleaks openai-api-key",
    ),
    Shape(
        "OpenRouter",
        r"sk-or-v1-[0-9a-f]{32,}",
        ("sk-or-v1-",),
        "openrouter.ai/docs/api-reference/authentication",
    ),
    Shape(
        "GitHub",
        r"gh[pousr]_[A-Za-z0-9]{36,}",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        "docs.github.com, GitHub's token formats",
    ),
    Shape(
        "GitHub", r"github_pat_[A-Za-z0-9_]{40,}", ("github_pat_",), "docs.github.com, GitHub's token formats"
    ),
    Shape(
        "GitLab",
        rf"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|wt|soat|oas|ffct)-{_BODY}{{20,}}(?:\.[0-9a-z]{{2,20}}){{0,2}}",
        (
            "glpat-",
            "gldt-",
            "glrt-",
            "glrtr-",
            "glcbt-",
            "glptt-",
            "glft-",
            "glimt-",
            "glagent-",
            "glwt-",
            "glsoat-",
            "gloas-",
            "glffct-",
        ),
        "gitleaks gitlab-*",
    ),
    Shape(
        "Slack",
        r"(?:xoxe\.)?xox[a-z]-[A-Za-z0-9-]{16,}",
        ("xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"),
        "docs.slack.dev/authentication/tokens; gitleaks slack-*",
    ),
    Shape(
        "Slack",
        rf"{_ALONE}xapp-\d-[A-Za-z0-9-]{{16,}}",
        ("xapp-",),
        "docs.slack.dev/authentication/tokens; gitleaks slack-*",
    ),
    Shape(
        "AWS",
        rf"{_ALONE}(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{{16}}(?![A-Za-z0-9])",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        "gitleaks aws-access-token",
    ),
    Shape("Google", rf"AIza{_BODY}{{35}}", ("AIza",), "gitleaks gcp-api-key"),
    Shape(
        "Google",
        rf"{_ALONE}ya29\.{_BODY}{{20,}}",
        ("ya29.",),
        "many secret scanners: Google OAuth access token",
    ),
    Shape(
        "Google", rf"GOCSPX-{_BODY}{{20,}}", ("GOCSPX-",), "many secret scanners: Google OAuth client secret"
    ),
    Shape(
        "JSON web token",
        rf"eyJ{_BODY}{{10,}}\.eyJ{_BODY}{{10,}}\.{_BODY}{{10,}}",
        (".eyJ",),
        "RFC 7519: two JSON objects in base64url and a signature",
    ),
    Shape(
        "Linear",
        r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}",
        ("lin_api_", "lin_oauth_"),
        "gitleaks linear-api-key: 40 characters",
    ),
    Shape("npm", rf"{_ALONE}npm_[A-Za-z0-9]{{36}}(?![A-Za-z0-9])", ("npm_",), "gitleaks npm-access-token"),
    Shape("Hugging Face", rf"{_ALONE}hf_[A-Za-z0-9]{{34,}}", ("hf_",), "gitleaks huggingface-access-token"),
    Shape(
        "Stripe",
        rf"{_ALONE}[sr]k_(?:live|test|prod)_[A-Za-z0-9]{{16,}}",
        ("k_live_", "k_test_", "k_prod_"),
        "gitleaks stripe-access-token",
    ),
    Shape(
        "SendGrid",
        rf"{_ALONE}SG\.{_BODY}{{16,}}\.{_BODY}{{16,}}",
        ("SG.",),
        "gitleaks sendgrid-api-token: 22 and 43 characters",
    ),
    Shape(
        "DigitalOcean",
        r"do[opr]_v1_[0-9a-f]{40,}",
        ("doo_v1_", "dop_v1_", "dor_v1_"),
        "gitleaks digitalocean-pat",
    ),
    Shape(
        "PyPI",
        rf"{_ALONE}pypi-{_BODY}{{40,}}",
        ("pypi-",),
        "the help on API tokens of its index; gitleaks pypi-upload-token",
    ),
    Shape(
        "Docker Hub",
        rf"dckr_[op]at_{_BODY}{{20,}}",
        ("dckr_pat_", "dckr_oat_"),
        "docs.docker.com/reference/api/hub, access tokens",
    ),
    Shape("Vault", rf"{_ALONE}hv[bs]\.{_BODY}{{24,}}", ("hvb.", "hvs."), "gitleaks vault-service-token"),
    Shape(
        "Grafana",
        rf"{_ALONE}gl(?:sa|c)_[A-Za-z0-9+/_=]{{32,}}",
        ("glsa_", "glc_"),
        "gitleaks grafana-cloud-api-token",
    ),
    Shape(
        "private key",
        rf"-----BEGIN {_OF_KEY}(?:(?:[^-]|-(?!----)){{20,8000}}-----END {_OF_KEY}|{_KEY_HEADERS}{_KEY_LINES})",
        ("PRIVATE KEY",),
        "RFC 7468, RFC 4880",
    ),
)
ANCHORS = tuple(anchor for shape in SHAPES for anchor in shape.anchors)

_MARKS = "_-A."
"""Every anchor has one, and most texts have few."""

_LONGEST_KEY = 8192 + 64  # with its first line
KEY_ENDS = b"PRIVATE KEY-----"
_KEY_BEGINS, _KEY_END = b"-----BEGIN ", pattern(rb"-----END [^-]{0,40}-----")


def mask_shapes(text: str) -> str:
    return _pattern().sub(MASK, text) if _may_hold_one(text) else text


def undecided_key(block: bytes) -> int:
    """How much of a block's end may be the start of a private key that continues in the next block."""
    window = block[-_LONGEST_KEY:]
    start = window.rfind(_KEY_BEGINS)
    if start >= 0:
        over = _KEY_END.search(window, start)
        if over is None or over.end() == len(window):
            return len(window) - start
    sizes = range(len(_KEY_BEGINS) - 1, 0, -1)
    return next((size for size in sizes if window.endswith(_KEY_BEGINS[:size])), 0)


def is_key_open(block: bytes) -> bool:
    """Whether the last private key in it has no end there."""
    start = block.rfind(_KEY_BEGINS)
    return start >= 0 and KEY_ENDS in block[start:] and _KEY_END.search(block, start) is None


def _may_hold_one(text: str) -> bool:
    return any(mark in text and search(text) is not None for mark, search in _anchored())


@cache
def _anchored() -> list[tuple[str, Search]]:
    """For each mark, what finds the anchors of which it is the first: one search for all of them, instead of one for each."""
    around: dict[str, list[str]] = {}
    for anchor in ANCHORS:
        end = min(anchor.index(mark) for mark in _MARKS if mark in anchor) + 1
        before = f"(?<={re.escape(anchor[:end])})" if end > 1 else ""
        around.setdefault(anchor[end - 1], []).append(before + re.escape(anchor[end:]))
    return [
        (mark, re.compile(f"{re.escape(mark)}(?:{'|'.join(anchors)})").search)
        for mark, anchors in around.items()
    ]


@cache  # most runs never need it, and it takes longest to build
def _pattern() -> re.Pattern[str]:
    return re.compile("|".join(shape.pattern for shape in SHAPES))

"""Sentences of errors, as services have worded them and as they may word them next."""

from __future__ import annotations

import pytest

from ralph.adapters.agents.wording import Matter, matter_of

LIMITS = (
    "You've hit your usage limit. Upgrade to Pro, visit the settings to purchase more credits or try again at 8:12 AM.",
    "You've hit your usage limit. To get more access now, send a request to your admin.",
    "You've reached your 5-hour message limit. It resets at 3 pm.",
    "Weekly limit reached",
    "Your daily limit has been exceeded",
    "You are out of Codex time for today. Buy credits or try again in 4 hours.",
    "rate limit exceeded: Rate limit reached for lab. Please try again in 1.5s.",
    "Too Many Requests",
    "Request was throttled",
    "The model's quota is used up",
    "You exceeded your current quota, please check your plan and billing details. Please retry in 51.07s.",
    "Resource has been exhausted (e.g. check quota).",
)
MONEY = (
    "Quota exceeded. Check your plan and billing details.",
    "Your workspace is out of credits. Add credits to continue.",
    "To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus.",
    "Your organization has reached its spending limit",
    "Insufficient balance",
    "A payment method is missing",
    "You exceeded your current quota, please check your plan and billing details.",
    "Credit balance is too low",
)
CONTEXT = (
    "Codex ran out of room in the model's context window. Start a new thread or clear earlier history.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "This model's maximum context length is 128000 tokens",
    "prompt is too long: 212345 tokens > 200000 maximum",
    "Request exceeds the model's prompt budget after reserving output.",
)
NEITHER = (
    "unknown error",
    "exceeded retry limit",
    "stream disconnected before completion",
    "We're currently experiencing high demand, which may cause temporary errors.",
    "Missing environment variable: `OPENAI_API_KEY`.",
    "Model not found",
    "Connection reset by peer",
    "the request timed out; try again in a minute",
    "failed to upgrade to websocket",
    "failed to upgrade your connection; retry after 5s",
    "apply_patch verification failed: Failed to find expected lines in src/billing/invoice.py",
    "cannot read src/daily limit/weekly-limit.ts",
    r"cannot read C:\\work\\rate-limit\\a",
    "rate-limit.ts: no such file",
    "could not find 'Add credits to continue' in Billing.tsx",
    "Retry limit reached: connect ECONNREFUSED",
    "the command exceeded its output limit",
    "socket hang up while refreshing quota",
    "write failed: Disk quota exceeded",
    "cannot read the size of the context window: socket hang up",
)


@pytest.mark.parametrize(
    ("message", "matter"),
    [
        *((message, Matter.LIMIT) for message in LIMITS),
        *((message, Matter.MONEY) for message in MONEY),
        *((message, Matter.CONTEXT) for message in CONTEXT),
        *((message, None) for message in NEITHER),
    ],
)
def test_a_sentence_is_known_by_its_words(message: str, matter: Matter | None) -> None:
    assert matter_of(message) is matter


@pytest.mark.parametrize(
    ("code", "matter"),
    [
        ("rate_limit_exceeded", Matter.LIMIT),
        ("usage_limit_reached", Matter.LIMIT),
        ("insufficient_quota", Matter.MONEY),
        ("billing_hard_limit_reached", Matter.MONEY),
        ("context_length_exceeded", Matter.CONTEXT),
        ("usageLimitExceeded", Matter.LIMIT),
        ("contextWindowExceeded", Matter.CONTEXT),
        ("server_error", None),
    ],
)
def test_a_code_counts_like_words(code: str, matter: Matter | None) -> None:
    assert matter_of("it failed", code) is matter

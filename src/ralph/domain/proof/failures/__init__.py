"""Where each test runner says what failed, and why: the part of a long output that an agent and its user need first."""

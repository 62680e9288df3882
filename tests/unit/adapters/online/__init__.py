"""GitHub as a forge, and the ways to it, with answers made up by the tests."""

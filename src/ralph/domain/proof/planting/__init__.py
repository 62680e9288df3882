"""How a test that must fail is written for each test runner, beside the tests that are there."""

"""Where work is kept, with answers and files made up by the tests."""

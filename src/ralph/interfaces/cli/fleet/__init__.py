"""`ralph fleet`: one module for each of its commands."""

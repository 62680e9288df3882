"""The record in SQLite and the files beside it: writing it, reading it while it is written, its migrations."""

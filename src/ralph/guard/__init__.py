"""Judges shell commands before an agent runs them (``guard.judge``): a seat belt, not a wall. Pure, standard library only."""

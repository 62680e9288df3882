"""Fakes that ship: for our own tests and for yours. Each behaves, none records calls for their own sake."""

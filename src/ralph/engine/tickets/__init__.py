"""Tickets become tasks, and what became of them goes back: intake, holds, write-back."""

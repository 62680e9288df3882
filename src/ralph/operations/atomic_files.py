"""Small files that a reader or a crash never sees half of. Hooks import this: it needs the standard library only."""

from ralph.adapters.files import make_state_folder, write_atomic

__all__ = ["make_state_folder", "write_atomic"]

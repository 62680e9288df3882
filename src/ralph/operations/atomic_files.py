"""Small files, written whole and read with care. Hooks import this: it needs the standard library only."""

from ralph.adapters.files import make_state_folder, read_whole, write_atomic

__all__ = ["make_state_folder", "read_whole", "write_atomic"]

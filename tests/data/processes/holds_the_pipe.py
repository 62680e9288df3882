"""Exits while a grandchild in the same group still holds stdout. argv: file for the grandchild's pid."""

import subprocess
import sys
from pathlib import Path

child = subprocess.Popen(["sleep", "1000"])
Path(sys.argv[1]).write_text(str(child.pid))
print("root is done", flush=True)
child.returncode = 0

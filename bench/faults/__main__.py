from bench.faults.judge import play
from bench.faults.harnesses import HARNESSES
from bench.faults.lies import ACTS
import sys
from pathlib import Path
for a in sys.argv[2:]:
    print(play(HARNESSES[sys.argv[1]], ACTS[a], keep=Path("/tmp/faults-keep")), flush=True)

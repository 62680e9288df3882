"""One page on loopback: the board, runs as they happen, and a hand on them. Starlette and uvicorn are the extra ``web``."""

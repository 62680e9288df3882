"""One page on loopback: the boards, live runs, and buttons to control them. Starlette and uvicorn are the extra ``web``."""

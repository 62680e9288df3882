"""What people see of a run: the agent's stream, the harness's lines, a status line, or JSON lines.

Standard library only; each module is imported by itself so that ``--json`` does not pay for the rest.
"""

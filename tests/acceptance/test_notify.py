"""Being told when a run ends."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from .conftest import DONE, PROMPT, Project


def test_a_command_is_told_how_the_run_ended(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    project.ralph("run", "-p", PROMPT, "--notify", 'echo "$RALPH_SUBJECT: $RALPH_TEXT" > told', check=0)
    assert (project.root / "told").read_text().startswith("completed: ralph: completed: the agent said DONE")


def test_a_notifier_that_fails_never_changes_how_the_run_ends(project: Project) -> None:
    project.settings(agent={"command": "claude"}, notify=["exit 3", "http://127.0.0.1:9/nobody", "bell"])
    project.agent([{"say": DONE}])
    ran = project.ralph("run", "-p", PROMPT, check=0)
    assert ran.stderr.count("could not notify") == 2


def test_nonsense_from_a_server_or_as_an_address_is_one_line_of_complaint(project: Project) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(10_000)
                connection.sendall(b"HTTP/1.1 500 \x1b[31mno\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        project.settings(agent={"command": "claude"}, notify=[address, "http://[bad"])
        project.agent([{"say": DONE}])
        ran = project.ralph("run", "-p", PROMPT, check=0)
        thread.join(timeout=60)
    assert ran.stderr.count("could not notify") == 2
    assert "Traceback" not in ran.stderr
    assert "\x1b" not in ran.stderr


def test_a_webhook_gets_json(project: Project) -> None:
    got: list[dict[str, str]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        project.settings(agent={"command": "claude"}, notify=[f"http://127.0.0.1:{server.server_port}/"])
        project.agent([{"say": "no"}])
        project.ralph("run", "-p", PROMPT, "-m", "1", check=1)
    finally:
        server.shutdown()
        thread.join(timeout=60)
        server.server_close()
    assert [record["subject"] for record in got] == ["exhausted"]

"""A tracker that answers from a table, in a process of its own: so many open issues, of which the first has comments."""

from __future__ import annotations

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

OWNER = "owner"
BODY = "What is wanted, in some words.\n" * 30 + "\n## Done when\n\n- it is so\n- and that is so, too\n"


def issue(number: int) -> dict[str, object]:
    return {
        "number": number,
        "title": f"Do thing {number}",
        "body": BODY,
        "state": "open",
        "user": {"login": OWNER, "type": "User"},
        "author_association": "OWNER",
        "labels": [{"name": "ralph"}],
        "comments": 0,
        "html_url": f"https://forge.invalid/{OWNER}/demo/issues/{number}",
    }


def serve(count: int) -> None:
    """On a free port, which is printed."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            more = False
            if re.search(r"/issues$", parts.path):
                query = parse_qs(parts.query)
                size, page = int(query["per_page"][0]), int(query.get("page", ["1"])[0])
                first = (page - 1) * size + 1
                answer: object = [issue(number) for number in range(first, min(first + size, count + 1))]
                more = first + size <= count
            elif parts.path.endswith("/permission"):
                answer = {"permission": "admin"}
            else:
                answer = {"login": OWNER, "full_name": f"{OWNER}/demo", "permissions": {"push": True}}
            body = json.dumps(answer).encode()
            self.send_response(200)
            if more:
                self.send_header("Link", '<https://forge.invalid/next>; rel="next"')
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is printed but the port."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]))

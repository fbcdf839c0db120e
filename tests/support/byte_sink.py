# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A glance that takes bytes as fast as they come and keeps none: for measuring whoever sends them.

``python -m tests.support.byte_sink`` prints its port and serves until its standard input ends.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
BUFFER = 1 << 20


class Handler(BaseHTTPRequestHandler):
    """POST /v2/images, PUT …/file, GET and DELETE of one image. No token is looked at."""

    protocol_version = "HTTP/1.1"
    images: dict[str, dict[str, Any]]
    wbufsize = -1

    def log_message(self, *_args: Any) -> None:
        """Nothing."""

    def _answer(self, status: int, document: Any = None) -> None:
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        fields = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        image = {**fields, "id": str(uuid.uuid4()), "status": "queued", "size": None, "checksum": None}
        self.images[image["id"]] = image
        self._answer(201, image)

    def do_PUT(self) -> None:
        buffer, left = memoryview(bytearray(BUFFER)), int(self.headers["Content-Length"])
        while left:
            got = self.rfile.readinto(buffer[: min(left, BUFFER)])
            if not got:
                return
            left -= got
        image = self.images[self.path.split("/")[-2]]
        image.update(status="active", size=int(self.headers["Content-Length"]))
        self._answer(204)

    def do_GET(self) -> None:
        image = self.images.get(self.path.split("?")[0].split("/")[-1])
        if "/images" not in self.path:
            links = [{"rel": "self", "href": f"http://{self.headers['Host']}/v2/"}]
            self._answer(300, {"versions": [{"id": "v2.15", "status": "CURRENT", "links": links}]})
        elif self.path.split("?")[0].endswith("/images"):
            self._answer(200, {"images": []})
        elif image is None:
            self._answer(404, {})
        else:
            self._answer(200, image)

    def do_DELETE(self) -> None:
        self.images.pop(self.path.split("/")[-1], None)
        self._answer(204)


class ByteSink:
    """``with ByteSink() as sink``: a process of its own. *url*: for ``image_endpoint_override`` in clouds.yaml."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.byte_sink"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/v2"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()


def main() -> None:
    """Serve."""
    Handler.images = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

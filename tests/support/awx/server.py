# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AWX over HTTP, in a thread of the test."""

from __future__ import annotations

import base64
import itertools
import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import parse_qsl, urlsplit

from tests.support.awx.store import ROOT, Awx

TOKEN = "token-of-the-test"
USER, PASSWORD = "admin", "password-of-the-test"
VERSION = "24.6.1"
GATEWAY = "/api/controller/v2/"
"""Where the gateway of Ansible Automation Platform 2.5 and 2.6 has the controller's API."""


@dataclass(frozen=True)
class Call:
    """One call and its answer."""

    method: str
    path: str
    body: Any
    status: int
    answer: Any


class AwxServer:
    """``with AwxServer(awx) as server:`` its address is ``server.url``, what was called is in ``server.calls``.

    :param gateway: True: the API is where the gateway of Ansible Automation Platform has it, and only there.
    :ivar sessions: tokens that were given for a password and not given back, by id.
    """

    def __init__(self, awx: Awx, *, gateway: bool = False) -> None:
        self.awx = awx
        self.gateway = gateway
        self.calls: list[Call] = []
        self.sessions: dict[int, str] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads = True
        cast("Any", self._http).owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(10)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def writes(self) -> list[Call]:
        """All calls that were to change something, logins excepted."""
        return [call for call in self.calls if call.method != "GET" and "/tokens/" not in call.path]

    def answer(self, method: str, url: str, authorization: str, body: Any) -> tuple[int, Any]:
        """The answer to one call."""
        parts = urlsplit(url)
        path = parts.path
        if self.gateway:
            # The controller's own API stands below the gateway's, and answers with the paths of there.
            if not path.startswith(GATEWAY):
                return 404, {"detail": "Not found."}
            path = ROOT + path.removeprefix(GATEWAY)
        with self._lock:
            status, answer = self._answer(method, path, dict(parse_qsl(parts.query)), authorization, body)
            self.calls.append(Call(method, path, body, status, answer))
        return status, json.loads(json.dumps(answer).replace(f'"{ROOT}', f'"{GATEWAY}')) if self.gateway else answer

    def _answer(self, method: str, path: str, query: dict[str, str], authorization: str, body: Any) -> tuple[int, Any]:
        known = authorization in {f"Bearer {token}" for token in (TOKEN, *self.sessions.values())}
        if path.startswith(f"{ROOT}tokens/"):
            basic = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            return self._token(method, path) if known or authorization == basic else (401, {"detail": "Invalid login."})
        if not known:
            told = "Authentication credentials were not provided. To establish a login session, visit /api/login/."
            return 401, {"detail": told}
        return self.awx.answer(method, path, query, body)

    def _token(self, method: str, path: str) -> tuple[int, Any]:
        if method == "POST":
            number = next(self._numbers)
            self.sessions[number] = f"{TOKEN}-{number}"
            url = f"{ROOT}tokens/{number}/"
            return 201, {"id": number, "type": "o_auth2_access_token", "url": url, "token": self.sessions[number]}
        gone = self.sessions.pop(int(path.rstrip("/").rsplit("/", 1)[1]), None)
        return (204, None) if gone else (404, {"detail": "Not found."})


class _Handler(BaseHTTPRequestHandler):
    """Reads a call, writes its answer."""

    def _do(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        owner: AwxServer = cast("Any", self.server).owner
        authorization = self.headers.get("Authorization", "")
        status, answer = owner.answer(self.command, self.path, authorization, json.loads(raw) if raw else None)
        payload = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        name = "Red Hat Ansible Automation Platform" if owner.gateway else "AWX"
        self.send_header("X-API-Product-Name", name)
        self.send_header("X-API-Product-Version", VERSION)
        self.end_headers()
        self.wfile.write(payload)

    do_GET = do_POST = do_PATCH = do_DELETE = _do  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing on the screen."""

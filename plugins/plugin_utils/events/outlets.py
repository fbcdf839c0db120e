# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where events go besides a rulebook: a journal with a line of JSON for each, an address that gets a POST."""

from __future__ import annotations

import json
import os
import queue
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

MOST_BYTES = 20 * 1024 * 1024
"""Size after which a journal becomes NAME.1, in place of the former one."""
WAITING = 1000
"""Most events that wait for a slow address; older ones are dropped."""
TRIES = 3
TIMEOUT = 10.0
PAUSE = 2.0
"""Seconds between two tries; twice as long before the third."""


class Journal:
    """A file to which each event is added as one line of JSON.

    :param path: of the file; its folder must be there.
    :param most_bytes: size after which it becomes NAME.1.
    """

    def __init__(self, path: str, most_bytes: int = MOST_BYTES) -> None:
        self._path = Path(path)
        self._most = most_bytes

    def add(self, event: Mapping[str, Any]) -> None:
        """Add an event.

        :raises OSError: the file cannot be written.
        """
        line = json.dumps(event, ensure_ascii=False, sort_keys=True).encode() + b"\n"
        if self._path.exists() and self._path.stat().st_size + len(line) > self._most:
            os.replace(self._path, f"{self._path}.1")
        # One write, so that a reader never sees half a line of this event.
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)


class Webhook:
    """An address that gets each event as the body of a POST, in a thread of its own, in order.

    :param url: http or https.
    :param token: sent as a Bearer token; "" for none.
    :param say: takes a line about each event that could not be delivered. It contains neither the token nor the path.
    :param post: sends one request; raises OSError.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        say: Callable[[str], None] = lambda line: None,
        *,
        post: Callable[[urllib.request.Request], None] | None = None,
        pause: float = PAUSE,
    ) -> None:
        self._url = url
        self._token = token
        self._say = say
        self._post = post or _send
        self._pause = pause
        self._waiting: queue.Queue[dict[str, Any]] = queue.Queue(WAITING)
        self._ending = threading.Event()
        self._under_way: dict[str, Any] | None = None
        self._thread = threading.Thread(target=self._work, name="webhook", daemon=True)
        self._thread.start()

    def add(self, event: dict[str, Any]) -> None:
        """Send an event soon. When WAITING events wait, the oldest of them is dropped, and a line says so."""
        while True:
            try:
                self._waiting.put_nowait(event)
                return
            except queue.Full:
                try:
                    dropped = self._waiting.get_nowait()
                except queue.Empty:
                    continue
                self._say(f"webhook: {dropped['type']} of {dropped['subject']} is dropped: {WAITING} events wait")

    def close(self, seconds: float = TIMEOUT) -> None:
        """Send what waits, for so many seconds at most, say what could not be sent, and end."""
        self._ending.set()
        self._thread.join(seconds)
        if (event := self._under_way) is not None:
            self._lost(event, f"no answer came within {seconds:g} s of the end")
        while not self._waiting.empty():
            self._lost(self._waiting.get_nowait(), "the source has ended")

    def _work(self) -> None:
        while not (self._ending.is_set() and self._waiting.empty()):
            try:
                self._under_way = self._waiting.get(timeout=0.2)
            except queue.Empty:
                continue
            if problem := self._deliver(self._under_way):
                self._lost(self._under_way, problem)
            self._under_way = None

    def _lost(self, event: Mapping[str, Any], problem: str) -> None:
        self._say(f"webhook: {event['type']} of {event['subject']} was not delivered: {problem}")

    def _deliver(self, event: Mapping[str, Any]) -> str:
        """Return why an event was not delivered after TRIES tries; "" when it was."""
        headers = {"Content-Type": "application/json", "User-Agent": "stackci.nodepool"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        body, problem = json.dumps(event).encode(), ""
        for number in range(TRIES):
            if number:
                self._ending.wait(self._pause * number)
            try:
                self._post(urllib.request.Request(self._url, body, headers, method="POST"))
            except urllib.error.HTTPError as refused:
                problem = f"HTTP {refused.code}"
                if refused.code < 500 and refused.code != 429:
                    break
            except (OSError, ValueError) as broken:
                problem = f"{type(broken).__name__}: {getattr(broken, 'reason', broken)}"
            else:
                return ""
        return problem


class _HereOnly(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the token would go to another address, and the event would not, as a GET has no body."""

    def redirect_request(self, *_words: Any) -> None:
        """Return nothing: the redirect is the answer."""


def _send(request: urllib.request.Request) -> None:
    with urllib.request.build_opener(_HereOnly).open(request, timeout=TIMEOUT):
        return

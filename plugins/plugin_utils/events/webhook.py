# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An address that gets each event by POST."""

from __future__ import annotations

import http.client
import json
import queue
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.web.events.outage import WAITING, Outage

TRIES = 3
"""Most tries of an event that may have arrived, or that the address does not bear."""
AWAY_TRIES = 80
"""Most tries of an event that did not arrive: an hour and more."""
AWAY = (429, 502, 503)
"""Answers of an address, or of a proxy before it, that takes nothing now."""
TIMEOUT = 10.0
PAUSE = 2.0
"""Seconds between two tries; twice as long before the third, and so on."""
LONGEST_PAUSE = 60.0


class Webhook:
    """An address that gets each event as the body of a POST, in a thread of its own, in order.

    While it is away events wait, and a line says so once.

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
        self._outage = Outage("webhook:", say)
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
        """Return why an event was not delivered; "" when it was."""
        headers = {"Content-Type": "application/json", "User-Agent": "stackci.nodepool"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        body, problem, others = json.dumps(event).encode(), "", 0
        for number in range(AWAY_TRIES):
            if number:
                self._ending.wait(min(self._pause * number, LONGEST_PAUSE))
            try:
                self._post(urllib.request.Request(self._url, body, headers, method="POST"))
            except urllib.error.HTTPError as refused:
                problem, away = f"HTTP {refused.code}", refused.code in AWAY
                if refused.code < 500 and not away:
                    break
            except urllib.error.URLError as broken:
                # The connection was not made, so the event did not arrive.
                problem, away = f"{type(broken.reason).__name__}: {broken.reason}", True
            except OSError as broken:
                problem, away = f"{type(broken).__name__}: {broken}", False
            except (ValueError, http.client.HTTPException) as broken:
                # Its text may have the path.
                problem, away = type(broken).__name__, False
            else:
                self._outage.end("the address takes events again")
                return ""
            others += not away
            if others >= TRIES or (self._ending.is_set() and number + 1 >= TRIES):
                break
            if away:
                self._outage.begin(f"the address takes no events ({problem})", f": up to {WAITING} wait for it")
        return problem


class _HereOnly(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the token would go to another address, and the event would not, as a GET has no body."""

    def redirect_request(self, *_words: Any) -> None:
        """Return nothing: the redirect is the answer."""


def _send(request: urllib.request.Request) -> None:
    with urllib.request.build_opener(_HereOnly).open(request, timeout=TIMEOUT):
        return

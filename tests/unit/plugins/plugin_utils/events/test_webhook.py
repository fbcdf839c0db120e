# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The webhook."""

from __future__ import annotations

import json
import threading
import urllib.error
from email.message import Message
from http.client import InvalidURL
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ansible_collections.stackci.nodepool.plugins.plugin_utils.events import webhook as module
from ansible_collections.stackci.nodepool.plugins.plugin_utils.events.webhook import Webhook

EVENT = {"type": "request_failed", "subject": "1", "text": "ümläut"}


class Post:
    """What the address answers."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []
        self.done = threading.Event()

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else None
        if not self.answers:
            self.done.set()
        if answer is not None:
            raise answer


def refusal(code):
    return urllib.error.HTTPError("http://x/secret", code, "no", Message(), None)


def sent(post, **how):
    said: list[str] = []
    webhook = Webhook("http://x/secret", "the-token", said.append, post=post, pause=0.0, **how)
    webhook.add(EVENT)
    webhook.close(60)
    return said


def test_an_event_is_posted_as_json_with_the_token():
    post = Post()
    assert sent(post) == []
    (request,) = post.requests
    assert json.loads(request.data) == EVENT
    assert request.get_header("Authorization") == "Bearer the-token"


@pytest.mark.parametrize(("answers", "tries", "told"), [
    ([refusal(500), OSError("reset")], 3, False), ([refusal(500)] * 3, 3, True), ([refusal(404)], 1, True),
    ([TimeoutError()] * 3, 3, True), ([ValueError("/secret")] * 3, 3, True), ([InvalidURL("/secret")] * 3, 3, True),
])  # fmt: skip
def test_what_may_pass_is_tried_again_and_what_fails_is_told_without_secrets(answers, tries, told):
    post = Post(*answers)
    said = sent(post)
    assert len(post.requests) == tries
    assert bool(said) is told
    assert "the-token" not in str(said) and "/secret" not in str(said)


@pytest.mark.parametrize("answer", [refusal(503), refusal(429), urllib.error.URLError(ConnectionRefusedError())])
def test_events_wait_for_an_address_that_is_away_and_arrive_in_order_and_once(answer):
    post, said = Post(*[answer] * 20), list[str]()
    webhook = Webhook("http://x/secret", "the-token", said.append, post=post, pause=0.0)
    for number in range(3):
        webhook.add({**EVENT, "subject": str(number)})
    assert post.done.wait(60)
    webhook.close(60)
    assert [json.loads(request.data)["subject"] for request in post.requests] == [*["0"] * 21, "1", "2"]
    assert len(said) == 2 and said[0].endswith("): up to 1000 wait for it")
    assert said[1] == "webhook: the address takes events again"


def test_an_event_waits_for_an_hour_at_most(monkeypatch):
    monkeypatch.setattr(module, "AWAY_TRIES", 5)
    post, said = Post(*[refusal(503)] * 5), list[str]()
    webhook = Webhook("http://x", say=said.append, post=post, pause=0.0)
    webhook.add(EVENT)
    assert post.done.wait(60)
    webhook.close(60)
    assert said[1:] == ["webhook: request_failed of 1 was not delivered: HTTP 503"]


def hanging(said: list[str]) -> tuple[Webhook, threading.Event]:
    """A webhook with an event under way to an address that answers when the event of the test is set."""
    held, began = threading.Event(), threading.Event()

    def post(_request):
        began.set()
        held.wait(60)

    webhook = Webhook("http://x", say=said.append, post=post)
    webhook.add(EVENT)
    assert began.wait(60)
    return webhook, held


def test_a_slow_address_loses_the_oldest_and_says_so(monkeypatch):
    monkeypatch.setattr(module, "WAITING", 2)
    said: list[str] = []
    webhook, held = hanging(said)
    for number in range(4):
        webhook.add({**EVENT, "subject": str(number)})
    assert len(said) == 2 and "request_failed of 0 is dropped" in said[0]
    held.set()
    webhook.close(60)


def test_what_an_address_that_hangs_did_not_take_by_the_end_is_told():
    said: list[str] = []
    webhook, held = hanging(said)
    webhook.add({**EVENT, "subject": "2"})
    webhook.close(0.0)
    assert said == [
        "webhook: request_failed of 1 was not delivered: no answer came within 0 s of the end",
        "webhook: request_failed of 2 was not delivered: the source has ended",
    ]
    held.set()


@pytest.fixture
def moved():
    """An address whose answers send to another one, and the requests that both got."""
    got = []

    class Handler(BaseHTTPRequestHandler):
        """Answers with a redirect to itself."""

        def do_POST(self):
            got.append((self.command, self.path))
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815

        def log_message(self, format, *args):  # noqa: A002
            """Nothing on the screen."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/hook", got
        server.shutdown()


def test_a_redirect_is_not_followed_because_it_would_take_the_token_and_not_the_event(moved):
    address, got = moved
    said: list[str] = []
    webhook = Webhook(address, "the-token", said.append)
    webhook.add(EVENT)
    webhook.close(60)
    assert got == [("POST", "/hook")]
    assert said == ["webhook: request_failed of 1 was not delivered: HTTP 302"]

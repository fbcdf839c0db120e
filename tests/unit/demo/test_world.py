# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo names the web service only where its page answers."""

from __future__ import annotations

import sys

from tests.demo import world as demo_world
from tests.demo.world import World

SERVES = "import http.server, sys; http.server.HTTPServer(('127.0.0.1', int(sys.argv[-1])), Handler).serve_forever()"
HANDLER = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_GET(self):
        Handler.asked += 1
        self.send_response(200 if Handler.asked > 2 else 503)
        self.end_headers()
"""


def started(monkeypatch, tmp_path, program: str) -> str | None:
    """What the demo takes for the address of the service that *program* is."""
    world = World()
    world.logs = tmp_path
    monkeypatch.setattr(world, "_remember", lambda: None)
    monkeypatch.setattr(demo_world, "web_command", lambda _config, port: [sys.executable, "-c", program, str(port)])
    try:
        return world.start_web()
    finally:
        if world._web is not None:
            world._web.kill()
            world._web.wait()


def test_the_address_is_told_when_the_page_answers(monkeypatch, tmp_path):
    address = started(monkeypatch, tmp_path, HANDLER + SERVES)
    assert address is not None
    assert address.startswith("http://127.0.0.1:")


def test_there_is_no_address_when_the_service_has_ended(monkeypatch, tmp_path):
    assert started(monkeypatch, tmp_path, "raise SystemExit(78)") is None

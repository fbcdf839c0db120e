# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rulebooks with ansible-rulebook itself, which finds them and the source in the collection."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from tests.support.ansible_run import BIN, forking
from tests.support.fixtures_zookeeper import eventually
from tests.support.populated_site import PopulatedSite
from tests.support.zookeeper_server import HOST, free_port

PATIENCE = 240.0
HELD = "0000000777"
ROOT = Path(__file__).resolve().parents[3]
TICKET = {
    "title": "request 200-0000000001 (small) failed: 3 attempts failed in west",
    "kind": "request_failed",
    "responsible": "image",
    "subject": "200-0000000001",
}

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("java") is None, reason="ansible-rulebook needs Java"),
]


@pytest.fixture
def site(tmp_path, zk_chroot, zk_client):
    """A tree without anything in trouble."""
    found = PopulatedSite(tmp_path, zk_chroot, zk_client)
    zk_client.ensure_path(paths.NODES)
    zk_client.ensure_path(paths.REQUESTS)
    (tmp_path / "nodepool.yaml").write_text(json.dumps(found.document), "utf-8")
    return found


@contextmanager
def rulebook(folder: Path, name: str | Path, **variables: Any) -> Iterator[Path]:
    """A rulebook, by its file or its name in the collection, at work; the path of what it says."""
    (folder / "vars.yml").write_text(yaml.safe_dump(variables), "utf-8")
    log = folder / "rulebook.log"
    words = [
        "-i",
        "localhost,",
        "-r",
        name if isinstance(name, Path) else f"stackci.nodepool.{name}",
        "--vars",
        "vars.yml",
        "--verbose",
    ]
    (folder / "inventory.yml").write_text("all: {hosts: {localhost: {ansible_connection: local}}}\n", "utf-8")
    words[1] = "inventory.yml"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(BIN / "ansible-rulebook"), *map(str, words)],
            cwd=folder,
            env=forking(folder),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    try:
        yield log
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def shown(log: Path, check: Callable[[], Any]) -> None:
    """Wait for something; a failure shows what the rulebook said."""
    try:
        eventually(check, PATIENCE)
    except AssertionError as problem:
        raise AssertionError(f"{problem}\n{log.read_text('utf-8')[-4000:]}") from problem


@contextmanager
def tickets() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A service that takes tickets: its address, and what it got."""
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        """Takes a ticket."""

        def do_POST(self) -> None:
            """Keep the body."""
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(201)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Nothing on the screen."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_address[1]}/tickets", got
        server.shutdown()


def fail(site: PopulatedSite, request_id: str, label: str, owner: str) -> None:
    """A launcher gives a request up, for a reason of this owner."""
    request = {"state": "failed", "node_types": [label], "state_time": time.time(), "requestor": "zuul"}
    wait = {"code": "attempts", "text": "3 attempts failed in west", "owner": owner, "at": time.time()}
    site.put(f"{paths.OWN}/waits/{request_id}", json.dumps(wait).encode())
    site.put(f"{paths.REQUESTS}/{request_id}", json.dumps(request).encode())


@pytest.mark.long
def test_a_failed_request_opens_a_ticket_with_owner_and_reason(site, tmp_path):
    with tickets() as (url, got):
        variables = {"nodepool_config": str(tmp_path / "nodepool.yaml"), "ticket_url": url}
        state = tmp_path / "events.json"
        with rulebook(tmp_path, "open_ticket", state_file=str(state), **variables) as log:
            shown(log, state.exists)
            fail(site, "200-0000000001", "small", "image")
            shown(log, lambda: bool(got))
    assert got == [TICKET]


@pytest.mark.long
def test_the_filter_passes_on_what_was_chosen_only(site, tmp_path):
    (content,) = yaml.safe_load((ROOT / "extensions/eda/rulebooks/open_ticket.yml").read_text("utf-8"))
    chosen = {"labels": ["small", "huge"], "owners": ["image"], "severity": "warning"}
    content["sources"][0]["filters"] = [{"stackci.nodepool.choose": chosen}]
    own = tmp_path / "own.yml"
    own.write_text(yaml.safe_dump([content]), "utf-8")
    with tickets() as (url, got):
        state = tmp_path / "events.json"
        variables = {"nodepool_config": str(tmp_path / "nodepool.yaml"), "ticket_url": url, "state_file": str(state)}
        with rulebook(tmp_path, own, **variables) as log:
            shown(log, state.exists)
            # Events are told in order, so the first two are through when the last one arrives.
            fail(site, "100-0000000001", "large", "image")
            fail(site, "100-0000000002", "small", "cloud")
            shown(log, lambda: "100-0000000002" in state.read_text("utf-8"))
            fail(site, "200-0000000001", "small", "image")
            shown(log, lambda: bool(got))
    assert got == [TICKET]


@pytest.mark.long
def test_the_node_of_a_failed_job_is_held(site, tmp_path):
    port = free_port()
    node = {"state": "ready", "type": ["small"], "provider": "west", "pool": "main", "state_time": time.time()}
    site.put(f"{paths.NODES}/{HELD}", json.dumps(node).encode())
    variables = {"nodepool_config": str(tmp_path / "nodepool.yaml"), "hook_port": port, "hook_token": "secret"}

    def post() -> bool:
        body = json.dumps({"result": "failure", "node": HELD, "job": "unit", "minutes": 5}).encode()
        headers = {"Authorization": "Bearer secret", "Content-Type": "application/json"}
        try:
            with urllib.request.urlopen(
                urllib.request.Request(f"http://{HOST}:{port}/endpoint", body, headers), timeout=10
            ):
                return True
        except OSError:
            return False

    def record() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(site.client.get(f"{paths.NODES}/{HELD}")[0])
        return found

    with rulebook(tmp_path, "hold_failed_node", **variables) as log:
        shown(log, post)
        shown(log, lambda: record()["state"] == "hold")
    assert record()["comment"] == "job unit has failed"
    assert record()["hold_expiration"] == 300

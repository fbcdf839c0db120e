# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command of the events beside real cycles: what launcher, builder, sweep and people do is told in all outlets."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds.build_cycle import run_builds
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.builder_options import (
    BuildOptions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching import freezing
from ansible_collections.stackci.nodepool.plugins.module_utils.web.events.follower import Follower, Memory, follow
from ansible_collections.stackci.nodepool.plugins.module_utils.web.events.happenings import Limits
from ansible_collections.stackci.nodepool.plugins.plugin_utils.events.source import WebOptions
from tests.support.ansible_run import COLLECTIONS, environment, run_alone
from tests.support.builder_case import PLAIN, image
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, provider
from tests.support.leftovers import Leftovers, sweep
from tests.support.zookeeper_server import HOST, ZooKeeperServer

COMMAND = "ansible_collections.stackci.nodepool.plugins.plugin_utils.events"
TOKEN = "only-for-the-address"
SOON = ("--every=0.1", "--wait-seconds=3600", "--settle-seconds=0", "--leak-seconds=0", "--quota-left=0.5")
PATIENCE = 30.0


@contextmanager
def address() -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """An address for a webhook, and what it got: the login and the event."""
    got: list[tuple[str, dict[str, Any]]] = []

    class Handler(BaseHTTPRequestHandler):
        """Takes an event."""

        def do_POST(self) -> None:
            """Keep it."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.headers["Authorization"], json.loads(body)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Nothing on the screen."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://{HOST}:{server.server_address[1]}/hook", got
        finally:
            server.shutdown()


class Told:
    """The command at work on a site.

    :param url: of the webhook; its token is in a file of arguments.
    """

    def __init__(self, site: Site, url: str) -> None:
        folder = site.folder
        self.journal = folder / "events.jsonl"
        self.memory = folder / "told.json"
        secrets = folder / "events.arguments"
        secrets.write_text(f"--webhook={url}\n--webhook-token={TOKEN}\n", "utf-8")
        files = [f"--config={site.config}", f"--journal={self.journal}", f"--state-file={self.memory}"]
        self._screen = (folder / "events.out").open("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", COMMAND, *files, *SOON, "--lease-seconds=7200", f"@{secrets}"],
            cwd=folder,
            env={**environment(folder), "PYTHONPATH": str(COLLECTIONS)},
            stdin=subprocess.DEVNULL,
            stdout=self._screen,
            stderr=(folder / "events.err").open("w"),
        )
        self._errors = folder / "events.err"

    def said(self) -> list[dict[str, Any]]:
        """The events on its standard output."""
        self._screen.seek(0)
        return [json.loads(line) for line in self._screen.read().splitlines()]

    def kept(self) -> list[dict[str, Any]]:
        """The events of its journal."""
        return [json.loads(line) for line in self.journal.read_text("utf-8").splitlines()]

    def wait(self, kind: str, **fields: Any) -> dict[str, Any]:
        """The first event of this type with these fields."""

        def found() -> dict[str, Any] | None:
            events = self.kept() if self.journal.exists() else []
            return next((event for event in events if {"type": kind, **fields}.items() <= event.items()), None)

        try:
            event: dict[str, Any] = eventually(found, PATIENCE)
        except AssertionError as problem:
            told = "\n".join(map(str, self.kept() if self.journal.exists() else []))
            raise AssertionError(f"no {kind} {fields} in\n{told}\n{self._errors.read_text('utf-8')}") from problem
        return event

    def end(self) -> int:
        """Ask it to end; its return code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def close(self) -> None:
        """Have it gone."""
        self.process.kill()
        self.process.wait()
        self._screen.close()


@pytest.fixture
def told(site: Site) -> Iterator[Callable[[str], Told]]:
    """Starts the command."""
    begun: list[Told] = []

    def begin(url: str) -> Told:
        begun.append(Told(site, url))
        eventually(begun[-1].memory.exists, PATIENCE)
        return begun[-1]

    yield begin
    for one in begun:
        one.close()


def configure(site: Site, **options: Any) -> None:
    """One provider that boots a cloud's image, and two disk images for the builder, of which one cannot be built."""
    site.configure(
        provider("one", diskimages=[{"name": "fake"}, {"name": "broken"}], launch_retries=1, **options),
        diskimages=[image("fake"), image("broken", env_vars={"FAKE_FAIL": "/"})],
        images_dir=str(site.folder / "images"),
        build_log_dir=str(site.folder / "logs"),
    )


def build(site: Site) -> str:
    """A cycle of the builder, without uploads; the id of the build that went well."""
    given: dict[str, Any] = {
        **site.files(),
        "duration": PATIENCE,
        "state_dir": str(site.folder / "state"),
        "first_build_room": 0,
    }
    builds = run_builds(BuildOptions(**given), isolation=PLAIN)["builds"]
    (ready,) = [str(one["build_id"]) for one in builds if one["state"] == "ready"]
    return ready


def what_launchers_tell(site: Site, told: Told) -> None:
    """A freeze, a quota that is used up, a lease, failures of an image, a cloud that is away."""
    cloud, requestor = site.cloud, site.requestor
    cloud.quota(instances=2)
    with site.stay():
        serves = told.wait("launcher_serves")
        assert serves["provider"] == "one" and serves["severity"] == "info"
        cloud.fault("POST /servers", "quota")
        waits = requestor.ask("small")
        frozen = told.wait("resource_frozen", resource="instances")
        assert frozen["pool"] == "one/main" and frozen["reason"]
        # All but its last words, which count the seconds until the next attempt.
        reason = requestor.wait_until_waiting(waits, "frozen")["text"].rpartition(";")[0]
        path = f"/nodepool/requests/{waits}"
        requestor.put(path, {**requestor.read(path), "created_time": time.time() - 7200.0})
        told_wait = told.wait("request_waits", request=waits)
        assert (told_wait["owner"], told_wait["labels"]) == ("capacity", ["small"])
        assert "refused creates for instances" in reason and reason in told_wait["text"]
        cloud.clear_faults()
        requestor.wait_for(waits)
        told.wait("resource_thawed", resource="instances")
    # With its end a cycle stores what it has read of the limits; a long one does so each minute.
    low = told.wait("quota_low", resource="instances")
    assert (low["limit"], low["left"], low["provider"]) == (2, 1, "one")
    with site.stay():
        given = {"name": "mine", "labels": ["small"], "owner": "alice", "expires": 3600, "config": str(site.config)}
        lease = run_alone("nodepool_request", given, site.folder).result
        assert lease["complete"], lease
        ends = told.wait("lease_ends_soon", lease="mine")
        assert ends["holder"] == "alice" and ends["nodes"] == [node["id"] for node in lease["nodes"]]
        assert 0 < ends["ends_in"] <= 3600
        run_alone("nodepool_request", {"name": "mine", "state": "absent", "config": str(site.config)}, site.folder)
        requestor.give_back(*requestor.accept(waits))
        told.wait("quota_ok", resource="instances")
        cloud.fault("POST /servers", "error", seconds=0.0, message="Image 1 is unacceptable: not raw")
        failed = told.wait("request_failed", request=requestor.ask("small"))
        assert failed["owner"] == "image" and "not raw" in json.dumps(failed)
        cloud.clear_faults()
        cloud.fault("*", "status", status=503)
        asked = requestor.ask("medium")
        ill = told.wait("provider_in_trouble", provider="one")
        assert ill["owner"] == "cloud" and "503" in ill["reason"] and ill["severity"] == "critical"
        cloud.clear_faults()
        requestor.wait_for(asked, seconds=PATIENCE)
        well = told.wait("provider_well", provider="one")
        assert "reason" not in well and well["severity"] == "critical"


def what_others_tell(site: Site, told: Told) -> None:
    """A build that fails, one that somebody rejects, a leak, a change of the files."""
    ready = build(site)
    failed = told.wait("build_failed", image="broken")
    assert failed["failures"] == 1 and "it cannot go on" in failed["reason"]
    given = {"image": "fake", "build_id": ready, "state": "rejected", "reason": "no python", "config": str(site.config)}
    assert run_alone("dib_image", given, site.folder).result["changed"]
    assert told.wait("build_rejected", image="fake", build=ready)["reason"] == "no python"
    somebody = Leftovers(site)
    try:
        ghost = somebody.server()
        sweep(site, wait=0)
        assert ghost in told.wait("leak_found", provider="one")["text"]
        # The second one deletes it, the third one sees that it is gone.
        sweep(site, wait=0, ahead=120)
        sweep(site, wait=0, ahead=240)
        assert ghost in told.wait("leak_gone", provider="one")["text"]
    finally:
        somebody.close()
    configure(site, boot_timeout=77)
    assert "boot-timeout" in told.wait("configuration_read")["text"]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_what_cycles_and_people_do_is_told_in_all_outlets_and_sigterm_ends_it(site, told, monkeypatch):
    monkeypatch.setattr(freezing, "FIRST", 1.0)
    configure(site)
    with address() as (url, got):
        begun = told(url)
        assert TOKEN not in Path(f"/proc/{begun.process.pid}/cmdline").read_text("utf-8")
        what_launchers_tell(site, begun)
        what_others_tell(site, begun)
        assert begun.end() == 0
    kept = begun.kept()
    assert begun.said() == kept
    assert [event for _login, event in got] == kept
    assert {login for login, _event in got} == {f"Bearer {TOKEN}"}
    said = (site.folder / "events.err").read_text("utf-8")
    assert said == "configuration: read again: provider one changed (boot-timeout)\n"


@pytest.mark.timeout(300)
def test_zookeeper_may_go_and_come_back_and_a_restart_tells_the_rest(tmp_path, bank):
    with ZooKeeperServer(tick_ms=100) as zookeeper:
        site = Site(tmp_path, zookeeper, "/site", bank)
        site.configure()
        options, memory = WebOptions(config=str(site.config)), Memory(str(tmp_path / "told.json"))

        @contextmanager
        def following() -> Iterator[list[dict[str, Any]]]:
            events: list[dict[str, Any]] = []
            stop = threading.Event()
            follower = Follower(Limits(settle=0.0), events.append, memory=memory, lost_after=0.5)
            thread = threading.Thread(target=follow, args=(options, follower, stop), kwargs={"every": 0.1})
            thread.start()
            try:
                yield events
            finally:
                stop.set()
                thread.join(60)
            assert not thread.is_alive()

        def types(events: list[dict[str, Any]]) -> list[str]:
            return [event["type"] for event in events]

        failed = {"state": "failed", "node_types": ["small"], "state_time": 1.0, "requestor": "zuul"}
        with following() as events:
            eventually(lambda: "provider_unserved" in types(events), PATIENCE)
            zookeeper.stop()
            eventually(lambda: "zookeeper_lost" in types(events), PATIENCE)
            zookeeper.start()
            eventually(lambda: "zookeeper_back" in types(events), PATIENCE)
            eventually(lambda: site.requestor.client.connected, PATIENCE)
            site.requestor.put("/nodepool/requests/200-0000000001", failed)
            eventually(lambda: types(events)[-1] == "request_failed", PATIENCE)
        assert types(events) == ["provider_unserved", "zookeeper_lost", "zookeeper_back", "request_failed"]
        site.requestor.put("/nodepool/requests/200-0000000002", failed)
        with following() as events:
            eventually(lambda: bool(events), PATIENCE)
        assert [(event["type"], event["request"]) for event in events] == [("request_failed", "200-0000000002")]
        site.close()

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The web service in threads of the test, and a client that asks it over HTTP."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import STOPPED, Stop
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import ZooKeeperSettings
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.application import Visitors
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.listening import Listening
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.service import WebOptions, serve

PATIENCE = 60.0


@dataclass(frozen=True)
class Answer:
    """An answer; names of headers are lower case."""

    status: int
    headers: dict[str, str]
    data: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.data.decode()

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.data)


def ask(address: str, path: str, method: str = "GET", **headers: str) -> Answer:
    """One request; underscores in names of headers are hyphens."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=PATIENCE)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def write_config(path: Path, settings: ZooKeeperSettings, **sections: Any) -> Path:
    """Write a nodepool.yaml for this ZooKeeper."""
    servers = [{"host": one.host, "port": one.port, "chroot": one.chroot} for one in settings.servers]
    document = {"zookeeper-servers": servers, "labels": [], "providers": [], **sections}
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


class RunningService:
    """The service in a thread.

    :ivar lines: what it said.
    :ivar result: what it returned; None until it has ended.
    """

    def __init__(self, config: Path, visitors: Visitors | None = None, state_dir: str = "") -> None:
        self._visitors = visitors
        self._state_dir = state_dir
        self.lines: list[str] = []
        self.result: dict[str, Any] | None = None
        self.problem: BaseException | None = None
        self.stop = Stop()
        self._ready = threading.Event()
        self._listening: Listening | None = None
        self._thread = threading.Thread(target=self._run, args=(config,), daemon=True)

    def start(self) -> None:
        """Start it and wait until it listens.

        :raises BaseException: what it ended with.
        """
        self._thread.start()
        assert self._ready.wait(PATIENCE), "the web service does not start"
        if self.problem is not None:
            raise self.problem

    def end(self) -> None:
        """Have it end."""
        self.stop.ask(STOPPED)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the web service does not end"

    @property
    def address(self) -> str:
        """Its URL."""
        assert self._listening is not None
        return self._listening.address

    def get(self, path: str, **headers: str) -> Answer:
        """The answer to GET."""
        return ask(self.address, path, **headers)

    def _run(self, config: Path) -> None:
        try:
            self.result = serve(
                WebOptions(config=str(config)),
                stop=self.stop,
                host="127.0.0.1",
                port=0,
                visitors=self._visitors,
                state_dir=self._state_dir,
                say=self.lines.append,
                started=self._started,
            )
        except BaseException as problem:
            self.problem = problem
        finally:
            self._ready.set()

    def _started(self, listening: Listening) -> None:
        self._listening = listening
        self._ready.set()


@contextmanager
def running(config: Path, visitors: Visitors | None = None, state_dir: str = "") -> Iterator[RunningService]:
    """Yield a running service, which ends afterwards."""
    service = RunningService(config, visitors, state_dir)
    service.start()
    try:
        yield service
    finally:
        service.end()

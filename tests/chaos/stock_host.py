# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host with a launcher of Nodepool, which is killed, stopped and cut off at will."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.chaos.history import Lapse
from tests.chaos.proxy import Proxy
from tests.interop.environments import Environment
from tests.interop.stock import Stock
from tests.support.zookeeper_certificates import Certificates

SESSION = 6.0
"""Its session lives for so many seconds."""
RESTART_AFTER = SESSION / 2
"""After a longer stop it is restarted, as its session may have ended (docs/designs/036)."""
AWAKE = 5.0
"""So long it may do what it does after a stop, before it is restarted."""
AFTERMATH = 20.0
"""Seconds in which it still fails launches for a connection that was broken."""


class StockHost:
    """The host; *wrong* tells when the launcher has ended by itself.

    :param proxy: its way to ZooKeeper's port for TLS.
    """

    def __init__(self, folder: Path, proxy: Proxy, clouds: Path, log: Callable[[str], None]) -> None:
        folder.mkdir(parents=True)
        self.config = folder / "nodepool.yaml"
        self.folder = folder
        self.proxy = proxy
        self.wrong: list[str] = []
        self.starts = 0
        self._log = log
        stock = Stock(Environment("nodepool"), folder, self.config, clouds)
        self._daemon = stock.launcher("--no-webapp")
        self._lapses: list[Lapse] = []
        self._struck: float | None = None
        """When the lapse began that is not over yet."""
        self._since = 0.0
        self._restart_at: float | None = None
        self._up = False

    def configure(self, tls: Certificates, chroot: str, providers: Sequence[dict[str, Any]]) -> None:
        """Write its nodepool.yaml."""
        names = {label["name"] for one in providers for pool in one["pools"] for label in pool.get("labels", ())}
        found = [node for one in providers for pool in one["pools"] for node in pool.get("nodes", ())]
        names |= {name for node in found for name in node["labels"]}
        whole = {
            "zookeeper-servers": [{"host": "127.0.0.1", "port": self.proxy.port, "chroot": chroot}],
            "zookeeper-tls": {"cert": str(tls.client_cert), "key": str(tls.client_key), "ca": str(tls.ca)},
            "zookeeper-timeout": SESSION,
            "labels": [{"name": name, "min-ready": int(name == "theirs")} for name in sorted(names)],
            "providers": list(providers),
        }
        self.config.write_text(json.dumps(whole, indent=1), encoding="utf-8")

    def start(self) -> None:
        """Start the launcher; one that runs is killed before."""
        self._daemon.kill()
        self._daemon.start()
        self.starts += 1
        self._up, self._restart_at = True, None
        self._log(f"Nodepool's launcher begins, process {self._daemon.pid}")
        if self._struck is not None:
            self._lapses.append(Lapse(self._struck, time.time() + AFTERMATH))
            self._struck = None

    def tend(self) -> None:
        """Restart it when that is due."""
        if self._restart_at is not None and time.monotonic() >= self._restart_at:
            self.start()
        if self._up and not self._daemon.running:
            self.wrong.append(f"Nodepool's launcher ended by itself: {self._daemon.said()[-1500:]}")
            self.start()

    def strike(self, what: str) -> None:
        """Do this to it, or end it."""
        if what in ("start", "thaw", "heal"):
            self._end(what)
            return
        if self._struck is None:
            self._struck = time.time()
        self._since = time.monotonic()
        if what in ("kill", "stop"):
            self._up, self._restart_at = False, None
            self._daemon.kill() if what == "kill" else self._signal(signal.SIGINT)
        elif what == "freeze":
            self._signal(signal.SIGSTOP)
        else:
            getattr(self.proxy, what)()
            if what == "cut":
                self._over()

    def lapses(self) -> list[Lapse]:
        """All of them, also one that is not over."""
        return self._lapses + ([Lapse(self._struck, time.time())] if self._struck is not None else [])

    def jolted(self, since: float) -> None:
        """ZooKeeper was away since *since*, and is back."""
        self._lapses.append(Lapse(since, time.time() + AFTERMATH))

    def end(self) -> None:
        """Kill it."""
        self._up = False
        self._daemon.kill()

    def _end(self, what: str) -> None:
        if what == "start":
            self.start()
            return
        self._signal(signal.SIGCONT) if what == "thaw" else self.proxy.heal()
        if time.monotonic() - self._since > RESTART_AFTER:
            self._restart_at = time.monotonic() + AWAKE
        else:
            self._over()

    def _over(self) -> None:
        """It goes on with the session that it had."""
        assert self._struck is not None
        self._lapses.append(Lapse(self._struck, time.time() + AFTERMATH))
        self._struck = None

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._daemon.pid, number)

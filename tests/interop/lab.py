# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rows work with: a tree that is reached over TLS, a simulated cloud, and both kinds of programs on them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.interop.environments import CannotInstall, Environment
from tests.interop.stock import Stock
from tests.support.ansible_run import Ran, run_alone
from tests.support.builder_playbooks import BuilderHost
from tests.support.launcher_case import CloudBank, Site
from tests.support.zookeeper_server import HOST, ZooKeeperServer

NODEPOOL = "nodepool"
ZUUL = "zuul"
MODULE_SECONDS = 400.0


class SharedSite(Site):
    """A Site whose nodepool.yaml both kinds of programs read: Nodepool's insist on TLS, so ours use it, too."""

    def configure(
        self, *providers: dict[str, Any], labels: Mapping[str, Mapping[str, Any]] | None = None, **top: Any
    ) -> None:
        """Write nodepool.yaml."""
        tls = self.zookeeper.certificates
        assert tls is not None
        own: dict[str, Any] = {
            "zookeeper_servers": [{"host": HOST, "port": self.zookeeper.tls_port, "chroot": self.chroot}],
            "zookeeper_tls": {"cert": str(tls.client_cert), "key": str(tls.client_key), "ca": str(tls.ca)},
        }
        super().configure(*providers, labels=labels, **{**own, **top})

    def module(self, name: str, **options: Any) -> dict[str, Any]:
        """What a module of the collection returns.

        :raises AssertionError: it fails.
        """
        ran = self.tried(name, **options)
        assert not ran.result["failed"], ran.result.get("msg")
        return ran.result

    def tried(self, name: str, **options: Any) -> Ran:
        """Run a module of the collection."""
        return run_alone(name, {"config": str(self.config), **options}, self.folder, timeout=MODULE_SECONDS)


@dataclass
class World:
    """A tree with a cloud. *host*: the builder's; *stock*: Nodepool's programs."""

    site: SharedSite
    host: BuilderHost
    stock: Stock

    def show(self, module: str, **options: Any) -> dict[str, Any]:
        """What an info module of ours returns."""
        return self.site.module(module, **options)


class Lab:
    """Makes a world for each row.

    :param environments: those that could be installed, by name.
    """

    def __init__(self, zookeeper: ZooKeeperServer, folder: Path, environments: Mapping[str, Environment]) -> None:
        self.zookeeper = zookeeper
        self.environments = environments
        self._folder = folder
        self.screen = folder / "screen"
        """What the playbooks say."""
        self._bank = CloudBank()
        self._row = ""
        self.stack = ExitStack()
        """What ends with the row."""
        self._kept: dict[str, Any] = {}
        self._whole = ExitStack()

    def world(self) -> World:
        """A world of the row's own, without a configuration."""
        return self._world(self._row, self.stack)

    def _world(self, name: str, stack: ExitStack) -> World:
        folder = self._folder / f"{name}-{time.monotonic_ns()}"
        folder.mkdir(parents=True)
        site = SharedSite(folder, self.zookeeper, f"/{folder.name}", self._bank)
        stack.callback(site.close)
        stock = Stock(Environment(NODEPOOL), folder, site.config, site.clouds_yaml)
        return World(site, BuilderHost(site), stock)

    def kept(self, name: str, make: Callable[[World], None]) -> World:
        """A world that several rows look at; made by the first of them, ends with the lab."""
        if name not in self._kept:
            world = self._world(name, self._whole)
            make(world)
            self._kept[name] = world
        found: World = self._kept[name]
        return found

    def begin(self, row_name: str) -> None:
        """Before a row."""
        self.end()
        self._row = row_name

    def end(self) -> None:
        """End what the row has started."""
        self.stack.close()

    def close(self) -> None:
        """End everything."""
        self.end()
        self._whole.close()
        self._bank.__exit__()


@dataclass(frozen=True)
class Row:
    """One line of the matrix. *work* returns what was seen, or raises AssertionError; CannotInstall skips the row.

    :ivar needs: names of the environments without which the row is skipped.
    """

    name: str
    title: str
    work: Callable[[Lab], str]
    needs: tuple[str, ...]

    def run(self, lab: Lab) -> tuple[str, str, float]:
        """(verdict, what was seen, seconds)."""
        began = time.monotonic()
        missing = [name for name in self.needs if name not in lab.environments]
        if missing:
            return "skipped", f"{' and '.join(missing)} could not be installed", 0.0
        try:
            lab.begin(self.name)
            with lab.screen.open("a", encoding="utf-8") as screen, redirect_stdout(screen):
                seen, verdict = self.work(lab), "ok"
        except CannotInstall as problem:
            seen, verdict = str(problem), "skipped"
        except Exception as problem:
            seen, verdict = f"{type(problem).__name__}: {problem}", "WRONG"
        finally:
            lab.end()
        return verdict, seen, time.monotonic() - began


ROWS: list[Row] = []


def row(name: str, title: str, *needs: str) -> Callable[[Callable[[Lab], str]], Callable[[Lab], str]]:
    """Register a row; rows run in the order in which they are registered."""

    def register(work: Callable[[Lab], str]) -> Callable[[Lab], str]:
        ROWS.append(Row(name, title, work, needs or (NODEPOOL,)))
        return work

    return register

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a row works with: a tree of its own, a configuration, the playbooks, and the control plane behind them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from tests.openstack.control_plane import PATIENCE, ControlPlane, NoHandle, wait_for
from tests.support.ansible_run import BIN, ROOT, command, environment
from tests.support.launcher_case import Cloud, CloudBank, Site, label, pool, provider
from tests.support.zookeeper_server import ZooKeeperServer

PLAY_SECONDS = 600.0
IMAGE = "base"
FLAVOR = "m1.tiny"
COMPUTE = "nova-compute1"
VOLUMES = "cinder-api"
ESSENTIAL = frozenset({"keystone", "glance-api", "placement", "neutron-server", "nova-api"})
"""Every row works with these."""
WITHOUT = "none"
"""The verdict of a row that the cloud has no handle for."""

__all__ = ["COMPUTE", "ROWS", "VOLUMES", "Lab", "RealSite", "Row", "Staying", "label", "one", "pool", "row", "tiny"]


def tiny(name: str = "tiny", **options: Any) -> dict[str, Any]:
    """A label with the smallest flavor and an image that is there."""
    chosen: dict[str, Any] = {"flavor_name": FLAVOR, "cloud_image": IMAGE, **options}
    return label(name, **{key: value for key, value in chosen.items() if value is not None})


def one(*pools: dict[str, Any], name: str = "one", **options: Any) -> dict[str, Any]:
    """A provider on the control plane; its pool offers ``tiny`` unless pools are given."""
    images = [{"name": IMAGE, "username": "zuul"}]
    return provider(name, *(pools or (pool("main", tiny()),)), **{"cloud_images": images, **options})


class RealSite(Site):
    """A site whose clouds are the control plane's."""

    def __init__(self, folder: Path, zookeeper: ZooKeeperServer, plane: ControlPlane) -> None:
        self._plane = plane
        self._top: dict[str, Any] = {}
        self._started: list[subprocess.Popen[bytes]] = []
        super().__init__(folder, zookeeper, f"/row-{uuid.uuid4().hex}", cast(CloudBank, None))

    def add_cloud(self, name: str = "one", kind: str = "plain", **entry: Any) -> Cloud:
        """An entry in clouds.yaml."""
        del kind
        self.clouds[name] = cast("Cloud", self._plane)
        self._entries[name] = {**self._plane.entry, "private": True, **entry}
        self.clouds_yaml.write_text(json.dumps({"clouds": self._entries}), encoding="utf-8")
        return self.clouds[name]

    def configure(
        self, *providers: dict[str, Any], labels: Mapping[str, Mapping[str, Any]] | None = None, **top: Any
    ) -> None:
        """Write nodepool.yaml; what is not in a provider stays as it was."""
        self._top.update(top)
        super().configure(*providers, labels=labels, **self._top)

    def remember_boot(self, name: str, seconds: float = 0.0) -> None:
        """Nobody told this launcher how long servers boot here."""

    def play(self, name: str, *words: str, fails: bool = False, **variables: Any) -> str:
        """Run a playbook of the collection; what was on the screen."""
        done = command(*self._words(name, *words, **variables), folder=self.folder, timeout=PLAY_SECONDS)
        said = f"{done.stdout}\n{done.stderr}"
        (self.folder / "screen").open("a", encoding="utf-8").write(said)
        assert (done.returncode != 0) == fails, f"{name} ended with {done.returncode}:\n{said[-3000:]}"
        return said

    def start(self, name: str, **variables: Any) -> subprocess.Popen[bytes]:
        """Start a playbook in a process group of its own."""
        program, *words = self._words(name, **variables)
        with (self.folder / "screen").open("ab") as screen:
            process = subprocess.Popen(
                [str(BIN / program), *words],
                cwd=self.folder,
                env=environment(self.folder),
                stdin=subprocess.DEVNULL,
                stdout=screen,
                stderr=screen,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def close(self) -> None:
        """End what was started and still runs."""
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        super().close()

    def _words(self, name: str, *words: str, **variables: Any) -> list[str]:
        return ["ansible-playbook", str(ROOT / "playbooks" / name), "-e", self.variables(**variables), *words]

    def launcher(self, **variables: Any) -> Staying:
        """The launcher's playbook, until it is told to stop: ``with site.launcher():``."""
        return Staying(self, variables)

    def ask_many(self, count: int, name: str = "tiny") -> list[str]:
        """As many requests for a node each."""
        return [self.requestor.ask(name) for _number in range(count)]

    def fulfilled(self, ids: Iterable[str]) -> int:
        """How many of the requests are served."""
        return sum(self.requestor.state(ident) == "fulfilled" for ident in ids)

    def wait_served(self, ids: list[str], seconds: float = PATIENCE) -> None:
        """Wait until all are served."""
        wait_for(f"{len(ids)} requests served", lambda: self.fulfilled(ids) == len(ids), seconds)

    def give_all_back(self, ids: Iterable[str]) -> list[str]:
        """Take and return the nodes of served requests; their ids."""
        nodes = [node for ident in ids for node in self.requestor.accept(ident)]
        self.requestor.give_back(*nodes)
        return nodes

    def reasons(self) -> set[str]:
        """Codes of the stored reasons why requests wait."""
        waits = "/nodepool/stackci/waits"
        found = (self.requestor.read(f"{waits}/{ident}") for ident in self.requestor.children(waits))
        return {str(document["code"]) for document in found if document}

    def waiting(self, ids: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """Request → the stored reason why it waits, of those that have one."""
        found = {ident: self.requestor.read(f"/nodepool/stackci/waits/{ident}") for ident in ids}
        return {ident: document for ident, document in found.items() if document}

    def launch(self) -> str:
        """Run the launcher until it is settled; what was on the screen."""
        return self.play("launcher.yml", launcher_duration=PATIENCE)

    def serve_one(self, name: str = "tiny") -> Any:
        """Ask for a node, let the launcher serve it; the project's only server."""
        request = self.requestor.ask(name)
        self.launch()
        assert self.fulfilled([request]) == 1, self.screen()[-3000:]
        (server,) = self._plane.servers()
        (node,) = self.requestor.nodes_of(request)
        assert self.requestor.node(node)["external_id"] == server.id, (node, server)
        return server

    def sweep(self, done: Callable[[], bool]) -> str:
        """Run the playbook that sweeps until *done*, three times at most; what it said last.

        What hangs on a server is told for leaked only when the server no longer exists, so one run may not be enough.
        """
        for _number in range(3):
            said = self.play("leak_cleanup.yml", leak_min_age=0, leak_wait=5)
            if done():
                return said
        raise AssertionError(f"not all of it was swept:\n{self.screen()[-6000:]}")

    def screen(self) -> str:
        """What all playbooks have said so far."""
        return (self.folder / "screen").read_text(encoding="utf-8", errors="replace")


class Staying:
    """The launcher at work in the background."""

    def __init__(self, site: RealSite, variables: Mapping[str, Any]) -> None:
        self._site = site
        self._control = site.folder / f"control-{uuid.uuid4().hex[:6]}"
        self._variables = {
            "launcher_duration": 1800,
            "launcher_until": "deadline",
            "launcher_control_file": str(self._control),
            **variables,
        }
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._process = self._site.start("launcher.yml", **self._variables)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _problem: BaseException | None, _trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._control.write_text("stop\n", encoding="utf-8")
        try:
            status = self._process.wait(90)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            assert kind is not None, "the launcher did not stop within 90 s"
            return
        assert kind is not None or status == 0, f"the launcher ended with {status}:\n{self._site.screen()[-3000:]}"


class Lab:
    """What the rows share that run one after the other: a project of the control plane, and a folder."""

    def __init__(self, plane: ControlPlane, zookeeper: ZooKeeperServer, folder: Path, crowd: int) -> None:
        self.plane = plane
        self.zookeeper = zookeeper
        self.folder = folder
        self.crowd = crowd
        """How many nodes the row about many asks for."""
        folder.mkdir(parents=True, exist_ok=True)
        self._sites: list[RealSite] = []
        self._row = ""
        self._empty = False

    def site(self, *providers: dict[str, Any], **top: Any) -> RealSite:
        """A fresh tree and its configuration; the usual provider when none is given."""
        folder = self.folder / f"{self._row}-{len(self._sites)}"
        folder.mkdir(parents=True)
        site = RealSite(folder, self.zookeeper, self.plane)
        self._sites.append(site)
        self.plane.image(IMAGE)
        site.configure(*(providers or (one(),)), **top)
        return site

    def begin(self, row_name: str) -> None:
        """Before a row."""
        if not self._empty:
            self.close()
        self._row, self._empty = row_name, False

    def stop(self) -> None:
        """End what a row has started."""
        for site in self._sites:
            site.close()
        self._sites.clear()

    def close(self) -> None:
        """Take away what a row has left."""
        self.stop()
        self.plane.clean()
        self._empty = True


@dataclass(frozen=True)
class Row:
    """One line of the matrix. *work* returns what was seen, or raises AssertionError.

    :ivar alone: it measures, so no other row runs meanwhile, on no control plane.
    :ivar disturbs: a service that it stops or freezes.
    :ivar needs: the services that it works with besides the essential ones.
    """

    name: str
    title: str
    work: Callable[[Lab], str]
    alone: bool = False
    disturbs: str = ""
    needs: Collection[str] = (COMPUTE,)

    @property
    def disturbs_all(self) -> bool:
        """No other row can run on its control plane meanwhile, because of what it does to a service."""
        return self.disturbs in ESSENTIAL

    def run(self, lab: Lab) -> tuple[str, str, float]:
        """(verdict, what was seen, seconds)."""
        began = time.monotonic()
        try:
            lab.begin(self.name)
            seen, verdict = self.work(lab), "ok"
        except NoHandle as problem:
            seen, verdict = str(problem), WITHOUT
        except Exception as problem:
            seen, verdict = f"{type(problem).__name__}: {problem}", "WRONG"
        return verdict, seen, time.monotonic() - began


ROWS: list[Row] = []


def row(
    name: str, title: str, *, alone: bool = False, disturbs: str = "", needs: Collection[str] = (COMPUTE,)
) -> Callable[[Callable[[Lab], str]], Callable[[Lab], str]]:
    """Register a row."""

    def register(work: Callable[[Lab], str]) -> Callable[[Lab], str]:
        ROWS.append(Row(name, title, work, alone, disturbs, needs))
        return work

    return register

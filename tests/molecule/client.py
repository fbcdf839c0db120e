# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks of the services under test what they are there for, and is content only with the real thing.

    python -m tests.molecule.client --state-dir DIR [--seconds N] COMMAND

``ask LABEL``            leave a request and print its id
``take ID``              wait until it is fulfilled, speak with the node, use it, give it back, see its server go
``serve LABEL``          both
``image NAME [BUILD …]`` wait for an upload that is ready, of another build than these; the cloud must have it
``rebuild NAME``         ask for a build, and wait until one is being built

A line of JSON tells what was seen. Exit code 1 and a sentence when it was not seen in time.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient

from tests.demo.requestor import Requestor
from tests.support.populated_tree import READY, populate

IMAGES = "/nodepool/images"
PAUSE = 0.02


class NotSeen(Exception):
    """What was to be seen did not come, or something else did."""


class World:
    """Where everything is, by world.json of a scenario."""

    def __init__(self, state_dir: Path, seconds: float) -> None:
        self._told = json.loads((state_dir / "world.json").read_text("utf-8"))
        self._limit = time.monotonic() + seconds
        self._seconds = seconds
        self.cloud = str(self._told["cloud"]["name"])

    @property
    def hosts(self) -> str:
        """Of ZooKeeper, plain."""
        server = self._told["zookeeper"]
        return f"{server['host']}:{server['port']}"

    def control(self, path: str) -> Any:
        """Ask the simulated cloud what it does not tell its users."""
        address = f"{self._told['cloud']['control']}/clouds/{self.cloud}/{path}"
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.loads(answer.read())

    def wait(self, what: str, look: Callable[[], Any]) -> Any:
        """What *look* returns, as soon as that is true.

        :raises NotSeen: it never was, within the time for the whole command.
        """
        while not (seen := look()):
            if time.monotonic() > self._limit:
                raise NotSeen(f"{what}: not within {self._seconds:g} s")
            time.sleep(PAUSE)
        return seen


class Looker(Requestor):
    """A requestor that looks around in the tree."""

    @property
    def zookeeper(self) -> KazooClient:
        """The bare client."""
        return self._client


def take(world: World, requestor: Requestor, request: str) -> dict[str, Any]:
    """Use a request to its end."""
    began = time.monotonic()

    def state() -> dict[str, Any] | None:
        found = requestor.requests().get(request)
        if found is None:
            raise NotSeen(f"there is no request {request}")
        if found["state"] == "failed":
            raise NotSeen(f"request {request} failed: declined by {found.get('declined_by')}")
        return found if found["state"] == "fulfilled" else None

    world.wait(f"request {request} fulfilled", state)
    fulfilled = time.monotonic() - began
    names = requestor.accept(request)
    nodes = [requestor.nodes()[name] for name in names]
    for node in nodes:
        speak(node)
    requestor.give_back()
    world.wait(f"nodes {', '.join(names)} gone", lambda: not set(names) & set(requestor.nodes()))
    servers = {node["external_id"] for node in nodes}
    world.wait("servers gone", lambda: not servers & {server["id"] for server in world.control("servers")["servers"]})
    return {"request": request, "nodes": names, "fulfilled_after": round(fulfilled, 2)}


def speak(node: dict[str, Any]) -> None:
    """Reach the node as its record says; an ssh server must answer, with a key that the record has."""
    if not node["host_keys"]:
        raise NotSeen(f"the record of a node at {node['interface_ip']} has no host keys")
    with socket.create_connection((node["interface_ip"], node["connection_port"]), 10) as connection:
        banner = connection.recv(64)
    if not banner.startswith(b"SSH-2.0-"):
        raise NotSeen(f"{node['interface_ip']}:{node['connection_port']} says {banner!r}")


def rebuild(world: World, requestor: Looker, name: str) -> dict[str, Any]:
    """Ask as Nodepool's command line does."""
    client = requestor.zookeeper
    builds = f"{IMAGES}/{name}/builds"
    client.create(f"{IMAGES}/{name}/request-build", b"")

    def building() -> str | None:
        for build in client.get_children(builds):
            data = b"" if build == "lock" else client.get(f"{builds}/{build}")[0]
            if data and json.loads(data)["state"] == "building":
                return str(build)
        return None

    return {"build": world.wait(f"a build of {name}", building)}


def image(world: World, requestor: Looker, name: str, other_than: list[str]) -> dict[str, Any]:
    """Find a ready upload, and its image in the cloud."""
    client = requestor.zookeeper

    def ready() -> dict[str, Any] | None:
        builds = f"{IMAGES}/{name}/builds"
        for build in client.get_children(builds) if client.exists(builds) else ():
            uploads = f"{builds}/{build}/providers/{world.cloud}/images"
            if build in ("lock", *other_than) or not client.exists(uploads):
                continue
            for upload in client.get_children(uploads):
                data = b"" if upload == "lock" else client.get(f"{uploads}/{upload}")[0]
                document = json.loads(data) if data else {}
                if document.get("state") == "ready":
                    return {"build": build, "upload": upload, **document}
        return None

    seen = world.wait(f"a ready upload of {name}", ready)
    stored = world.control("state")["images"].get(seen["external_id"])
    if stored is None or stored["status"] != "active" or not stored["size"]:
        raise NotSeen(f"the cloud has no such image: {stored}")
    return {"build": seen["build"], "upload": seen["upload"], "image": seen["external_id"], "size": stored["size"]}


def main() -> int:
    """One command."""
    parser = argparse.ArgumentParser(prog="python -m tests.molecule.client")
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("command", choices=("ask", "take", "serve", "image", "rebuild", "populate"))
    parser.add_argument("what", nargs="*")
    options = parser.parse_args()
    world = World(options.state_dir, options.seconds)
    requestor = Looker(world.hosts)
    try:
        print(json.dumps(_obey(world, requestor, options.command, options.what)))
    except NotSeen as problem:
        print(problem, file=sys.stderr)
        return 1
    finally:
        requestor.close()
    return 0


def _obey(world: World, requestor: Looker, command: str, what: list[str]) -> dict[str, Any]:
    if command == "ask":
        return {"request": requestor.ask(*what)}
    if command == "image":
        return image(world, requestor, what[0], what[1:])
    if command == "rebuild":
        return rebuild(world, requestor, what[0])
    if command == "populate":
        populate(lambda path, data: requestor.zookeeper.create(path, data, makepath=True), time.time())
        return {"node": READY}
    return take(world, requestor, requestor.ask(*what) if command == "serve" else what[0])


if __name__ == "__main__":
    sys.exit(main())

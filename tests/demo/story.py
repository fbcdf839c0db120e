# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens in the demo, step by step."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.demo.requestor import Requestor
from tests.demo.screen import Screen, StepFailed
from tests.demo.world import BIN, CLOUDS, FORMATS, IMAGE, ROOT, World

LEASE = "demo"
PROGRESS = r"^\[(node_launch|nodepool_request|dib_build|image_upload)\] .*|(?<=\"msg\": \").*(?=\")"
LONG = 120.0


def may_build() -> bool:
    """True when diskimage-builder can do its work: as root, or with sudo that does not ask."""
    if os.geteuid() == 0:
        return True
    try:
        return subprocess.run(["sudo", "-n", "true"], capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


class Story:
    """The steps; each raises StepFailed when something is not as it should be."""

    def __init__(self, world: World, screen: Screen, requestor: Requestor) -> None:
        self._world = world
        self._screen = screen
        self._requestor = requestor

    def tell(self, *, keep: bool) -> None:
        """All steps. *keep*: the leased nodes stay."""
        builder = self._begin_build()
        self._ask_and_launch()
        rebuild = self._show_build(builder) if builder is not None else None
        self._show_nodes()
        self._reach_nodes()
        self._launcher = self._playbook(
            "launcher-again",
            "launcher.yml",
            "launcher_duration=600",
            "launcher_until=deadline",
            f"launcher_control_file={self._world.control}",
        )
        if rebuild is not None:
            self._show_rejection(rebuild)
        self._release(keep=keep)

    # -- disk images ------------------------------------------------------------------------------------------------

    def _begin_build(self) -> subprocess.Popen[str] | None:
        with self._screen.step("Begin to build a disk image: ansible-playbook playbooks/builder.yml"):
            if not may_build():
                self._screen.say("no disk image is built: that needs root, or sudo without a password")
                return None
            self._screen.say(f"image {IMAGE}, for two clouds that want it as {' and '.join(FORMATS.values())}")
            return self._playbook("builder", "builder.yml")

    def _show_build(self, builder: subprocess.Popen[str]) -> subprocess.Popen[str]:
        """Returns the playbook that builds the image anew meanwhile; the new build is broken."""
        with self._screen.step("Meanwhile the disk image was built and uploaded to both clouds"):
            self._screen.follow("builder", builder, PROGRESS, LONG)
            builds = list(self._requestor.builds(IMAGE))
            if len(builds) != 1:
                raise StepFailed("there should be one build; see builder.log")
            self._screen.say("from now on a playbook tests new builds: gate in nodepool-settings.yaml")
            self._world.add_gate(builds[0])
            self._screen.say("it is built once more: ansible-playbook playbooks/image_rebuild.yml")
            return self._playbook("rebuild", "image_rebuild.yml", f"image_names={IMAGE}")

    def _show_rejection(self, rebuild: subprocess.Popen[str]) -> None:
        with self._screen.step(
            "Meanwhile the disk image was built once more; the new one is broken, and its test says so"
        ):
            self._screen.follow("rebuild", rebuild, PROGRESS, LONG)
            good, broken = self._requestor.builds(IMAGE)
            verdict = self._requestor.verdict(IMAGE, broken)
            self._screen.say(f"build {broken} is {verdict.get('state')}: {verdict.get('reason')}")
            if verdict.get("state") != "rejected" or "Python" not in str(verdict.get("reason")):
                raise StepFailed(f"build {broken} should be rejected; see rebuild.log")
        with self._screen.step("New nodes are made from the build before, and nobody has noticed"):
            self._launch_from(good)

    def _image_of(self, build: str, cloud: str) -> str:
        """The id of the cloud image that was made from a build."""
        (upload,) = self._requestor.uploads(IMAGE, build, cloud).values()
        return str(upload["external_id"])

    def _launch_from(self, build: str) -> None:
        """A node with the label of the image; it must be made from that build."""
        request = self._requestor.ask(IMAGE)
        self._screen.say(f"request {request}: {IMAGE}")
        self._stay(lambda: self._requestor.is_fulfilled(request))
        (node,) = self._requestor.accept(request)
        cloud = self._requestor.nodes()[node]["provider"]
        (server,) = [server for server in self._servers(cloud) if server["name"] == f"np{node}"]
        self._screen.say(f"node {node} in {cloud}: image {server['image']}, of build {build}")
        if server["image"] != self._image_of(build, cloud):
            raise StepFailed(f"node {node} should be made from build {build}")

    def _stay(self, until: Callable[[], bool]) -> None:
        """Show what the launcher does that stays, until something is so."""
        self._screen.follow("launcher-again", self._launcher, PROGRESS, LONG, until=until)
        if not until():
            raise StepFailed("the launcher has ended before its time; see launcher-again.log")

    # -- from requests to nodes ---------------------------------------------------------------------------------

    def _ask_and_launch(self) -> None:
        with self._screen.step("Ask for nodes: like Zuul (bare ZooKeeper), and a lease (nodepool_request)"):
            for labels in (["small"], ["large"], ["small", "large", "small"]):
                self._screen.say(f"request {self._requestor.ask(*labels)}: {', '.join(labels)}")
            lease = self._playbook("lease", "nodes.yml", f"nodes_name={LEASE}", '{"nodes_labels": ["small", "small"]}')
            self._await(lambda: len(self._requestor.requests()) > 3 or lease.poll() is not None)
            for request in self._requestor.requests():
                if request not in self._requestor.asked:
                    self._screen.say(f"request {request}: small, small (lease {LEASE})")
        with self._screen.step("Serve them: ansible-playbook playbooks/launcher.yml -e launcher_until=settled"):
            self._launch("launcher", beside=["lease"])
            self._screen.follow("lease", lease, r"^ok: \[np.*|^fatal.*", LONG)
            for request in self._requestor.asked:
                nodes = self._requestor.accept(request)
                number = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
                self._screen.say(f"request {request}: accepted, {number} locked and in use")

    def _show_nodes(self) -> None:
        with self._screen.step("The nodes: in ZooKeeper, and as an inventory (ansible-inventory --graph)"):
            rows = [
                [
                    key,
                    "+".join(node["type"]),
                    node["provider"],
                    node["az"],
                    f"{node['interface_ip']}:{node['connection_port']}",
                    node["state"],
                    node["hold_job"] or f"request {node['allocated_to']}",
                ]
                for key, node in self._requestor.nodes().items()
            ]
            self._screen.table(["node", "label", "provider", "az", "address", "state", "for"], rows)
            if len(rows) != 7:
                raise StepFailed(f"there should be 7 nodes, not {len(rows)}")
            self._screen.say("")
            self._command("graph", ["ansible-inventory", "-i", str(self._world.inventory), "--graph"], r".*(@|np).*")

    def _reach_nodes(self) -> None:
        with self._screen.step("Reach every node: ssh with its recorded host key, then ansible -m ping"):
            nodes = self._requestor.nodes()
            with ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(lambda item: self._ssh(*item), nodes.items()))
            self._screen.say(f"ssh: {len(answers)} of {len(nodes)} nodes answered, each with the key that was recorded")
            command = [
                "ansible",
                "-i",
                str(self._world.inventory),
                "all",
                "-m",
                "ansible.builtin.ping",
                "-o",
                "-f",
                "10",
            ]
            self._command("ping", command, r"^np\S+ \| \w+")

    # -- back to nothing ----------------------------------------------------------------------------------------

    def _release(self, *, keep: bool) -> None:
        with self._screen.step("Release them" + (" (the lease stays)" if keep else "")):
            self._screen.say(f"{len(self._requestor.give_back())} nodes used and unlocked")
            if not keep:
                lease = self._playbook("release", "nodes.yml", f"nodes_name={LEASE}", "nodes_state=absent")
                self._screen.follow("release", lease, PROGRESS, LONG)
        with self._screen.step("Clean up: the launcher deletes what is used, and ends when its control file says stop"):
            expected = 2 if keep else 0
            self._stay(lambda: len(self._requestor.nodes()) == expected)
            self._world.control.write_text("stop", encoding="utf-8")
            self._screen.follow("launcher-again", self._launcher, PROGRESS, LONG)
            left = {cloud: len(self._servers(cloud)) for cloud in CLOUDS}
            nodes = self._requestor.nodes()
            self._screen.say(
                f"servers: {', '.join(f'{count} in {cloud}' for cloud, count in left.items())};"
                f" in ZooKeeper: {len(nodes)} nodes, {len(self._requestor.requests())} requests"
            )
            if sum(left.values()) != expected or len(nodes) != expected:
                raise StepFailed(f"there should be {expected} servers and nodes left")

    # -- helpers ------------------------------------------------------------------------------------------------

    def _playbook(self, name: str, file: str, *variables: str) -> subprocess.Popen[str]:
        command = [str(BIN / "ansible-playbook"), f"playbooks/{file}", "-e", f"@{self._world.variables}"]
        for variable in variables:
            command += ["-e", variable]
        return self._screen.start(name, command, self._world.environment(), ROOT)

    def _launch(self, name: str, beside: list[str] | None = None) -> None:
        process = self._playbook(name, "launcher.yml", "launcher_duration=60", "launcher_until=settled")
        self._screen.follow(name, process, PROGRESS, LONG, beside or [])

    def _command(self, name: str, command: list[str], show: str) -> None:
        command = [str(BIN / command[0]), *command[1:]]
        self._screen.follow(name, self._screen.start(name, command, self._world.environment(), ROOT), show, LONG)

    def _ssh(self, key: str, node: dict[str, Any]) -> str:
        options = {
            "BatchMode": "yes",
            "ConnectTimeout": "10",
            "GlobalKnownHostsFile": "/dev/null",
            "IdentitiesOnly": "yes",
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": f'"{self._world.known_hosts}"',
        }
        command = ["ssh", "-F", "none", "-i", str(self._world.key), "-p", str(node["connection_port"])]
        for option, value in options.items():
            command += ["-o", f"{option}={value}"]
        command += [f"{node['username']}@{node['interface_ip']}", "echo reached"]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False
        )
        if done.stdout.strip() != "reached":
            raise StepFailed(f"node {key} cannot be reached by ssh: {done.stderr.strip()}")
        return done.stdout

    def _servers(self, cloud: str) -> list[dict[str, Any]]:
        if self._world.cloud is None:
            raise StepFailed("the clouds do not run")
        return self._world.cloud.servers(cloud)

    @staticmethod
    def _await(condition: Any, seconds: float = 30.0) -> None:
        limit = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > limit:
                raise StepFailed("the lease was not asked for in time; see its log")
            time.sleep(0.05)

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The world of the demo: a private ZooKeeper, two simulated clouds, and the files that name them."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests.demo import crowd
from tests.support.simcloud_process import SimCloud, default_cloud
from tests.support.tiny_rootfs import make_rootfs
from tests.support.zookeeper_server import free_port

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
STATE = ROOT / ".build" / "demo"
PLACES = {
    "east": "        networks: [public]\n        auto-floating-ip: false\n",
    "west": "        networks: [private]\n",
}
CLOUDS = tuple(PLACES)
"""Servers have public addresses in the east, and floating IPs in the west."""
IMAGE = "tiny"
WEBAPP = "ansible_collections.stackci.nodepool.plugins.plugin_utils.webapp"
FORMATS = {"east": "qcow2", "west": "raw"}
"""The format of disk images that each cloud wants."""
START_SECONDS = 30.0
STOP_SECONDS = 10.0
CROWD_SECONDS = 120.0


def web_command(config: Path, port: int) -> list[str]:
    """What starts the web service."""
    return [sys.executable, "-m", WEBAPP, "--config", str(config), "--port", str(port)]


class World:
    """Starts everything, knows where everything is, ends everything.

    :param state: folder for all that the demo writes; what an earlier demo left there is removed.
    """

    def __init__(self, state: Path = STATE) -> None:
        self.state = state
        self.logs = state / "log"
        self.config = state / "nodepool.yaml"
        self.clouds_config = state / "clouds.yaml"
        self.control = state / "control"
        self.rootfs = state.parent / "tiny-rootfs.tar"
        self.inventory = state / "demo.nodepool.yml"
        self.variables = state / "variables.json"
        self.key = state / "id_ed25519"
        self.known_hosts = state / "known_hosts"
        self.zookeeper_port = 0
        self.cloud: SimCloud | None = None
        self._zookeeper: subprocess.Popen[bytes] | None = None
        self._web: subprocess.Popen[bytes] | None = None
        self._crowd: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start ZooKeeper and the clouds side by side, and write the files."""
        stop(self.state)
        shutil.rmtree(self.state, ignore_errors=True)
        self.logs.mkdir(parents=True)
        self._start_zookeeper()
        self._make_key()
        clouds: dict[str, Any] = {}
        for cloud in CLOUDS:
            guests = {"mode": "each", "authorized_keys": str(self.key) + ".pub"}
            networks = [{"name": "private"}, {"name": "public", "external": True, "shared": True}]
            boot = {"kind": "normal", "mean": 2.0, "sd": 0.3}
            clouds |= default_cloud(cloud, guests=guests, networks=networks, boot=boot)
        self.cloud = SimCloud(clouds, state_dir=self.state / "cloud")
        self.cloud.start()
        self._remember()
        make_rootfs(self.rootfs)
        self._await_zookeeper()
        self._write_files()

    def add_gate(self, build: str) -> None:
        """From now on new builds of the disk image are tested; only *build* passes.

        The machines of the simulated clouds are this machine. So a file stands for what is on the disk of a build.
        """
        (self.state / f"python-of-{build}").touch()
        task = f"test -e {self.state}/python-of-{{{{ nodepool_gate.build }}}}"
        (self.state / "smoke.yml").write_text(
            "- hosts: all\n  gather_facts: false\n  tasks:\n"
            f'    - name: the image has a Python that works\n      ansible.builtin.raw: "{task}"\n',
            encoding="utf-8",
        )
        (self.state / "nodepool-settings.yaml").write_text(
            f"diskimages:\n  - name: {IMAGE}\n    gate:\n      playbook: smoke.yml\n      private-key: {self.key}\n",
            encoding="utf-8",
        )

    def start_crowd(self) -> None:
        """Start ZooKeeper alone, and have a tree of thousands of nodes written into it and moved.

        :raises RuntimeError: the tree was not filled in time.
        """
        stop(self.state)
        shutil.rmtree(self.state, ignore_errors=True)
        self.logs.mkdir(parents=True)
        self._start_zookeeper()
        self._await_zookeeper()
        self.config.write_text(crowd.nodepool_yaml(self.zookeeper_port), encoding="utf-8")
        self.variables.write_text(json.dumps({"nodepool_config": str(self.config)}), encoding="utf-8")
        command = [sys.executable, "-m", "tests.demo.crowd_moves", "--port", str(self.zookeeper_port)]
        with (self.logs / "crowd.log").open("wb") as log:
            self._crowd = subprocess.Popen(
                [*command, "--state-dir", str(self.state)],
                cwd=ROOT,
                env={**self.environment(), "PYTHONPATH": str(ROOT / "playbooks" / "collections")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._remember()
        limit = time.monotonic() + CROWD_SECONDS
        while not (self.state / "crowd.ready").exists():
            if self._crowd.poll() is not None or time.monotonic() > limit:
                raise RuntimeError(f"the tree was not filled: see {self.logs / 'crowd.log'}")
            time.sleep(0.1)

    def start_web(self) -> str | None:
        """Start the web service beside all else; return its address when its page answers, None when it does not."""
        port = free_port()
        command = web_command(self.config, port)
        environment = {**self.environment(), "PYTHONPATH": str(ROOT / "playbooks" / "collections")}
        with (self.logs / "web.log").open("wb") as log:
            self._web = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._remember()
        address, end = f"http://127.0.0.1:{port}/", time.monotonic() + START_SECONDS
        while self._web.poll() is None and time.monotonic() < end:
            # As long as the tree was not read, the page is 503, which is an OSError here.
            with contextlib.suppress(OSError), urlopen(address, timeout=START_SECONDS):
                return address
            time.sleep(0.1)
        return None

    def close(self) -> None:
        """End everything that was started. Harmless when it is over already."""
        if self.cloud is not None:
            self.cloud.stop()
        for process in (self._web, self._crowd, self._zookeeper):
            if process is not None:
                process.terminate()
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        (self.state / "processes.json").unlink(missing_ok=True)

    def environment(self) -> dict[str, str]:
        """For Ansible's commands: this checkout's collection and nothing of the user's own settings."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "OS_"))}
        return {
            **kept,
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_HOME": str(self.state / "ansible"),
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PIPELINING": "1",
            "PYTHONUNBUFFERED": "1",
        }

    def _start_zookeeper(self) -> None:
        command = [sys.executable, "-m", "tests.support.zookeeper_server", "--state-dir", str(self.state / "zookeeper")]
        with (self.logs / "zookeeper.log").open("wb") as log:
            self._zookeeper = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._remember()

    def _await_zookeeper(self) -> None:
        ready = self.state / "zookeeper" / "ready.json"
        limit = time.monotonic() + START_SECONDS
        while not ready.exists():
            if self._zookeeper is None or self._zookeeper.poll() is not None or time.monotonic() > limit:
                text = (self.logs / "zookeeper.log").read_text(encoding="utf-8", errors="replace")
                raise RuntimeError(f"ZooKeeper did not start: {text.strip()[-1000:]}")
            time.sleep(0.02)
        self.zookeeper_port = int(json.loads(ready.read_text(encoding="utf-8"))["port"])

    def _make_key(self) -> None:
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "demo", "-f", str(self.key)]
        subprocess.run(command, check=True, timeout=START_SECONDS, stdin=subprocess.DEVNULL)

    def _write_files(self) -> None:
        """JSON is YAML, too, but people look at these files."""
        clouds = json.loads((self.state / "cloud" / "clouds.yaml").read_text(encoding="utf-8"))
        for cloud, wanted in FORMATS.items():
            clouds["clouds"][cloud]["image_format"] = wanted
        self.clouds_config.write_text(json.dumps(clouds, indent=1), encoding="utf-8")
        self.clouds_config.chmod(0o600)
        self.config.write_text(self._nodepool_yaml(), encoding="utf-8")
        self.inventory.write_text(
            "plugin: stackci.nodepool.nodepool\n"
            "nodepool_config: nodepool.yaml\n"
            "clouds_config: clouds.yaml\n"
            "zookeeper: true\n"
            "known_hosts: known_hosts\n"
            "strict: true\n"
            "compose:\n"
            f"  ansible_ssh_private_key_file: \"'{self.key}'\"\n"
            '  ansible_ssh_use_tty: "false"\n',
            encoding="utf-8",
        )
        variables = {
            "nodepool_config": str(self.config),
            "nodepool_clouds_config": str(self.clouds_config),
            "nodes_private_key": str(self.key),
            # An sshd that does not run as root cannot always give a terminal away.
            "ansible_ssh_use_tty": False,
        }
        self.variables.write_text(json.dumps(variables, indent=1), encoding="utf-8")

    def _nodepool_yaml(self) -> str:
        assert self.cloud is not None
        user = pwd.getpwuid(os.getuid()).pw_name
        text = (
            f"zookeeper-servers:\n  - host: 127.0.0.1\n    port: {self.zookeeper_port}\n"
            f"images-dir: {self.state}/images\nbuild-log-dir: {self.logs}/builds\n"
            f"elements-dir: {ROOT}/tests/elements\n"
            f"labels:\n  - name: small\n  - name: large\n  - name: {IMAGE}\n"
            "diskimages:\n"
            f"  - name: {IMAGE}\n"
            f"    elements: [{IMAGE}]\n"
            "    dib-cmd: disk-image-create -n\n"
            f"    env-vars: {{TINY_ROOTFS: {self.rootfs}, DIB_JOURNAL_SIZE: '4'}}\n"
            f"    username: {user}\n"
            "    python-path: /usr/bin/python3\n"
            "providers:\n"
        )
        for cloud in CLOUDS:
            text += (
                f"  - name: {cloud}\n"
                f"    cloud: {cloud}\n"
                "    rate: 0.02\n"
                "    cloud-images:\n"
                "      - name: debian-12\n"
                f"        username: {user}\n"
                "        python-path: /usr/bin/python3\n"
                f"        connection-port: {self.cloud.ssh_port(cloud)}\n"
                "    diskimages:\n"
                f"      - name: {IMAGE}\n"
                f"        connection-port: {self.cloud.ssh_port(cloud)}\n"
                "    pools:\n"
                "      - name: main\n"
                "        max-servers: 6\n"
                f"{PLACES[cloud]}"
                "        labels:\n"
                "          - {name: small, cloud-image: debian-12, flavor-name: small}\n"
                "          - {name: large, cloud-image: debian-12, flavor-name: large}\n"
                f"          - {{name: {IMAGE}, diskimage: {IMAGE}, flavor-name: small}}\n"
            )
        return text

    def _remember(self) -> None:
        """Write down what runs, for whoever has to stop it later."""
        cloud = self.cloud.process if self.cloud else None
        running = {"web": self._web, "crowd": self._crowd, "zookeeper": self._zookeeper, "cloud": cloud}
        pids = {name: process.pid for name, process in running.items() if process is not None}
        (self.state / "processes.json").write_text(json.dumps(pids), encoding="utf-8")


def stop(state: Path = STATE) -> list[str]:
    """End the processes of a demo that was left running; returns what was ended."""
    file = state / "processes.json"
    if not file.exists():
        return []
    ended = []
    for name, pid in json.loads(file.read_text(encoding="utf-8")).items():
        if _is_ours(pid, state):
            _end(pid, state)
            ended.append(name)
    file.unlink(missing_ok=True)
    return ended


def _is_ours(pid: int, state: Path) -> bool:
    """Process ids are used again: only one that works on this very folder is ours."""
    try:
        return str(state).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _end(pid: int, state: Path) -> None:
    limit = time.monotonic() + STOP_SECONDS
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        while _is_ours(pid, state) and time.monotonic() < limit:
            time.sleep(0.05)
        if _is_ours(pid, state):
            os.kill(pid, signal.SIGKILL)

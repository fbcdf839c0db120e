# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pool for CIs: a launcher at work, a cloud whose servers can be logged in to, and nodepoolctl on the path."""

from __future__ import annotations

import getpass
import json
import os
import re
import signal
import subprocess
import uuid
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.simcloud.guests.processes import descendants
from tests.support.ansible_run import ROOT, forking
from tests.support.awx import extra_vars
from tests.support.command import installed, nodepoolctl
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Cloud, Site, label, pool, provider
from tests.support.simcloud_process import SimCloud, default_cloud
from tests.support.zookeeper_server import ZooKeeperServer

EXAMPLES = ROOT / "examples" / "ci"
CLOUDS = 48
"""More than there are tests: each has a cloud of its own in one process."""
SECONDS = 120.0


class Pool:
    """What a CI has: the command, a key for the nodes, and an environment.

    :ivar site: the tree and the cloud behind it.
    """

    def __init__(self, site: Site, key: Path) -> None:
        self.site = site
        self.key = key
        self.folder = site.folder
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        installed(bin_folder)
        self.environment = forking(self.folder, NODEPOOL_CONFIG=str(site.config), NODEPOOL_SSH_KEY=str(key))
        # The path of a connection that is kept would be too long for a socket in a long temporary folder.
        self.environment["ANSIBLE_SSH_ARGS"] = "-o ControlMaster=no"
        self.environment["PATH"] = f"{bin_folder}:{self.environment['PATH']}"

    def popen(self, *words: str | Path, **options: Any) -> subprocess.Popen[str]:
        """Start a program in a session of its own, as a CI's agent does."""
        changed = options.pop("env", {})
        return subprocess.Popen(
            [str(word) for word in words],
            cwd=options.pop("cwd", self.folder),
            env={**self.environment, **changed},
            stdin=options.pop("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            **options,
        )

    def run(self, *words: str | Path, **options: Any) -> tuple[int, str]:
        """Run a program to its end; return its exit status and what it printed."""
        with self.popen(*words, **options) as process:
            try:
                out, _none = process.communicate(timeout=SECONDS)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        return process.returncode, out

    def awx_job(self, playbook: str, **answers: object) -> tuple[int, dict[str, Any], str]:
        """A job of AWX with these answers to the survey: its status, its artifacts, its output."""
        given = {"nodepool_config": str(self.site.config), "status_artifacts": True, **answers}
        path = ROOT / "examples" / "awx" / f"{playbook}.yml"
        variables = self.folder / f"{uuid.uuid4().hex}-extravars"
        variables.write_text(extra_vars.written(given), encoding="utf-8")
        shown = {"ANSIBLE_SHOW_CUSTOM_STATS": "true"}
        code, out = self.run("ansible-playbook", path, "-e", f"@{variables}", env=shown)
        found = re.search(r"RUN: (\{.*\})", out, re.DOTALL)
        return code, json.loads(found[1]) if found else {}, out

    def leases(self) -> list[str]:
        """The names of the leases."""
        done = nodepoolctl("leases", "-o", "id", folder=self.folder, config=self.site.config)
        return done.stdout.split()

    def kill(self, process: subprocess.Popen[str]) -> None:
        """SIGKILL it and all that it started: the machine of the CI's agent is gone."""
        for pid in [process.pid, *descendants([process.pid])]:
            if Path(f"/proc/{pid}").exists():
                os.kill(pid, signal.SIGKILL)
        process.wait(10)

    def empty(self) -> bool:
        """Wait until every server is gone."""
        return bool(eventually(lambda: not self.site.cloud.servers(), SECONDS))

    def until_leased(self) -> None:
        """Wait until a node is held."""
        nodes = "/nodepool/nodes"
        requestor = self.site.requestor
        eventually(
            lambda: any(
                (requestor.read(f"{nodes}/{name}") or {}).get("state") == "hold" for name in requestor.children(nodes)
            ),
            SECONDS,
        )


@pytest.fixture(scope="session")
def login_key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key that the servers accept."""
    path = tmp_path_factory.mktemp("key") / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True, timeout=60)
    return path


@pytest.fixture(scope="session")
def guests(login_key: Path) -> Iterator[deque[Cloud]]:
    """Clouds whose servers run sshd."""
    spec = {"mode": "each", "authorized_keys": f"{login_key}.pub"}
    clouds: dict[str, Any] = {}
    for number in range(CLOUDS):
        clouds |= default_cloud(f"guests-{number}", boot=0.3, delete=0.1, quota_race=0.05, guests=spec)
    with SimCloud(clouds) as running:
        yield deque(Cloud(running, name) for name in clouds)


@pytest.fixture
def ci(zookeeper: ZooKeeperServer, guests: deque[Cloud], login_key: Path, tmp_path: Path) -> Iterator[Pool]:
    site = Site(tmp_path, zookeeper, f"/ci-{uuid.uuid4().hex}", None)
    cloud = site.use_cloud(guests.popleft())
    image = {"name": "debian-12", "username": getpass.getuser(), "connection-port": cloud.ssh_port()}
    offered = pool("main", label("debian-12", flavor_name="small"), host_key_checking=True)
    site.configure(provider("one", offered, cloud_images=[image]))
    try:
        with site.stay(duration=600.0):
            yield Pool(site, login_key)
    finally:
        site.close()

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site whose diskimage has a gate: a builder, a launcher, and a cloud whose servers run sshd."""

from __future__ import annotations

import getpass
import json
import subprocess
import uuid
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import playbook_run
from ansible_collections.stackci.nodepool.plugins.module_utils.model.gate import GateRecord
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Build
from tests.support.ansible_run import PROGRAMS, ROOT, command, environment, sharing
from tests.support.command import nodepoolctl
from tests.support.image_case import IMAGE, Builder
from tests.support.launcher_case import Cloud, Site, label, pool, provider
from tests.support.loop_process import forking_programs
from tests.support.simcloud_process import SimCloud, default_cloud
from tests.support.zookeeper_server import ZooKeeperServer

CLOUDS = 60
SMOKE = """
- hosts: all
  gather_facts: false
  tasks:
    - name: the machine answers
      ansible.builtin.raw: echo $HOME
      register: home
    - name: DNS of the site
      ansible.builtin.raw: test ! -e "{{ folder }}/broken-{{ nodepool_gate.build }}" -a ! -e "{{ folder }}/outage"
    - name: what was tested
      ansible.builtin.raw: echo "{{ nodepool_gate.kind }} {{ nodepool_gate.build }}" >> {{ folder }}/tested
  vars:
    folder: FOLDER
"""


class GatedSite:
    """A builder whose diskimage has a gate.

    :ivar folder: what a guest finds of it are the files ``broken-BUILD`` and ``outage``: with them the playbook fails.
    """

    def __init__(self, builder: Builder, clouds: deque[Cloud], key: Path) -> None:
        self.builder = builder
        self.site = builder.site
        self.folder = self.site.folder
        self._clouds = clouds
        self.gate: dict[str, Any] = {"playbook": "smoke.yml", "private-key": str(key), "timeout": 60}
        (self.folder / "smoke.yml").write_text(SMOKE.replace("FOLDER", str(self.folder)), encoding="utf-8")

    def configure(self, *names: str, launch: dict[str, Any] | None = None, **gate: Any) -> None:
        """Write the configuration: providers with those names, and what the gate says."""
        takers = [self._taker(name, launch or {}) for name in names or ("one",)]
        self.builder.configure(*takers)
        self.settings({**self.gate, **{name.replace("_", "-"): value for name, value in gate.items()}})

    def settings(self, gate: dict[str, Any] | None, **label: Any) -> None:
        """Write nodepool-settings.yaml; *label*: options of the label."""
        entries = [{"name": IMAGE, "gate": gate}] if gate is not None else []
        labels = [{"name": "small", **label}] if label else []
        text = yaml.safe_dump({"diskimages": entries, "labels": labels})
        (self.folder / "nodepool-settings.yaml").write_text(text, encoding="utf-8")

    def commands(self, *tasks: str, before: str = "") -> None:
        """Replace the playbook by one with these commands; FOLDER stands for the folder."""
        listed = "".join(f"    - ansible.builtin.raw: {json.dumps(task)}\n" for task in tasks)
        text = f"- hosts: all\n  gather_facts: false\n{before}  tasks:\n{listed}"
        (self.folder / "smoke.yml").write_text(text.replace("FOLDER", str(self.folder)), encoding="utf-8")

    def slow_down(self) -> None:
        """From now on the playbook takes long."""
        self.commands("sleep 30")

    def _taker(self, name: str, launch: dict[str, Any]) -> dict[str, Any]:
        if name not in self.site.clouds:
            self.site.use_cloud(self._clouds.popleft(), name, image_format="raw")
        image = {"name": IMAGE, "connection-port": self.site.clouds[name].ssh_port()}
        main = pool("main", label("small", diskimage=IMAGE), host_key_checking=True)
        return provider(name, main, diskimages=[image], **{"boot_timeout": 10, **launch})

    def build(self, image: str = IMAGE) -> Build:
        """A newer build, from which machines are made that let this user in."""
        return self.builder.build(image, username=getpass.getuser())

    def break_build(self, build: Build) -> None:
        (self.folder / f"broken-{build.id}").touch()

    def tested(self) -> list[str]:
        """The kinds and builds of the nodes on which the playbook passed."""
        path = self.folder / "tested"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def skip_the_pause(self, name: str = "one") -> None:
        """Let the next round begin now."""
        self.builder.store.gates.save(name, IMAGE, replace(self.record(name), not_before=0.0))

    def under_test(self, build_id: str, name: str = "one") -> bool:
        """True from the moment at which the gate has begun with a build."""
        found = self.builder.store.gates.read(name, IMAGE)
        return found is not None and found.build == build_id

    def record(self, name: str = "one") -> GateRecord:
        found = self.builder.store.gates.read(name, IMAGE)
        assert found is not None
        return found

    def ready(self, name: str = "one", image: str = IMAGE) -> list[str]:
        """The builds that are ready at a provider."""
        return [upload.build_id for upload in self.builder.uploads(name, image) if upload.state == "ready"]

    def decided(self, build: Build, state: str, reason: str = "") -> str:
        """Decide about a build by the playbook image_decide; return what it shows."""
        named = {"image_name": IMAGE, "image_build": build.id, "image_state": state, "image_reason": reason}
        variables = json.dumps({"nodepool_config": str(self.site.config), **named})
        ran = command("ansible-playbook", ROOT / "playbooks/image_decide.yml", "-e", variables, folder=self.folder)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return " ".join(ran.stdout.split())

    def why(self, subject: str) -> str:
        """What ``nodepoolctl why`` says."""
        return " ".join(nodepoolctl("why", subject, folder=self.folder, config=self.site.config).stdout.split())

    def verdict(self, build: Build) -> Any:
        return self.builder.store.verdicts.of_build(build.image, build.id)


@pytest.fixture(scope="session")
def gate_key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key that the servers accept."""
    path = tmp_path_factory.mktemp("key") / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True, timeout=60)
    return path


@pytest.fixture(scope="session")
def guest_clouds(gate_key: Path) -> Iterator[deque[Cloud]]:
    """Clouds whose servers run sshd."""
    spec = {"mode": "each", "authorized_keys": f"{gate_key}.pub"}
    clouds: dict[str, Any] = {}
    for number in range(CLOUDS):
        clouds |= default_cloud(f"gated-{number}", boot=0.3, delete=0.1, quota_race=0.05, guests=spec)
    with SimCloud(clouds) as running:
        yield deque(Cloud(running, name) for name in clouds)


@pytest.fixture(scope="session")
def gate_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the real ansible-runner and an ansible-playbook that is forked."""
    return forking_programs(tmp_path_factory.mktemp("gate"))


@pytest.fixture
def forked_playbooks(gate_programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The playbooks of cycles in this process and of modules are forked, as are Ansible's commands that tests run."""
    monkeypatch.setattr(playbook_run, "sys", SimpleNamespace(executable=str(gate_programs / "python3")))
    given = environment(gate_programs, **sharing(gate_programs / "shared"))
    for name in ("ANSIBLE_CONFIG", "SHARE_PACKED"):
        monkeypatch.setenv(name, given[name])
    monkeypatch.setenv(PROGRAMS, str(gate_programs))


@pytest.fixture
def gated(
    zookeeper: ZooKeeperServer,
    guest_clouds: deque[Cloud],
    gate_key: Path,
    tmp_path: Path,
    forked_playbooks: None,
) -> Iterator[GatedSite]:
    site = Site(tmp_path, zookeeper, f"/gate-{uuid.uuid4().hex}", None)
    builder = Builder(site)
    try:
        yield GatedSite(builder, guest_clouds, gate_key)
    finally:
        builder.close()
        site.close()

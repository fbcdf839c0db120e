# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A place from which the role awx is applied to an endpoint that answers as AWX does."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.ansible_run import COLLECTIONS, ROOT, command, environment, sharing
from tests.support.awx import controller_collection
from tests.support.awx.server import TOKEN, AwxServer
from tests.support.awx.store import Awx
from tests.support.warm_python import WarmPython
from tools import neighbours

PROJECT = ROOT / "examples" / "awx"
TASKS = "".join(path.read_text("utf-8") for path in (ROOT / "roles" / "awx" / "tasks").glob("*.yml"))
SECRET = "password-of-a-cloud"
OPTIONS = {
    "awx_token": TOKEN,
    "awx_project_url": "https://git.example.org/ci/nodepool.git",
    "awx_launcher_image": "registry.example.org/nodepool-launcher:1.0.0",
    "awx_builder_image": "registry.example.org/nodepool-builder:1.0.0",
    "awx_clouds_yaml": f"clouds:\n  east:\n    auth: {{password: {SECRET}}}\n",
    "awx_disk_images": ["debian-12", "ubuntu"],
    "awx_builder_instance_groups": ["builders"],
}
MODULES = sorted(set(re.findall(r'^ +action: "{{ awx_collection }}\.(\w+)"$', TASKS, re.MULTILINE)))


class Site:
    """Applies the role; ``options`` may be changed.

    :param python: what the modules are run by.
    """

    def __init__(self, folder: Path, server: AwxServer, python: Path) -> None:
        self.folder = folder
        self.server = server
        self.python = python
        self.awx = server.awx
        self.options: dict[str, Any] = {**OPTIONS, "awx_host": server.url}

    def run(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run the playbook; *options* are added for this time, those in capitals to the environment."""
        environment = {name: str(options.pop(name)) for name in list(options) if name.isupper()}
        given = self.folder / "options.json"
        # Ansible gives the implicit localhost its own interpreter, whatever the environment says.
        python = {"ansible_python_interpreter": str(self.python)}
        given.write_text(json.dumps({**python, **self.options, **options}), encoding="utf-8")
        paths = f"{COLLECTIONS}:{neighbours.main()}"
        playbook = ROOT / "playbooks" / "awx.yml"
        return command(
            "ansible-playbook",
            *(str(playbook), "-e", f"@{given}", *words),
            folder=self.folder,
            # As many modules as that take minutes on a machine with much else to do.
            timeout=900,
            # Two dozen modules, each with four processes less.
            **{
                "ANSIBLE_COLLECTIONS_PATH": paths,
                "ANSIBLE_PIPELINING": "true",
                # While a module works, Ansible asks 20 times a second whether it has ended, not 1,000 times.
                "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
                # Ansible reads the system's authorities for each request, also one without TLS like all of these.
                "SSL_CERT_FILE": os.devnull,
                "SSL_CERT_DIR": os.devnull,
                **environment,
            },
        )

    def refused(self, **options: Any) -> str:
        """Run the playbook, which has to fail; what it said."""
        done = self.run(**options)
        assert done.returncode != 0, done.stdout
        return done.stdout + done.stderr


def playbooks_of(project: Path) -> list[str]:
    """The playbooks that AWX would find in a project."""
    # As awx/main/utils/ansible.py reads a line; with the long name of the action since AWX 21.
    line = re.compile(r"^\s*?-?\s*?(?:hosts|(?:ansible\.builtin\.)?(?:include|import_playbook)):", re.MULTILINE)
    return sorted(path.name for path in project.glob("*.yml") if line.search(path.read_text("utf-8")))


@pytest.fixture(scope="session")
def python() -> Iterator[Path]:
    """The interpreter of the role's modules, which are most of what a run of the role costs."""
    names = [f"ansible_collections.awx.awx.plugins.modules.{module}" for module in MODULES]
    with WarmPython(names, environment(ROOT, PYTHONPATH=str(neighbours.main()))) as warm:
        yield warm.path


@contextlib.contextmanager
def platform(folder: Path, server: AwxServer, *, later: bool = False) -> Iterator[tuple[Site, dict[str, str]]]:
    """A site with the collection of Ansible Automation Platform, and the environment in which a run finds it."""
    theirs = controller_collection.make(folder / "theirs", later=later)
    names = [
        f"ansible_collections.{controller_collection.THEIRS}.plugins.modules.{module}"
        for module in MODULES
        if not later or module != "token"
    ]
    with WarmPython(names, environment(ROOT, PYTHONPATH=str(theirs))) as warm:
        paths = {"ANSIBLE_COLLECTIONS_PATH": f"{COLLECTIONS}:{theirs}", **sharing(folder / "shared")}
        yield Site(folder, server, warm.path), paths


@pytest.fixture
def site(tmp_path, python):
    """AWX with nothing in it, and the means to fill it."""
    with AwxServer(Awx(playbooks_of(PROJECT))) as server:
        yield Site(tmp_path, server, python)

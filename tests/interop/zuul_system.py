# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole Zuul on the tree of a world: scheduler, merger and launcher as processes, git repositories, a database."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote_plus

import yaml

from tests.interop.lab import ZUUL, Lab, World
from tests.interop.mariadb import MariaDB, program
from tests.interop.stock import Daemon
from tests.support.zookeeper_server import HOST

HOSTNAME = "git.example.org"
CONFIG, CODE = "org/project-config", "org/code"
TENANT = "org"
PROJECT = f"{HOSTNAME}/{CONFIG}"
"""The canonical name of the project that has Zuul's configuration."""
CANONICAL = quote_plus(PROJECT)
"""The first part of the canonical names of what is defined there."""
POLL_SECONDS = 1
START_SECONDS = 120.0
GIT_SECONDS = 60.0
GIT_SETTINGS = "[user]\n name = Site\n email = site@example.org\n[init]\n defaultBranch = main\n"
PIPELINE = {
    "pipeline": {
        "name": "post",
        "manager": "independent",
        "trigger": {HOSTNAME: [{"event": "ref-updated", "ref": "^refs/heads/main$"}]},
    }
}


def job(name: str, *labels: str) -> list[dict[str, Any]]:
    """A job of the pipeline that wants a node of each label."""
    nodes = [{"name": f"node{number}", "label": label} for number, label in enumerate(labels)]
    return [
        {"job": {"name": name, "parent": None, "run": "playbooks/run.yaml", "nodeset": {"nodes": nodes}}},
        {"project": {"name": CODE, "post": {"jobs": [name]}}},
    ]


class Zuul:
    """Zuul with one tenant, which has its configuration in one repository and its code in another.

    :param connections: parts of zuul.conf: name → keys.
    :param objects: a file with images, flavors, labels, sections and providers.
    """

    def __init__(
        self,
        lab: Lab,
        world: World,
        connections: Mapping[str, Mapping[str, str]],
        objects: str,
        jobs: Sequence[Mapping[str, Any]],
    ) -> None:
        self._made = lab.environments[ZUUL]
        self._site = world.site
        self.folder = world.site.folder / "zuul"
        self.folder.mkdir()
        self._connections = connections
        self._first = (objects, jobs)
        self._stack = ExitStack()
        self._variables = {
            **os.environ,
            "PYTHONWARNINGS": "ignore",
            "PATH": f"{self._made.folder / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / ".config"),
        }
        self._conf = self.folder / "zuul.conf"
        self._daemons: dict[str, Daemon] = {}

    def __enter__(self) -> Self:
        program("bwrap", "bubblewrap")
        (self.folder / ".gitconfig").write_text(GIT_SETTINGS)
        # Zuul 14.3.0 takes each character of client_config_file in zuul.conf for a file: only the search path is left.
        found = self.folder / ".config" / "openstack" / "clouds.yaml"
        found.parent.mkdir(parents=True)
        found.symlink_to(self._site.clouds_yaml)
        with self._stack:
            database = self._stack.enter_context(MariaDB(self.folder))
            self._write_conf(database.uri)
            self.commit(CODE, {"README": "code\n"})
            self.configure(*self._first)
            for name in ("scheduler", "merger", "launcher"):
                self._start(name)
            self._daemons["launcher"].await_said("Updating tenant", START_SECONDS)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _write_conf(self, database: str) -> None:
        tls = self._site.zookeeper.certificates
        assert tls is not None
        tenants = self.folder / "tenants.yaml"
        projects = {
            "config-projects": [{CONFIG: {"load-branch": "main", "include-provider-config": True}}],
            "untrusted-projects": [CODE],
        }
        tenants.write_text(yaml.safe_dump([{"tenant": {"name": TENANT, "source": {HOSTNAME: projects}}}]))
        parts: dict[str, Mapping[str, Any]] = {
            "zookeeper": {
                "hosts": f"{HOST}:{self._site.zookeeper.tls_port}{self._site.chroot}",
                "tls_cert": tls.client_cert,
                "tls_key": tls.client_key,
                "tls_ca": tls.ca,
            },
            "keystore": {"password": "of-a-test"},
            "database": {"dburi": database},
            "scheduler": {"tenant_config": tenants, "command_socket": self.folder / "scheduler.socket"},
            "merger": {"git_dir": self.folder / "merger-git", "command_socket": self.folder / "merger.socket"},
            "launcher": {"temp_dir": self.folder, "command_socket": self.folder / "launcher.socket"},
            f'connection "{HOSTNAME}"': {
                "driver": "git",
                "baseurl": f"file://{self.folder}/repositories",
                "canonical_hostname": HOSTNAME,
                "poll_delay": POLL_SECONDS,
            },
        }
        for name, keys in self._connections.items():
            parts[f'connection "{name}"'] = keys
        lines = [(f"[{name}]", *(f"{key}={value}" for key, value in keys.items())) for name, keys in parts.items()]
        self._conf.write_text("".join("\n".join(part) + "\n\n" for part in lines))

    def _start(self, name: str) -> None:
        command = [str(self._made.program(f"zuul-{name}")), "-d", "-f", "-c", str(self._conf)]
        self._daemons[name] = self._stack.enter_context(Daemon(command, self._variables, self.folder / f"{name}.log"))

    # -- git --------------------------------------------------------------------------------------------------------

    def commit(self, project: str, files: Mapping[str, str]) -> str:
        """Add a commit with these files to the branch main of a repository, which is made if needed; its id."""
        folder = self.folder / "repositories" / project
        if not folder.exists():
            folder.mkdir(parents=True)
            self._run("git", "init", "--quiet", folder=folder)
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self._run("git", "add", "--all", folder=folder)
        self._run("git", "commit", "--quiet", "--allow-empty", "--message", "Change", folder=folder)
        return self._run("git", "rev-parse", "HEAD", folder=folder).strip()

    def configure(self, objects: str, jobs: Sequence[Mapping[str, Any]]) -> None:
        """Commit the file *objects* and the jobs to the repository of the configuration."""
        self.commit(
            CONFIG,
            {
                "zuul.d/providers.yaml": objects,
                "zuul.d/jobs.yaml": yaml.safe_dump([PIPELINE, *jobs]),
                "playbooks/run.yaml": "- hosts: all\n  tasks: []\n",
            },
        )

    def _run(self, *words: str, folder: Path) -> str:
        done = subprocess.run(
            words, cwd=folder, env=self._variables, capture_output=True, text=True, timeout=GIT_SECONDS, check=False
        )
        assert done.returncode == 0, f"{words[:3]} ended with {done.returncode}: {done.stderr[-2000:]}"
        return done.stdout

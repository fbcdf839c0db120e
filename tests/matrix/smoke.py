# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each cell does: the installed tarball serves a request, builds an image and shows both, once and in a loop.

Deprecation warnings count as failures, and so does text from outside that reaches a template.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import yaml

from tests.matrix.cells import Environment
from tests.support.builder_case import image
from tests.support.launcher_case import CloudBank, Site, label, pool, provider
from tests.support.loop_process import MODULE as LOOP
from tests.support.loop_process import toml
from tests.support.zookeeper_server import HOST, ZooKeeperServer, free_port
from tools.neighbours import NEIGHBOURS

COMMAND_SECONDS = 900.0
"""Alone on two cores the longest command takes twenty seconds."""
SERVE_SECONDS = 600.0
END_SECONDS = 60.0
CLOUD = "one"
PAGES = {"/health": "OK", "/node-list": "", "/metrics": "stackci_nodepool_nodes", "/": "</html>"}
"""Path of the web service → what its answer has."""

DEPRECATED = "DEPRECATION WARNING"
STRICT = {
    "ANSIBLE_DEPRECATION_WARNINGS": "1",
    # Since 2.19 ansible-core knows which texts are templates; by default it only ignores the others.
    "_ANSIBLE_TEMPLAR_UNTRUSTED_TEMPLATE_BEHAVIOR": "error",
    "_ANSIBLE_TEMPLAR_UNKNOWN_TYPE_CONVERSION": "error",
}
"""Settings of ansible-core that turn what it bears into failures. Earlier versions do not know the last two."""


class Broken(Exception):
    """A step of a cell did not do what it is there for."""


class Smoke:
    """One cell's installation and site."""

    def __init__(self, environment: Environment, folder: Path, zookeeper: ZooKeeperServer, bank: CloudBank) -> None:
        self._bin = environment.bin
        self._folder = folder
        self._collections = folder / "collections"
        self._installed = self._collections / "ansible_collections" / "stackci" / "nodepool"
        self.site = Site(folder, zookeeper, f"/{folder.name}", bank)
        self.node = ""
        self._takes: dict[str, set[str]] = {}

    def close(self) -> None:
        """End the session of the requestor."""
        self.site.close()

    def steps(self) -> tuple[Callable[[], None], ...]:
        """The steps after the installation, in their order."""
        return self.documents, self.reads, self.serves, self.shows, self.builds, self.answers, self.loops

    # -- the steps, in this order ------------------------------------------------------------------------------------

    def install(self, tarball: Path) -> None:
        """The tarball, into an empty directory."""
        self._run("ansible-galaxy", "collection", "install", str(tarball), "--offline", "-p", str(self._collections))

    def documents(self) -> None:
        """ansible-doc shows every module and the inventory plugin."""
        modules = [path.stem for path in sorted((self._installed / "plugins" / "modules").glob("*.py"))]
        for kind, names in (("module", modules), ("inventory", ["nodepool"])):
            words = [f"stackci.nodepool.{name}" for name in names]
            shown = json.loads(self._run("ansible-doc", "--json", "-t", kind, *words))
            _expect(sorted(shown) == sorted(words), f"ansible-doc shows {sorted(shown)} of {sorted(words)}")
            self._takes |= {name: set(shown[name]["doc"]["options"]) for name in words}

    def reads(self) -> None:
        """Ansible accepts the roles and the playbooks."""
        roles = sorted(path.name for path in (self._installed / "roles").iterdir() if path.name[0] != "_")
        play = {"name": "Apply", "hosts": "localhost", "gather_facts": False}
        path = self._folder / "roles.yml"
        content = [{**play, "roles": [{"role": f"stackci.nodepool.{role}"}]} for role in roles]
        path.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
        playbooks = sorted(path.stem for path in (self._installed / "playbooks").glob("*.yml"))
        words = [f"stackci.nodepool.{name}" for name in playbooks]
        self._run("ansible-playbook", "--syntax-check", str(path), *words)
        _expect(bool(roles and playbooks), "the tarball has no roles or no playbooks")

    def serves(self) -> None:
        """The launcher fulfils a request with a node whose host keys it has read."""
        cloud = self.site.add_cloud(CLOUD, "guest", image_format="raw")
        images = [{"name": "debian-12", "username": "zuul", "connection-port": cloud.ssh_port()}]
        place = pool("main", label("small"), label("medium", diskimage="fake"), host_key_checking=True)
        self.site.configure(
            provider(CLOUD, place, cloud_images=images, diskimages=[{"name": "fake"}]),
            diskimages=[image("fake")],
            images_dir=str(self._folder / "images"),
            build_log_dir=str(self._folder / "logs"),
        )
        request = self.site.requestor.ask("small")
        self._play("launcher")
        state = self.site.requestor.state(request)
        _expect(state == "fulfilled", f"the request is {state}")
        (self.node,) = self.site.requestor.accept(request)
        record = self.site.requestor.node(self.node)
        _expect(len(record["host_keys"]) > 0, f"the node has no host keys: {record}")

    def shows(self) -> None:
        """All modules that only look, and the inventory."""
        tasks = []
        for name, options in sorted(self._takes.items()):
            if name.endswith(("_info", ".nodepool_status", ".nodepool_config_check")):
                files = {option: value for option, value in self.site.files().items() if option in options}
                tasks.append({"name": name, name: files, "register": name.rpartition(".")[2]})
        wanted = f"node_info.nodes | map(attribute='id') is contains '{self.node}'"
        play = {
            "name": "Look",
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "tasks": [*tasks, {"name": "Expect the node", "ansible.builtin.assert": {"that": wanted}}],
        }
        path = self._folder / "look.yml"
        path.write_text(yaml.safe_dump([play], sort_keys=False), "utf-8")
        self._run("ansible-playbook", str(path))
        source = self._folder / "site.nodepool.yml"
        files = {"nodepool_config": str(self.site.config), "clouds_config": str(self.site.clouds_yaml)}
        source.write_text(json.dumps({"plugin": "stackci.nodepool.nodepool", "zookeeper": True, **files}), "utf-8")
        hosts = json.loads(self._run("ansible-inventory", "-i", str(source), "--list"))["_meta"]["hostvars"]
        _expect(f"np{self.node}" in hosts, f"the inventory has {sorted(hosts)}")

    def builds(self) -> None:
        """The builder builds an image and uploads it."""
        self._play("builder")
        stored = [found["name"] for found in self.site.cloud.state()["images"].values()]
        _expect(any(name.startswith("fake-") for name in stored), f"the cloud has the images {stored}")

    def answers(self) -> None:
        """The web service serves its pages."""
        port = free_port()
        words = ("stackci.nodepool.webapp", "-e", self.site.variables(webapp_port=port, webapp_duration=SERVE_SECONDS))
        with ExitStack() as stack, (self._folder / "webapp.log").open("w+", encoding="utf-8") as log:
            process = subprocess.Popen(
                [str(self._bin / "ansible-playbook"), *words],
                cwd=self._folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            stack.callback(_end_process, process)
            limit = time.monotonic() + SERVE_SECONDS
            for path, part in PAGES.items():
                while True:
                    text, problem = _page(f"http://{HOST}:{port}{path}")
                    if not problem:
                        break
                    if process.poll() is not None or time.monotonic() > limit:
                        screen = _end((self._folder / "webapp.log").read_text("utf-8"))
                        raise Broken(f"{path} is not served: {problem}\n{screen}")
                    time.sleep(0.1)
                _expect((part or self.node) in text, f"{path} has no {part!r}: {text[:200]!r}")

    def loops(self) -> None:
        """The loop of the roles serves a request, deletes what was given back, and ends when it is asked to."""
        self.site.requestor.give_back(self.node)
        request = self.site.requestor.ask("small")
        with self._loop() as process:
            self._wait(process, lambda: self.site.requestor.state(request) == "fulfilled", "a request is not fulfilled")
            (node,) = self.site.requestor.accept(request)
            self.site.requestor.give_back(node)
            self._wait(process, lambda: not self.site.cloud.servers(), "the cloud still has servers")
            process.send_signal(signal.SIGTERM)
            code = process.wait(END_SECONDS)
        _expect(code == 0, f"the loop ended with {code}:\n{_end(self._log.read_text('utf-8'))}")
        _expect(DEPRECATED not in self._log.read_text("utf-8"), f"the loop warns:\n{self._log.read_text('utf-8')}")

    @property
    def _log(self) -> Path:
        return self._folder / "loop.log"

    @contextmanager
    def _loop(self) -> Iterator[subprocess.Popen[bytes]]:
        settings = self._folder / "loop.toml"
        table = {"name": "launcher", "playbook": "stackci.nodepool.launcher", "prefix": "launcher"}
        places = {"state_dir": str(self._folder / "loop"), "collections": str(self._collections)}
        variables = json.loads(self.site.variables())
        settings.write_text(toml({"loop": {**table, **places}, "variables": variables}), "utf-8")
        with self._log.open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [str(self._bin / "python"), "-m", LOOP, str(settings)],
                cwd=self._folder,
                env={**self._environment(), "PYTHONPATH": str(self._collections)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            yield process
        finally:
            _end_process(process)

    def _wait(self, process: subprocess.Popen[bytes], true: Callable[[], bool], otherwise: str) -> None:
        limit = time.monotonic() + SERVE_SECONDS
        while not true():
            if process.poll() is not None or time.monotonic() > limit:
                raise Broken(f"{otherwise}:\n{_end(self._log.read_text('utf-8'))}")
            time.sleep(0.1)

    # -- how ---------------------------------------------------------------------------------------------------------

    def _play(self, name: str) -> None:
        self._run("ansible-playbook", f"stackci.nodepool.{name}", "-e", self.site.variables())

    def _environment(self) -> Mapping[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "OS_", "PYTHON"))}
        return {
            **kept,
            "PATH": f"{self._bin}:{os.environ['PATH']}",
            "HOME": str(self._folder),
            # The role awx needs a collection of others.
            "ANSIBLE_COLLECTIONS_PATH": f"{self._collections}:{NEIGHBOURS}",
            "ANSIBLE_NOCOLOR": "1",
            **STRICT,
        }

    def _run(self, program: str, *words: str) -> str:
        try:
            done = subprocess.run(
                [str(self._bin / program), *words],
                cwd=self._folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=COMMAND_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            said = _end((late.stdout or b"").decode(errors="replace"))
            raise Broken(f"{program} {words[0]} did not end within {COMMAND_SECONDS:g} s:\n{said}") from late
        if done.returncode:
            raise Broken(f"{program} {words[0]} ended with {done.returncode}:\n{_end(done.stdout + done.stderr)}")
        said = done.stdout + done.stderr
        _expect(DEPRECATED not in said, f"{program} {words[0]} warns:\n{_end(said)}")
        return done.stdout


def _expect(true: bool, otherwise: str) -> None:
    if not true:
        raise Broken(otherwise)


def _end_process(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _end(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-25:])


def _page(url: str) -> tuple[str, str]:
    """The text of a page, and why there is none."""
    request = urllib.request.Request(url, headers={"Accept": "text/html, text/plain;q=0.9, */*;q=0.1"})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return str(answer.read().decode()), ""
    except urllib.error.HTTPError as refused:
        return "", f"{refused.code} {refused.read().decode(errors='replace')[:500]}"
    except OSError as problem:
        return "", str(problem)

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One test's world for the builder: a tree of its own, a disk of its own, a configuration, and cycles.

The clouds of its providers are entries in clouds.yaml that nobody calls: a builder only wants to know their format.
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.isolation import (
    NONE,
    Isolation,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.processes import MARK
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.scratch import TEMPORARY
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds.build_cycle import run_builds
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.builder_options import (
    BuildOptions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import Stop
from tests.support.ansible_run import ROOT, ModuleProcess, Ran
from tests.support.fixtures_zookeeper import bare_client, end, eventually
from tests.support.tiny_rootfs import make_rootfs
from tests.support.zookeeper_server import HOST, ZooKeeperServer

FAKE = ROOT / "tests" / "support" / "fake_dib.sh"
ELEMENTS = ROOT / "tests" / "elements"
WARM = ROOT / "tests" / "support" / "warm_dib.py"
ROOTFS = ROOT / ".build" / "tiny-rootfs.tar"
OWN_FILES = ("builder_id.txt", "tree_id.txt")
PLAIN = Isolation(NONE)
"""Nothing of its own: what must be ended is ended by its mark."""
CYCLE_SECONDS = 60.0


def image(name: str = "fake", **options: Any) -> dict[str, Any]:
    """A diskimage that the stand-in makes in a moment."""
    keys = {key.replace("_", "-"): value for key, value in options.items()}
    return {"name": name, "elements": ["any"], "dib-cmd": str(FAKE), "formats": ["raw"], **keys}


def real_image(name: str = "tiny", *elements: str, **options: Any) -> dict[str, Any]:
    """A diskimage that diskimage-builder makes in some seconds."""
    keys = {key.replace("_", "-"): value for key, value in options.items()}
    more = keys.pop("env-vars", {})
    return {
        "name": name,
        "elements": ["tiny", *elements],
        "release": "one",
        "dib-cmd": f"{sys.executable} {WARM} -n",
        "env-vars": {"TINY_ROOTFS": str(make_rootfs(ROOTFS)), "DIB_JOURNAL_SIZE": "4", **more},
        **keys,
    }


class BuilderSite:
    """One builder's world. Several may share a tree: see *beside*."""

    def __init__(self, folder: Path, zookeeper: ZooKeeperServer, chroot: str | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.zookeeper = zookeeper
        self.chroot = chroot or f"/test-{uuid.uuid4().hex}"
        self.config = folder / "nodepool.yaml"
        self.clouds_yaml = folder / "clouds.yaml"
        self.images_dir = folder / "images"
        self.log_dir = folder / "logs"
        self.zk = bare_client(zookeeper, self.chroot)
        self._others: list[BuilderSite] = []

    def close(self) -> None:
        """End what belongs to it; nothing of a build may be left."""
        for other in self._others:
            other.close()
        end(self.zk)

    def beside(self, name: str) -> BuilderSite:
        """Another builder on the same tree, with a disk of its own."""
        other = BuilderSite(self.folder / name, self.zookeeper, self.chroot)
        self._others.append(other)
        return other

    def configure(self, *images: Mapping[str, Any], providers: Mapping[str, str] | None = None, **top: Any) -> None:
        """Write nodepool.yaml and clouds.yaml.

        :param providers: name → image format; each lists all the images.
        """
        names = [str(item["name"]) for item in images if not item.get("abstract")]
        formats = dict(providers or {})
        document = {
            "zookeeper-servers": [{"host": HOST, "port": self.zookeeper.port, "chroot": self.chroot}],
            "zookeeper-timeout": 10.0,
            "images-dir": str(self.images_dir),
            "build-log-dir": str(self.log_dir),
            "elements-dir": str(ELEMENTS),
            "labels": [],
            "diskimages": [dict(item) for item in images],
            "providers": [
                {"name": name, "cloud": name, "diskimages": [{"name": one} for one in names], "pools": []}
                for name in formats
            ],
            **{key.replace("_", "-"): value for key, value in top.items()},
        }
        self.config.write_text(json.dumps(document, indent=1), encoding="utf-8")
        auth = {"auth_url": "http://127.0.0.1:1/v3", "username": "u", "password": "p", "project_name": "p"}
        clouds = {name: {"auth": auth, "image_format": wanted} for name, wanted in formats.items()}
        self.clouds_yaml.write_text(json.dumps({"clouds": clouds}), encoding="utf-8")

    def options(self, **changes: Any) -> BuildOptions:
        """What a cycle is asked."""
        values: dict[str, Any] = {
            "config": str(self.config),
            "clouds_config": str(self.clouds_yaml),
            "duration": CYCLE_SECONDS,
            "state_dir": str(self.folder / "state"),
            "first_build_room": 0,
            **changes,
        }
        return BuildOptions(**values)

    def run(
        self,
        *,
        isolation: Isolation | None = PLAIN,
        stop: Stop | None = None,
        say: Callable[[str], None] = lambda line: None,
        **changes: Any,
    ) -> dict[str, Any]:
        """One cycle in this process."""
        return run_builds(self.options(**changes), isolation=isolation, stop=stop, progress=say)

    # -- what is in ZooKeeper ------------------------------------------------------------------------------------

    def path(self, *parts: str) -> str:
        return "/".join(("/nodepool/images", *parts))

    def records(self, name: str = "fake") -> dict[str, dict[str, Any]]:
        """Build id → document, as others see them."""
        root = self.path(name, "builds")
        if not self.zk.exists(root):
            return {}
        ids = [child for child in self.zk.get_children(root) if child != "lock"]
        return {one: json.loads(self.zk.get(f"{root}/{one}")[0]) for one in ids}

    def states(self, name: str = "fake") -> list[str]:
        """The states of the builds, sorted."""
        return sorted(record["state"] for record in self.records(name).values())

    def notes(self, name: str = "fake") -> dict[str, Any]:
        """What is remembered of an image's builds."""
        document: dict[str, Any] = json.loads(self.zk.get(f"/nodepool/stackci/image-builds/{name}")[0])
        return document

    def absent(self) -> dict[str, dict[str, Any]]:
        """Builder id → the note that it is absent."""
        root = "/nodepool/stackci/absent-builders"
        names = self.zk.get_children(root) if self.zk.exists(root) else []
        return {name: json.loads(self.zk.get(f"{root}/{name}")[0]) for name in names}

    def missed_for(self, seconds: float) -> None:
        """Let all absent builders be absent for so much longer."""
        for name, note in self.absent().items():
            note["since"] -= seconds
            self.zk.set(f"/nodepool/stackci/absent-builders/{name}", json.dumps(note).encode())

    def put_off(self, name: str = "fake", seconds: float = 3600.0) -> None:
        """Let an image that has failed wait for so long; a slow machine must not be quicker than the test."""
        path = f"/nodepool/stackci/image-builds/{name}"
        self.zk.set(path, json.dumps({**self.notes(name), "not_before": time.time() + seconds}).encode())

    def write(self, name: str, build_id: str, **changes: Any) -> None:
        """Change a build's document, as somebody else would."""
        path = self.path(name, "builds", build_id)
        document = json.loads(self.zk.get(path)[0])
        self.zk.set(path, json.dumps({**document, **changes}).encode())

    def request(self, name: str = "fake") -> None:
        """As ``nodepool image-build`` does."""
        self.zk.ensure_path(self.path(name, "request-build"))

    def requested(self, name: str = "fake") -> bool:
        return bool(self.zk.exists(self.path(name, "request-build")))

    # -- what is on the disk ------------------------------------------------------------------------------------

    def files(self) -> list[str]:
        """Names in images-dir, but for our own."""
        return sorted(name for name in os.listdir(self.images_dir) if name not in (TEMPORARY, *OWN_FILES))

    def log(self, build_id: str, name: str = "fake") -> str:
        return (self.log_dir / f"{name}-{build_id}.log").read_text(encoding="utf-8", errors="replace")

    def leftovers(self) -> dict[str, Any]:
        """What builds have left on this machine; all of it empty when nothing is."""
        places = str(self.folder)
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if places in line]
        loops = [
            str(path.parent.parent)
            for path in Path("/sys/block").glob("loop*/loop/backing_file")
            if places in path.read_text()
        ]
        temporary = self.images_dir / TEMPORARY
        return {
            "mounts": [mount for mount in mounts if mount != str(self.images_dir)],
            "loop devices": loops,
            "processes": self.processes(),
            "temporary files": sorted(os.listdir(temporary)) if temporary.exists() else [],
        }

    def processes(self) -> list[int]:
        """Processes of builds of this builder, by their mark and by where they write."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                environ = (folder / "environ").read_bytes()
            except OSError:
                continue
            if f"{MARK}=".encode() in environ and str(self.images_dir).encode() in environ:
                found.append(int(folder.name))
        return found

    def running(self) -> str:
        """The id of the build that is under way; waits for it."""
        return str(
            eventually(
                lambda: (
                    next(
                        (
                            one
                            for name in self.zk.get_children("/nodepool/images")
                            for one, record in self.records(name).items()
                            if record["state"] == "building"
                        ),
                        "",
                    )
                    if self.zk.exists("/nodepool/images")
                    else ""
                ),
                30,
            )
        )


CLEAN: dict[str, Any] = {"mounts": [], "loop devices": [], "processes": [], "temporary files": []}


class Module:
    """dib_build as a process of its own, without Ansible around it. ``with Module(site, …) as module``"""

    def __init__(self, site: BuilderSite, *, check: bool = False, diff: bool = False, **options: Any) -> None:
        self.control = site.folder / "control"
        self.progress = site.folder / "progress"
        arguments = {
            "config": str(site.config),
            "clouds_config": str(site.clouds_yaml),
            "state_dir": str(site.folder / "state"),
            "control_file": str(self.control),
            "progress_file": str(self.progress),
            "_ansible_check_mode": check,
            "_ansible_diff": diff,
            **options,
        }
        self.process = ModuleProcess("dib_build", arguments, site.folder, f"arguments-{uuid.uuid4().hex}.json")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate(timeout=20)

    def lines(self) -> list[str]:
        """What it has told so far."""
        if not self.progress.exists():
            return []
        return [json.loads(line)["line"] for line in self.progress.read_text(encoding="utf-8").splitlines()]

    def result(self, timeout: float = 200) -> dict[str, Any]:
        """What it returned at its end."""
        return self.process.result(timeout)


def run_directly(site: BuilderSite, *, check: bool = False, diff: bool = False, **options: Any) -> Ran:
    """Run the module to its end."""
    with Module(site, check=check, diff=diff, **options) as module:
        return Ran(module.result(), "\n".join(module.lines()))

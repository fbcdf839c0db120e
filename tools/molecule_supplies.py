# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the containers of the molecule scenarios take from a folder instead of the network.

``.build/molecule/supplies``: Debian packages with an index (extensions/molecule/packages.txt and what those need beyond
the image), wheels (what the roles install with pip), the element ``tiny`` and its root file system. Kept until what
they depend on changes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.support.tiny_rootfs import make_rootfs
from tools import molecule_image

ROOT = molecule_image.ROOT
SUPPLIES = molecule_image.BUILD / "supplies"
PACKAGES = ROOT / "extensions" / "molecule" / "packages.txt"
ELEMENTS = ROOT / "tests" / "elements"
REQUIREMENTS = tuple(sorted((ROOT / "roles" / "_runner_loop" / "files").glob("*.txt")))
PYTHON = "3.11"
DOWNLOAD_SECONDS = 900


def make() -> Path:
    """Bring the folder up to date.

    :raises subprocess.CalledProcessError: apt or pip failed.
    """
    with molecule_image.locked("supplies"):
        requirements = "".join(path.read_text("utf-8") for path in REQUIREMENTS)
        _renew("packages", " ".join([molecule_image.name(), *wanted_packages()]), fetch_packages)
        _renew("wheels", requirements, fetch_wheels)
        make_rootfs(SUPPLIES / "tiny-rootfs.tar")
        shutil.copytree(ELEMENTS, SUPPLIES / "elements", dirs_exist_ok=True)
    return SUPPLIES


def _renew(name: str, template: str, fetch: Callable[[Path], None]) -> None:
    """Make a folder anew when it was made by another recipe."""
    folder, stamp = SUPPLIES / name, SUPPLIES / f".{name}.stamp"
    wanted = hashlib.sha256(template.encode()).hexdigest()
    if stamp.exists() and stamp.read_text("utf-8") == wanted and folder.is_dir():
        return
    part = SUPPLIES / f"{name}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    fetch(part)
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    stamp.write_text(wanted, "utf-8")


def wanted_packages() -> list[str]:
    """The names in packages.txt, and the builder's."""
    lines = (line.partition("#")[0].strip() for line in PACKAGES.read_text("utf-8").splitlines())
    builder = yaml.safe_load((ROOT / "roles" / "builder" / "defaults" / "main.yml").read_text("utf-8"))
    return sorted({line for line in lines if line} | set(builder["builder_packages"]))


def fetch_packages(folder: Path) -> None:
    """Let apt of this machine download what the image lacks, and write the index."""
    work = folder / "apt"
    (work / "lists").mkdir(parents=True)
    (work / "archives" / "partial").mkdir(parents=True)
    (work / "sources.list").write_text(f"deb {molecule_image.mirror()} {molecule_image.RELEASE} main\n", "utf-8")
    (work / "status").write_text(_image_file("/var/lib/dpkg/status"), "utf-8")
    options = {
        "Dir::State::lists": work / "lists",
        "Dir::State::status": work / "status",
        "Dir::Etc::sourcelist": work / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::Cache": work,
        "Dir::Cache::archives": work / "archives",
        # The rights of apt's own user do not reach into a checkout.
        "APT::Sandbox::User": "root",
        "APT::Keep-Downloaded-Packages": "true",
    }
    apt = ["apt-get", "-q", *(f"-o{name}={value}" for name, value in options.items())]
    _run([*apt, "update"])
    _run([*apt, "install", "--yes", "--download-only", "--no-install-recommends", *wanted_packages()])
    for archive in (work / "archives").glob("*.deb"):
        # An epoch's colon is "%3a" in the name, which apt would read as a colon again.
        archive.rename(folder / archive.name.replace("%3a", "-"))
    shutil.rmtree(work)
    index = "\n".join(_index_entry(archive) for archive in sorted(folder.glob("*.deb")))
    (folder / "Packages").write_text(index, "utf-8")


def fetch_wheels(folder: Path) -> None:
    """Let pip download what the roles install into virtual environments."""
    _run(
        [
            *(sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check"),
            *("--only-binary", ":all:", "--python-version", PYTHON, "--dest", str(folder)),
            *(word for path in REQUIREMENTS for word in ("--requirement", str(path))),
        ]
    )


def _image_file(path: str) -> str:
    """The content of a file in the image."""
    shown = molecule_image.podman("run", "--rm", "--network=none", molecule_image.name(), "/bin/cat", path)
    return shown.stdout


def _index_entry(archive: Path) -> str:
    fields = subprocess.run(
        ["dpkg-deb", "--field", str(archive)], capture_output=True, text=True, timeout=60, check=True
    ).stdout.rstrip("\n")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return f"{fields}\nFilename: ./{archive.name}\nSize: {archive.stat().st_size}\nSHA256: {digest}\n"


def _run(command: list[str]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    subprocess.run(command, stdin=subprocess.DEVNULL, env=environment, timeout=DOWNLOAD_SECONDS, check=True)


if __name__ == "__main__":
    print(make())

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole Debian with the element that sites begin with, from where this machine's own apt takes its packages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.support.ansible_run import BIN, run_module

BUILD_SECONDS = 2400
SHORT_SECONDS = 120
FIELDS = "$(ORIGIN)|$(CODENAME)|$(RELEASE)|$(REPO_URI)|$(COMPONENT)"


def ask(*words: str) -> str:
    """What a program says; nothing when it is not there or fails."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SHORT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def variables() -> dict[str, str]:
    """What tells diskimage-builder to use this machine's own sources: they may be the only ones within reach."""
    listed = ask("apt-get", "indextargets", "--format", FIELDS, "Created-By: Packages")
    rows = [line.split("|") for line in dict.fromkeys(listed.splitlines())]
    found = [row[1:] for row in rows if len(row) == 5 and row[0] == "Debian" and row[4] == "main"]
    # The suite of the release itself has its plain name; -updates and -security come beside it.
    plain = [row for row in found if "-" not in row[0]]
    if not plain:
        return {}
    codename, release, mirror, _component = plain[0]
    suites = [row for row in found if row[0] == codename or row[0].startswith(f"{codename}-")]
    sources = [f"{suite[0]}:deb {suite[2]} {suite[1]} main" for suite in suites]
    return {
        "DIB_RELEASE": release,
        "DIB_DISTRIBUTION_MIRROR": mirror.rstrip("/"),
        "DIB_APT_SOURCES_CONF": "\n".join(sources),
        **proxies(),
    }


def proxies() -> dict[str, str]:
    """The proxies of apt, by the names that everything else goes by."""
    found = {name: ask("apt-config", "shell", "proxy", f"Acquire::{name}::Proxy") for name in ("http", "https")}
    return {f"{name}_proxy": text.partition("'")[2].rpartition("'")[0] for name, text in found.items() if "'" in text}


def reachable(known: dict[str, str]) -> bool:
    """True when the mirror answers."""
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({name.removesuffix("_proxy"): known[name] for name in known if "_proxy" in name})
    )
    release = f"{known['DIB_DISTRIBUTION_MIRROR']}/dists/{known['DIB_RELEASE']}/Release"
    try:
        with opener.open(release, timeout=20) as answer:
            return bool(answer.read(1))
    except OSError:
        return False


def hindrance(known: dict[str, str]) -> str:
    """Why it cannot be built here, in one line; "" when it can."""
    if os.geteuid() != 0:
        return "debian-minimal: needs root"
    missing = [name for name in ("debootstrap", "qemu-img") if shutil.which(name) is None]
    if missing:
        return f"debian-minimal: needs {' and '.join(missing)}"
    if not known:
        return "debian-minimal: this machine's apt has no release of Debian among its sources"
    if not reachable(known):
        return f"debian-minimal: {known['DIB_DISTRIBUTION_MIRROR']} does not answer"
    return ""


def write_config(folder: Path, known: dict[str, str]) -> Path:
    """The nodepool.yaml of one image."""
    variables = {name: value for name, value in known.items() if name != "DIB_RELEASE"}
    image = {
        "name": "debian",
        "elements": ["debian-minimal"],
        "release": known["DIB_RELEASE"],
        # Compressing it takes as long as a third of the rest, and nobody keeps it.
        "dib-cmd": f"{BIN}/disk-image-create -u",
        "build-timeout": BUILD_SECONDS,
        "env-vars": {**variables, "TMPDIR": str(folder)},
    }
    document = {
        "zookeeper-servers": [{"host": "127.0.0.1", "port": 1}],
        "labels": [],
        "diskimages": [image],
        "providers": [],
    }
    config = folder / "nodepool.yaml"
    config.write_text(json.dumps(document), encoding="utf-8")
    return config


def left_behind(folder: Path) -> list[str]:
    """Mounts and loop devices of what is below *folder*."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    loops = [path.read_text(encoding="utf-8").strip() for path in Path("/sys/block").glob("loop*/loop/backing_file")]
    return [place for place in (*mounts, *loops) if place.startswith(str(folder))]


@pytest.mark.timeout(BUILD_SECONDS + 600)
def test_debian_minimal_as_qcow2(tmp_path: Path) -> None:
    known = variables()
    reason = hindrance(known)
    if reason:
        pytest.skip(reason)
    made = tmp_path / "made"
    options: dict[str, Any] = {
        "config": str(write_config(tmp_path, known)),
        "image_names": ["debian"],
        "record": False,
        "output_dir": str(made),
        "formats": ["qcow2"],
    }
    ran = run_module("dib_build", options, tmp_path, timeout=BUILD_SECONDS + 300)
    (report,) = ran.result.get("builds") or [ran.result]
    assert report.get("state") == "ready", f"{report}\n{ran.screen[-5000:]}"
    image = made / f"debian-{report['build_id']}.qcow2"
    told = json.loads(ask("qemu-img", "info", "--output=json", str(image)))
    assert (told["format"], told["virtual-size"] > 500 << 20) == ("qcow2", True)
    assert f"VERSION_CODENAME={known['DIB_RELEASE']}" in read_release(tmp_path, image)
    assert left_behind(tmp_path) == []


def read_release(folder: Path, image: Path) -> str:
    """The os-release inside of the image."""
    raw, mounted = folder / "image.raw", folder / "mounted"
    mounted.mkdir()
    convert = ["qemu-img", "convert", "-O", "raw", str(image), str(raw)]
    subprocess.run(convert, check=True, timeout=600)
    subprocess.run(["mount", "-o", "loop,ro", str(raw), str(mounted)], check=True, timeout=SHORT_SECONDS)
    try:
        return (mounted / "usr/lib/os-release").read_text(encoding="utf-8")
    finally:
        subprocess.run(["umount", str(mounted)], check=True, timeout=SHORT_SECONDS)

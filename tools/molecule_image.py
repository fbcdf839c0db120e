# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container images of the molecule scenarios: a small Debian 12 whose first process is systemd, and one with Java.

They are made with debootstrap, from the mirror that apt uses here, because there may be no container registry.
That takes one to several minutes; podman keeps the images until the recipe changes.

    python -m tools.molecule_image           make the small one if it is missing, print its name
    python -m tools.molecule_image --remove  remove them, and those of earlier recipes
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build" / "molecule"
CONTAINERS_CONF = ROOT / "extensions" / "molecule" / "containers.conf"
REPOSITORY = "localhost/stackci-nodepool-molecule"
RELEASE = "bookworm"
PACKAGES = ("systemd", "systemd-sysv", "dbus", "python3", "python3-apt", "sudo", "iproute2", "ca-certificates")
JAVA_PACKAGES = ("default-jre", "libzookeeper-java")
"""What zookeeper needs takes minutes to install, so the scenarios with a ZooKeeper find that in their image."""
SUPPLIES = "/srv/supplies"
"""Where a container finds what it would otherwise take from the network."""
FILES = {
    "etc/apt/sources.list": f"deb [trusted=yes] file:{SUPPLIES}/packages ./\n",
    # The files of a container need not survive a power cut.
    "etc/dpkg/dpkg.cfg.d/unsafe-io": "force-unsafe-io\n",
    "etc/apt/apt.conf.d/90molecule": 'APT::Install-Recommends "false";\nAcquire::Languages "none";\n',
    "etc/pip.conf": f"[global]\nno-index = true\nfind-links = {SUPPLIES}/wheels\ndisable-pip-version-check = true\n",
    "etc/hostname": "molecule\n",
    # Nobody logs in here, and logs are read after a reboot, too.
    "etc/systemd/journald.conf.d/molecule.conf": "[Journal]\nStorage=persistent\nRateLimitBurst=0\n",
}
MASKED = (
    # There are no consoles, and no network to wait for.
    *("getty.target", "systemd-networkd.service", "systemd-timesyncd.service", "apt-daily.timer"),
    # Devices and settings of the kernel belong to the machine, also where a container could reach them.
    *(
        "systemd-udevd.service",
        "systemd-udevd-control.socket",
        "systemd-udevd-kernel.socket",
        "systemd-udev-trigger.service",
    ),
    *("systemd-sysctl.service", "systemd-modules-load.service", "systemd-remount-fs.service", "systemd-binfmt.service"),
)
BUILD_SECONDS = 1800
SHORT_SECONDS = 60


def podman(*arguments: str, seconds: float = SHORT_SECONDS, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run podman with the settings of the scenarios.

    :raises subprocess.CalledProcessError: it failed, and *check*.
    """
    return subprocess.run(
        ["podman", *arguments],
        env={**os.environ, "CONTAINERS_CONF": str(CONTAINERS_CONF)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=check,
    )


def mirror() -> str:
    """Where apt on this machine takes Debian from.

    :raises LookupError: it takes nothing from Debian, or has no lists yet.
    """
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        listed = subprocess.run(
            [
                "apt-get",
                "indextargets",
                "--format",
                "$(ORIGIN) $(LABEL) $(CODENAME) $(REPO_URI)",
                "Created-By: Packages",
            ],
            capture_output=True,
            text=True,
            timeout=SHORT_SECONDS,
            check=True,
        ).stdout
        for line in listed.splitlines():
            fields = line.split(maxsplit=3)
            if len(fields) == 4 and fields[:2] == ["Debian", "Debian"]:
                return fields[3].rstrip("/")
    raise LookupError("apt on this machine takes nothing from Debian, or has no lists yet (apt-get update)")


def name() -> str:
    """The image's name; another one for each recipe."""
    return f"{REPOSITORY}:{_digest(RELEASE, PACKAGES, MASKED, sorted(FILES.items()))}"


def java_name() -> str:
    """The name of the image with Java."""
    return f"{REPOSITORY}:{_digest(name(), JAVA_PACKAGES)}-java"


def _digest(*template: object) -> str:
    return hashlib.sha256(repr(template).encode()).hexdigest()[:12]


def exists(image: str) -> bool:
    """True when podman has it."""
    return podman("image", "exists", image, check=False).returncode == 0


@contextlib.contextmanager
def locked(what: str) -> Iterator[None]:
    """Only one process of this checkout at a time makes *what*."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / f"{what}.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make() -> str:
    """Make the image unless it is there; return its name.

    :raises subprocess.CalledProcessError: debootstrap or podman failed.
    """
    with locked("image"):
        if not exists(name()):
            with tempfile.TemporaryDirectory(prefix="rootfs-", dir=BUILD) as folder:
                root = Path(folder) / "rootfs"
                _bootstrap(root)
                _prepare(root)
                _import(root)
    return name()


def make_java(supplies: Path) -> str:
    """Make the image with Java unless it is there; return its name.

    :param supplies: the folder whose ``packages`` has them.
    :raises subprocess.CalledProcessError: podman or apt failed.
    """
    with locked("image"):
        if not exists(java_name()):
            container = f"stackci-molecule-java-{os.getpid()}"
            install = f"apt-get -q update && apt-get -qy install {' '.join(JAVA_PACKAGES)} && apt-get clean"
            volume = f"{supplies}:{SUPPLIES}:ro"
            try:
                podman(
                    *(
                        "run",
                        "--name",
                        container,
                        "--network=none",
                        "--volume",
                        volume,
                        "--env=DEBIAN_FRONTEND=noninteractive",
                    ),
                    *(name(), "/bin/sh", "-c", install),
                    seconds=BUILD_SECONDS,
                )
                podman("commit", "--change", 'CMD ["/sbin/init"]', container, java_name(), seconds=BUILD_SECONDS)
            finally:
                podman("rm", "--force", "--ignore", container, check=False)
    return java_name()


def remove() -> None:
    """Remove them, and those of earlier recipes."""
    found = podman("image", "list", "--quiet", "--no-trunc", REPOSITORY).stdout.split()
    for image in dict.fromkeys(found):
        podman("image", "rm", "--force", image)


def _bootstrap(root: Path) -> None:
    print(f"debootstrap {RELEASE} from {mirror()}", flush=True)
    subprocess.run(
        [
            # What it mounts is gone with it, also when it is killed.
            *("unshare", "--mount"),
            *("debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", RELEASE, str(root), mirror()),
        ],
        stdin=subprocess.DEVNULL,
        timeout=BUILD_SECONDS,
        check=True,
    )


def _prepare(root: Path) -> None:
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    # Each container gets an identity of its own when it starts.
    (root / "etc/machine-id").write_text("", encoding="utf-8")
    (root / SUPPLIES.lstrip("/")).mkdir(parents=True)
    for archive in (root / "var/cache/apt/archives").glob("*.deb"):
        archive.unlink()
    for unit in MASKED:
        (root / "etc/systemd/system" / unit).unlink(missing_ok=True)
        (root / "etc/systemd/system" / unit).symlink_to("/dev/null")


def _import(root: Path) -> None:
    archive = root.with_suffix(".tar")
    subprocess.run(["tar", "-C", str(root), "-cf", str(archive), "."], timeout=BUILD_SECONDS, check=True)
    podman("import", "--change", 'CMD ["/sbin/init"]', str(archive), name(), seconds=BUILD_SECONDS)


if __name__ == "__main__":
    if sys.argv[1:] == ["--remove"]:
        remove()
    else:
        print(make())

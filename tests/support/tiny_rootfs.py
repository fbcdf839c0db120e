# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The root file system of the element ``tiny``: bash, busybox and a few more, with their libraries, in a tarball."""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

PROGRAMS = ("bash", "busybox", "find", "date")
FOLDERS = (
    "bin dev etc home lib lib64 mnt proc root run sbin sys tmp usr/bin usr/lib usr/local/bin usr/local/sbin usr/sbin "
    "var/log var/tmp"
).split()
FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/bash\n",
    "etc/group": "root:x:0:\n",
    "etc/os-release": "ID=tiny\nVERSION_ID=1\n",
    "etc/fstab": "",
}


def libraries(program: str) -> set[str]:
    """The shared libraries of a program, its loader among them; none when it is static."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=30, check=False)
    return set(re.findall(r"(/\S+) \(0x", done.stdout))


def applets(busybox: str) -> list[str]:
    """What busybox can be called as."""
    done = subprocess.run([busybox, "--list"], capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.split()


def make_rootfs(path: Path) -> Path:
    """Write the tarball, unless it is there and newer than this recipe; several may do so at the same time.

    :raises FileNotFoundError: bash or busybox is not installed.
    """
    if path.exists() and path.stat().st_mtime > Path(__file__).stat().st_mtime:
        return path
    found = {name: shutil.which(name) for name in PROGRAMS}
    missing = [name for name, place in found.items() if place is None]
    if missing:
        raise FileNotFoundError(f"the tiny image needs {' and '.join(missing)}: apt-get install {' '.join(missing)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    with tarfile.open(part, "w") as tar:
        for folder in FOLDERS:
            tar.addfile(_folder(folder))
        for name, text in FILES.items():
            _add(tar, name, text.encode())
        for name in PROGRAMS:
            program = str(found[name])
            tar.add(os.path.realpath(program), f"bin/{name}")
            for library in sorted(libraries(program)):
                place = library.lstrip("/")
                if place not in tar.getnames():
                    tar.add(os.path.realpath(library), place)
        for applet in applets(str(found["busybox"])):
            if applet not in PROGRAMS:
                tar.addfile(_link(f"bin/{applet}", "busybox"))
        # Where the first line of a script looks for it.
        tar.addfile(_link("usr/bin/env", "../../bin/busybox"))
    part.replace(path)
    return path


def _folder(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, 0o1777 if name.endswith("tmp") else 0o755
    return info


def _link(name: str, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o644
    tar.addfile(info, io.BytesIO(data))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the tarball of the element tiny.")
    parser.add_argument("path", type=Path)
    print(make_rootfs(parser.parse_args().path), file=sys.stdout)

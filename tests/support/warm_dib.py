# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""disk-image-create whose Python programs are forked from a process of the same build; ``dib-cmd`` in tests.

diskimage-builder starts ``dib-block-device.py`` fourteen times for an image, and each time imports the same libraries,
which is three quarters of what a small image costs. The server is a child of the build: it has the build's mark, group,
session and namespaces, as have the programs that it forks, so that builds are ended and cleared as others are.
"""

from __future__ import annotations

import io
import os
import socket
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".build" / "dib-python3"
LIBRARIES = ("diskimage_builder.block_device.cmd", "diskimage_builder.element_dependencies")


def main() -> None:
    """Fork the server, and become disk-image-create."""
    sys.path[0] = str(ROOT)
    from diskimage_builder import disk_image_create  # type: ignore[import-untyped]

    from tests.support.warm_python import ADDRESS, OPTIONS, write_client
    from tests.support.warm_server import Server, preload

    preload(list(LIBRARIES))
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # The kernel chooses a name that is no path, which could be too long.
    listening.bind("")
    listening.listen(64)
    build = os.getpid()
    if not os.fork():
        Server(listening, io.FileIO(os.pidfd_open(build)), sys.executable).serve()
        os._exit(0)
    # Builds that run at the same time share it; none of them has room for it on its disk.
    PYTHON.parent.mkdir(parents=True, exist_ok=True)
    part = PYTHON.with_name(f"{PYTHON.name}.{os.urandom(8).hex()}")
    write_client(part, None, command=None, real=[sys.executable], unless=OPTIONS)
    part.replace(PYTHON)
    os.environ[ADDRESS] = listening.getsockname().hex()
    os.environ["DIB_PYTHON_EXEC"] = str(PYTHON)
    sys.argv[0] = "disk-image-create"
    disk_image_create.main()


if __name__ == "__main__":
    main()

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packs what a service needs of the collection into a tarball that is the same whenever its content is.

``pack.py COLLECTION`` prints JSON with ``path`` and ``checksum``.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
import tarfile
import tempfile
from pathlib import Path

PARTS = ("plugins", "playbooks", "meta", "LICENSES", "COPYING", "requirements.txt", "galaxy.yml", "MANIFEST.json")
INSIDE = "ansible_collections/stackci/nodepool"


def files(collection: Path) -> list[Path]:
    """What is packed, relative to the collection; no links, so not the one by which a checkout finds itself."""
    found = []
    for part in PARTS:
        path = collection / part
        for item in [path] if path.is_file() else sorted(path.rglob("*")):
            name = item.relative_to(collection)
            linked = any(parent.is_symlink() for parent in (item, *(collection / up for up in name.parents)))
            if item.is_file() and not linked and "__pycache__" not in name.parts:
                found.append(name)
    return sorted(found)


def pack(collection: Path) -> bytes:
    """The tarball."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        names = files(collection)
        # With folders: those that tar makes by itself get the umask of root, which may shut out the services.
        for folder in sorted({up for name in names for up in (Path(INSIDE) / name).parents} - {Path(".")}):
            member = tarfile.TarInfo(folder.as_posix())
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(member)
        for name in names:
            data = (collection / name).read_bytes()
            member = tarfile.TarInfo(f"{INSIDE}/{name.as_posix()}")
            member.size, member.mode = len(data), 0o644
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def main() -> None:
    """Write it into a temporary file."""
    data = pack(Path(sys.argv[1]).resolve())
    with tempfile.NamedTemporaryFile(prefix="nodepool-collection-", suffix=".tar.gz", delete=False) as file:
        file.write(data)
    print(json.dumps({"path": file.name, "checksum": hashlib.sha256(data).hexdigest()[:12]}))


if __name__ == "__main__":
    main()

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host keys of guests, in the files that sshd reads."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

PrivateKey = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
NEW: dict[str, Callable[[], PrivateKey]] = {
    "ed25519": ed25519.Ed25519PrivateKey.generate,
    "ecdsa": lambda: ec.generate_private_key(ec.SECP256R1()),
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
}


class HostKeys:
    """Makes sets of host keys, one key of each type in a set.

    A guest's set is made while its server boots, and by no ssh-keygen: a process costs 50 times as much as the key.

    :param shared: give everybody the same set.
    """

    def __init__(self, folder: Path, key_types: tuple[str, ...], *, shared: bool) -> None:
        self._folder = folder
        self._types = key_types
        self._shared: asyncio.Task[list[Path]] | None = None
        self._is_shared = shared
        self._numbers = itertools.count()

    async def take(self) -> list[Path]:
        """Return the private key files of one set.

        :raises OSError: when a file cannot be written.
        """
        if not self._is_shared:
            return await asyncio.to_thread(self._make)
        if self._shared is None:
            self._shared = asyncio.create_task(asyncio.to_thread(self._make))
        # A server that is deleted meanwhile must not take the others' set away.
        return await asyncio.shield(self._shared)

    def _make(self) -> list[Path]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        number = next(self._numbers)
        return [write_pair(self._folder / f"{number}_{kind}", kind, f"guest-{number}") for kind in self._types]


def write_pair(path: Path, kind: str, comment: str = "") -> Path:
    """Write a new private key and, beside it, its public half; return the path of the private one."""
    key = NEW[kind]()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(private)
    Path(f"{path}.pub").write_bytes(b"%s %s\n" % (public, comment.encode()))
    return path


def public_key(private: Path) -> str:
    """Return type and key of the public half, without the comment."""
    return " ".join(Path(f"{private}.pub").read_text(encoding="ascii").split()[:2])

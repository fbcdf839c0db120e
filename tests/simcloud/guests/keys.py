# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host keys of guests, made by ssh-keygen."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

SIZES: dict[str, list[str]] = {"ed25519": [], "ecdsa": ["-b", "256"], "rsa": ["-b", "2048"]}
KEYGEN_TIMEOUT = 60.0


class HostKeys:
    """Makes sets of host keys, one key of each type in a set.

    A guest's set is made while its server boots, and none for guests that nobody asks for: most clouds of tests have
    fewer than five.

    :param shared: give everybody the same set.
    """

    def __init__(self, folder: Path, key_types: tuple[str, ...], *, shared: bool) -> None:
        self._folder = folder
        self._types = key_types
        self._shared: asyncio.Task[list[Path]] | None = None
        self._is_shared = shared
        self._numbers = itertools.count()
        self._gate = asyncio.Semaphore(2)

    async def take(self) -> list[Path]:
        """Return the private key files of one set.

        :raises RuntimeError: when ssh-keygen fails.
        """
        if not self._is_shared:
            return await self._make()
        if self._shared is None:
            self._shared = asyncio.create_task(self._make())
        # A server that is deleted meanwhile must not take the others' set away.
        return await asyncio.shield(self._shared)

    async def _make(self) -> list[Path]:
        number = next(self._numbers)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = []
        for kind in self._types:
            path = self._folder / f"{number}_{kind}"
            path.unlink(missing_ok=True)
            command = ["ssh-keygen", "-q", "-t", kind, *SIZES[kind], "-N", "", "-C", f"guest-{number}", "-f", str(path)]
            async with self._gate:
                child = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.STDOUT,
                )
                output, _nothing = await asyncio.wait_for(child.communicate(), KEYGEN_TIMEOUT)
            if child.returncode != 0:
                raise RuntimeError(f"ssh-keygen could not make {path}: {output.decode(errors='replace').strip()}")
            made.append(path)
        return made


def public_key(private: Path) -> str:
    """Return type and key of the public half, without the comment."""
    return " ".join(Path(f"{private}.pub").read_text(encoding="ascii").split()[:2])

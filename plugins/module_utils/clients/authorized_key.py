# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts a public key on nodes, over ssh with the key that they have from the beginning.

User data would be simpler, but reaches only nodes that are launched for the lease, and the key is not known when spare
nodes are launched.
"""

from __future__ import annotations

import asyncio
import importlib
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..model.errors import NodepoolError
from . import ssh

SECONDS = 60.0
"""For one node: its sshd answered a moment ago."""
AT_ONCE = 20
ADDED, THERE = "added", "there"


def authorize(rows: Sequence[Mapping[str, Any]], public_key: str, private_key: str | None) -> bool:
    """Add a public key to the user's authorized_keys on each node; return True when it was missing somewhere.

    :param rows: nodes with address, port, user and host_keys.
    :param private_key: path of the key for the login; None for the keys of the user's agent and ~/.ssh.
    :raises NodepoolError: a node could not be reached, or refused the login; all such nodes are named.
    :raises MissingLibraryError: asyncssh is not installed.
    """
    ssh.require()
    outcomes = asyncio.run(_all(rows, script(public_key), private_key))
    failed = [
        f"node {row['id']} ({row['user']}@{row['address']}): {said}"
        for row, said in outcomes
        if said not in (ADDED, THERE)
    ]
    if failed:
        raise NodepoolError(
            f"ssh_key could not be put on {'; '.join(failed)}. The lease is held: correct private_key, which must be"
            " the key that the nodes have (key-name of the label, or from the image), and repeat"
        )
    return any(said == ADDED for _row, said in outcomes)


def script(public_key: str) -> str:
    """Return the commands of a POSIX shell that add the key once and say whether they did."""
    key = shlex.quote(public_key)
    return (
        "umask 077 && mkdir -p ~/.ssh && touch ~/.ssh/authorized_keys && cd ~/.ssh &&"
        f" if grep -qxF -e {key} authorized_keys; then echo {THERE};"
        # A file whose last line has no end would swallow the key.
        f' else test -z "$(tail -c 1 authorized_keys)" || echo >> authorized_keys;'
        f" printf '%s\\n' {key} >> authorized_keys && echo {ADDED}; fi"
    )


async def _all(
    rows: Sequence[Mapping[str, Any]], commands: str, private_key: str | None
) -> list[tuple[Mapping[str, Any], str]]:
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(row: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
        async with slots:
            try:
                async with asyncio.timeout(SECONDS):
                    return row, await _run(row, commands, private_key)
            except TimeoutError:
                return row, f"no answer within {SECONDS:g} s"
            except Exception as problem:  # whatever ssh says about one node: the others are tried, too
                return row, str(getattr(problem, "reason", "") or problem) or type(problem).__name__

    return list(await asyncio.gather(*(one(row) for row in rows)))


async def _run(row: Mapping[str, Any], commands: str, private_key: str | None) -> str:
    library: Any = importlib.import_module("asyncssh")
    keys = [library.import_public_key(text) for text in row["host_keys"]]
    # Without recorded keys (host-key-checking: false) any host key is taken.
    known: Any = (keys, [], []) if keys else None
    options = {"client_keys": [private_key]} if private_key else {}
    async with library.connect(
        row["address"], row["port"], username=row["user"] or (), known_hosts=known, config=None, **options
    ) as connection:
        ran = await connection.run(commands, check=False)
    said = str(ran.stdout or "").strip()
    return said if said in (ADDED, THERE) else str(ran.stderr or said or "no output").strip()[-200:]

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scan is asked and what it answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ScanJob:
    """One host to scan.

    :param key: chosen by the caller, unique among the running jobs.
    :param address: IPv4 or IPv6 address (names are not resolved).
    :param deadline: seconds from submit.
    :param want_keys: False: reachable is enough.
    """

    key: str
    address: str
    port: int = 22
    deadline: float = 60.0
    want_keys: bool = True


@dataclass(frozen=True)
class ScanResult:
    """How a job ended: *host_keys* as "keytype base64", *error* None when it succeeded, *seconds* since submit."""

    key: str
    host_keys: tuple[str, ...]
    error: str | None
    seconds: float

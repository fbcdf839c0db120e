# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nova's quota of instances, cores and memory, and how it words a refusal. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.simcloud.config import UNLIMITED

RESOURCES = ("cores", "instances", "ram")


@dataclass(slots=True)
class Usage:
    """What counts against the quota; ram in MiB."""

    instances: int = 0
    cores: int = 0
    ram: int = 0

    def add(self, cores: int, ram: int, number: int = 1) -> None:
        """Count servers of a flavor; a negative number takes them off."""
        self.instances += number
        self.cores += number * cores
        self.ram += number * ram

    def of(self, resource: str) -> int:
        return int(getattr(self, resource))


def over(quota: Mapping[str, int], usage: Usage, wanted: Usage) -> list[str]:
    """Return the resources, sorted by name as nova does, that the wanted servers would exceed."""
    return [name for name in RESOURCES if quota[name] != UNLIMITED and usage.of(name) + wanted.of(name) > quota[name]]


def refusal(quota: Mapping[str, int], usage: Usage, wanted: Usage, overs: list[str]) -> str:
    """Return the sentence of the refusal at the API."""
    return _sentence(overs, wanted, [usage.of(name) for name in overs], quota)


def late_refusal(quota: Mapping[str, int], wanted: Usage, overs: list[str]) -> str:
    """Return the fault of a server that was accepted and then found over quota.

    Nova counts the server itself by then and asks for nothing more, so it says that the whole quota is used.
    """
    return _sentence(overs, wanted, [quota[name] for name in overs], quota)


def _sentence(overs: list[str], wanted: Usage, used: list[int], quota: Mapping[str, int]) -> str:
    names = ", ".join(overs)
    asked = ", ".join(str(wanted.of(name)) for name in overs)
    already = ", ".join(str(number) for number in used)
    allowed = ", ".join(str(quota[name]) for name in overs)
    return f"Quota exceeded for {names}: Requested {asked}, but already used {already} of {allowed} {names}"

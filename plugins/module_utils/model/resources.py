# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Amounts of quota-bound resources as value objects.

The names are those of Nodepool's node documents and options (``instances``, ``cores``, ``ram`` in MiB,
``volumes``, ``volume-gb``) and two of this collection (``ports``, ``floating-ips``). Any other name that a
tenant limit uses is kept unchanged.
"""

from __future__ import annotations

import math
from collections.abc import ItemsView, Iterable, Iterator, Mapping

INSTANCES = "instances"
CORES = "cores"
RAM = "ram"
VOLUMES = "volumes"
VOLUME_GB = "volume-gb"
PORTS = "ports"
FLOATING_IPS = "floating-ips"

UNCOUNTED = "uncounted"
"""Whatever a quota limits that the launcher does not count: members of a server group, key pairs, classes of hosts."""

ORDER = (INSTANCES, CORES, RAM, VOLUMES, VOLUME_GB, PORTS, FLOATING_IPS)
UNITS = {RAM: "MiB", VOLUME_GB: "GB"}


class _Amounts(Mapping[str, float]):
    """A number for each name."""

    __slots__ = ("_amounts",)
    _amounts: dict[str, float]

    def __contains__(self, name: object) -> bool:
        return name in self._amounts

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    def items(self) -> ItemsView[str, float]:
        """Return the items of the dict, which is much faster than Mapping's own method."""
        return self._amounts.items()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._amounts!r})"


class Resources(_Amounts):
    """An amount of each resource; a missing name counts as 0."""

    __slots__ = ()

    def __init__(self, amounts: Mapping[str, float] | None = None) -> None:
        self._amounts = {name: value for name, value in (amounts or {}).items() if value}

    def __getitem__(self, name: str) -> float:
        return self._amounts.get(name, 0)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Resources):
            return self._amounts == other._amounts
        return NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._amounts.items()))

    def __add__(self, other: Resources) -> Resources:
        if not other._amounts:
            return self  # no Resources is ever changed
        total = dict(self._amounts)
        for name, value in other._amounts.items():
            total[name] = total.get(name, 0) + value
        return Resources(total)

    def __sub__(self, other: Resources) -> Resources:
        rest = dict(self._amounts)
        for name, value in other._amounts.items():
            rest[name] = rest.get(name, 0) - value
        return Resources(rest)

    def document(self) -> dict[str, int]:
        """Return the amounts for a node document: whole numbers, without ``ports`` and ``floating-ips``."""
        return {name: int(value) for name, value in sorted(self._amounts.items()) if name not in (PORTS, FLOATING_IPS)}


def total(parts: Iterable[Resources]) -> Resources:
    """Return the sum of all parts."""
    amounts: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            amounts[name] = amounts.get(name, 0) + value
    return Resources(amounts)


class Limits(_Amounts):
    """Upper bounds of resources; a missing name is not bounded.

    OpenStack writes "no limit" as -1 (nova and neutron API references); the client leaves out such a name.
    """

    __slots__ = ()

    def __init__(self, bounds: Mapping[str, float] | None = None) -> None:
        self._amounts = {name: value for name, value in (bounds or {}).items() if value != math.inf}

    def __getitem__(self, name: str) -> float:
        return self._amounts.get(name, math.inf)

    def less(self, used: Resources) -> Limits:
        """Return the bounds minus *used* (may be negative)."""
        amounts = used._amounts
        return Limits({name: bound - amounts.get(name, 0) for name, bound in self._amounts.items()})

    def both(self, other: Limits) -> Limits:
        """Return the tighter of the two bounds for each name."""
        return Limits({name: min(self[name], other[name]) for name in {*self._amounts, *other._amounts}})

    def short_of(self, need: Resources) -> dict[str, tuple[float, float]]:
        """Return the resources that *need* more than is left: name → (needed, left)."""
        bounds = self._amounts
        return {
            name: (amount, bounds[name])
            for name, amount in need.items()
            if amount > 0 and name in bounds and amount > bounds[name]
        }

    @property
    def bound_servers(self) -> bool:
        """True if they bound how many servers there may be."""
        return any(self[name] < math.inf for name in (INSTANCES, CORES, RAM))

    def allows(self, need: Resources) -> bool:
        """Return True when *need* is within all bounds."""
        return not self.short_of(need)


def describe(name: str, amount: float) -> str:
    """Return an amount as text: ``4096 MiB ram``, ``3 instances``, ``1 instance``."""
    unit = UNITS.get(name)
    if unit:
        return f"{amount:.12g} {unit} {name}"
    # Other names come from tenant limits and are shown unchanged.
    return f"{amount:.12g} {name.removesuffix('s') if amount == 1 and name in ORDER else name}"

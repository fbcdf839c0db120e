# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The choice of a label's flavor."""

from __future__ import annotations

from collections.abc import Iterable

from ...model.cloud import Flavor
from ...model.errors import CloudRefused
from ...model.offered import listed


def choose_flavor(flavors: Iterable[Flavor], flavor_name: str | None, min_ram: int = 0) -> Flavor:
    """Return the flavor that Nodepool would choose for a label.

    Without *min_ram* (MiB), *flavor_name* is an exact name or id. With it, *flavor_name* (if any) is a part of
    the name, and the smallest flavor by (ram, name) with at least *min_ram* is chosen.

    :raises CloudRefused: when none fits; the message names what the label asks for and what the cloud offers.
    """
    offered = sorted(flavors, key=lambda flavor: (flavor.ram, flavor.name))
    if not min_ram:
        for flavor in offered:
            if flavor_name in (flavor.name, flavor.id):
                return flavor
        wanted = f"named {flavor_name!r}"
    else:
        for flavor in offered:
            if flavor.ram >= min_ram and (not flavor_name or flavor_name in flavor.name):
                return flavor
        wanted = f"with at least {min_ram} MiB ram" + (f" and {flavor_name!r} in its name" if flavor_name else "")
    shown = {flavor.name: f"{flavor.name} ({flavor.ram} MiB)" for flavor in offered}
    names = listed(flavor_name or "", list(shown), shown)
    raise CloudRefused(
        f"the cloud has no flavor {wanted}; it offers {names}: correct flavor-name or min-ram of the label",
        call="GET /flavors/detail",
    )

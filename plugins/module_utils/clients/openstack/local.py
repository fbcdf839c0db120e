# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine can do."""

from __future__ import annotations

import ipaddress


def has_routed_ipv6(path: str = "/proc/net/if_inet6") -> bool:
    """True when an interface has an IPv6 address that is neither loopback nor link-local."""
    try:
        with open(path, encoding="ascii") as lines:
            found = [ipaddress.IPv6Address(int(line.split()[0], 16)) for line in lines if line.strip()]
    except (OSError, ValueError):
        return False
    return any(not address.is_loopback and not address.is_link_local for address in found)

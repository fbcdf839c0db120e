# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a node's launch when it begins and when it is ready."""

from __future__ import annotations

from ..context.launch_in_progress import LaunchInProgress


def beginning(running: LaunchInProgress) -> str:
    """Where it is launched, and for whom."""
    launch = running.launch
    where = f"{launch.provider}/{launch.pool}" + (f" zone {launch.az}" if launch.az else "")
    whose = f" for request {launch.request_id}" if launch.request_id else ""
    return f"node {launch.node_id}: launching {launch.label} in {where}{whose}"


def readiness(running: LaunchInProgress, now: float) -> str:
    """What it became."""
    node = running.node
    where = f", {node.interface_ip}" if node.interface_ip else ""
    seconds = now - (running.launch.started or now)
    return f"node {node.id}: ready after {seconds:.1f} s, server {node.external_id}{where}"

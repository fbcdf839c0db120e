# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate of a diskimage: a playbook that a node of each new upload must pass before the upload becomes ready.

nodepool-settings.yaml has it. For its canaries each pool that offers the gate's label gets two more labels.
"""

from __future__ import annotations

from dataclasses import dataclass

from .option_kinds import count, needed_text, seconds, text, texts
from .options import LONGEST_NAME, SETTINGS, section

OURS_ONLY = (SETTINGS,)
KEEP, PROMOTE = "keep", "promote"
CANARY_PREFIX, CONTROL_PREFIX = "stackci-canary-", "stackci-control-"


def is_gate_label(name: str) -> bool:
    """Return True for the labels of a gate's nodes: nobody else waits for them."""
    return name.startswith((CANARY_PREFIX, CONTROL_PREFIX))


@section("gate", "A test of each new upload before nodes are made from it.")
@dataclass(frozen=True)
class GateSettings:
    """The gate of a diskimage. *label* None means the first label of a pool that is made from the diskimage."""

    playbook: str = needed_text(
        "Playbook that a new node must pass; relative to the folder of nodepool.yaml.", files=OURS_ONLY
    )
    label: str | None = text(
        "Label whose pool, flavor and networks the nodes have; the first one of the diskimage when absent.",
        files=OURS_ONLY,
        minLength=1,
        maxLength=LONGEST_NAME,
    )
    flavor: str | None = text("Name or id of the flavor instead of the label's.", files=OURS_ONLY, minLength=1)
    private_key: str | None = text(
        "Private key for ssh to the nodes; relative to the folder of nodepool.yaml. Ansible's choice when absent.",
        files=OURS_ONLY,
        minLength=1,
    )
    timeout: int = seconds("Maximum time for the playbook.", 600, least=1, files=OURS_ONLY)
    tries: int = count("Canaries that must fail before a build is rejected.", 2, least=2, files=OURS_ONLY)
    providers: tuple[str, ...] = texts(
        "Providers that test, the first one first; the first provider with the diskimage and the label when absent. "
        "Providers that are not named get what has passed.",
        files=OURS_ONLY,
    )
    deadline: int = seconds(
        "Time after the upload without a decision at which at-deadline is done.", 14400, least=1, files=OURS_ONLY
    )
    at_deadline: str = text(
        "keep goes on testing, and nodes come from the image in use; promote makes the upload ready without a test.",
        KEEP,
        files=OURS_ONLY,
        enum=[KEEP, PROMOTE, None],
    )
    reserve_after: int = seconds(
        "Time after which a canary that waits for room goes before all other requests.", 1800, files=OURS_ONLY
    )
    hold_failed: int = seconds(
        "Time for which a canary that failed is held for a person; 0 deletes it at once.", 0, files=OURS_ONLY
    )

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A gate whose builder and launchers are killed all the time beside Nodepool's builder."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from tests.interop.kills.decisions import REVOKED
from tests.interop.kills.run import KillRun
from tests.interop.kills.strikes import FULL, REMOVED
from tests.interop.lab import Lab, row

KILLS, SECONDS, SEED = "120", "900", "1"


@row("gate-kills", "a gate whose builder and launchers are killed all the time; INTEROP_KILLS says how often")
def gate_kills(lab: Lab) -> str:
    """Every third build is broken; no node of a request is of an untested build, and no good build is lost."""
    return _run(lab, (REMOVED, FULL))


@row("gate-decision-kills", "the same while a person revokes builds and restores them")
def gate_decision_kills(lab: Lab) -> str:
    """No request fails, nobody is given a node of a revoked build, and no good build is lost."""
    return _run(lab, (REVOKED,))


def _run(lab: Lab, strikes: Sequence[str]) -> str:
    variables = os.environ
    seed, kills = int(variables.get("INTEROP_SEED", SEED)), int(variables.get("INTEROP_KILLS", KILLS))
    seconds = float(variables.get("INTEROP_KILL_SECONDS", SECONDS))
    run = KillRun(lab.world(), seed, kills, seconds, strikes)
    run.run()
    if "INTEROP_FIGURES" in variables:
        run.save(Path(variables["INTEROP_FIGURES"]))
    told = json.dumps(run.told)
    assert not run.wrong, f"{run.wrong[:20]}; {told}"
    assert not run.lacks(), f"too little to show anything: {run.lacks()}; {told}"
    return told

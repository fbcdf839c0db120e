# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observe a cloud: ``python -m tests.integration.contract.observe CLOUD CLOUDS.YAML [OUTPUT.json]``.

The same client runs against the simulated cloud and a real control plane. ``observed.json`` beside this file is what
the real one answered; both must agree with it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.integration.contract import compute_checks, identity_checks, image_checks, network_checks
from tests.integration.contract.harness import Observations, run

RECORDED = Path(__file__).with_name("observed.json")
CHECKED = (identity_checks, compute_checks, network_checks, image_checks)


def observe(cloud: str, clouds_yaml: str) -> Observations:
    """Return what the cloud answered, as plain JSON values."""
    plain: Observations = json.loads(json.dumps(run(cloud, clouds_yaml)))
    return plain


def differences(expected: Observations, found: Observations) -> list[str]:
    """Return a sentence for each observation that differs."""
    lines = []
    for name in sorted(set(expected) | set(found)):
        if name not in found:
            lines.append(f"{name}: not observed")
        elif name not in expected:
            lines.append(f"{name}: not recorded")
        elif expected[name] != found[name]:
            lines.append(f"{name}:\n  expected {json.dumps(expected[name])}\n  found    {json.dumps(found[name])}")
    return lines


def main() -> None:
    observed = observe(sys.argv[1], sys.argv[2])
    text = json.dumps(observed, indent=1, sort_keys=True) + "\n"
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()

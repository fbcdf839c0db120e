# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Somebody needs machines until six and has docs/command.md: its commands are run, in its order."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

from tests.integration.roads.conftest import Pool
from tests.support.examples import lines_of
from tests.support.fixtures_zookeeper import eventually

LINES = lines_of("docs/command.md")
SHELLS = {line: shell for shell in ("bash", "zsh", "fish") for line in LINES if f"completion {shell}" in line}


def spare_node(ci: Pool) -> str:
    """Let the launcher keep a node ready; return its id."""
    config = json.loads(ci.site.config.read_text("utf-8"))
    config["labels"][0]["min-ready"] = 1
    ci.site.config.write_text(json.dumps(config), "utf-8")

    def ready() -> list[str]:
        return [name for name, node in ci.site.requestor.nodes().items() if node["state"] == "ready"]

    return str(eventually(ready, 60)[0])


def test_machines_until_six_by_the_commands_of_the_page(ci: Pool) -> None:
    mine = ci.folder / ".ssh" / "id_ed25519"
    mine.parent.mkdir(mode=0o700, exist_ok=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(mine)], check=True, timeout=60)
    said: dict[str, str] = {}
    for line in LINES:
        shell = SHELLS.get(line, "bash")
        if shutil.which(shell) is None:
            continue
        if " hold " in line:
            line = line.replace("0000000001", spare_node(ci))
        code, out = ci.run(shell, "-c", line)
        assert code == 0, f"{line}\n{out}"
        said.setdefault(" ".join(line.split()[:3]), out)

    leased = said["nodepoolctl lease acceptance-42"]
    assert "all 2 nodes ready" in leased and re.search(r" 18:00:\d\d \|", leased)
    assert "Linux" in said["nodepoolctl ssh -n"]
    for seen in ("nodepoolctl status #", "nodepoolctl leases #"):
        told = " ".join(said[seen].split())
        assert "alice" in told and "looks at a boot that fails" in told
    assert re.search(r" 20:00:\d\d \|", said["nodepoolctl extend acceptance-42"])
    assert "released" in said["nodepoolctl release acceptance-42"]
    assert "| hold " in next(out for line, out in said.items() if line.startswith("nodepoolctl hold"))
    assert ci.leases() == []

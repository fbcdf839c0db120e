# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Somebody looks around with README and docs/usage.md: their commands are run as they are written, in their order."""

from __future__ import annotations

import csv
import json

from tests.integration.roads.conftest import Pool
from tests.support.examples import lines_of

PROGRAMS = ("nodepoolctl", "ansible-inventory", "ansible-playbook stackci.nodepool.")
ELSEWHERE = (".quickstart", ".image_rebuild", "launcher_", "/etc/nodepool/")
"""In commands that other tests run, or that work for some minutes: the quick start, a build, a launcher."""
INVENTORY = "plugin: stackci.nodepool.nodepool\nnodepool_config: {}\n"
"""README's, with the configuration of the test."""


def test_the_commands_of_readme(ci: Pool) -> None:
    config = json.loads(ci.site.config.read_text("utf-8")) | {"images-dir": str(ci.folder / "images")}
    ci.site.config.write_text(json.dumps(config), "utf-8")
    (ci.folder / "nodepool.yml").write_text(INVENTORY.format(ci.site.config), encoding="utf-8")
    said: dict[str, str] = {}
    lines = [line for line in lines_of("README.md") if line.startswith(PROGRAMS)]
    lines = [line for line in lines if not any(word in line for word in ELSEWHERE)]
    for line in lines:
        # A login without a command waits for somebody who types.
        code, out = ci.run("bash", "-c", f"{line} uname" if line == "nodepoolctl ssh mine" else line)
        assert code == 0, f"{line}\n{out}"
        said[line] = out
    assert said["nodepoolctl ssh mine"].strip().endswith("Linux")
    assert "@all:" in said["ansible-inventory -i nodepool.yml --graph"]
    assert len([line for line in lines if "leak_cleanup" in line]) == 2 and ci.leases() == []


def test_the_commands_about_usage(ci: Pool) -> None:
    for line in ("nodepoolctl lease mine debian-12", "nodepoolctl release mine"):
        code, out = ci.run("bash", "-c", line)
        assert code == 0, f"{line}\n{out}"
    assert ci.empty()
    lines = lines_of("docs/usage.md")
    for line in lines:
        code, out = ci.run("bash", "-c", f"set -o pipefail; {line}")
        assert code == 0, f"{line}\n{out}"
    with (ci.folder / "november.csv").open(encoding="utf-8") as file:
        assert "tenant" in next(csv.reader(file))
    assert len(lines) == 3

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of a nodepool.yaml in the CI of its repository, which has no secure.conf."""

from __future__ import annotations

import json

from tests.support.ansible_run import ROOT, command
from tests.support.world import one_provider


def test_a_file_without_servers_passes_and_former_keys_are_explained(tmp_path):
    document = one_provider()
    document.pop("zookeeper-servers", None)
    document["providers"][0] |= {"hostname-format": "{label.name}", "api-timeout": 60}
    document["extra-labels"] = []
    (tmp_path / "nodepool.yaml").write_text(json.dumps(document), encoding="utf-8")
    playbook = ROOT / "playbooks" / "config_validate.yml"
    gate = ("-e", json.dumps({"nodepool_config": str(tmp_path / "nodepool.yaml"), "offline": True}))
    done = command("ansible-playbook", playbook, *gate, folder=tmp_path)
    said = " ".join(f"{done.stdout} {done.stderr}".split())
    assert done.returncode == 0, said
    assert "lacks the key zookeeper-servers" in said
    assert (
        "hostname-format: is a key of Nodepool up to 9" in said and "api-timeout: is a key of Nodepool up to 2" in said
    )
    assert "Software Factory" in said and "did you mean" not in said

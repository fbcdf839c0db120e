# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An image is tested by hand, through the playbook and the module."""

from __future__ import annotations

import json
from typing import Any

from tests.integration.gate.conftest import GatedSite
from tests.support.ansible_run import ROOT, command, run_alone
from tests.support.image_case import IMAGE

SECONDS = 120.0


def validate(gated: GatedSite, **options: Any) -> dict[str, Any]:
    values = {
        "config": str(gated.site.config),
        "image": IMAGE,
        "playbook": str(gated.folder / "smoke.yml"),
        "private_key": gated.gate["private-key"],
        **options,
    }
    return run_alone("image_validate", values, gated.folder).result


def test_any_build_in_the_cloud_is_tested_now(gated: GatedSite) -> None:
    gated.configure()
    gated.settings(None)
    old = gated.build()
    gated.builder.run()
    new = gated.build()
    gated.builder.run()
    gated.break_build(new)
    with gated.site.stay(duration=SECONDS):
        variables = json.dumps(
            {
                "nodepool_config": str(gated.site.config),
                "image_name": IMAGE,
                "image_playbook": str(gated.folder / "smoke.yml"),
                "image_private_key": gated.gate["private-key"],
            }
        )
        ran = command("ansible-playbook", ROOT / "playbooks/image_validate.yml", "-e", variables, folder=gated.folder)
        assert ran.returncode != 0 and "DNS of the site" in ran.stdout
        found = validate(gated, build_id=old.id)
        assert (found["passed"], found["build_id"], found["provider"]) == (True, old.id, "one"), found
        assert gated.tested() == [f"by-hand {old.id}"]
        refused = validate(gated, build_id="0" * 32)
        assert refused["failed"] and f"it has {new.id}, {old.id}" in refused["msg"]
    assert gated.site.requestor.children("/nodepool/requests") == []
    assert gated.verdict(new).state == gated.verdict(old).state == ""


def test_what_cannot_be_tested_is_told(gated: GatedSite) -> None:
    gated.configure()
    assert "no label is made from 'fedora'" in validate(gated, image="fedora")["msg"]
    assert "is not a file" in validate(gated, playbook="/nowhere.yml")["msg"]
    assert "got no node within 1 s" in validate(gated, wait=1)["msg"]

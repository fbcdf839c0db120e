# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""New uploads are tested on real machines before nodes are made from them."""

from __future__ import annotations

from tests.integration.gate.conftest import GatedSite

SECONDS = 240.0


def test_a_good_build_becomes_ready_after_its_canary(gated: GatedSite) -> None:
    gated.configure()
    build = gated.build()
    with gated.site.stay(duration=SECONDS):
        result = gated.builder.run(duration=SECONDS)
    assert [row["build_id"] for row in result["uploads"]["done"]] == [build.id]
    assert gated.tested() == [f"canary {build.id}"]
    record = gated.record()
    assert (record.outcome, record.request, len(record.results)) == ("passed", "", 1)
    assert record.results[0].log and "DNS of the site" in open(record.results[0].log).read()
    assert gated.verdict(build).state == "approved"
    assert gated.ready() == [build.id]


def test_a_broken_build_is_rejected_and_the_good_one_stays(gated: GatedSite) -> None:
    gated.configure()
    good = gated.build()
    with gated.site.stay(duration=SECONDS):
        gated.builder.run(duration=SECONDS)
        bad = gated.build()
        gated.break_build(bad)
        result = gated.builder.run(duration=SECONDS)
        request = gated.site.requestor.ask("small")
        (node,) = gated.site.requestor.wait_for(request)["nodes"]
    assert "2 canaries failed" in result["uploads"]["failed"][0]["error"]
    assert gated.tested() == [f"canary {good.id}", f"control {good.id}"]
    record = gated.record()
    assert [(each.kind, each.passed) for each in record.results] == [
        ("canary", False),
        ("control", True),
        ("canary", False),
    ]
    assert "DNS of the site" in record.results[0].reason
    assert gated.verdict(bad).state == "rejected" and "DNS of the site" in gated.verdict(bad).reason
    assert gated.ready() == [good.id]
    assert good.id in str(gated.site.requestor.node(node)["image_id"])

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A build that was not tested and does not boot: its requests get nodes of the build before."""

from __future__ import annotations

import pytest

from tests.integration.gate.conftest import GatedSite
from tests.support.fixtures_zookeeper import eventually
from tests.support.image_case import IMAGE

SECONDS = 120.0
BOOT_TIMEOUT = 20


@pytest.mark.long
def test_a_broken_newest_build_under_a_hundred_requests(gated: GatedSite) -> None:
    gated.configure(launch={"boot_timeout": BOOT_TIMEOUT})
    gated.settings(None)
    site, cloud = gated.site, gated.site.cloud
    cloud.quota(instances=120, cores=200)
    good = gated.build()
    gated.builder.run()
    with site.stay(duration=SECONDS) as cycle:
        for request in [site.requestor.ask("small") for _unused in range(10)]:
            site.requestor.wait_for(request, seconds=SECONDS)
        bad = gated.build()
        gated.builder.run()
        (upload,) = [one for one in gated.builder.uploads("one") if one.build_id == bad.id]
        broken = cloud.fault("POST /servers", "unreachable", image=upload.external_id)
        asked = [site.requestor.ask("small") for _unused in range(100)]
        nodes = [site.requestor.wait_for(request, seconds=SECONDS)["nodes"] for request in asked]
        made_from = {str(site.requestor.node(node)["image_id"]).split("/")[5] for (node,) in nodes}
        eventually(lambda: "one" in gated.verdict(bad).fallen_back, SECONDS)
    assert made_from == {good.id}
    assert 1 <= cloud.struck(broken) <= 5
    assert gated.verdict(bad).fallen_back["one"].reason.startswith(f"{IMAGE} build {bad.id[:8]}: 0 of ")
    told = "\n".join(cycle.lines)
    assert "gets other nodes" in told and f"nodes are launched from build {good.id} again" in told


@pytest.mark.long
def test_an_outage_of_the_provider_makes_nobody_fall_back(gated: GatedSite) -> None:
    gated.configure(launch={"boot_timeout": 2})
    gated.settings(None)
    site, cloud = gated.site, gated.site.cloud
    builds = [gated.build()]
    gated.builder.run()
    with site.stay(duration=SECONDS) as cycle:
        site.requestor.wait_for(site.requestor.ask("small"), seconds=SECONDS)
        builds.append(gated.build())
        gated.builder.run()
        outage = cloud.fault("POST /servers", "unreachable")
        asked = [site.requestor.ask("small") for _unused in range(4)]
        eventually(lambda: cloud.struck(outage) >= 4, SECONDS)
        cloud.clear_faults()
        for request in asked:
            site.requestor.wait_for(request, seconds=SECONDS)
    told = "\n".join(cycle.lines)
    assert "nodes are launched from build" not in told and "gets other nodes" not in told
    assert [gated.verdict(build).fallen_back for build in builds] == [{}, {}]

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A build is revoked by the playbook while a launcher works: its ready nodes go, those in use stay."""

from __future__ import annotations

from tests.integration.gate.conftest import GatedSite
from tests.support.fixtures_zookeeper import eventually
from tests.support.image_case import IMAGE
from tests.support.launcher_case import label, pool, provider

SECONDS = 60.0


def test_the_only_build_is_revoked_and_requests_are_told_what_they_wait_for(gated: GatedSite) -> None:
    gated.configure()
    gated.settings(None)
    image = {"name": IMAGE, "connection-port": gated.site.clouds["one"].ssh_port()}
    main = pool("main", label("small", diskimage=IMAGE), host_key_checking=True)
    taker = provider("one", main, diskimages=[image], boot_timeout=10)
    gated.builder.configure(taker, labels={"small": {"min-ready": 1}})
    build = gated.build()
    gated.builder.run()
    requestor = gated.site.requestor

    def ready() -> list[str]:
        return [key for key, node in requestor.nodes().items() if node["state"] == "ready"]

    with gated.site.stay(duration=4 * SECONDS):
        request = requestor.ask("small")
        requestor.wait_for(request, seconds=SECONDS)
        (used,) = requestor.accept(request)
        (spare,) = eventually(ready, SECONDS)
        shown = gated.decided(build, "revoked", "its python is broken")
        assert f"ready nodes that the launcher deletes: {spare}; nodes in use: {used}" in shown
        eventually(lambda: sorted(requestor.nodes()) == [used], SECONDS)
        assert requestor.node(used)["state"] == "in-use"
        later = requestor.ask("small")
        eventually(lambda: "revoked by hand: its python is broken" in gated.why(later), SECONDS)
        gated.decided(build, "restored", "")
        (node,) = requestor.wait_for(later, seconds=SECONDS)["nodes"]
        assert build.id in str(requestor.node(node)["image_id"])

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two images with a gate and room for one server, on real machines."""

from __future__ import annotations

import threading

import pytest
import yaml

from tests.integration.gate.conftest import GatedSite
from tests.support.image_case import IMAGE
from tests.support.launcher_case import label, pool, provider

SECONDS = 150.0
OTHER = "second"


def two_images(gated: GatedSite) -> None:
    """Both images are tested at provider one, whose project has room for one server."""
    gated.configure(reserve_after=3)
    port = gated.site.clouds["one"].ssh_port()
    images = [{"name": name, "connection-port": port} for name in (IMAGE, OTHER)]
    labels = [label("small", diskimage=IMAGE), label("large", diskimage=OTHER, flavor_name="small")]
    taker = provider("one", pool("main", *labels, host_key_checking=True), diskimages=images, boot_timeout=10)
    gated.builder.configure(taker, images=(IMAGE, OTHER))
    gate = {**gated.gate, "reserve-after": 3}
    document = {"diskimages": [{"name": name, "gate": gate} for name in (IMAGE, OTHER)]}
    (gated.folder / "nodepool-settings.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    gated.site.cloud.quota(instances=1)


@pytest.mark.long
def test_both_get_their_verdict_while_people_are_served(gated: GatedSite) -> None:
    two_images(gated)
    requestor, over, served = gated.site.requestor, threading.Event(), []
    for image in (IMAGE, OTHER):
        gated.build(image)
    with gated.site.stay(duration=4 * SECONDS):
        gated.builder.run(duration=SECONDS)
        good = {image: gated.ready(image=image) for image in (IMAGE, OTHER)}
        assert [len(builds) for builds in good.values()] == [1, 1]

        def people() -> None:
            while not over.is_set():
                request = requestor.ask("small")
                requestor.wait_for(request, seconds=SECONDS)
                requestor.give_back(*requestor.accept(request))
                served.append(request)

        asking = threading.Thread(target=people)
        asking.start()
        try:
            new, bad = gated.build(IMAGE), gated.build(OTHER)
            gated.break_build(bad)
            gated.builder.run(duration=SECONDS)
        finally:
            over.set()
            asking.join(SECONDS)
        meanwhile = len(served)
        request = requestor.ask("large")
        (node,) = requestor.wait_for(request, seconds=SECONDS)["nodes"]
        assert good[OTHER][0] in str(requestor.node(node)["image_id"])
    assert gated.ready() == [*good[IMAGE], new.id]
    assert gated.ready(image=OTHER) == good[OTHER]
    assert gated.verdict(new).state == "approved" and gated.verdict(bad).state == "rejected"
    assert meanwhile > 0

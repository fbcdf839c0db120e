# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A newer build becomes ready between two requests of one event: through the builder, launchers and real machines."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Build
from tests.integration.gate.conftest import GatedSite

SECONDS = 60.0


def served(gated: GatedSite, event: str, *labels: str, provider: str | None = None) -> set[str]:
    """The builds of the nodes of one more request of an event; its nodes are in use then."""
    requestor = gated.site.requestor
    request = requestor.ask(*(labels or ("small",)), event_id=event, provider=provider)
    requestor.wait_for(request, seconds=SECONDS)
    return {str(requestor.node(node)["image_id"]).split("/")[5] for node in requestor.accept(request)}


def switched(gated: GatedSite) -> tuple[Build, Build]:
    """A build that is in use, and a newer one that is ready after the first request of event e."""
    before = gated.build()
    gated.builder.run()
    assert served(gated, "e") == {before.id}
    after = gated.build()
    gated.builder.run()
    return before, after


def test_on_one_launcher_the_event_keeps_its_build(gated: GatedSite) -> None:
    gated.configure()
    gated.settings(None)
    with gated.site.stay(duration=4 * SECONDS):
        before, after = switched(gated)
        assert served(gated, "f") == {after.id}
        assert served(gated, "e", "small", "small") == {before.id}
        # The next launcher knows it from the records.
    with gated.site.stay(duration=4 * SECONDS):
        assert served(gated, "e") == {before.id}
        assert served(gated, "f") == {after.id}


@pytest.mark.parametrize("launchers", [1, 2])
def test_over_two_providers_too(gated: GatedSite, launchers: int) -> None:
    gated.configure("one", "two")
    gated.settings(None)
    site = gated.site
    chosen = [None] if launchers == 1 else [("one",), ("two",)]
    cycles = [site.stay(duration=4 * SECONDS, providers=names) for names in chosen]
    for cycle in cycles:
        cycle.__enter__()
    try:
        before = gated.build()
        gated.builder.run()
        assert served(gated, "e", provider="one") == {before.id}
        after = gated.build()
        gated.builder.run()
        assert served(gated, "e", provider="two") == {before.id}
        assert served(gated, "f", provider="two") == served(gated, "f", provider="one") == {after.id}
    finally:
        for cycle in cycles:
            cycle.end()

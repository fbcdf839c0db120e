# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One bad endpoint, or all of them: how soon it is got over, and how soon a cycle ends; in virtual seconds.

That real APIs are got over is shown by ``tests/integration/pressure/test_troubled_api.py``, whose tests keep no time.
"""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes.launcher_cycle import LONGEST_WAIT
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes.launcher_pass import END_WAIT
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.machine import SETTLE_SECONDS
from ansible_collections.stackci.nodepool.plugins.module_utils.model.api_timeouts import ApiTimeouts
from tests.support.virtual_cloud import Timing
from tests.support.world import World, label, one_provider, provider_document, site

SILENCE = 30.0
PATIENCE = ApiTimeouts(SILENCE)
BOOT = 10.0
KINDS = (
    "GET /servers/detail",
    "POST /servers",
    "GET /limits",
    "GET /flavors/detail",
    "GET /images",
    "GET /networks",
    "GET /ports",
    "POST /floatingips",
)
CREATES = ("", "POST /servers")
EAST = {"east": {"timing": Timing(boot=(BOOT, 0.0))}}


@pytest.mark.parametrize("hang", [True, False], ids=["hangs", "refuses"])
@pytest.mark.parametrize("kind", ["", *KINDS])
def test_what_waits_is_served_soon_after_an_endpoint_is_well_again(kind: str, hang: bool):
    pool = {"name": "main", "labels": [label("small")], "auto-floating-ip": True}
    with World(site(provider_document("east", pool)), clouds=EAST, api_timeout=SILENCE) as world:
        world.start()
        world.run(5)
        world.fault("east", kind, hang=hang, until=world.agenda.now + 2.5 * SILENCE)
        requests = [world.request("small") for _unused in range(3)]
        world.run(2.5 * SILENCE)
        # What a call still takes, a look, a create that must be looked for, and a boot with its floating IP.
        call = PATIENCE.create_first(0.0) if hang and kind in CREATES else PATIENCE.call
        soon = call + 2 * LONGEST_WAIT + SETTLE_SECONDS + 2 * BOOT
        assert world.run(soon, until=lambda: world.fulfilled.keys() >= set(requests))


@pytest.mark.parametrize("gap", [1.0, 6.0, 9.0, 12.0])
def test_nobody_stays_where_creates_are_not_answered_whenever_they_have_come(gap: float):
    """The last of them, too: the one that goes on trying for those that are held up."""
    pool = {"name": "main", "labels": [label("small")]}
    document = site(provider_document("east", {**pool, "priority": 1}), provider_document("west", pool))
    with World(document, clouds=EAST, api_timeout=1.0) as world:
        world.start()
        world.run(5)
        world.fault("east", "POST /servers", hang=True)
        requests = []
        for _unused in range(6):
            requests.append(world.request("small"))
            world.run(gap)
        assert world.run(200, until=lambda: world.fulfilled.keys() >= set(requests))
        assert {node.provider for node in world.nodes("ready")} == {"west"}


@pytest.mark.parametrize("kind", ["", *KINDS])
def test_a_cycle_ends_on_time_whatever_hangs(kind: str):
    """A create without an answer is waited for at the end, for a moment."""
    with World(one_provider(), clouds=EAST, api_timeout=SILENCE) as world:
        cycle = world.start(duration=60.0)
        world.run(40)
        world.fault("east", kind, hang=True)
        world.run(15)
        world.request("small")
        assert world.run(600, until=lambda: cycle.ended)
        assert cycle.result["ended"] == "deadline"
        assert cycle.result["seconds"] == pytest.approx(60.0 + END_WAIT * (kind in CREATES), abs=0.5)

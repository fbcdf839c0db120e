# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cycle tells of failures and of what it could not keep ready."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import Trouble
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.summary import launcher_summary
from tests.support.virtual_cloud import Fate
from tests.support.world import World, label, one_provider, provider_document, site


def test_a_failed_request_is_told_with_its_reason_and_attempts_once():
    with World(one_provider()) as world:
        world.clouds["east"].fate = lambda machine: Fate("ERROR", "libvirt exploded", 1.0)
        cycle = world.start()
        request = world.request("small")
        assert world.run(600, until=lambda: world.state(request) == "failed")
        (told,) = [line for _when, line in cycle.lines if line.startswith(f"request {request}: failed")]
        assert isinstance(told, Trouble) and told.count("libvirt exploded") == 1 and "(3 attempts)" in told
        (node,) = cycle.account.launched
        assert f"node {node}: launching small in east/main" in " ".join(line for _when, line in cycle.lines)


def test_why_min_ready_is_not_kept_does_not_depend_on_the_order_of_pools():
    def told(*names: str) -> list[str]:
        pools = [{"name": name, "labels": [label("small")], "max-servers": 1} for name in names]
        with World(site(provider_document("east", *pools), min_ready={"small": 5})) as world:
            cycle = world.start(duration=100.0)
            world.run(200, until=lambda: cycle.ended)
            return list(launcher_summary(cycle.result)["waits"])

    (text,) = told("a", "b")
    assert text.startswith("label small: 3 nodes of min-ready missing: ")
    assert "0 left in east/a" in text and "0 left in east/b" in text
    assert told("b", "a") == [text]


def test_trouble_of_a_provider_is_said_when_it_begins_and_when_it_is_over():
    with World(one_provider()) as world:
        cycle = world.start()
        world.run(5)
        fault = world.fault("east", until=world.agenda.now + 60)
        request = world.request("small")
        assert world.run(300, until=lambda: world.state(request) == "fulfilled")
        said = [line for _when, line in cycle.lines if line.startswith("provider east: ")]
        assert fault.until < world.agenda.now
        assert any(isinstance(line, Trouble) and "503" in line for line in said)
        assert said[-1] == "provider east: its API works again"

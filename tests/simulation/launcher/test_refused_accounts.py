# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cycle tells which providers nobody can use with the account that they have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.model.component import ComponentKind
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudAuthError
from tests.support.world import World, label, provider_document, site

POOL = {"name": "main", "labels": [label("small")]}


def two_providers() -> dict[str, Any]:
    return site(provider_document("east", POOL), provider_document("west", POOL))


def told(world: World) -> Mapping[str, str]:
    """What the cycle tells now."""
    (cycle,) = world.cycles
    world.run(1.0)
    assert cycle.launcher is not None
    seen: list[Mapping[str, str]] = []
    cycle.launcher.refused = seen.append
    world.run(20.0)
    return seen[-1]


def test_a_provider_that_answers_is_not_among_them():
    with World(two_providers()) as world:
        world.start()
        assert told(world) == {}


def test_a_refused_login_is_told_with_its_text():
    with World(two_providers()) as world:
        world.fault(
            "east", error=lambda: CloudAuthError("HTTP 401: no such user", provider="east", call="POST /auth/tokens")
        )
        world.start()
        world.request("small")
        assert told(world) == {"east": "HTTP 401: no such user"}


def test_one_that_is_left_out_here_counts_unless_another_launcher_acts_for_it():
    with World(two_providers()) as world:
        world.log_in_by("west", "")
        world.start()
        assert told(world) == {"west": "clouds.yaml has no entry 'west'"}
        fields = {"id": "other", "name": "main", "provider_name": "west", "supported_labels": ["small"]}
        world.store.components.register(ComponentKind.POOL, "elsewhere", fields)
        assert told(world) == {}

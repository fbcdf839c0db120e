# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the clouds say about the images of uploads, and how often they are asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.by_hand.image_status import (
    MOST_ASKED,
    images_seen,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudAuthError
from tests.support.image_views import config, upload


class Glance:
    """The client of a provider; it lists the images with an even number."""

    def __init__(self, provider: str, listed: list[str]) -> None:
        self.provider, self.asked = provider, list[str]()
        self.images = SimpleNamespace(get=self.asked.append)
        self.list_own_images = lambda: [SimpleNamespace(id=one) for one in listed]
        self.close = lambda: None


def looked(listed: list[str], *uploads: Any) -> tuple[Any, dict[str, str], Glance]:
    glance = Glance("cloud1", listed)

    def client(provider: Any) -> Any:
        if provider.name == "cloud2":
            raise CloudAuthError("cloud2 refuses the password")
        return glance

    options: Any = SimpleNamespace(client=client)
    configuration = config({"debian": {}}, {"cloud1": ["debian"], "cloud2": ["debian"]})
    seen, problems = images_seen(options, configuration, uploads)
    return seen, problems, glance


def test_what_the_list_leaves_out_is_asked_for_one_by_one():
    ready = [upload(number) for number in range(3)]
    there = str(ready[0].external_id)
    seen, problems, glance = looked([there], *ready)
    assert problems == {}
    assert set(glance.asked) == {each.external_id for each in ready[1:]}
    assert seen["cloud1", there].id == there
    assert seen["cloud1", str(ready[1].external_id)] is None


def test_a_cloud_that_lists_nothing_is_asked_a_bounded_number_of_times_for_the_youngest():
    ready = [upload(number, age=number) for number in range(MOST_ASKED + 50)]
    seen, problems, glance = looked([], *reversed(ready))
    assert glance.asked == [each.external_id for each in ready[:MOST_ASKED]]
    assert set(seen) == {("cloud1", one) for one in glance.asked}
    assert problems == {"cloud1": "50 images that it does not list were not checked"}


def test_a_provider_that_refuses_the_login_is_named():
    seen, problems, _glance = looked([], upload(1, "cloud2"))
    assert (seen, problems) == ({}, {"cloud2": "cloud2 refuses the password"})

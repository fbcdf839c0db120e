# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits that are not had do not keep the list from being read."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.capacity_reading import (
    CapacityReading,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.server_list import Listing
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import CloudLimits
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudError,
    CloudRefused,
    CloudUnavailable,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits, Resources

DENIED = CloudRefused("no", call="GET /limits", status=403)


class Cloud:
    def __init__(self) -> None:
        self.now = 0.0
        self.limits: CloudError | None = DENIED
        self.list: CloudError | None = None
        self.tries = 0
        self.reading = CapacityReading(self.read_limits, self.read_list, lambda: self.now)

    def read_limits(self) -> CloudLimits:
        self.tries += 1
        if self.limits is not None:
            raise self.limits
        return CloudLimits(Limits(), Resources(), (CloudUnavailable("cinder is away", call="GET /volume/limits"),))

    def read_list(self) -> Listing:
        if self.list is not None:
            raise self.list
        return Listing({})


def test_after_a_few_tries_the_list_is_read_without_limits_that_are_tried_ever_more_rarely():
    cloud = Cloud()
    for _unused in range(2):
        with pytest.raises(CloudRefused):
            cloud.reading.read()
    for second in range(600):
        cloud.now = float(second)
        assert cloud.reading.read().limits is None
    assert cloud.tries <= 17
    (lack,) = cloud.reading.lacks(stops=False)
    assert lack.error is DENIED and lack.used and not lack.stops
    cloud.limits, cloud.now = None, 700.0
    assert cloud.reading.read().limits is not None
    (part,) = cloud.reading.lacks(stops=True)
    assert part.kind == "GET /volume/limits" and not part.stops and part.since == 700.0


def test_limits_are_tried_at_once_when_more_than_they_was_away():
    cloud = Cloud()
    cloud.limits = cloud.list = CloudUnavailable("503", status=503)
    for _unused in range(8):
        with pytest.raises(CloudUnavailable):
            cloud.reading.read()
    cloud.limits = cloud.list = None
    assert cloud.reading.read().limits is not None

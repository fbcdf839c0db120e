# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What neutron's refusals prove about networks."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.addresses import FloatingIpTarget
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.dead_ends import (
    MEMORY,
    DeadEnds,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudNotFound, CloudRefused

TARGET = FloatingIpTarget("ext", "port", "10.0.0.5", "net")


@pytest.mark.parametrize(
    ("error", "pairs"),
    [
        (CloudNotFound("x", status=404, error_type="ExternalGatewayForFloatingIPNotFound"), {("ext", "net")}),
        (CloudRefused("x", status=400, error_type="BadRequest"), {("ext", "")}),
        (CloudNotFound("x", status=404, error_type="PortNotFound"), set()),
        (CloudRefused("x", status=409, error_type="IpAddressGenerationFailure"), set()),
        (CloudRefused("BadRequest", status=400), set()),
    ],
)
def test_only_refusals_that_name_the_networks_are_learned(error, pairs):
    dead_ends = DeadEnds()
    assert dead_ends.learn(TARGET, error, 10.0) is bool(pairs)
    assert dead_ends.known(10.0) == pairs


def test_they_are_forgotten_after_a_time_and_when_the_clock_was_ahead():
    dead_ends = DeadEnds()
    dead_ends.learn(TARGET, CloudRefused("x", status=400, error_type="BadRequest"), 10.0)
    assert dead_ends.known(10.0 + MEMORY - 1) and not dead_ends.known(10.0 + MEMORY)
    assert not dead_ends.known(9.0)
    dead_ends.forget()
    assert not dead_ends.known(10.0)

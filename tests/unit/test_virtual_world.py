# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-ins of the virtual world have the faces of what they stand for."""

from __future__ import annotations

import inspect

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.ssh import Scanner
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.inbox import Inbox
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.workers import WorkerSet
from tests.support.virtual_client import VirtualClient
from tests.support.virtual_time import VirtualInbox, VirtualScanner, VirtualWorkers

PAIRS = [(CloudClient, VirtualClient), (WorkerSet, VirtualWorkers), (Scanner, VirtualScanner), (Inbox, VirtualInbox)]


def verbs(kind: type) -> set[str]:
    return {name for name, value in inspect.getmembers(kind) if not name.startswith("_") and callable(value)}


@pytest.mark.parametrize(("real", "stand_in"), PAIRS, ids=lambda kind: kind.__name__)
def test_every_verb_is_there_with_the_same_parameters(real, stand_in):
    assert verbs(real) - verbs(stand_in) <= {
        "get_server",
        "abort_uploads",
    }, "the launcher never asks for a single server, and uploads nothing"
    for name in sorted(verbs(real) & verbs(stand_in)):
        wanted = list(inspect.signature(getattr(real, name)).parameters)
        assert list(inspect.signature(getattr(stand_in, name)).parameters)[: len(wanted)] == wanted, name

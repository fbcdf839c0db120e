# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents that are read in each pass are made once for each state of their znode."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.stored import BadDocument
from tests.support.memory_zookeeper import MemoryZooKeeper
from tests.support.virtual_time import Agenda

PATH = "freezes/one"


@pytest.fixture
def own():
    return MemoryZooKeeper(Agenda()).store().own


def test_what_nobody_changes_is_made_once_for_each_state_of_its_znode(own):
    made = []

    def read(document):
        made.append(dict(document))
        return tuple(document.items())

    assert own.unchanging(PATH, read) is None
    own.put(PATH, {"a": 1})
    first = own.unchanging(PATH, read)
    assert first == (("a", 1),) and own.unchanging(PATH, read) is first
    own.put(PATH, {"a": 2})
    assert own.unchanging(PATH, read) == (("a", 2),)
    own.delete(PATH)
    assert own.unchanging(PATH, read) is None
    own.put(PATH, {"a": 2})
    assert own.unchanging(PATH, read) == (("a", 2),)
    assert made == [{"a": 1}, {"a": 2}, {"a": 2}]


def test_a_document_that_cannot_be_used_is_none(own):
    def refuse(document):
        raise BadDocument("no")

    own.put(PATH, {"a": 1})
    assert own.unchanging(PATH, refuse) is None and own.unchanging(PATH, refuse) is None

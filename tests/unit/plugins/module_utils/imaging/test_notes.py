# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.notes import LONGEST_BACKOFF, Failures

NOW = 1_700_000_000.0


@pytest.mark.parametrize("count", [0, 3, 9, 40])
def test_every_back_off_that_is_ever_set_is_believed(count):
    found = Failures(count).again("no", NOW, 1.0)
    assert found.hold(NOW)[1] == found.not_before > NOW


def test_one_that_a_clock_that_was_ahead_has_stored_is_over():
    assert Failures(3, NOW + LONGEST_BACKOFF + 1).hold(NOW) is None

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every test.

A property has no deadline for a single case, and as many cases as the lane has time for. No test leaves anything in
the state folder of this machine.
"""

from __future__ import annotations

from hypothesis import settings

from tests.support.effort import examples
from tests.support.interrupts import heed_interrupts
from tests.support.own_state import use_own_state_folder
from tests.support.warm_workers import pytest_xdist_setupnodes

__all__ = ["pytest_xdist_setupnodes"]

use_own_state_folder()
heed_interrupts()
settings.register_profile("lane", deadline=None, max_examples=examples(100))
settings.load_profile("lane")

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for the workers of the unit tests."""

from __future__ import annotations

from tests.support.collected import pytest_collection_finish

__all__ = ["pytest_collection_finish"]

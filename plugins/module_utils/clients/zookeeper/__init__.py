# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client of ZooKeeper. The rest of the collection uses it by :class:`store.Store`."""

from __future__ import annotations

import logging

# Without a handler Python prints warnings to stderr, where a module must not write.
logging.getLogger(__name__).addHandler(logging.NullHandler())

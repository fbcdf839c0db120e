# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What cycles say of figures."""

from __future__ import annotations


class ModuleDocFragment:
    """What cycles say of figures."""

    DOCUMENTATION = r"""
options: {}
notes:
  - Where the environment has C(STATSD_HOST), figures are sent to statsd under Nodepool's names (C(STATSD_PORT),
    C(STATSD_PREFIX); the Python library statsd must be installed). A statsd that cannot be reached changes nothing.
"""

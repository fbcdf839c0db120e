# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The note on statsd."""

from __future__ import annotations


class ModuleDocFragment:
    """The note on statsd."""

    DOCUMENTATION = r"""
options: {}
notes:
  - When the environment has C(STATSD_HOST), the module sends metrics to statsd under Nodepool's names. C(STATSD_PORT)
    and C(STATSD_PREFIX) are honoured, and the Python library statsd must be installed. The module works on when statsd
    cannot be reached.
"""

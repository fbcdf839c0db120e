# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option by which a module shows its progress."""

from __future__ import annotations


class ModuleDocFragment:
    """The option by which a module shows its progress."""

    DOCUMENTATION = r"""
options:
  progress_file:
    description:
      - A file to which the module appends a line of JSON for each event. The action plugin of the same name sets this
        option and shows the lines while the module works.
      - Each object has C(time) (UNIX time), C(line) (the text) and C(priority) (4 for a problem, otherwise 6), and
        C(provider), C(pool), C(label), C(request), C(node), C(event_id) (of the requestor), C(server), C(image),
        C(build) and C(upload), as far as the line is about them.
    type: path
"""

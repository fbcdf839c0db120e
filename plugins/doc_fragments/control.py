# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options by which a loop ends a cycle and sees that it goes on."""

from __future__ import annotations


class ModuleDocFragment:
    """Options by which a loop ends a cycle and sees that it goes on."""

    DOCUMENTATION = r"""
options:
  control_file:
    description:
      - A file that is looked at while the cycle works; the word C(stop) in it ends the cycle in good order. Nothing new
        is begun, and what is under way is left to the next cycle. The file need not exist.
      - Ending C(ansible-playbook) by a signal does not end the module at once; a loop that runs cycles stops them by
        this file.
    type: path
  heartbeat_file:
    description:
      - A file that the cycle writes and then touches every few seconds for as long as the thread that decides goes on.
        When it is not touched for 25 seconds the cycle hangs, and whoever runs it should end it.
      - It holds a line of JSON with C(pid), C(started) (in clock ticks since the boot) and C(state), which is
        C(starting), C(standing by), C(serving) or C(ended).
    type: path
"""

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which security groups a quick start may choose."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.choosing import usable_groups
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.folder_notes import Notes
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.wish import QuickstartWish
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import SecurityGroup


def test_groups_of_other_quick_starts_are_not_chosen_but_can_be_named(tmp_path):
    notes = Notes(str(tmp_path), id="mine", group="stackci-quickstart-mine")
    groups = [SecurityGroup(name, name) for name in ("default", "stackci-quickstart-mine", "stackci-quickstart-other")]
    assert usable_groups(notes, QuickstartWish(cloud="c", folder=notes.folder), groups) == groups[:2]
    assert (
        usable_groups(notes, QuickstartWish(cloud="c", folder=notes.folder, group="stackci-quickstart-other"), groups)
        == groups
    )

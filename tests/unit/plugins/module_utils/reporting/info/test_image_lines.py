# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.image_lines import image_lines
from tests.support.populated_tree import documents
from tests.support.tree_reading import NOW, reading_of

CONFIG = parse_config(
    json.dumps(
        {
            "zookeeper-servers": [{"host": "localhost"}],
            "labels": [],
            "diskimages": [{"name": "debian"}, {"name": "rocky", "pause": True}],
            "providers": [{"name": "west", "cloud": "west", "diskimages": [{"name": "debian"}, {"name": "rocky"}]}],
        }
    )
)


def lines(whole):
    return list(image_lines(CONFIG, reading_of(whole), NOW))


def test_an_image_tells_its_newest_build_its_uploads_and_what_was_asked():
    assert lines(documents(NOW)) == [
        "debian: built 1 h 1 min ago, west 1 h ago, paused, build asked for",
        "rocky: no ready build, west has no ready upload, paused",
    ]


def test_an_image_tells_what_came_after_its_newest_ready_build():
    whole = documents(NOW)
    for build, state, since in (("a", "building", 90), ("b", "failed", 600), ("c", "failed", 9000)):
        whole[f"/nodepool/images/debian/builds/{build * 32}"] = {"state": state, "state_time": NOW - since}
    whole[f"/nodepool/images/old/builds/{'d' * 32}"] = {"state": "failed", "state_time": NOW - 3600}
    debian, old, _rocky = lines(whole)
    assert debian.startswith("debian: built 1 h 1 min ago, building for 1 min 30 s, a build failed 10 min ago, west ")
    assert old == "old: no ready build, a build failed 1 h ago, not in the configuration"

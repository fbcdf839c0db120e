# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a configuration that was read again."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.changes import changes
from tests.support.config_texts import parse
from tests.support.world import label, provider_document, site


def document(*names: str, **pool: object) -> dict[str, object]:
    one = {"name": "main", "labels": [label(name) for name in names], **pool}
    return site(provider_document("east", one))


def test_nothing_has_changed():
    assert changes(parse(document("small")), parse(document("small"))) == []


def test_what_is_new_gone_and_changed_is_named():
    before, after = parse(document("small", "old")), parse(document("small", "new", **{"max-servers": 3}))
    assert changes(before, after) == [
        "label new is new",
        "label old was removed",
        "pool east/main changed (limits)",
        "label east/main/new is new",
        "label east/main/old was removed",
    ]


def test_a_key_of_the_top_is_named():
    assert changes(parse(document("a")), parse({**document("a"), "max-hold-age": 7})) == ["max-hold-age"]

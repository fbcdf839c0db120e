# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.yaml_text import yaml_text


def test_the_order_of_keys_is_kept_and_nothing_is_an_alias():
    same = {"b": 1, "a": ["ü", "on"]}
    text = yaml_text([{"one": same}, {"two": same}])
    assert yaml.safe_load(text) == [{"one": same}, {"two": same}]
    assert "&" not in text and "*" not in text and "ü" in text
    assert text.index("b:") < text.index("a:")

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of keys of former releases."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config import former_keys, types
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.options import keys_of

PRESENT = {
    (): types.NodepoolConfig,
    ("labels",): types.Label,
    ("diskimages",): types.Diskimage,
    ("providers",): types.Provider,
    ("providers", "pools"): types.Pool,
    ("providers", "pools", "labels"): types.PoolLabel,
    ("providers", "diskimages"): types.ProviderDiskimage,
    ("providers", "cloud-images"): types.CloudImage,
}


def test_no_former_key_is_a_present_one():
    for table in (former_keys._PARTS, former_keys._GENERATED):
        for section, keys in table.items():
            assert not set(keys) & {option.key for option in keys_of(PRESENT[section])}


@pytest.mark.parametrize(
    ("path", "key", "what"),
    [
        (("providers", 0), "hostname-format", "Nodepool up to 9 and ignored: nothing used it"),
        (("providers", 3), "api-timeout", "Nodepool up to 2 and ignored: set api_timeout in the cloud's entry"),
        (("providers", 0, "diskimages", 2), "username", "write it into the diskimage at the top of the file"),
        (("providers", 0), "username", "clouds.yaml"),
        ((), "extra-labels", "Software Factory"),
    ],
)
def test_the_section_decides_what_a_key_meant(path, key, what):
    assert what in former_keys.became_of(path, key)


def test_other_keys_have_no_past():
    assert former_keys.became_of((), "hostname-format") == former_keys.became_of(("providers", 0), "xyzzy") == ""

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A probe with a command needs an image whose nodes let somebody in by ssh."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.gate_check import check_probes
from tests.support.config_texts import changed, complaints, parse, valid_document

COMMAND = {"command": "true", "key-file": "key"}
EAST = ("providers", 0)
ROCKY, DEBIAN = (*EAST, "cloud-images", 0), (*EAST, "diskimages", 0)


def settings(probe: dict[str, Any], of: str) -> str:
    """The settings with a probe of one kind of entry, for the label large of the cloud-image rocky."""
    pool = {"name": "main", "labels": [{"name": "large", "probe": probe}]}
    documents: dict[str, dict[str, Any]] = {
        "pool": {"providers": [{"name": "east", "pools": [pool]}]},
        "label": {"labels": [{"name": "spare"}, {"name": "large", "probe": probe}]},
        "cloud-image": {"providers": [{"name": "east", "cloud-images": [{"name": "rocky", "probe": probe}]}]},
        "diskimage": {"diskimages": [{"name": "debian", "probe": probe}]},
        "parent": {"diskimages": [{"name": "base", "probe": probe}]},
    }
    return yaml.safe_dump(documents[of], sort_keys=False)


@pytest.mark.parametrize("of", ["pool", "label", "cloud-image"])
def test_a_cloud_image_without_an_account_is_told_with_its_remedy(of: str) -> None:
    (found,) = complaints(valid_document(), settings_text=settings(COMMAND, of))
    assert found.startswith("nodepool-settings.yaml:") and ".probe.command: needs an account, but" in found
    assert found.endswith("cloud-image 'rocky' has no username: add it in nodepool.yaml")
    parse(changed((*ROCKY, "username"), "rocky"), settings_text=settings(COMMAND, of))
    parse(valid_document(), settings_text=settings({"port": 22}, of))


@pytest.mark.parametrize(
    ("of", "image"), [("label", ROCKY), ("cloud-image", ROCKY), ("diskimage", DEBIAN), ("parent", DEBIAN)]
)
@pytest.mark.parametrize("connection", ["winrm", "psrp"])
def test_a_command_on_machines_without_ssh_is_an_error(of: str, image: tuple[str | int, ...], connection: str) -> None:
    document = changed((*ROCKY, "username"), "rocky")
    document = changed((*image, "connection-type"), connection, document)
    (found,) = complaints(document, settings_text=settings(COMMAND, of))
    assert "is run over ssh, but" in found and found.endswith(f"is reached by {connection}: use port")
    parse(document, settings_text=settings({"port": 5986}, of))


def test_the_probe_that_counts_is_looked_at() -> None:
    """That of the label is overridden in the only pool, so nothing of it is ever run."""
    own = yaml.safe_load(settings({"port": 22}, "pool")) | yaml.safe_load(settings(COMMAND, "label"))
    parse(valid_document(), settings_text=yaml.safe_dump(own))


@pytest.mark.parametrize("of", ["pool", "label", "cloud-image", "diskimage"])
@pytest.mark.parametrize(
    ("times", "key"),
    [({"timeout": 10, "interval": 11}, "interval"), ({"interval": 301}, "interval"), ({"timeout": 4}, "timeout")],
)
def test_a_probe_that_has_time_for_one_attempt_is_told(of: str, times: dict[str, int], key: str) -> None:
    (found,) = [
        text
        for text in parse(valid_document(), settings_text=settings({"port": 22, **times}, of)).warnings
        if "one attempt only" in text
    ]
    assert f".probe.{key}: allows one attempt only, because timeout (" in found
    assert found.endswith(": make timeout longer, or interval shorter")
    for fine in ({"port": 22}, {"port": 22, "timeout": 10, "interval": 10}):
        warnings = parse(valid_document(), settings_text=settings(fine, of)).warnings
        assert not [text for text in warnings if "one attempt" in text]


@pytest.mark.parametrize("odd", [None, 3, [], {"labels": 3}, {"providers": [None, {"name": 3, "pools": [3]}]}])
def test_data_of_any_form_is_no_trouble(odd: Any) -> None:
    mine = {"labels": [{"name": "large", "probe": 3}, 3], "diskimages": 3, "providers": [{"cloud-images": [3]}]}
    assert [*check_probes(odd, valid_document())] == [*check_probes(mine, odd)] == []
    assert [*check_probes(mine, valid_document())] == []


def test_channels_of_a_label_without_builds_are_told() -> None:
    own = yaml.safe_dump({"labels": [{"name": "large", "channels": ["previous"]}]})
    (found,) = parse(valid_document(), settings_text=own).warnings[-1:]
    assert "labels[large].channels: has no effect, because all pools make the label from cloud-images" in found
    for name in ("small", "spare"):
        own = yaml.safe_dump({"labels": [{"name": name, "channels": ["previous"]}]})
        assert not [text for text in parse(valid_document(), settings_text=own).warnings if "no effect" in text]

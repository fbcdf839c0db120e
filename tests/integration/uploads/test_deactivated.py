# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An upload that glance shows, and no server can be made of: everything that looks names it, with the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_cycle import run_uploads
from ansible_collections.stackci.nodepool.plugins.modules import image_info, label_info, provider_info
from tests.support.ansible_run import run_alone, run_module
from tests.support.documented import differences
from tests.support.image_case import IMAGE, Builder, taker
from tests.support.launcher_case import label, pool

COMMON = ("failed", "invocation", "warnings", "exception", "msg")


def look(builder: Builder, module: str, *, check: bool = False, **options: Any) -> dict[str, Any]:
    """The result of a module."""
    given = {**builder.site.files(), **options}
    return run_alone(module, given, builder.site.folder, check=check).result


def play(builder: Builder, module: str, **options: Any) -> dict[str, Any]:
    """The result of a module in a play, with its warnings."""
    return run_module(module, {**builder.site.files(), **options}, builder.site.folder).result


def act(builder: Builder, image: str, action: str) -> None:
    """Deactivate or reactivate an image in glance."""
    options = builder.options()
    client = options.client(options.load().providers["one"])
    client._rest.call("image", "POST", f"/images/{image}/actions/{action}")
    client.close()


def uploaded(builder: Builder, number: int = 1, **options: Any) -> list[str]:
    """The ids of that many uploads, the newest last."""
    builder.configure(taker("one", **options))
    for _unused in range(number):
        builder.build()
        builder.run()
    return [str(upload.external_id) for upload in builder.uploads()]


def test_a_deactivated_upload_is_named_by_all_that_look(builder: Builder) -> None:
    (image,) = uploaded(builder)
    act(builder, image, "deactivate")
    words = f"is deactivated ({image}): reactivate it (openstack image set --activate {image})"
    (row,) = look(builder, "image_info")["uploads"]
    assert (row["state"], row["current"], row["cloud_status"], row["unusable"]) == (
        *("ready", False, "deactivated"),
        words,
    )
    asked = {"require_launcher": False, "ask_clouds": True}
    for told in (
        look(builder, "nodepool_config_check")["msg"],
        look(builder, "node_launch", check=True)["msg"],
        *(row["text"] for row in look(builder, "label_info", **asked)["unusable"]),
        *(row["text"] for row in look(builder, "provider_info", **asked)["unusable"]),
    ):
        assert words in told
    request = builder.site.requestor.ask("small")
    builder.site.run()
    assert words in str(builder.site.requestor.read(f"/nodepool/stackci/waits/{request}")["text"])
    assert not builder.site.clouds["one"].servers()
    act(builder, image, "reactivate")
    assert look(builder, "nodepool_config_check")["failed"] is False
    (row,) = look(builder, "image_info")["uploads"]
    assert (row["current"], row["cloud_status"], row["unusable"]) == (True, "active", None)


def test_the_one_before_it_is_current(builder: Builder) -> None:
    old, new = uploaded(builder, 2)
    act(builder, new, "deactivate")
    current = {row["external_id"]: row["current"] for row in look(builder, "image_info")["uploads"]}
    assert current == {old: True, new: False}
    assert look(builder, "nodepool_config_check")["failed"] is False
    builder.site.requestor.ask("small")
    plan = look(builder, "node_launch", check=True)
    assert (plan["failed"], len(plan["plan"]["admit"])) == (False, 1)


def test_an_upload_that_is_gone_is_told(builder: Builder) -> None:
    old, new = uploaded(builder, 2)
    options = builder.options()
    client = options.client(options.load().providers["one"])
    assert client.images.delete(new)
    client.close()
    rows = {row["external_id"]: row for row in look(builder, "image_info")["uploads"]}
    assert (rows[new]["cloud_status"], rows[new]["unusable"]) == ("gone", "is no longer in the cloud")
    assert (rows[old]["cloud_status"], rows[old]["current"]) == ("active", True)


@pytest.mark.parametrize("asked", [True, False])
def test_a_cloud_that_is_away_is_a_warning_where_it_is_asked(builder: Builder, asked: bool) -> None:
    uploaded(builder)
    builder.site.clouds["one"].fault("GET *", "status", status=503)
    builder.site.clouds["one"].clear_calls()
    result = play(builder, "image_info", ask_clouds=asked, api_timeout=2)
    (row,) = result["uploads"]
    assert (row["current"], row["cloud_status"], row["unusable"]) == (True, None, None)
    told = [text for text in result.get("warnings", []) if "the images at provider one could not be checked" in text]
    assert len(told) == asked
    assert bool(builder.site.clouds["one"].calls()) is asked
    labels = play(builder, "label_info", require_launcher=False, ask_clouds=asked, api_timeout=2)
    assert labels["unusable"] == ([] if asked else None)
    told = [text for text in labels.get("warnings", []) if "the labels of provider one could not be checked" in text]
    assert len(told) == asked


def test_what_labels_cannot_have_is_told_for_each_pool(builder: Builder) -> None:
    pools = pool("main", label("small", diskimage=IMAGE), security_groups=["nogroup"])
    builder.configure({**taker("one"), "pools": [pools]})
    given = {**builder.site.files(), "require_launcher": False, "ask_clouds": True}
    for name, module in (("label_info", label_info), ("provider_info", provider_info)):
        result = run_module(name, given, builder.site.folder, check=True).result
        (row,) = result["unusable"]
        assert (row["pool"], row["label"]) == ("one/main", "small")
        assert "no security group named 'nogroup'" in row["text"]
        shown = {key: value for key, value in result.items() if key not in COMMON}
        assert differences(module.RETURN, shown, check=True) == []
    uploaded(builder)
    shown = {key: value for key, value in look(builder, "image_info").items() if key not in COMMON}
    assert differences(image_info.RETURN, shown, check=False) == []


def test_the_uploads_cycle_names_it(builder: Builder) -> None:
    (image,) = uploaded(builder)
    act(builder, image, "deactivate")
    lines: list[str] = []
    result = run_uploads(builder.options(), progress=lines.append)
    assert result["changed"] is False
    assert len([line for line in lines if f"is deactivated ({image}): reactivate it" in line]) == 1

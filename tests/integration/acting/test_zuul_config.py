# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nodepool.yaml as objects of zuul-launcher, with the flavors and images of a simulated cloud."""

from __future__ import annotations

import yaml

from ansible_collections.stackci.nodepool.plugins.modules import zuul_config
from tests.support.ansible_run import run_alone, run_module
from tests.support.documented import differences
from tests.support.launcher_case import Site, label, pool, provider


def convert(site: Site, runner=run_alone, **options):
    return runner("zuul_config", {**site.files(), **options}, site.folder, check=options.pop("check", False)).result


def kinds(path):
    return [next(iter(item)) for item in yaml.safe_load(path.read_text())]


def test_the_clouds_are_asked_and_the_file_is_written_once(site: Site):
    site.configure(provider("one", pool("main", label("small"), max_servers=3)))
    path = site.folder / "zuul.yaml"
    done = convert(site, run_module, path=str(path))
    shown = {key: value for key, value in done.items() if key not in ("failed", "invocation", "warnings")}
    assert not done["failed"] and done["changed"] and differences(zuul_config.RETURN, shown, check=False) == []
    assert sorted(set(kinds(path))) == ["flavor", "image", "label", "provider", "section"]
    assert yaml.safe_load(path.read_text()) == done["objects"]
    assert '# zuul.conf needs:\n#   [connection "one"]\n#   driver=openstack\n' in path.read_text()
    for part in ("openstacksdk's search path", "include-provider-config: true", "Each section has all of its images"):
        assert part in path.read_text()
    (section,) = [item["section"] for item in done["objects"] if "section" in item]
    assert [(one["name"], one["type"]) for one in section["images"]] == [("debian-12", "cloud")]
    assert len(section["images"][0]["image-id"]) >= 32
    assert convert(site, path=str(path))["changed"] is False
    assert {call["kind"].split()[0] for call in site.cloud.calls()} <= {"GET", "POST"}
    assert site.cloud.calls("POST /servers") == []


def test_without_the_clouds_what_needs_them_is_told(site: Site):
    site.configure(provider("one", pool("main", {"name": "big", "cloud-image": "debian-12", "min-ram": 1000})))
    path = site.folder / "zuul.yaml"
    offline = convert(site, path=str(path), offline=True)
    assert any("label big is left out" in text for text in offline["told"])
    assert site.cloud.calls() == [] and "label big is left out" in path.read_text()
    site.clouds_yaml.write_text("clouds: {}")
    unreached = convert(site, path=str(path))
    assert not unreached["failed"] and any("one" in text and "clouds.yaml" in text for text in unreached["told"])


def test_a_file_that_cannot_be_written_or_read_is_told_in_a_sentence(site: Site):
    site.configure()
    refused = convert(site, path=str(site.folder / "none" / "x.yaml"))
    assert refused["failed"] and "cannot be written" in refused["msg"] and "exception" not in refused
    site.config.write_text("labels: 3")
    refused = convert(site)
    assert refused["failed"] and "exception" not in refused

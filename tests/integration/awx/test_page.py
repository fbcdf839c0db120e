# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of docs/awx.md are applied as they are written."""

from __future__ import annotations

import json

import yaml

from tests.integration.awx.conftest import ROOT, TOKEN, Site
from tests.support.examples import blocks

HERE = "awx_organization: CI"
"""In the block of the page that sets everything up."""


def test_the_variables_of_the_page_set_everything_up(site: Site) -> None:
    (page,) = [text for text in blocks(ROOT / "docs" / "awx.md", "yaml") if HERE in text]
    clouds = site.folder / "clouds.yaml"
    clouds.write_text(json.dumps({"clouds": {"east": {"auth": {"password": "of-the-page"}}}}), encoding="utf-8")
    given = yaml.safe_load(page.replace("/etc/openstack/clouds.yaml", str(clouds)))
    site.options = {**given, "awx_host": site.server.url}
    for kind, name in (("organizations", given["awx_organization"]), ("instance_groups", "image builders")):
        (there,) = site.awx.things[kind].values()
        there["name"] = name

    for words in (("--check",), ()):
        done = site.run(*words, CONTROLLER_OAUTH_TOKEN=TOKEN)
        assert done.returncode == 0, done.stdout + done.stderr
    image = site.awx.named("job_templates", "nodepool launcher")["execution_environment"]
    assert site.awx.things["execution_environments"][image]["image"] == given["awx_launcher_image"]

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has changed in an image without a gate: diskimage-builder's own manifest, of two real builds."""

from __future__ import annotations

import json
import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.ansible_run import run_module
from tests.support.builder_case import CLEAN, ELEMENTS, BuilderSite, real_image

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

DPKG = """#!/bin/sh
# Stands in for dpkg-query in the image: it prints the packages of PACKAGES in the format that it is asked for.
set -eu
for one in $(cat /etc/packages); do
    name=${one%=*} version=${one#*=}
    printf '%s' "$2" | sed -e 's/--showformat=//' -e "s/[$]{binary:Package}/$name/" -e 's/[$]{Architecture}/amd64/' \\
        -e "s/[$]{Version}/$version/" -e 's/[$]{db:Status-Abbrev}/ii /'
done
"""


def elements(folder: Path) -> Path:
    """The elements of the tests, and one with the script of diskimage-builder's element ``dpkg``."""
    builder = find_spec("diskimage_builder")
    assert builder is not None and builder.submodule_search_locations
    real = Path(builder.submodule_search_locations[0]) / "elements" / "dpkg" / "finalise.d" / "99-write-dpkg-manifest"
    made = folder / "elements"
    shutil.copytree(ELEMENTS, made)
    for part in ("install.d", "finalise.d"):
        (made / "listed" / part).mkdir(parents=True)
    (made / "listed" / "element-deps").write_text("manifests\n")
    install = made / "listed" / "install.d" / "60-packages"
    install.write_text(
        "#!/bin/bash\nset -eu\necho \"$PACKAGES\" > /etc/packages\ncat > /usr/bin/dpkg-query <<'EOF'\n"
        f"{DPKG}EOF\nchmod 755 /usr/bin/dpkg-query\n"
    )
    install.chmod(0o755)
    shutil.copy(real, made / "listed" / "finalise.d")
    return made


def built(site: BuilderSite, packages: str) -> str:
    """Build the image with these packages, and have it uploaded; return the id of the build."""
    image = real_image("tiny", "listed", formats=["raw"], env_vars={"PACKAGES": packages})
    site.configure(image, providers={"east": "raw"}, elements_dir=str(site.folder / "elements"))
    if site.records("tiny"):
        site.request("tiny")
    (report,) = site.run()["builds"]
    assert report["state"] == "ready", report
    build = str(report["build_id"])
    upload = site.path("tiny", "builds", build, "providers", "east", "images", "0000000001")
    ready = {"state": "ready", "state_time": 1.0, "external_id": "an image", "external_name": "tiny", "format": "raw"}
    site.zk.create(upload, json.dumps(ready).encode(), makepath=True)
    return build


@pytest.mark.timeout(240)
def test_a_new_build_says_what_differs_from_the_one_in_use(site: BuilderSite, tmp_path: Path) -> None:
    elements(site.folder)
    first = built(site, "linux-image-6.1.0-25-amd64=6.1.106-3 libc6:amd64=2.36-9 bash=5.2.15-2 nano=7.2-1")
    assert "changes" not in site.notes("tiny")
    second = built(site, "linux-image-6.1.0-26-amd64=6.1.112-1 libc6:amd64=2.36-9 bash=5.2.15-10 vim=2:9.0.1378-2")
    expected = (
        f"compared with build {first}: kernel 6.1.0-25-amd64 became 6.1.0-26-amd64;"
        " 2 added: linux-image-6.1.0-26-amd64 6.1.112-1, vim 2:9.0.1378-2;"
        " 2 removed: linux-image-6.1.0-25-amd64 6.1.106-3, nano 7.2-1; 1 newer: bash 5.2.15-10"
    )
    assert site.notes("tiny")["changes"] == expected and site.leftovers() == CLEAN
    options = {"config": str(site.config), "clouds_config": str(site.clouds_yaml)}
    builds = run_module("dib_image_info", options, tmp_path).result["builds"]
    assert {one["build_id"]: one["changes"] for one in builds} == {first: None, second: expected}
    uploads = run_module("image_info", options, tmp_path).result["uploads"]
    assert {one["build_id"]: one["changes"] for one in uploads} == {first: None, second: expected}

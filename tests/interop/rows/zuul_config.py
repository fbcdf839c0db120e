# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What zuul_config writes, read by Zuul 14.3.0's own parsers, inheritance and classes of the openstack driver."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.interop.lab import ZUUL, Lab, World, row
from tests.support.ansible_run import ROOT
from tests.support.launcher_case import label, pool, provider

PROGRAM = Path(__file__).parent.with_name("zuul_loader.py")
LOAD_SECONDS = 120.0


def loaded(lab: Lab, path: Path) -> dict[str, Any]:
    """What zuul-launcher would get of the file.

    :raises AssertionError: with what Zuul says about it.
    """
    words = [str(lab.environments[ZUUL].python), "-W", "ignore", str(PROGRAM), str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LOAD_SECONDS, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def convert(world: World, config: Path, **options: Any) -> tuple[Path, dict[str, Any]]:
    """The file that the module writes, and its result."""
    path = world.site.folder / "zuul.yaml"
    return path, world.site.module("zuul_config", path=str(path), **{**options, "config": str(config)})


@row("zuul-config", "nodepool.yaml of a site and the examples, converted, are read by Zuul's own parsers", ZUUL)
def zuul_config(lab: Lab) -> str:
    """All options that have a counterpart, then every example; then public files if STACKCI_OPENDEV has some."""
    world = lab.world()
    everything = label(
        "all",
        key_name="key",
        boot_from_volume=True,
        volume_size=20,
        userdata="x",
        instance_properties={"a": "{b}"},
        dynamic_instance_properties={"r": "{request.id}"},
    )
    first = pool("main", label("small"), everything, max_servers=5, max_ram=9000, security_groups=["default"])
    world.site.configure(provider("one", first, pool("second", label("small"), max_cores=9)), provider("two"))
    path, done = convert(world, world.site.config, clouds_config=str(world.site.clouds_yaml))
    found = loaded(lab, path)
    assert found.keys() == {"one-main", "one-second", "two"}, found.keys()
    assert found["one-main"]["labels"].keys() == {"small", "all"}, done["told"]
    whole = found["one-main"]["labels"]["all"]
    assert (whole["volume_size"], whole["key_name"], whole["tags"]["r"]) == (20, "key", "{request_id}"), whole
    assert found["one-main"]["limits"] == {"instances": 5, "ram": 9000}
    files = sorted((ROOT / "examples").glob("**/nodepool.yaml"))
    public = os.environ.get("STACKCI_OPENDEV", "")
    files += sorted(Path(public).glob("*.yaml")) if public else []
    labels = 0
    for file in files:
        text = file.read_text("utf-8")
        if "%(" in text or not isinstance(yaml.safe_load(text).get("providers"), list):
            continue  # it takes values from the environment, or is a builder's
        path, _done = convert(world, file, offline=True)
        labels += sum(len(one["labels"]) for one in loaded(lab, path).values())
    ours = sum(len(one["labels"]) for one in found.values())
    return f"3 providers of the site with {ours} labels; {labels} labels of {len(files)} more files"

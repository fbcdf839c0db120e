# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module loads what it needs and little else: how many files of ours each of them imports when it starts.

Ansible starts a process for each task. A module that only prints options must not load the launcher.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.floors import PACKAGE, UTILS, loaded, plugin_sources

ROOT = Path(__file__).resolve().parents[2]
SOURCES = plugin_sources(ROOT)
MODULES = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("*.py"))
MOST = {
    "alien_image_info": 110,
    "dib_build": 170,
    "dib_image": 100,
    "dib_image_info": 130,
    "image_data": 110,
    "image_info": 130,
    "image_validate": 150,
    "image_upload": 222,
    "label_info": 110,
    "leak_cleanup": 302,
    "lease_info": 110,
    "node": 110,
    "node_info": 110,
    "node_launch": 300,
    "nodepool_config_check": 110,
    "nodepool_config_info": 60,
    "nodepool_request": 130,
    "nodepool_status": 146,
    "nodepool_webapp": 275,
    "provider": 110,
    "provider_info": 110,
    "quickstart": 308,
    "request": 110,
    "request_info": 110,
    "throttle": 110,
    "usage_info": 117,
    "zuul_config": 110,
}
"""Most files for each module."""
NEVER = {
    "nodepool_config_info": ("clients.zookeeper", "clients.openstack", "cycles.launcher"),
    "nodepool_config_check": ("clients.zookeeper",),
    "throttle": ("clients.openstack", "cycles.launcher"),
    "dib_image_info": ("clients.openstack.library", "clients.openstack.clouds", "cycles.launcher"),
    "image_info": ("clients.openstack.library", "clients.openstack.clouds", "cycles.launcher"),
    "node_info": ("clients.openstack", "cycles.launcher", "cycles.builder"),
    "request_info": ("clients.openstack", "cycles.launcher", "cycles.builder"),
}
"""What a module has no use for."""


@pytest.mark.parametrize("module", MODULES)
def test_a_module_loads_little_else_than_it_needs(module):
    files = loaded(SOURCES, f"plugins.modules.{module}")
    assert module in MOST, f'write a line for it into MOST: "{module}": {len(files) + 5},'
    assert len(files) <= MOST[module], "it loads more than before: import what only another module needs elsewhere"
    strangers = tuple(UTILS + name + "." for name in NEVER.get(module, ()))
    assert [name for name in sorted(files) if f"{name}.".startswith(strangers)] == []


def test_what_a_function_imports_is_not_loaded_at_once():
    ours = f"{PACKAGE}{UTILS}"
    sources = {
        "plugins.modules.one": f"from {ours}model.a import name\ndef later():\n    from {ours}model import b",
        f"{UTILS}model.a": "from . import c",
        f"{UTILS}model.b": "",
        f"{UTILS}model.c": "try:\n    import yaml\nexcept ImportError:\n    yaml = None",
        f"{UTILS}model.__init__": "",
    }
    here = {f"{UTILS}model.{name}" for name in ("__init__", "a", "c")}
    assert loaded(sources, "plugins.modules.one") == {"plugins.modules.one", *here}

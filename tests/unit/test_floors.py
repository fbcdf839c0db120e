# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every file below ``plugins/`` keeps to its floor; and the rules notice when one does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.floors import PACKAGE, UTILS, between_folders, breaches, circle, edges, plugin_sources

ROOT = Path(__file__).resolve().parents[2]
SOURCES = plugin_sources(ROOT)


def ours(name: str) -> str:
    """An import of one of our modules."""
    return f"import {PACKAGE}{UTILS}{name}"


def test_there_is_something_to_look_at():
    assert f"{UTILS}model.errors" in SOURCES


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    return edges(SOURCES)


def test_every_file_keeps_to_its_floor():
    named = {module: source for module, source in SOURCES.items() if module.count(".") > 1}
    assert [breach for module, source in named.items() for breach in breaches(module, source)] == []


def test_no_circles(graph):
    assert circle(graph) == []


def test_no_circles_between_folders(graph):
    assert circle(between_folders(graph)) == []


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("model.node", ours("clients.ssh"), "model/ must not import from clients/"),
        ("launching.plan", ours("sweeping.find"), "launching/ must not import from sweeping/"),
        ("imaging.build", ours("launching.plan"), "imaging/ must not import from launching/"),
        ("cycles.launcher.cycle", ours("runtime.module"), "cycles/ must not import from runtime/"),
        (
            "cycles.launcher.cycle",
            f"def later():\n    {ours('runtime.module')}",
            "cycles/ must not import from runtime/",
        ),
        ("cycles.launcher.cycle", "from ansible.module_utils.basic import AnsibleModule", "must not know Ansible"),
        ("cycles.launcher.cycle", "from ...runtime.module import run_module", "cycles/ must not import from runtime/"),
        ("cycles.launcher.cycle", "from ...runtime import module", "cycles/ must not import from runtime/"),
        ("cycles.launcher.__init__", "from ...runtime import module", "cycles/ must not import from runtime/"),
        ("launching.plan", "try:\n    import kazoo\nexcept ImportError:\n    pass", "belongs in clients/"),
        ("clients.ssh", "from paramiko import Transport", "inside try"),
        ("model.node", "import time", "model/ is pure"),
        ("model.node", "from urllib.request import urlopen", "model/ is pure"),
        ("cycles.launcher.cycle", "def f(module):\n    module.fail_json(msg='')", "only runtime/ ends a module"),
        ("web.picture", ours("runtime.module"), "web/ must not import from runtime/"),
        ("web.picture", "import werkzeug", "inside try"),
        ("attic.box", "", "there is no such room"),
    ],
)
def test_a_breach_is_noticed(module, source, complaint):
    found = breaches(UTILS + module, source)
    assert len(found) == 1
    assert complaint in found[0]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (f"{UTILS}clients.zookeeper.store", "try:\n    import kazoo\nexcept ImportError:\n    kazoo = None"),
        (f"{UTILS}launching.plan", f"{ours('model.node')}\n{ours('clients.ssh')}\n{ours('launching.capacity')}"),
        (f"{UTILS}launching.plan", "from .capacity import x\nfrom ..model import node\nfrom ..clients.ssh import y"),
        (f"{UTILS}web.libraries", "try:\n    import werkzeug\nexcept ImportError:\n    werkzeug = None"),
        (f"{UTILS}web.picture", "from ..reporting.info import nodes"),
        (f"{UTILS}runtime.module", "import ansible\ndef f(module):\n    module.fail_json(msg='')"),
        (f"{UTILS}model.node", "import json, math\nfrom urllib.parse import urlsplit"),
        ("plugins.modules.node_launch", ours("runtime.module")),
    ],
)
def test_what_is_allowed_is_let_through(module, source):
    assert breaches(module, source) == []


def test_a_module_does_not_call_fail_json():
    assert breaches("plugins.modules.node_launch", "def f(module):\n    module.fail_json(msg='')")


def test_a_circle_is_noticed():
    first, second = f"{UTILS}model.first", f"{UTILS}model.second"
    sources = {first: ours("model.second"), second: f"from {PACKAGE}{UTILS}model import first"}
    assert set(circle(edges(sources))) == {first, second}


def test_a_circle_of_relative_imports_is_noticed():
    first, second = f"{UTILS}model.first", f"{UTILS}model.inner.__init__"
    sources = {first: "from .inner import value", second: "from ..first import other"}
    assert set(circle(edges(sources))) == {first, second}


def test_a_circle_between_folders_is_noticed_where_the_files_have_none():
    names = [f"{UTILS}model.{name}" for name in ("outer", "inner.first", "inner.second", "last")]
    sources = dict(zip(names, ("from .inner.first import a", "", "from ..last import b", ""), strict=True))
    assert circle(edges(sources)) == []
    assert set(circle(between_folders(edges(sources)))) == {f"{UTILS}model", f"{UTILS}model.inner"}

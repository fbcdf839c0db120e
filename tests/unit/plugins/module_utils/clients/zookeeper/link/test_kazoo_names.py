# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is used of kazoo beyond its interface is checked before the first session."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.connection import ConnectionHandler
from kazoo.recipe.lock import Lock

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import (
    kazoo_names,
    tree_client,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.kazoo_names import missing
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import UnsuitableLibraryError
from tests.support.ansible_run import ROOT

FOLDER = Path(kazoo_names.__file__).parent
REPLACED = {
    "Wire": ("wire.py", kazoo_names.CONNECTION, kazoo_names.CONNECTION_VALUES, ConnectionHandler),
    "Handler": ("wire.py", kazoo_names.HANDLER, kazoo_names.HANDLER_VALUES, SequentialThreadingHandler),
    "TreeClient": ("tree_client.py", kazoo_names.CLIENT, kazoo_names.CLIENT_VALUES, KazooClient),
}


def test_the_installed_kazoo_has_them_all():
    assert missing(ConnectionHandler, KazooClient, SequentialThreadingHandler, Lock) == []


@pytest.mark.parametrize("name", REPLACED)
def test_every_name_that_is_replaced_or_used_is_in_the_list(name):
    file, methods, values, base = REPLACED[name]
    tree = ast.parse((FOLDER / file).read_text("utf-8"))
    (ours,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    own = {node.attr for node in ast.walk(ours) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    used = {
        node.attr
        for node in ast.walk(ours)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    defined = {node.name for node in ours.body if isinstance(node, ast.FunctionDef)}
    hidden = {each for each in (used - own - defined) | (defined & set(dir(base))) if each[:1] == "_"}
    assert hidden - {"__init__"} <= {*methods, *values, *_of_ours(ours)}


def _of_ours(ours: ast.ClassDef) -> set[str]:
    """Names that the body of the class sets."""
    targets: list[ast.expr] = [node.target for node in ours.body if isinstance(node, ast.AnnAssign)]
    targets += [target for node in ours.body if isinstance(node, ast.Assign) for target in node.targets]
    return {target.id for target in targets if isinstance(target, ast.Name)}


@pytest.mark.parametrize("name", ["_connect", "_read_socket", "zk_loop"])
def test_a_method_that_is_gone_is_named(name):
    names: dict[str, Any] = {key: value for key, value in vars(ConnectionHandler).items() if key != name}
    names.pop("__dict__", None)
    names.pop("__weakref__", None)
    changed = type("ConnectionHandler", (), names)
    assert missing(changed, KazooClient, SequentialThreadingHandler, Lock) == [f"ConnectionHandler has no {name}"]


def test_other_arguments_are_named():
    class Changed(ConnectionHandler):
        def _connect(self, target: object) -> None:
            """One that takes something else."""

    (told,) = missing(Changed, KazooClient, SequentialThreadingHandler, Lock)
    assert told == "Changed._connect does not take host, hostip, port"


def test_an_attribute_that_nothing_sets_is_named():
    class Other:
        def __init__(self) -> None:
            self.node = self.prefix = self.create_tried = None

    assert missing(ConnectionHandler, KazooClient, SequentialThreadingHandler, Other) == ["Other has no assured_path"]


def test_the_error_names_the_release_and_the_remedy(monkeypatch):
    monkeypatch.setattr(tree_client, "_lacks", lambda: ("ConnectionHandler has no _connect",))
    with pytest.raises(
        UnsuitableLibraryError, match=r"kazoo [0-9.]+ cannot be used: .* has no _connect\. .*pip install"
    ):
        tree_client.require_kazoo()


def test_the_ceiling_is_told_in_one_place():
    assert f"\n{kazoo_names.TESTED}\n" in (ROOT / "requirements.txt").read_text("utf-8")

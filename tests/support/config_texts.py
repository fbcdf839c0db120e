# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Short ways to say a configuration in a test and to hear what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError

ZOOKEEPER = "zookeeper-servers: [{host: zk01}]\n"


def valid_document() -> dict[str, Any]:
    """A document that uses every section and is right; a fresh one each time. Nothing refers to what is *spare*."""
    return {
        "zookeeper-servers": [{"host": "zk01", "port": 2281, "chroot": "/ci"}],
        "zookeeper-tls": {"cert": "c", "key": "k", "ca": "a"},
        "zookeeper-timeout": 12.5,
        "images-dir": "/images",
        "build-log-retention": 3,
        "max-hold-age": 60,
        "labels": [{"name": "small", "min-ready": 1, "max-ready-age": 5}, {"name": "large"}, {"name": "spare"}],
        "diskimages": [
            {"name": "base", "abstract": True, "elements": ["vm"], "env-vars": {"A": "1"}, "rebuild-age": 7},
            {"name": "debian", "parent": "base", "release": 12, "metadata": {"os": "debian"}},
            {"name": "spare"},
        ],
        "providers": [
            {
                "name": "east",
                "cloud": "east",
                "rate": 0.5,
                "diskimages": [{"name": "debian", "meta": {"hw": "x"}}],
                "cloud-images": [{"name": "rocky", "image-id": "0-1"}],
                "pools": [
                    {
                        "name": "main",
                        "max-servers": 5,
                        "networks": ["net"],
                        "node-attributes": {"rack": 4},
                        "labels": [
                            {"name": "small", "diskimage": "debian", "min-ram": 1024},
                            {
                                "name": "large",
                                "cloud-image": "rocky",
                                "flavor-name": "m1",
                                "instance-properties": {"a": "b"},
                            },
                        ],
                    }
                ],
            },
            {"name": "rack", "driver": "static", "pools": [{"name": "p", "nodes": []}]},
        ],
        "tenant-resource-limits": [{"tenant-name": "t", "max-servers": 3, "gpus": 1}],
    }


def parse(text: str | dict[str, Any], secure: str | None = None, **options: Any) -> NodepoolConfig:
    """A configuration from YAML or from a document; the environment is empty unless given."""
    options.setdefault("environ", {})
    written = text if isinstance(text, str) else yaml.safe_dump(text, sort_keys=False, allow_unicode=True)
    return parse_config(written, "nodepool.yaml", secure, **options)


def complaints(text: str | dict[str, Any], secure: str | None = None, **options: Any) -> list[str]:
    """What the error says, sentence by sentence; fails when there is no error."""
    try:
        config = parse(text, secure, **options)
    except ConfigError as error:
        return error.problems
    raise AssertionError(f"no error; warnings: {config.warnings}")


def changed(path: tuple[str | int, ...], value: Any, document: dict[str, Any] | None = None) -> dict[str, Any]:
    """The valid document with *value* at *path*; ``...`` removes what is there."""
    top: Any = valid_document() if document is None else document
    place = top
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    assert isinstance(top, Mapping)
    return dict(top)


def keys_of(schema: Any) -> set[str]:
    """Every key that *schema* knows, wherever."""
    if isinstance(schema, list):
        return {key for item in schema for key in keys_of(item)}
    if not isinstance(schema, dict):
        return set()
    return {*schema.get("properties", {})} | {key for value in schema.values() for key in keys_of(value)}

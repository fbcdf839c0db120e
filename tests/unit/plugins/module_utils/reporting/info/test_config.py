# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import load_config, read_source
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.config import MASK, setting_rows

TEXT = """\
zookeeper-servers:
  - host: zk1
    chroot: /ci
labels:
  - name: small
    min-ready: 2
diskimages:
  - name: base
    abstract: true
    rebuild-age: 500
    elements: [vm]
    env-vars: {TOKEN: geheim1}
  - name: debian
    parent: base
    elements: [debian-minimal]
providers:
  - name: west
    cloud: west
    priority: 50
    region-name: "%(NODEPOOL_REGION)"
    diskimages:
      - name: debian
        meta: {key: geheim2}
    pools:
      - name: main
        max-servers: 4
        networks: [net-a]
        labels:
          - name: small
            diskimage: debian
            min-ram: 2048
            userdata: geheim3
            instance-properties: {a: geheim4}
"""


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """(section, option) → row."""
    monkeypatch.setenv("NODEPOOL_REGION", "geheim5")
    file, secure = tmp_path / "nodepool.yaml", tmp_path / "secure.conf"
    file.write_text(TEXT, "utf-8")
    tls = {"cert": "/c", "key": "/k", "ca": "/ca"}
    secret = {"name": "debian", "env-vars": {"PASSWORD": "geheim6"}}
    auth = {"username": "launcher", "password": "geheim7", "former-password": "geheim8", "protect": True}
    content = {"zookeeper-tls": tls, "zookeeper-auth": auth, "diskimages": [secret]}
    secure.write_text(json.dumps(content), "utf-8")
    config = load_config(str(file), str(secure))
    found = setting_rows(config, read_source(str(file)), read_source(str(secure), secret=True))
    assert len({(row["section"], row["option"]) for row in found}) == len(found)
    return {(row["section"], row["option"]): row for row in found}


POOL = "providers[west].pools[main]"
LABEL = f"{POOL}.labels[small]"
DEBIAN = "diskimages[debian]"


@pytest.mark.parametrize(
    ("section", "option", "value", "origin", "line"),
    [
        ("top", "zookeeper-servers", ["zk1:2281/ci"], "top", 1),
        ("top", "zookeeper-tls", {"cert": "/c", "key": "/k", "ca": "/ca"}, "secure file", None),
        (
            "top",
            "zookeeper-auth",
            {"scheme": "digest", "username": "launcher", "protect": True},
            "secure file",
            None,
        ),
        ("top", "zookeeper-timeout", 10.0, "default", None),
        ("top", "build-log-retention", 7, "default", None),
        ("labels[small]", "min-ready", 2, "label", 6),
        ("labels[small]", "max-ready-age", 0, "default", None),
        (DEBIAN, "rebuild-age", 500, "diskimage base", 10),
        (DEBIAN, "elements", ["vm", "debian-minimal"], "diskimage", 15),
        (DEBIAN, "build-timeout", 28800, "default", None),
        ("providers[west]", "priority", 50, "provider", 19),
        ("providers[west]", "max-concurrency", None, "default", None),
        ("providers[west].diskimages[debian]", "connection-port", 22, "default", None),
        (POOL, "priority", 50, "provider", 19),
        (POOL, "max-servers", 4, "pool", 26),
        (POOL, "max-cores", None, "default", None),
        (LABEL, "networks", ["net-a"], "pool", 27),
        (LABEL, "min-ram", 2048, "label", 31),
        (LABEL, "host-key-checking", True, "default", None),
    ],
)
def test_the_value_in_force_and_where_it_comes_from(rows, section, option, value, origin, line):
    row = rows[section, option]
    assert (row["value"], row["origin"], row["line"]) == (value, origin, line)


def test_no_secret_is_shown(rows):
    assert "geheim" not in json.dumps(list(rows.values()))
    assert rows[DEBIAN, "env-vars"]["value"] == {"TOKEN": MASK, "PASSWORD": MASK}
    assert rows[LABEL, "userdata"]["value"] == MASK
    assert rows["providers[west]", "region-name"]["value"] == MASK


def test_what_the_settings_say_is_shown_with_its_file_and_what_it_is_inherited_from(tmp_path):
    main, own = tmp_path / "nodepool.yaml", tmp_path / "nodepool-settings.yaml"
    main.write_text(
        TEXT.replace("%(NODEPOOL_REGION)", "r").replace("    priority: 50\n", "    boot-timeout: 70\n"), "utf-8"
    )
    entry = {"name": "small", "server-group": "b"}
    pools = [{"name": "main", "labels": [entry]}]
    probe = {"command": "true", "key-file": "k"}
    labels = [{"name": "small", "launch-timeout": 9, "server-group": "a", "probe": probe}]
    own.write_text(json.dumps({"labels": labels, "providers": [{"name": "west", "pools": pools}]}), "utf-8")
    found = setting_rows(load_config(str(main)), read_source(str(main)), None, read_source(str(own), ours=True))
    section = "providers[west].pools[main].labels[small]"
    rows = {row["option"]: row for row in found if row["section"] == section}
    shown = {name: (rows[name]["value"], rows[name]["origin"], rows[name]["file"]) for name in rows}
    assert shown["server-group"] == ("b", "label", str(own))
    assert shown["launch-timeout"] == (9, "label small", str(own))
    assert shown["boot-timeout"] == (70, "provider", str(main))
    assert shown["scheduler-hints"] == ({}, "default", None)
    assert shown["min-ram"] == (2048, "label", str(main))
    for place, origin in (("labels[small]", "probe"), (section, "probe of label small")):
        probes = {row["option"]: row for row in found if row["section"] == f"{place}.probe"}
        assert [probes[name]["value"] for name in ("port", "command", "interval")] == [None, "true", 5]
        assert (probes["command"]["origin"], probes["command"]["file"]) == (origin, str(own))
        assert (probes["interval"]["origin"], probes["interval"]["file"]) == ("default", None)
    assert rows["boot-timeout"]["line"] == 1 + main.read_text("utf-8").splitlines().index("    boot-timeout: 70")

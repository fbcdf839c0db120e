# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renews the captures of status.yml and explain.yml in the documentation: ``python -m tools.looking_captures``.

The playbooks read a private ZooKeeper with the records of tests/support/populated_tree.py. Each capture stands below a
comment, ``<!-- status at 80 columns -->`` or ``<!-- explain 100-0000000011 -->``.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from pathlib import Path

from kazoo.client import KazooClient

from tests.support.ansible_run import ROOT, command
from tests.support.populated_tree import (
    BROKEN,
    EMPTY,
    ODD,
    populate,
)
from tests.support.zookeeper_server import HOST, ZooKeeperServer

PAGES = (ROOT / "docs" / "looking.md", ROOT / "docs" / "operating.md")
CAPTURE = re.compile(r"(<!-- (status at|explain) (\S+)(?: columns)? -->\n\n```\n)(.*?)(```\n)", re.DOTALL)
"""Beginning, playbook, its argument, the capture, end."""
FIRST = ("ATTENTION ", "PROVIDERS ", "request ", "node ")
"""How the first line of a capture begins."""
LEFT_OUT = (ODD, EMPTY, BROKEN)
"""Records that no site has; the tests need them."""
CONFIG = {
    "labels": [],
    "diskimages": [{"name": "debian"}],
    "providers": [
        {"name": "east", "cloud": "east"},
        {
            "name": "west",
            "cloud": "west",
            "diskimages": [{"name": "debian"}],
            "pools": [{"name": "main", "max-servers": 4, "labels": []}],
        },
    ],
}
"""The rest of nodepool.yaml."""


def main() -> None:
    """Run the playbooks and put what they show into the pages."""
    with tempfile.TemporaryDirectory(prefix="nodepool-captures-") as name, ZooKeeperServer() as zookeeper:
        folder = Path(name)
        _populate(zookeeper.hosts)
        document = {"zookeeper-servers": [{"host": HOST, "port": zookeeper.port}], **CONFIG}
        (folder / "nodepool.yaml").write_text(json.dumps(document), encoding="utf-8")
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            shown = CAPTURE.sub(lambda found: f"{found[1]}{_capture(folder, found[2], found[3])}{found[5]}", text)
            page.write_text(shown, encoding="utf-8")


def _populate(hosts: str) -> None:
    client = KazooClient(hosts)
    client.start()
    try:
        populate(lambda path, data: _put(client, path, data), time.time())
    finally:
        client.stop()
        client.close()


def _put(client: KazooClient, path: str, data: bytes) -> None:
    if path.endswith(LEFT_OUT):
        return
    if client.exists(path):
        client.set(path, data)
    else:
        client.create(path, data, makepath=True)


def _capture(folder: Path, playbook: str, argument: str) -> str:
    """What the playbook shows for a width or an id."""
    name, variable = ("explain", "id") if playbook == "explain" else ("status", "status_width")
    given = ("-e", "nodepool_config=nodepool.yaml", "-e", f"{variable}={argument}")
    done = command("ansible-playbook", ROOT / "playbooks" / f"{name}.yml", *given, folder=folder)
    if done.returncode:
        raise SystemExit(f"the playbook failed:\n{done.stdout}{done.stderr}")
    lines = done.stdout.splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith(FIRST))
    end = next(place for place in range(begin, len(lines)) if not lines[place])
    lines = [line for line in lines[begin:end] if not line.startswith(("ok: ", "changed: "))]
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renews the captures of status.yml in docs/looking.md: ``python -m tools.looking_captures``.

The playbook reads a private ZooKeeper with the records of tests/support/populated_tree.py. Each capture stands below a
comment ``<!-- status at 80 columns -->`` with its width.
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

PAGE = ROOT / "docs" / "looking.md"
CAPTURE = re.compile(r"(<!-- status at (\d+) columns -->\n\n```\n)(.*?)(```\n)", re.DOTALL)
FIRST = "PROVIDERS "
LEFT_OUT = (ODD, EMPTY, BROKEN)
"""Records that no site has; the tests need them."""


def main() -> None:
    """Run the playbook at each width and put what it shows into the page."""
    with tempfile.TemporaryDirectory(prefix="nodepool-captures-") as name, ZooKeeperServer() as zookeeper:
        folder = Path(name)
        _populate(zookeeper.hosts)
        document = {"zookeeper-servers": [{"host": HOST, "port": zookeeper.port}], "labels": []}
        (folder / "nodepool.yaml").write_text(json.dumps(document), encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
        shown = CAPTURE.sub(lambda found: f"{found[1]}{_capture(folder, int(found[2]))}{found[4]}", page)
    PAGE.write_text(shown, encoding="utf-8")


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


def _capture(folder: Path, width: int) -> str:
    """What is on a screen of *width* columns."""
    given = ("-e", "nodepool_config=nodepool.yaml", "-e", f"status_width={width}")
    done = command("ansible-playbook", ROOT / "playbooks" / "status.yml", *given, folder=folder)
    if done.returncode:
        raise SystemExit(f"the playbook failed:\n{done.stdout}{done.stderr}")
    lines = done.stdout.splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith(FIRST))
    end = next(place for place in range(begin, len(lines)) if not lines[place])
    lines = [line for line in lines[begin:end] if not line.startswith(("ok: ", "changed: "))]
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records what the web service of Nodepool 11.0.0 answers on a tree, in ``stock_webapp.json``.

It was run once, by hand, in a virtual environment with nodepool 11.0.0 and what its modules ``webapp`` and ``zk``
import: ``PYTHONPATH=. python tests/replays/record_stock_webapp.py``. The service is the real one, over HTTP, with a
real ZooKeeper; only the clock stands still.
"""

from __future__ import annotations

import http.client
import json
import logging
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kazoo.client import KazooClient
from nodepool import status, webapp  # type: ignore[import-not-found]
from nodepool.zk import ZooKeeperClient  # type: ignore[import-not-found]
from nodepool.zk.zookeeper import ZooKeeper  # type: ignore[import-not-found]

from tests.support import populated_tree
from tests.support.zookeeper_server import ZooKeeperServer

NOW = 1_795_198_332
OUT = Path(__file__).with_name("stock_webapp.json")
STRANGE = (populated_tree.ODD, populated_tree.NOT_JSON, populated_tree.EMPTY, populated_tree.BROKEN, "/odd")
"""What Nodepool's own service answers 500 for, or leaves out."""
LISTS = ("node-list", "request-list", "image-list", "dib-image-list", "image-status", "label-list")
ACCEPTS = (
    "",
    "*/*",
    "application/json",
    "text/plain",
    "text/html",
    "text/html,application/json",
    "application/json,text/plain;q=0.9",
    "application/json;q=0.5,text/plain;q=0.9",
    "application/*",
    "text/*;q=0.3,application/json;q=0.4",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
)
UNKNOWN = "application/yaml"


def tree() -> dict[str, Any]:
    """Path → document (or an empty text)."""
    found = populated_tree.documents(NOW)
    kept = {
        path: document.decode() if isinstance(document, bytes) else document
        for path, document in found.items()
        if not any(name in path for name in STRANGE) and "/stackci/" not in path
    }
    node = found[f"/nodepool/nodes/{populated_tree.READY}"]
    build = found[f"/nodepool/images/debian/builds/{populated_tree.BUILD}"]
    more = {
        "nodes/0000000020": {**node, "connection_port": "2222", "comment": "<script>alert(1)</script>", "type": "old"},
        "nodes/0000000021": {
            **node,
            "connection_port": {"token": "secret"},
            "comment": "first\nsecond",
            "hostname": "",
        },
        "nodes/0000000022": {
            **node,
            "connection_port": None,
            "comment": "größer 試験",
            "driver_data": {"a": [1, None]},
        },
        "nodes/0000000023": {"state": "init", "state_time": NOW - 90061.7, "provider": "west", "type": ["small"]},
        "requests/100-0000000030": {"state": "requested", "state_time": NOW, "node_types": ["small"]},
        "images/arch/pause": "",
        "images/arch/builds/0000000001": {**build, "state": "building", "formats": ""},
        "images/fedora/request-build": "",
        "images/fedora/builds/11ee55d4b3414869b6b292a38d9f6cf0": {**build, "state": "failed", "state_time": NOW - 5.5},
    }
    return {**kept, **{f"/nodepool/{path}": document for path, document in more.items()}}


def locks() -> list[str]:
    """The contenders of locks that are taken."""
    kept = [path for path in populated_tree.locks() if "/stackci/" not in path]
    return [*kept, "/nodepool/images/fedora/builds/lock/0123456789abcdef0123456789abcdef__lock__0000000000"]


def asked() -> list[tuple[str, dict[str, str]]]:
    """Paths with the headers that go with them."""
    every = [(f"/{name}", {"Accept": accept}) for name in LISTS for accept in ("application/json", "text/plain")]
    rules = [("/label-list", {"Accept": accept} if accept else {}) for accept in (*ACCEPTS, UNKNOWN)]
    queries = [
        (f"/node-list?{query}", {"Accept": accept})
        for query in (
            f"node_id={populated_tree.HELD}",
            "node_id=9999999999",
            "fields=id,state",
            "fields=state,id,nonsense",
            "fields=nonsense",
            "fields=",
            f"node_id={populated_tree.READY}&fields=id,age",
        )
        for accept in ("application/json", "text/plain")
    ]
    return [*every, *rules, *queries, ("/nowhere", {}), ("/ready", {})]


def ask(port: int, path: str, headers: dict[str, str]) -> dict[str, Any]:
    """One question and its answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    told = {name.lower(): value for name, value in answer.getheaders() if name.lower() not in ("date", "server")}
    return {
        "path": path,
        "accept": headers.get("Accept"),
        "status": answer.status,
        "headers": told,
        "body": answer.read().decode(),
    }


def main() -> None:
    """Record."""
    logging.disable()
    status.time = webapp.time = SimpleNamespace(time=lambda: float(NOW))
    with ZooKeeperServer(tls=True) as server:
        client = KazooClient(server.hosts)
        client.start(10)
        # A lock's folder is there before the first build, whose absence Nodepool concludes from its age.
        for path in [path for path in locks() if "/images/" in path]:
            client.create(path, makepath=True)
        for path, document in tree().items():
            client.create(path, json.dumps(document).encode() if document != "" else b"", makepath=True)
        for path in [path for path in locks() if "/images/" not in path]:
            client.create(path, makepath=True)
        tls = server.certificates
        assert tls is not None
        stock = ZooKeeperClient(
            f"127.0.0.1:{server.tls_port}",
            tls_cert=str(tls.client_cert),
            tls_key=str(tls.client_key),
            tls_ca=str(tls.ca),
        )
        stock.connect()
        keeper = ZooKeeper(stock, enable_cache=True)
        time.sleep(5)  # its caches fill in threads of theirs
        service = webapp.WebApp(SimpleNamespace(ready=True, getZK=lambda: keeper), port=0, listen_address="127.0.0.1")
        service.start()
        port = service.server.server_port
        record = {
            "recorded": "nodepool 11.0.0",
            "now": NOW,
            "tree": tree(),
            "locks": locks(),
            "answers": [ask(port, path, headers) for path, headers in asked()],
        }
        OUT.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

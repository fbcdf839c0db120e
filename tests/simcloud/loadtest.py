# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m tests.simcloud.loadtest [calls]``: how many calls a second the simulated cloud answers."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from urllib.parse import urlsplit

from tests.support.simcloud_process import SimCloud, default_cloud

CONNECTIONS = 8
SERVERS = 1000
LISTINGS = 20


class Connection:
    """One kept-alive connection, as lean as possible so that the service is what is measured."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader, self._writer, self._host = reader, writer, host

    @classmethod
    async def open(cls, url: str) -> Connection:
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=1 << 24)
        return cls(reader, writer, parts.netloc)

    async def call(self, method: str, path: str, token: str = "", body: bytes = b"") -> tuple[dict[str, str], bytes]:
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nX-Auth-Token: {token}\r\n"
        head += "OpenStack-API-Version: compute 2.53\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        if int(lines[0].split()[1]) >= 400:
            raise RuntimeError(f"{method} {path}: {lines[0]}")
        headers = {name.lower(): value for name, _colon, value in (line.partition(": ") for line in lines[1:] if line)}
        return headers, await self._reader.readexactly(int(headers.get("content-length", 0)))


async def _rate(connections: list[Connection], calls: int, method: str, path: str, token: str, body: bytes) -> float:
    async def share(connection: Connection) -> None:
        for _number in range(calls // len(connections)):
            await connection.call(method, path, token, body)

    begin = time.perf_counter()
    await asyncio.gather(*(share(connection) for connection in connections))
    return calls / (time.perf_counter() - begin)


async def _measure(sim: SimCloud, calls: int) -> None:
    connections = [await Connection.open(sim.url) for _number in range(CONNECTIONS)]
    first = connections[0]
    user = {"name": "nodepool", "domain": {"id": "default"}, "password": "secret-of-load"}
    auth = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}}}
    headers, _body = await first.call("POST", "/load/identity/v3/auth/tokens", body=json.dumps(auth).encode())
    token = headers["x-subject-token"]
    compute = "/load/compute/v2.1"
    flavor = json.loads((await first.call("GET", f"{compute}/flavors", token))[1])["flavors"][0]["id"]
    image = json.loads((await first.call("GET", "/load/image/v2/images", token))[1])["images"][0]["id"]
    server = {"name": "load", "flavorRef": flavor, "imageRef": image, "networks": "auto", "metadata": {"a": "b" * 200}}
    body = json.dumps({"server": server}).encode()
    print(f"GET /limits          {await _rate(connections, calls, 'GET', f'{compute}/limits', token, b''):8.0f} /s")
    print(
        f"POST /servers        {await _rate(connections, SERVERS, 'POST', f'{compute}/servers', token, body):8.0f} /s"
    )
    times = []
    for _number in range(LISTINGS):
        begin = time.perf_counter()
        _headers, listing = await first.call("GET", f"{compute}/servers/detail", token)
        times.append(time.perf_counter() - begin)
    number = len(json.loads(listing)["servers"])
    print(
        f"GET /servers/detail  {number} servers, {len(listing) >> 10} KiB: first {times[0] * 1000:.1f} ms, "
        f"median {statistics.median(times) * 1000:.1f} ms"
    )
    path = f"{compute}/servers/{json.loads(listing)['servers'][0]['id']}"
    print(f"GET /servers/{{id}}    {await _rate(connections, calls, 'GET', path, token, b''):8.0f} /s")
    ports = "/load/network/v2.0/ports"
    begin = time.perf_counter()
    await first.call("GET", ports, token)
    print(f"GET /ports           all: {(time.perf_counter() - begin) * 1000:.1f} ms")


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    quota = {"instances": -1, "cores": -1, "ram": -1, "ports": -1}
    with SimCloud(default_cloud("load", quota=quota, boot=0.0)) as sim:
        asyncio.run(_measure(sim, calls))


if __name__ == "__main__":
    main()

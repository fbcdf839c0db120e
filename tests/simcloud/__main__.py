# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m tests.simcloud --state-dir DIR --config FILE.json|-``: run the simulated clouds."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.simcloud.config import ServiceConfig, parse
from tests.simcloud.guests.manager import Guests
from tests.simcloud.guests.processes import become_subreaper, end_descendants
from tests.simcloud.service import LARGEST_BODY, Service

HOST = "127.0.0.1"
ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Run until SIGTERM or SIGINT; return the exit status."""
    arguments = _arguments()
    try:
        text = sys.stdin.read() if arguments.config == "-" else Path(arguments.config).read_text(encoding="utf-8")
        config = parse(json.loads(text))
    except (OSError, ValueError) as problem:
        print(f"simcloud: cannot use the configuration {arguments.config}: {problem}", file=sys.stderr)
        return 2
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    arguments.state_dir.mkdir(parents=True, exist_ok=True)
    return asyncio.run(_run(config, arguments.state_dir.resolve(), arguments.port))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simcloud", description=__doc__)
    parser.add_argument("--state-dir", type=Path, required=True, help="keeps images, host keys and ready.json")
    parser.add_argument("--config", required=True, help="a JSON file, or - for standard input")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 picks a free one")
    return parser.parse_args()


async def _run(config: ServiceConfig, state_dir: Path, port: int) -> int:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    guests = None
    if any(cloud.guests is not None for cloud in config.clouds.values()):
        try:
            guests = Guests(state_dir, ROOT)
        except RuntimeError as problem:
            print(f"simcloud: {problem}", file=sys.stderr)
            return 3
        become_subreaper()
        await guests.start()
    holder: dict[str, Service] = {}

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        return await holder["service"].handle(request)

    server = web.Server(handle, handler_cancellation=True, access_log=None, request_factory=_request_factory(loop))
    runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, HOST, port, backlog=1024)
    await site.start()
    bound = runner.addresses[0][1]
    base = f"http://{HOST}:{bound}"
    holder["service"] = Service(config, base, state_dir, guests)
    # What exists now lives as long as the process; collecting it again and again only costs.
    gc.freeze()
    _announce(state_dir, bound, base)
    status = await _until_stopped(stopping, guests)
    if guests is not None:
        await guests.stop()
    await runner.cleanup()
    (state_dir / "ready.json").unlink(missing_ok=True)
    return status


async def _until_stopped(stopping: asyncio.Event, guests: Guests | None) -> int:
    waiting: list[asyncio.Task[Any]] = [asyncio.create_task(stopping.wait())]
    if guests is not None:
        waiting.append(asyncio.create_task(guests.lost()))
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    if stopping.is_set():
        return 0
    print("simcloud: the keeper of the guests has died; ending everything", file=sys.stderr)
    end_descendants()
    return 4


def _request_factory(loop: asyncio.AbstractEventLoop) -> Any:
    def make(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=LARGEST_BODY)

    return make


def _announce(state_dir: Path, port: int, base: str) -> None:
    document = {"port": port, "pid": os.getpid(), "url": base, "control": f"{base}/control"}
    fresh = state_dir / "ready.json.new"
    fresh.write_text(json.dumps(document), encoding="utf-8")
    fresh.replace(state_dir / "ready.json")


if __name__ == "__main__":
    sys.exit(main())

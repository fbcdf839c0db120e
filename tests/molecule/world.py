# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ZooKeeper and a simulated cloud for one scenario, until they are killed.

    python -m tests.molecule.world --state-dir DIR [--tls] [--guests]

returns when both work. DIR/world.json then tells where: ``zookeeper`` (host and port; ``tls_port``, ``cert``, ``key``,
``ca`` with --tls), ``cloud`` (``url`` and ``control``), ``clouds_config`` (its content) and ``ssh_port``.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.support.simcloud_process import ROOT, SimCloud, default_cloud
from tests.support.zookeeper_server import HOST, ZooKeeperServer

CLOUD = "west"
START_SECONDS = 60.0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.molecule.world")
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--tls", action="store_true", help="ZooKeeper also serves TLS with client certificates")
    parser.add_argument("--guests", action="store_true", help="an sshd answers for each server of the cloud")
    parser.add_argument("--stay", action="store_true", help="do not go into the background")
    return parser.parse_args()


def begin(options: argparse.Namespace) -> int:
    """Start the services in the background and wait until they answer."""
    told: Path = options.state_dir / "world.json"
    options.state_dir.mkdir(parents=True, exist_ok=True)
    told.unlink(missing_ok=True)
    log = options.state_dir / "world.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.molecule.world", *sys.argv[1:], "--stay"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    limit = time.monotonic() + START_SECONDS
    while not told.exists():
        if process.poll() is not None or time.monotonic() > limit:
            process.kill()
            print(log.read_text("utf-8", "replace")[-2000:], file=sys.stderr)
            return 1
        time.sleep(0.05)
    print(told.read_text("utf-8"))
    return 0


def stay(options: argparse.Namespace) -> int:
    """Run the services until a signal comes, or one of them ends."""
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    state = options.state_dir.resolve()
    guests = {"mode": "each"} if options.guests else None
    with (
        ZooKeeperServer(data_dir=state / "zookeeper", tls=options.tls) as zookeeper,
        SimCloud(default_cloud(CLOUD, guests=guests), state_dir=state / "cloud") as cloud,
    ):
        tell(state / "world.json", zookeeper, cloud, guests=options.guests)
        while signal.sigtimedwait(signals, 0.5) is None:
            if not zookeeper.running or cloud.process is None or cloud.process.poll() is not None:
                print("ZooKeeper or the cloud has ended by itself", file=sys.stderr)
                return 1
    return 0


def tell(path: Path, zookeeper: ZooKeeperServer, cloud: SimCloud, *, guests: bool) -> None:
    """Write world.json."""
    server: dict[str, Any] = {"host": HOST, "port": zookeeper.port}
    if zookeeper.certificates is not None:
        files = zookeeper.certificates
        server |= {"tls_port": zookeeper.tls_port}
        server |= {"cert": str(files.client_cert), "key": str(files.client_key), "ca": str(files.ca)}
    document = {
        "zookeeper": server,
        "cloud": {"name": CLOUD, "url": cloud.url, "control": f"{cloud.url}/control"},
        "clouds_config": json.loads(cloud.clouds_yaml.read_text("utf-8")),
        "ssh_port": cloud.ssh_port(CLOUD) if guests else None,
    }
    part = path.with_suffix(".part")
    part.write_text(json.dumps(document, indent=1), "utf-8")
    part.replace(path)


if __name__ == "__main__":
    chosen = arguments()
    sys.exit(stay(chosen) if chosen.stay else begin(chosen))

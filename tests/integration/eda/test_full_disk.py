# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The disk below journal and state file is full, then read-only: all else goes on, and nothing is lost or doubled."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from tests.integration.eda.test_events_of_a_site import COMMAND, PATIENCE, address
from tests.support.ansible_run import COLLECTIONS, environment
from tests.support.fixtures_zookeeper import eventually
from tests.support.populated_site import PopulatedSite

FIRST = json.dumps({"request": "0" * 3600})
"""An event of an earlier day: the one after the next does not fit into what the file has of the disk."""
MOUNTED = "mount -t tmpfs -o mode=0755,size=64k none {0}; echo '{2}' > {0}/events.jsonl; exec {1}"

pytestmark = pytest.mark.skipif(
    subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode != 0,
    reason="this user may make no mount namespace",
)


class Source:
    """The command with journal and state file on a disk of 64 kB that only it sees."""

    def __init__(self, site: PopulatedSite, folder: Path, url: str) -> None:
        disk, self._folder = folder / "disk", folder
        disk.mkdir()
        files = [f"--config={folder}/nodepool.yaml", f"--journal={disk}/events.jsonl", f"--state-file={disk}/told.json"]
        words = [sys.executable, "-m", COMMAND, *files, "--types=request_failed", "--every=0.1", f"--webhook={url}"]
        with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
            self.process = subprocess.Popen(
                ["unshare", "--mount", "sh", "-ec", MOUNTED.format(disk, " ".join(words), FIRST)],
                cwd=folder,
                env={**environment(folder), "PYTHONPATH": str(COLLECTIONS)},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        self.disk = Path(f"/proc/{self.process.pid}/root{disk}")
        self._mounted = disk
        self._site = site

    def fails(self, number: int) -> None:
        """A request fails."""
        request = {"state": "failed", "node_types": ["small"], "state_time": time.time(), "requestor": "zuul"}
        self._site.put(f"{paths.REQUESTS}/200-000000000{number}", json.dumps(request).encode())

    def remount(self, how: str) -> None:
        """Mount the disk with another option."""
        words = ["nsenter", "--mount", f"--target={self.process.pid}", "mount", "-o", f"remount,{how}"]
        subprocess.run([*words, str(self._mounted)], timeout=30, check=True)

    def fill(self) -> None:
        """Leave no byte on the disk."""
        with (self.disk / "ballast").open("wb", buffering=0) as file, suppress(OSError):
            while file.write(b"x" * 512):
                pass

    def kept(self) -> list[str]:
        """The requests in the journal, all of whose lines are whole."""
        return numbers([json.loads(line) for line in (self.disk / "events.jsonl").read_text("utf-8").splitlines()])

    def remembers(self, number: int) -> bool:
        """True when the state file has a request."""
        return f"200-000000000{number}" in (self.disk / "told.json").read_text("utf-8")

    def screen(self) -> list[str]:
        """The requests on standard output."""
        return numbers([json.loads(line) for line in (self._folder / "out").read_text("utf-8").splitlines()])

    def errors(self) -> list[str]:
        """The lines for people."""
        return (self._folder / "err").read_text("utf-8").splitlines()


def numbers(events: list[dict[str, Any]]) -> list[str]:
    """The last figure of each request."""
    return [event["request"][-1] for event in events]


@pytest.fixture
def site(tmp_path, zk_chroot, zk_client) -> PopulatedSite:
    """A tree without anything in trouble."""
    found = PopulatedSite(tmp_path, zk_chroot, zk_client)
    zk_client.ensure_path(paths.NODES)
    zk_client.ensure_path(paths.REQUESTS)
    (tmp_path / "nodepool.yaml").write_text(json.dumps(found.document), "utf-8")
    return found


@pytest.fixture
def hook() -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """An address, and what it got."""
    with address() as found:
        yield found


@pytest.mark.timeout(300)
def test_events_go_on_without_room_for_the_journal_and_it_gets_all_of_them_once(site, tmp_path, hook):
    url, got = hook
    source = Source(site, tmp_path, url)

    def arrived(*wanted: str) -> bool:
        return numbers([event for _login, event in got]) == list(wanted) == source.screen()

    try:
        eventually((source.disk / "told.json").exists, PATIENCE)
        source.fails(1)
        eventually(lambda: arrived("1"), PATIENCE)
        source.fill()
        source.fails(2)
        source.fails(3)
        eventually(lambda: arrived("1", "2", "3"), PATIENCE)
        assert source.kept() == ["0", "1"]
        (source.disk / "ballast").unlink()
        eventually(lambda: source.kept() == ["0", "1", "2", "3"], PATIENCE)
        eventually(lambda: source.remembers(3), PATIENCE)
        source.remount("ro")
        source.fails(4)
        eventually(lambda: arrived("1", "2", "3", "4"), PATIENCE)
        source.remount("rw")
        eventually(lambda: source.kept() == ["0", "1", "2", "3", "4"], PATIENCE)
        eventually(lambda: source.remembers(4), PATIENCE)
        source.process.send_signal(signal.SIGTERM)
        assert source.process.wait(60) == 0
    finally:
        source.process.kill()
        source.process.wait()
    journal, state = (
        [line.split(name)[1] for line in source.errors() if line.startswith(what)]
        for what, name in (("journal: ", "events.jsonl "), ("state_file: ", "told.json "))
    )
    full, read_only, again = "No space left on device: ", "Read-only file system: ", "can be written again"
    assert [line.partition("up to")[0].removeprefix("cannot be written: ") for line in journal] == [
        full,
        f"{again}: 2 events waited",
        read_only,
        f"{again}: 1 event waited",
    ]
    assert [line.partition("a restart")[0].removeprefix("cannot be written: ") for line in state] == [
        full,
        again,
        read_only,
        again,
    ]
    assert len(journal) + len(state) == len(source.errors())

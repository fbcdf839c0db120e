# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Launchers on hosts with a name, a clock or a folder that nobody would choose: they tell it, and nothing is lost."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.ansible_run import COLLECTIONS, MODULES, environment
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider

NAMES = ("one", "two", "three", "four")
STARTED = 120.0
"""Seconds that are enough on a busy machine."""

pytestmark = pytest.mark.long


class Host:
    """A launcher with a host name of its own, killed at the end.

    :param name: of the host; *folder*: of its sessions.
    :param ahead: seconds by which its clock is ahead.
    :param before: shell commands that make the host what it is.
    """

    def __init__(self, site: Site, name: str, folder: Path, *, ahead: float = 0.0, before: str = "true") -> None:
        self._room = site.folder / f"room-{name}-{ahead:g}"
        self._room.mkdir()
        options = {**site.files(), "until": "deadline", "duration": 600, "state_dir": str(folder)}
        options["progress_file"] = str(self._room / "progress")
        arguments = self._room / "arguments.json"
        arguments.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": options}), encoding="utf-8")
        (self._room / "sitecustomize.py").write_text(
            f"import time\ntrue = time.time\ntime.time = lambda: true() + {ahead}\n", encoding="utf-8"
        )
        module = shlex.join([sys.executable, "-m", f"{MODULES}.node_launch", str(arguments)])
        self.process = subprocess.Popen(
            ["unshare", "--uts", "--mount", "sh", "-ec", f"hostname {name}; {before}; exec {module}"],
            env={**environment(self._room), "PYTHONPATH": f"{self._room}:{COLLECTIONS}"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(30)

    def told(self, words: str) -> bool:
        """True when a line with *words* was told."""
        file = self._room / "progress"
        return file.exists() and any(words in json.loads(line)["line"] for line in file.read_text("utf-8").splitlines())


Starts = Callable[..., Host]


@pytest.fixture
def start(site: Site) -> Iterator[Starts]:
    """Starts hosts: ``start(name, …)``."""
    if subprocess.run(
        ["unshare", "--uts", "--mount", "hostname", "other"], check=False, capture_output=True
    ).returncode:
        pytest.skip("a host name of its own is not permitted here")
    site.configure(
        *(provider(name, pool("main", label("small"), max_servers=20)) for name in NAMES), zookeeper_timeout=4.0
    )
    with ExitStack() as stack:

        def begin(name: str, folder: str, **more: object) -> Host:
            path = site.folder / folder
            path.mkdir(mode=0o700, exist_ok=True)
            host = Host(site, name, path, **more)  # type: ignore[arg-type]
            stack.callback(host.kill)
            return host

        yield begin


def shares(site: Site) -> dict[str, int]:
    """Name of the host → the number of providers that it acts for."""
    found: dict[str, int] = {}
    for name in NAMES:
        path = f"/nodepool/stackci/providers/{name}"
        if site.requestor.children(f"{path}/lock"):
            host = str((site.requestor.read(path) or {}).get("host")).partition(":")[0]
            found[host] = found.get(host, 0) + 1
    return found


def servers(site: Site) -> int:
    return sum(len(cloud.servers()) for cloud in site.clouds.values())


def test_a_host_that_gets_another_name_goes_on_with_its_launches(site: Site, start: Starts):
    before = start("first", "sessions")
    eventually(lambda: shares(site) == {"first": 4}, STARTED)
    requests = [site.requestor.ask("small") for _number in range(8)]
    before.kill()
    start("second", "sessions")
    eventually(lambda: shares(site) == {"second": 4}, STARTED)
    for request in requests:
        site.requestor.wait_for(request, seconds=STARTED)
    assert servers(site) == len(requests)


@pytest.mark.parametrize("ahead", [600.0, -600.0])
def test_hosts_whose_clocks_are_ten_minutes_apart_share_the_work(site: Site, start: Starts, ahead: float):
    start("right", "right")
    wrong = start("wrong", "wrong", ahead=ahead)
    eventually(lambda: shares(site) == {"right": 2, "wrong": 2}, STARTED)
    assert wrong.told(f"the clock of this host is 10 min {'ahead of' if ahead > 0 else 'behind'} that of ZooKeeper")
    requests = [site.requestor.ask("small") for _number in range(12)]
    for request in requests:
        site.requestor.wait_for(request, seconds=STARTED)
    wrong.kill()
    eventually(lambda: shares(site) == {"right": 4}, STARTED)
    requests += [site.requestor.ask("small")]
    site.requestor.wait_for(requests[-1], seconds=STARTED)
    assert servers(site) == len(requests) and len(site.requestor.nodes()) == len(requests)


@pytest.mark.parametrize(
    ("before", "why"),
    [
        ("mount -t tmpfs -o ro,mode=0700 none {0}", "Read-only file system"),
        ("mount -t tmpfs -o mode=0700,size=64k none {0}; head -c 99999 /dev/zero > {0}/all || true", "No space left"),
    ],
)
def test_a_folder_that_cannot_be_written_costs_only_what_it_is_for(site: Site, start: Starts, before: str, why: str):
    folder = site.folder / "sessions"
    host = start("only", "sessions", before=before.format(folder))
    request = site.requestor.ask("small")
    site.requestor.wait_for(request, seconds=STARTED)
    assert host.told("configuration: it cannot be saved as a fallback for a later mistake")
    assert host.told(f"no quick hand-over after a crash: {folder}: {why}")


def test_two_machines_with_the_same_names_tell_it_and_one_takes_over_from_the_other(site: Site, start: Starts):
    one = start("same", "sessions")
    eventually(lambda: shares(site) == {"same": 4}, STARTED)
    other = Host(
        site,
        "same",
        site.folder / "sessions",
        ahead=0.5,
        before=f"mount -t tmpfs -o mode=0700 none {site.folder}/sessions",
    )
    try:
        eventually(lambda: one.told("another launcher has the host name same"), 2 * STARTED)
        eventually(lambda: other.told("another launcher has the host name same"), STARTED)
        one.kill()
        request = site.requestor.ask("small")
        site.requestor.wait_for(request, seconds=STARTED)
        assert shares(site) == {"same": 4}
    finally:
        other.kill()

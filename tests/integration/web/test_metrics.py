# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/metrics over HTTP, from what cycles have stored in a real ZooKeeper; judged by promtool."""

from __future__ import annotations

import shutil
import subprocess

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.counts import CycleCounts, KeptCounters
from ansible_collections.stackci.nodepool.plugins.module_utils.model.counters import LAUNCHES
from tests.support.fixtures_zookeeper import eventually, new_store
from tests.support.web_service import running, write_config

READY = 'stackci_nodepool_launches_total{pool="main",provider="west",reason="",result="ready"} '


def launches(text: str) -> float:
    """The launches that are shown."""
    return sum(float(line.removeprefix(READY)) for line in text.splitlines() if line.startswith(READY))


def test_what_cycles_hand_on_is_shown_and_promtool_finds_nothing_wrong(tmp_path, zk_chroot):
    with (
        new_store(zk_chroot) as store,
        running(write_config(tmp_path / "nodepool.yaml", zk_chroot)) as service,
    ):
        for host in ("nl1", "nl2", "nl1"):
            tally = CycleCounts()
            kept = KeptCounters(store, "launcher", tally, lambda line: None, host=host)
            tally.counters.add(LAUNCHES, "west", "main", "ready", "", amount=2)
            kept.end(1.0)
        assert eventually(lambda: launches(service.get("/metrics").text) == 6)
        text = service.get("/metrics").text
    if shutil.which("promtool") is not None:
        judged = subprocess.run(
            ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60, check=False
        )
        assert (judged.returncode, judged.stdout + judged.stderr) == (0, "")

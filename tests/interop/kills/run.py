# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run: kills, strikes and people for so many kills or seconds, then peace, then the judgement."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.chaos.transaction_log import TransactionLog
from tests.interop.kills.decisions import REVOKED
from tests.interop.kills.judge import Evidence, Judge
from tests.interop.kills.people import People
from tests.interop.kills.phases import BUILDER_PHASES, LAUNCHER_PHASES, Phases
from tests.interop.kills.site import CLEAN_EVERY, LOOK, PROVIDERS, SESSION, TESTING, KillSite, clouds
from tests.interop.kills.strikes import Strikes
from tests.interop.kills.victims import Victim
from tests.interop.lab import World
from tests.support.fixtures_zookeeper import eventually

PACE = 0.25
PATIENCE = 300.0
LEAST_TOLD = 3
BUILDER_LIVES, LAUNCHER_LIVES = (3.0, 30.0), (4.0, 15.0)
STOCK_DELETED = "Removing failed upload record"


class KillRun:
    """A run.

    :param strikes: what strikes besides the kills.
    :ivar told: what was counted, for people. :ivar wrong: what must never be.
    """

    def __init__(self, world: World, seed: int, kills: int, seconds: float, strikes: Sequence[str]) -> None:
        self._world, self._seed, self._kills, self._seconds = world, seed, kills, seconds
        self._kinds = strikes
        self.told: dict[str, Any] = {"seed": seed}
        self.wrong: list[str] = []

    def run(self) -> None:
        """Carry it out and judge it."""
        with ExitStack() as stack:
            folder = Path(self._world.site.folder)
            key = folder / "id"
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, timeout=60)
            sim = stack.enter_context(clouds(key))
            self._site = KillSite(self._world, sim, key)
            stack.callback(self._site.close)
            self._strikes = Strikes(self._site, self._seed, self._kinds)
            self._strikes.bake()
            self._victims = self._made_victims(Phases(self._site))
            for victim in self._victims:
                stack.callback(victim.end)
            self._people = People(self._site.site.requestor, self._seed)
            self._stock = stack.enter_context(self._site.stock_builder())
            self._play()
            self._come_to_rest()
            self._look_at_the_end()
            self._judge()
        self.told["violations"] = len(self.wrong)

    @property
    def killed(self) -> int:
        """How often something was killed."""
        return sum(sum(victim.kills.values()) for victim in self._victims)

    def _made_victims(self, phases: Phases) -> list[Victim]:
        files, folder, seed = self._site.site.files(), self._site.folder, str(self._seed)
        made = [
            Victim(
                f"launcher {name}",
                "node_launch",
                folder / f"launcher-{name}",
                {**files, "api_timeout": 6},
                LAUNCHER_PHASES,
                phases.of_launcher,
                phases.event(),
                LAUNCHER_LIVES,
                2 * SESSION,
                seed,
            )
            for name in ("A", "B")
        ]
        options = {**files, "api_timeout": 6}
        builder = Victim(
            "builder",
            "image_upload",
            folder / "builder",
            options,
            BUILDER_PHASES,
            phases.of_builder,
            phases.event(),
            BUILDER_LIVES,
            SESSION + 1.5 * CLEAN_EVERY,
            seed,
        )
        return [*made, builder]

    def _prepare(self) -> None:
        """Nothing is killed until there are builds that can be decided upon."""
        for victim in self._victims:
            victim.start_program()
        eventually(self._can_decide, PATIENCE)

    def _can_decide(self) -> bool:
        self._strikes.bake()
        return all(map(self._strikes.decisions.newest, TESTING))

    def _play(self) -> None:
        if REVOKED in self._kinds:
            self._prepare()
        began = time.monotonic()
        for victim in self._victims:
            victim.start()
        while self._goes_on() and time.monotonic() - began < self._seconds and not self._is_wrong():
            self._strikes.turn()
            if self._people.ident is None and self._is_usable():
                self._people.start()  # nobody asks for nodes of an image that was never ready
            time.sleep(PACE)
        for victim in self._victims:
            victim.stopped.set()
        for victim in self._victims:
            victim.join(PATIENCE)
        self.told["seconds"] = round(time.monotonic() - began)

    def _goes_on(self) -> bool:
        """True while there are too few kills, or too few of what else is to happen meanwhile."""
        return self.killed < self._kills or any(self._strikes.seen[what] < LEAST_TOLD for what in self._kinds)

    def _is_usable(self) -> bool:
        """True when each image was ready everywhere."""
        uploads = [one for image in TESTING for one in self._site.store.images.uploads(image)]
        ready = {(one.image, one.provider) for one in uploads if one.state == "ready"}
        return len(ready) == len(TESTING) * len(PROVIDERS)

    def _is_wrong(self) -> bool:
        found = [text for one in self._victims for text in one.wrong] + self._people.wrong
        if not self._stock.running:
            found.append(f"Nodepool's builder has ended: {self._stock.said()[-1500:]}")
        for text in found:
            if text not in self.wrong:
                self.wrong.append(text)
                with (self._site.folder / "wrong.log").open("a", encoding="utf-8") as log:
                    log.write(f"{time.time():.3f} {text}\n")
        return bool(self.wrong)

    def _come_to_rest(self) -> None:
        """Everything is started again and left in peace, until all is decided and nobody waits."""
        self._strikes.mend()
        self._people.quiet.set()
        for victim in self._victims:
            victim.start_program()
        try:
            eventually(self._rests, PATIENCE)
        except AssertionError:
            left = {image: self._strikes.undecided(image) for image in TESTING}
            self.wrong.append(f"not at rest after {PATIENCE:g} s: {left}, requests {self._people.waiting}")
        for victim in self._victims:
            victim.look_after()
        self._is_wrong()

    def _rests(self) -> bool:
        self._strikes.skip_pauses()
        return self._people.idle and not any(map(self._strikes.undecided, TESTING)) and not self._moving()

    def _moving(self) -> list[str]:
        """Uploads that are neither ready nor gone, and nodes that are neither ready nor gone."""
        store = self._site.store
        uploads = [one.path for image in TESTING for one in store.images.uploads(image) if one.state != "ready"]
        return uploads + [node.id for node in store.nodes.list() if node.state not in ("ready", "deleting")]

    def _look_at_the_end(self) -> None:
        """What is left over is swept, and then the clouds have what the tree has, and nothing else."""
        options = {**self._site.site.files(), "min_age": 0, "wait": 1}
        options.pop("config")
        rows = self._site.site.module("leak_cleanup", **options)["things"]
        self.told["leaks swept"] = dict(Counter(row["kind"] for row in rows if row["verdict"] == "deleted"))
        try:
            eventually(lambda: not self._left(), PATIENCE)
        except AssertionError:
            self.wrong.append(f"left at the end: {self._left()}")

    def _left(self) -> list[str]:
        store, found = self._site.store, []
        for name in PROVIDERS:
            uploads = {one.external_id for image in TESTING for one in store.images.uploads(image, name)}
            nodes = {node.external_id for node in store.nodes.list() if node.provider == name}
            images = set(self._site.sim.journal(name)["images"])
            there = images & set(self._site.sim.state(name)["images"])
            servers = {one["id"] for one in self._site.sim.servers(name) if not one["outsider"]}
            found += [f"provider {name}: image {one}" for one in there ^ uploads]
            found += [f"provider {name}: server {one}" for one in servers - nodes]
        return found

    def _judge(self) -> None:
        site = self._site
        tested = site.folder / "tested"
        zookeeper = site.site.zookeeper
        evidence = Evidence(
            {name: site.sim.journal(name) for name in PROVIDERS},
            tested.read_text("utf-8").splitlines() if tested.exists() else [],
            site.checksums,
            TransactionLog(zookeeper.directory / "data", site.site.chroot).changes(),
            self._strikes.decisions.revoked,
        )
        judge = Judge(evidence)
        self.wrong += judge.violations(self._people.given)
        self.wrong += [f"a request has failed: {text}" for text in self._people.failed]
        self._count(evidence)

    def _count(self, evidence: Evidence) -> None:
        said = self._stock.said()
        for victim in self._victims:
            self.told[f"kills of {victim.name}"] = dict(victim.kills.most_common())
        self.told["under way"] = dict(sum((victim.under_way for victim in self._victims), Counter[str]()).most_common())
        self.told["kills"] = self.killed
        self.told["rests"] = {victim.name: victim.rests for victim in self._victims}
        self.told["strikes"] = dict(self._strikes.seen)
        self.told["inconclusive"] = self._strikes.inconclusive
        self.told["stock"] = {"looks": said.count(LOOK), "uploads deleted": said.count(STOCK_DELETED)}
        self.told["nodes given"] = len(self._people.given)
        self.told["servers"] = sum(len(one["servers"]) for one in evidence.journals.values())
        self.told["builds"] = {"broken": len(self._site.broken), "all": len(self._site.checksums)}
        self.told["canaries and control nodes passed"] = len(evidence.tested)

    def lacks(self) -> list[str]:
        """What has not happened often enough for the run to have shown anything."""
        seen = self._strikes.seen
        told = self.told["stock"]
        counts = {
            **{what: seen[what] for what in self._kinds},
            "looks of Nodepool's builder": told["looks"],
            "builds": len(self._site.checksums),
            "nodes given": len(self._people.given),
        }
        counts |= {f"kills of {victim.name}": sum(victim.kills.values()) for victim in self._victims}
        return [f"{what}: {count}" for what, count in counts.items() if count < LEAST_TOLD]

    def save(self, path: Path) -> None:
        """Write down what was counted."""
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**self.told, "wrong": self.wrong}) + "\n")

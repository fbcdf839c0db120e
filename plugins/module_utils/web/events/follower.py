# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Follow a tree and tell its events: one read-only session whose watch keeps the picture, as for the web service."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...clients.private_file import NO_FILE, is_no_file
from ...clients.zookeeper.link.paths import ROOT
from ...cycles.frame.config_source import ConfigSource
from ...cycles.frame.config_watch import ConfigWatch
from ...cycles.frame.cycle_options import ConfigOptions
from ...model.config.types import NodepoolConfig
from ...model.errors import ConfigError
from ...model.lines import Trouble
from ..picture import Picture, Snapshot
from .happenings import TYPES, ZOOKEEPER_LOST, Happening, Key, Limits, Teller, config_read, happenings
from .outage import FULL, Outage, cause

Told = Mapping[Key, Mapping[str, Any]]

IDLE = 10.0
"""Seconds after which the tree is looked at although nothing has changed: requests get older."""
LOST_AFTER = 15.0
"""Seconds without ZooKeeper after which that is an event; a session that is renewed takes less."""


@dataclass(frozen=True)
class Wanted:
    """Which events are told; empty: all.

    :ivar types: their types.
    :ivar providers: the providers; events that name none are told, too.
    """

    types: Collection[str] = ()
    providers: Collection[str] = ()

    def __post_init__(self) -> None:
        unknown = sorted(set(self.types) - set(TYPES))
        if unknown:
            raise ConfigError([f"types: there is no event {', '.join(unknown)}; there are {', '.join(sorted(TYPES))}"])

    def takes(self, event: dict[str, Any]) -> bool:
        """Return True when the event is told."""
        provider = event.get("provider")
        return (not self.types or event["type"] in self.types) and (
            not self.providers or provider is None or provider in self.providers
        )


class Memory:
    """A file with what was told, so that a restart tells nothing twice and leaves nothing out.

    :param path: of the file; "" for none.
    :param say: takes lines for people.
    """

    def __init__(self, path: str = "", say: Callable[[str], None] = lambda line: None) -> None:
        self._path = Path(path) if path else None
        self._written: Told | None = None
        self._say = say
        self._outage = Outage(f"state_file: {path}", say)

    @property
    def kept(self) -> bool:
        """True when there is a file."""
        return self._path is not None

    def read(self) -> Told | None:
        """Return what was told; None when there is no file, or none that can be used, which a line says."""
        if self._path is None:
            return None
        try:
            document = json.loads(self._path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except OSError as problem:
            self._unusable(f"cannot be read: {cause(problem)}")
            return None
        except ValueError:
            document = None
        if not isinstance(document, list):
            self._unusable("holds no list of what was told")
            return None
        return {
            (str(item[0]), str(item[1])): item[2] if len(item) == 3 and isinstance(item[2], dict) else {}
            for item in document
            if isinstance(item, list) and len(item) in (2, 3)
        }

    def _unusable(self, why: str) -> None:
        self._say(f"state_file: {self._path} {why}: what lasts is told again, what has failed is not")

    def begin(self) -> None:
        """Find out whether the file can be written, unless the disk is full.

        :raises OSError: it cannot.
        """
        if self._path is None:
            return
        if is_no_file(str(self._path)):
            raise OSError(errno.EINVAL, NO_FILE, str(self._path))
        try:
            with tempfile.TemporaryFile(dir=self._path.parent):
                pass
        except OSError as problem:
            if problem.errno not in FULL:
                raise OSError(problem.errno, problem.strerror, str(self._path)) from problem

    def write(self, told: Told) -> None:
        """Write what was told when it has changed; where that is impossible say so once, and try again next time."""
        if self._path is None or told == self._written:
            return
        try:
            self._replace(self._path, json.dumps([[*key, about] if about else [*key] for key, about in told.items()]))
        except OSError as problem:
            self._outage.begin(f"cannot be written: {cause(problem)}", ": a restart tells again what is told meanwhile")
            return
        self._outage.end("can be written again")
        self._written = told

    def _replace(self, path: Path, text: str) -> None:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(name, path)
        except OSError:
            # On a full disk each further try would leave one.
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise


@dataclass
class Follower:
    """Compares the tree with what was told.

    :param tell: takes an event. It is called in the order of the events, and may block.
    :param lost_after: seconds without ZooKeeper after which that is an event.
    :param find: returns what is the case; it takes the arguments of :func:`happenings`.
    """

    limits: Limits
    tell: Callable[[dict[str, Any]], None]
    wanted: Wanted = Wanted()
    memory: Memory = field(default_factory=Memory)
    lost_after: float = LOST_AFTER
    find: Callable[..., dict[Key, Happening]] = happenings
    _begun: float | None = None

    def __post_init__(self) -> None:
        self._teller = Teller(self.memory.read(), self.limits.settle)
        self._current: dict[Key, Happening] = {}

    def look(self, snapshot: Snapshot) -> None:
        """Tell what is new. Without a connection what is known stays, and the loss itself is told."""
        self._begun = snapshot.now if self._begun is None else self._begun
        contact = snapshot.contact
        lost = {key: item for key, item in self._current.items() if key[0] == ZOOKEEPER_LOST}
        if contact.connected:
            known = self._teller.known
            self._current = self.find(snapshot.config, snapshot.reading, snapshot.now, self.limits, known)
        elif not lost:
            silent = snapshot.now - self._begun if contact.age is None else contact.age
            if silent >= self.lost_after:
                item = Happening(ZOOKEEPER_LOST, "ZooKeeper", f"ZooKeeper cannot be reached: {contact.problem}")
                self._current = {**self._current, item.key: item}
        if contact.connected or contact.age is not None or self._current:
            self._say(snapshot.now, whole=contact.age is not None)

    def configured(self, before: NodepoolConfig, config: NodepoolConfig, now: float) -> None:
        """Tell that the configuration was read again.

        :param now: UNIX time.
        """
        event = config_read(before, config, now)
        if self.wanted.takes(event):
            self.tell(event)

    def _say(self, now: float, *, whole: bool) -> None:
        for event in self._teller.news(self._current, now, whole=whole):
            if self.wanted.takes(event):
                self.tell(event)
        if self.memory.kept:
            # After the telling: who is killed in between tells it again rather than not at all.
            self.memory.write(self._teller.told)


def follow(
    options: ConfigOptions,
    follower: Follower,
    stop: threading.Event,
    *,
    every: float = 5.0,
    say: Callable[[str], None] = lambda line: None,
    picture: Callable[[NodepoolConfig], Picture] = Picture,
    each_time: Callable[[], None] = lambda: None,
) -> None:
    """Follow the tree until *stop* is set.

    :param every: seconds between two looks at a picture that changes; ZooKeeper is not asked.
    :param say: takes lines for people.
    :param each_time: is called after each of these times, whether there was something to look at or not.
    :raises NodepoolError: the configuration cannot be used, or a library is missing.
    """
    source = ConfigSource(options, "", say)
    watch, config = ConfigWatch(source, say), source.begin()
    watch.begin(config, source.problems)
    seen = picture(config)
    seen.open(lambda line: say(Trouble(line)))
    looked, version = -math.inf, tuple[int, ...]()
    try:
        while not stop.is_set():
            now = time.monotonic()
            news = watch.poll(now)
            if news is not None and news.config is not None:
                follower.configured(config, news.config, seen.snapshot().now)
                config = news.config
                seen.configure(config)
            before, version = version, seen.versions((ROOT,))
            if version != before or now - looked >= IDLE:
                looked = now
                follower.look(seen.snapshot())
            each_time()
            stop.wait(every)
    finally:
        seen.close()

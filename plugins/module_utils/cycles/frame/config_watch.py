# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads nodepool.yaml, secure.conf and clouds.yaml again when they change while a cycle runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...clients.config_file import Stamp
from ...model.config.changes import changes
from ...model.config.types import NodepoolConfig
from ...model.errors import ConfigError
from ...model.lines import Trouble

LOOK_EVERY = 2.0
"""Seconds between two looks at the files' stamps."""
SETTLE = 1.0
"""Seconds for which a changed file must stay unchanged before it is read. A half-written file may be valid but lack
the providers of its second half; the cycle would give up the nodes of those."""
MOST_NEWS = 20
"""Largest number of changes that one line names."""
MISSED_AFTER = 10.0
"""Seconds after which a missing file is reported; configuration management may remove a file for a moment."""


class Source(Protocol):
    """The files of the configuration."""

    def reload(self) -> NodepoolConfig:
        """Read the configuration; raises ConfigError."""

    def stamps(self) -> Mapping[str, Stamp]:
        """Return the stamps of nodepool.yaml and secure.conf; a file that does not exist has none."""

    def cloud_stamps(self) -> Mapping[str, Stamp]:
        """Return the stamps of clouds.yaml and of the files that it is merged with, if they exist."""


class FileWatch:
    """Tells when files have changed and have settled. The removal of a file is not a change."""

    def __init__(self, stamps: Callable[[], Mapping[str, Stamp]]) -> None:
        self._stamps = stamps
        self._taken = dict(stamps())
        self._coming: tuple[float, dict[str, Stamp]] | None = None
        self._gone: dict[str, float] = {}

    @property
    def settling(self) -> bool:
        """True while a change has not settled."""
        return self._coming is not None

    def changed(self, now: float) -> bool:
        """Look at the files; return True once for each change, when it has settled."""
        there = dict(self._stamps())
        self._gone = {path: self._gone.get(path, now) for path in self._taken if path not in there}
        current = {**self._taken, **there}
        if current == self._taken:
            self._coming = None
            return False
        if self._coming is None or self._coming[1] != current:
            self._coming = (now, current)
            return False
        if now - self._coming[0] < SETTLE or len(self._gone) > len(self.missing(now)):
            return False
        self._taken, self._coming = current, None
        return True

    def missing(self, now: float) -> list[str]:
        """Return the files that have been missing for MISSED_AFTER seconds or longer."""
        return [path for path, since in self._gone.items() if now - since >= MISSED_AFTER]


@dataclass(frozen=True)
class News:
    """The changes: the new *config* (None: unchanged); *clouds*: True if clouds.yaml was written."""

    config: NodepoolConfig | None = None
    clouds: bool = False

    def after(self, earlier: News) -> News:
        """Return these changes together with *earlier* ones that the cycle has not applied."""
        return News(self.config or earlier.config, self.clouds or earlier.clouds)


class ConfigWatch:
    """The configuration of a running cycle. While the new files are invalid, the old configuration stays in force."""

    def __init__(self, source: Source, say: Callable[[str], None] = lambda line: None) -> None:
        self._source = source
        self._say = say
        self._main = FileWatch(source.stamps)
        self._clouds = FileWatch(source.cloud_stamps)
        self._broken: list[str] = []
        self._missing: list[str] = []
        self._looked = float("-inf")
        self.known: NodepoolConfig | None = None
        """The configuration that was read last; the next one is compared with it."""

    def begin(self, config: NodepoolConfig, problems: Sequence[str] = ()) -> None:
        """Note the configuration with which the cycle begins.

        :param problems: what is wrong with the files, when it is a former configuration.
        """
        self.known, self._broken = config, list(problems)

    @property
    def problems(self) -> list[str]:
        """All problems of the files as they are now."""
        return [*self._broken, *(_missed(path) for path in self._missing)]

    @property
    def settling(self) -> bool:
        """True while a file has changed and has not settled."""
        return self._main.settling or self._clouds.settling

    def due(self, now: float) -> float:
        """Return the seconds until the next look."""
        every = SETTLE if self.settling else LOOK_EVERY
        # A clock that was set back must not stop the looks.
        return min(every, max(0.0, self._looked + every - now))

    def poll(self, now: float, *, at_once: bool = False) -> News | None:
        """Look at the stamps if a look is due, and read the files that have changed.

        :param at_once: look even if no look is due.
        :return: what the cycle has to apply; None when nothing has changed.
        """
        if not at_once and self.due(now) > 0:
            return None
        self._looked = now
        main, clouds = self._main.changed(now), self._clouds.changed(now)
        missing = self._main.missing(now)
        for path in missing:
            if path not in self._missing:
                self._say(Trouble(f"configuration: {_missed(path)}"))
        self._missing = missing
        config = self._read() if main else None
        if clouds:
            self._say("configuration: clouds.yaml changed, logging in again")
        return News(config, clouds) if config is not None or clouds else None

    def _read(self) -> NodepoolConfig | None:
        try:
            config = self._source.reload()
        except ConfigError as error:
            self._broken = list(error.problems)
            for problem in self._broken:
                self._say(Trouble(f"configuration: {problem}"))
            for warning in error.warnings:
                self._say(f"configuration: warning: {warning}")
            self._say(Trouble("configuration: cannot be used, the previous one stays in use"))
            return None
        self._broken = []
        self._say(_news(self.known, config))
        self.known = config
        return config


def _news(before: NodepoolConfig | None, config: NodepoolConfig) -> str:
    if before is None:
        return "configuration: read again"
    found = changes(before, config)
    more = [f"and {len(found) - MOST_NEWS} more"] if len(found) > MOST_NEWS else []
    return f"configuration: read again: {', '.join([*found[:MOST_NEWS], *more]) or 'nothing in it has changed'}"


def _missed(path: str) -> str:
    return f"{path}: no longer exists, what was read from it stays in use: restore the file"

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects that the threads of the uploads cycle share."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ....clients.config_file import Stamp, file_stamps
from ....clients.diskimage_builder.images_dir import CHECKSUMS, ImagesDir
from ....clients.openstack.disk_file import DiskFile
from ....clients.zookeeper.store import Store
from ....imaging.image_snapshot import ImagesView
from ....model.config.types import NodepoolConfig
from ....model.errors import NodepoolError
from ....model.image import Upload
from .presence import Sighting


class Interrupted(NodepoolError):
    """The cycle ends, and the work under way must end with it."""


@dataclass
class UploadResources:
    """The objects that uploads and deletions use. All of them are thread-safe.

    :param site: the id of the tree.
    :param view: returns the current state of all images; the upload with the given (build id, provider) does not count
        as being under way in this cycle.
    :param config: returns the present configuration.
    :param waits: takes the (build id, provider) of an upload that waits for its gate: it does not count as one more
        upload to the provider.
    :param sighting: returns what a list of images has shown of an upload under test.
    :param say: takes a line for the operator.
    :param store_patience: seconds for which a write waits for ZooKeeper.
    """

    store: Store
    images_dir: ImagesDir
    site: str
    view: Callable[[tuple[str, str] | None], ImagesView]
    config: Callable[[], NodepoolConfig]
    say: Callable[[str], None]
    store_patience: float
    hook_timeout: float
    waits: Callable[[tuple[str, str]], None] = lambda key: None
    sighting: Callable[[Upload], Sighting | None] = lambda upload: None
    clock: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    sleeper: Callable[[float], None] = time.sleep
    interrupted: threading.Event = field(default_factory=threading.Event)
    ending: threading.Event = field(default_factory=threading.Event)
    """Set after the deadline of the cycle: work is finished, but nothing new is begun or waited for."""
    checksums: Checksums = field(init=False)
    _told: set[tuple[str, ...]] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self.checksums = Checksums(self.images_dir)

    def is_news(self, subject: tuple[str, ...]) -> bool:
        """Return True when this cycle asks for the first time about *subject*, to tell it once."""
        known = subject in self._told
        self._told.add(subject)
        return not known

    def check(self) -> None:
        """Check whether the work may go on.

        :raises Interrupted: the cycle was stopped.
        """
        if self.interrupted.is_set():
            raise Interrupted("the cycle was stopped")


class Checksums:
    """The checksums of image files: those that diskimage-builder wrote beside them, or computed once and kept."""

    def __init__(self, images_dir: ImagesDir) -> None:
        self._images_dir = images_dir
        self._lock = threading.Lock()
        self._busy: dict[str, threading.Lock] = {}
        self._known: dict[str, tuple[dict[str, Stamp], dict[str, str]]] = {}

    def of(self, name: str, check: Callable[[], None] = lambda: None) -> dict[str, str]:
        """Return algorithm → digits of a file in images-dir.

        :param check: called between the algorithms; may raise.
        :raises ImageFileError: the file cannot be read.
        """
        left = self._images_dir.checksums(name)
        if len(left) == len(CHECKSUMS):
            return left
        with self._lock:
            busy = self._busy.setdefault(name, threading.Lock())
        with busy:
            file = DiskFile(os.path.join(self._images_dir.path, name))
            stamps = file_stamps([file.path])
            known = self._known.get(name)
            if known is not None and known[0] == stamps:
                return known[1]
            found = {}
            for algorithm in CHECKSUMS:
                check()
                found[algorithm] = left.get(algorithm) or file.digest(algorithm) or ""
            self._known[name] = (stamps, found)
            return found

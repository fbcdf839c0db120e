# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the quick start notes about itself in its folder: everything that it makes, before it is made."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import uuid
from dataclasses import asdict, dataclass, field
from typing import Any

from ...clients.private_file import remove_unfinished, write_private
from ...model.errors import ConfigError

FILE = "quickstart.json"
PREFIX = "stackci-quickstart"
OTHER_FOLDER = "or name another folder with -e quickstart_folder=FOLDER"


@dataclass
class Notes:
    """The notes of one folder.

    :ivar id: random part of the names of what is made outside of the folder.
    :ivar wish: the options by which the configuration was made.
    :ivar files: name of a file in the folder → checksum with which it was written.
    :ivar keypair: a keypair with this name is, or may be, in the cloud; "" before it is made.
    :ivar group: the same for a security group.
    :ivar port: port of the private ZooKeeper; 0 before there is one.
    :ivar site: id of the tree in ZooKeeper.
    :ivar old_sites: ids of trees whose data were lost; servers may have them.
    """

    folder: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    cloud: str = ""
    wish: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    private_key: str = ""
    keypair: str = ""
    group: str = ""
    port: int = 0
    site: str = ""
    old_sites: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of what is made outside of the folder."""
        return f"{PREFIX}-{self.id}"

    @property
    def path(self) -> str:
        """The path of the notes."""
        return self.at(FILE)

    @property
    def exists(self) -> bool:
        """True if the notes were written."""
        return os.path.exists(self.path)

    def at(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return os.path.join(self.folder, name)

    @classmethod
    def read(cls, folder: str) -> Notes:
        """Return the notes of the folder; new ones when there are none.

        :raises ConfigError: they cannot be read.
        """
        notes = cls(folder)
        try:
            with open(notes.path, encoding="utf-8") as file:
                document = json.load(file)
            known = asdict(notes)
            fitting = {key: document[key] for key in known if isinstance(document.get(key), type(known[key]))}
        except FileNotFoundError:
            return notes
        except (OSError, ValueError, AttributeError) as problem:
            why = getattr(problem, "strerror", None) or "it is damaged"
            raise ConfigError(
                [f"{notes.path}: cannot be read: {why}: it notes what was made; correct it, {OTHER_FOLDER}"]
            ) from problem
        return cls(**{**fitting, "folder": folder})

    def write(self) -> None:
        """Write the notes.

        :raises ConfigError: the folder cannot be written to.
        """
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
        except OSError as problem:
            raise ConfigError(
                [f"{self.folder}: cannot be created: {problem.strerror}: create it, {OTHER_FOLDER}"]
            ) from problem
        write_private(self.path, json.dumps({**asdict(self), "folder": ""}, indent=1) + "\n")

    def write_file(self, name: str, text: str) -> bool:
        """Write a file of the folder and note its checksum first; return False when it had this text already."""
        digest = checksum(text)
        if self.files.get(name) == digest and self.is_as_written(name):
            return False
        # A kill between the two leaves a checksum that fits no file: the old file then counts as changed by somebody.
        if not os.path.exists(self.at(name)):
            self.files[name] = digest
            self.write()
            write_private(self.at(name), text)
        else:
            write_private(self.at(name), text)
            self.files[name] = digest
            self.write()
        return True

    def is_as_written(self, name: str) -> bool:
        """Return True if the file is there and nobody has changed it."""
        try:
            with open(self.at(name), encoding="utf-8") as file:
                return self.files.get(name) == checksum(file.read())
        except (OSError, UnicodeDecodeError):
            return False

    def remove_file(self, name: str) -> bool:
        """Remove a file that was written and that nobody has changed; return True if it is gone."""
        if self.is_as_written(name):
            os.unlink(self.at(name))
        return not os.path.exists(self.at(name))

    def forget(self) -> None:
        """Remove the notes, and the folder if nothing else is in it."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        remove_unfinished(self.folder, (FILE, *self.files))
        with contextlib.suppress(OSError):
            os.rmdir(self.folder)


def checksum(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()

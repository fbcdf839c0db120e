# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key with which a person logs in to nodes: one of the person's own, or a new one."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

from ..model.bounded_text import is_printable
from ..model.errors import ConfigError, wrong
from . import ssh
from .private_file import write_private

USUAL = ("id_ed25519", "id_ecdsa", "id_rsa")
"""Names in ~/.ssh of the keys that ssh offers by itself, the first choice first."""
MADE = "id_ed25519"
COMMENT = "stackci.nodepool.quickstart"
AGENT_SECONDS = 5.0


@dataclass(frozen=True)
class LoginKey:
    """A key pair: the path of the private half, and the text of the public one. *own*: it was there before."""

    private_path: str
    public_text: str
    own: bool = True


def named_key(path: str) -> LoginKey:
    """Return the key pair that a path names: of its public or of its private half.

    :raises ConfigError: one of the halves cannot be read, ssh would refuse the private one or ask a question for it, or
        they are halves of two keys.
    """
    private = path.removesuffix(".pub")
    public = read_public_key(f"{private}.pub")
    if _is_open_to_others(private):
        raise ConfigError([f"{private}: other users may read this key, so ssh refuses it: run chmod 600 {private}"])
    if not _agent_has(public):
        _check_private(private, public)
    return LoginKey(private, public)


def _check_private(private: str, public: str) -> None:
    if not os.path.isfile(private):
        raise wrong(
            f"{private}: the private half of {private}.pub is not there, and no ssh agent has it: name another key"
        )
    blob = _public_blob(private)
    if blob is None:
        raise wrong(
            f"{private}: ssh does not read this private key without a question: if it has a passphrase, give it to"
            f" an agent (ssh-agent, ssh-add {private}), or else name another key"
        )
    if blob != public.split()[1]:
        raise wrong(
            f"{private}.pub is not the public half of {private}: write it again with ssh-keygen -y -f {private}, or"
            " name another key"
        )


def read_public_key(path: str) -> str:
    """Return the first line of a file with a public key.

    :raises ConfigError: it cannot be read, or has none; the message tells a private key from other texts.
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(65536).strip()
    except (OSError, UnicodeDecodeError) as problem:
        why = getattr(problem, "strerror", None) or "is not a text"
        raise ConfigError([f"{path}: the public key cannot be read: {why}: name the .pub file of a key pair"]) from None
    return public_line(text, path)


def public_line(text: str, where: str) -> str:
    """Return a public key on one line.

    :param where: the file or option, for the message.
    :raises ConfigError: the text is something else.
    """
    words = text.split()
    if "PRIVATE KEY" in text:
        raise ConfigError([f"{where}: this is a private key: give the public half, which ends with .pub"])
    kind = words[0] if words else ""
    if len(words) < 2 or "\n" in text or not kind.startswith(("ssh-", "ecdsa-", "sk-")) or not is_printable(text):
        raise ConfigError([f"{where}: this is not a public ssh key: give a file with one line such as ssh-ed25519 …"])
    return text


def usable_own_key(home: str) -> LoginKey | None:
    """Return the first usual key of a person that can be used without a question; None when there is none.

    A private half with a passphrase counts only while an agent has the key.

    :param home: the person's home folder.
    """
    for name in USUAL:
        private = os.path.join(home, ".ssh", name)
        try:
            public = read_public_key(f"{private}.pub")
        except ConfigError:
            continue
        if os.path.isfile(private) and (_opens(private) or _agent_has(public)):
            return LoginKey(private, public)
    return None


def made_key(folder: str) -> LoginKey:
    """Return the key pair in the folder; make it if it is missing.

    :raises ConfigError: it cannot be written or read.
    :raises MissingLibraryError: asyncssh is not installed.
    """
    private = os.path.join(folder, MADE)
    if not os.path.exists(f"{private}.pub") or not os.path.exists(private):
        ssh.require()
        key = _asyncssh().generate_private_key("ssh-ed25519", comment=COMMENT)
        write_private(private, key.export_private_key().decode("ascii"))
        write_private(f"{private}.pub", key.export_public_key().decode("ascii"))
    return LoginKey(private, read_public_key(f"{private}.pub"), own=False)


def _is_open_to_others(private: str) -> bool:
    """Return True for a key of this user for which others have rights: ssh ignores it."""
    try:
        found = os.stat(private)
    except OSError:
        return False
    return found.st_uid == os.getuid() and bool(found.st_mode & 0o077)


def _opens(private: str) -> bool:
    """Return True if ssh reads the private key without a passphrase."""
    return not _is_open_to_others(private) and _public_blob(private) is not None


def _public_blob(private: str) -> str | None:
    """Return what its public half has for the second word; None if the key cannot be used without a question."""
    try:
        text: bytes = _asyncssh().read_private_key(private).export_public_key()
    except Exception:  # whatever is wrong with it
        return None
    return text.split()[1].decode("ascii")


def _agent_has(public: str) -> bool:
    program = shutil.which("ssh-add")
    if not os.environ.get("SSH_AUTH_SOCK") or program is None:
        return False
    try:
        # pylint: disable-next=ansible-bad-function  # run_command knows no time-out and ends no process group
        said = subprocess.run(
            [program, "-L"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=AGENT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return public.split()[1] in said.stdout


def _asyncssh() -> Any:
    return importlib.import_module("asyncssh")

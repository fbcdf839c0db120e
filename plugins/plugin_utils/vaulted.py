# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are encrypted with ansible-vault, or have encrypted values, decrypted with Ansible's secrets."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from typing import Any

from ansible.errors import AnsibleError

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.text_file import is_encrypted
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError

_LARGEST = 4 * 1024 * 1024


class Vaulted:
    """Decrypts for one inventory; :meth:`close` removes all that was written.

    :param loader: Ansible's loader of data, which has the secrets.
    """

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._copies: dict[str, str] = {}

    def text(self, path: str) -> str | None:
        """Return the text of a file that is encrypted as a whole; None for any other.

        :raises ConfigError: it cannot be decrypted.
        """
        if not is_encrypted(_beginning(path, 100)):
            return None
        try:
            plain = self._loader.get_real_file(path)
            try:
                with open(plain, encoding="utf-8") as file:
                    return file.read()
            finally:
                self._loader.cleanup_tmp_file(plain)
        except (AnsibleError, OSError, UnicodeDecodeError) as problem:
            raise _refusal(path, problem) from problem

    def yaml_file(self, path: str) -> str:
        """Return the path of a decrypted copy, with mode 0600; *path* itself when nothing in it is encrypted.

        :raises ConfigError: it cannot be decrypted.
        """
        text = _beginning(path, _LARGEST)
        if not is_encrypted(text) and "!vault" not in text:
            return path
        try:
            content = json.dumps(_plain(self._loader.load_from_file(path)))
        except (AnsibleError, OSError) as problem:
            raise _refusal(path, problem) from problem
        handle, copy = tempfile.mkstemp(prefix="clouds-", suffix=".yaml")
        self._copies[copy] = path
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
        return copy

    def named(self, text: str) -> str:
        """Return *text* with the names of the encrypted files in place of their copies."""
        for copy, path in self._copies.items():
            text = text.replace(copy, path)
        return text

    def close(self) -> None:
        """Remove the copies."""
        for copy in self._copies:
            with contextlib.suppress(OSError):
                os.unlink(copy)


def _refusal(path: str, problem: Exception) -> ConfigError:
    why = " ".join(str(getattr(problem, "message", None) or problem).split())
    return ConfigError(
        [f"{path}: is encrypted with ansible-vault: give its password (--vault-password-file, --vault-id): {why}"]
    )


def _beginning(path: str, size: int) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(size)
    except OSError:
        return ""  # whoever reads it tells why it cannot


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)

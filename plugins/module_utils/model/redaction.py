# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hides secrets in texts that clouds, commands and playbooks write, before anything shows them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .bounded_text import bounded

MASK = "***"
LEAST = 4
"""A shorter value is not hidden: it occurs in many words."""
LONGEST_LINE = 8000
"""Longest line in which secrets are looked for by their names; the patterns take time that grows with its square."""
_NAMES = r"passw(?:or)?d|passphrase|secret(?:_?access)?(?:_?key)?|token|api[_-]?key"
_QUOTE = r"""(?P<quote>\\*["'])"""
"""With backslashes in JSON that is a text of other JSON."""
_VALUE = r"""(?P<value>(?(quote)(?:(?!(?P=quote))(?:\\.|.))+|[^\s"',}&]+))"""
"""Up to the same quote; without one, up to what ends a word."""
_NAMED = re.compile(rf"""(?i)(?P<name>(?:{_NAMES})(?:\\*["'])?\s*[:=]\s*){_QUOTE}?{_VALUE}""")
_OPTION = re.compile(rf"(?i)(?P<name>(?<![\w-])--[\w-]*(?:{_NAMES})\s+){_QUOTE}?{_VALUE}")
_HEADER = re.compile(
    rf"""(?i)(?P<name>authorization(?:\\*["'])?\s*[:=]\s*(?:\\*["'])?(?:basic|bearer|digest|token)\s+){_QUOTE}?{_VALUE}"""
)
_NAME = re.compile(rf"(?i){_NAMES}")
_TOKEN = re.compile(r"gAAAA[\w=-]{20,}")
_LOGIN = re.compile(r"(?<=://)[^\s'\"]+(?=@)")
_CUT_KEY = re.compile(r"\A(?:(?!-----BEGIN ).)*?(?=-----END [A-Z ]*PRIVATE KEY-----)", re.DOTALL)
"""A key whose beginning is not in the text."""
_KEY = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?=-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return *text* without *secrets*, private keys, and what looks like a token, a login or a password."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= LEAST:
            text = text.replace(secret, MASK)
    if "PRIVATE KEY" in text:
        text = _KEY.sub(rf"\1{MASK}", _CUT_KEY.sub(MASK, text))
    return "".join(map(_line, text.splitlines(keepends=True)))


def redacted_sentence(text: str, secrets: Iterable[str], longest: int) -> str:
    """Return :func:`redacted` of *text* on one line, of at most *longest* bytes."""
    return bounded(redacted(bounded(redacted(text, secrets), LONGEST_LINE)), longest)


def named_secrets(text: str) -> tuple[str, ...]:
    """Return the values in a text whose names say that they are secret, such as ``password: x``."""
    return tuple(match["value"] for match in _NAMED.finditer(text)) if len(text) <= LONGEST_LINE else ()


def secret_values(values: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values whose keys say that they are secret."""
    return tuple(value for key, value in values.items() if _NAME.search(key))


def _line(line: str) -> str:
    if len(line) > LONGEST_LINE:
        return line
    for named in (_NAMED, _OPTION, _HEADER):
        line = named.sub(lambda match: f"{match['name']}{match['quote'] or ''}{MASK}", line)
    for pattern in (_TOKEN, _LOGIN):
        line = pattern.sub(MASK, line)
    return line

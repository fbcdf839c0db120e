# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check a create before it is sent: what nova's schema refuses for certain costs no call. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ..model import owner
from ..model.cloud import ServerSpec

LONGEST = 255
"""Characters of a name, of a metadata key and of a metadata value (nova's api-ref; its database has such columns)."""
METADATA_ITEMS = 128
"""nova's default quota ``metadata_items``."""
USER_DATA = 65535
"""Characters of user data in base64 (``MAX_USERDATA_SIZE`` of nova)."""
_KEY = re.compile(r"[a-zA-Z0-9\-_:. ]+")
_SHOWN = 40
_HALF = "half of a character (a surrogate), which no service can store: correct it"


@dataclass(frozen=True)
class Unfit:
    """Why nova would refuse a create.

    :ivar field: the field that is wrong: a metadata key, ``name``, ``user_data``, ``metadata``.
    :ivar owner: whose data it has.
    """

    field: str
    text: str
    owner: str


def unfit(spec: ServerSpec, from_request: Collection[str]) -> Unfit | None:
    """Return the first reason why nova would refuse the create; None if there is none.

    :param from_request: the metadata keys whose values come from the request.
    """
    for field, text in _problems(spec):
        return Unfit(field, text, owner.REQUEST if field in from_request else owner.LABEL)
    return None


def _problems(spec: ServerSpec) -> Iterator[tuple[str, str]]:
    if len(spec.name) > LONGEST:
        yield "name", f"the name of the server has {len(spec.name)} characters, but nova allows {LONGEST}"
    for key, value in spec.metadata.items():
        short = key if len(key) <= _SHOWN else f"{key[:_SHOWN]}…"
        if len(key) > LONGEST:
            yield key, f"the metadata key {short} has {len(key)} characters, but nova allows {LONGEST}"
        if not _KEY.fullmatch(key):
            yield (
                key,
                f"the metadata key {short!r} has characters that nova does not allow: use letters, digits, - _ : .",
            )
        if len(value) > LONGEST:
            yield key, f"the value of metadata {short} has {len(value)} characters, but nova allows {LONGEST}"
        if not _can_be_sent(value):
            yield key, f"the value of metadata {short} has {_HALF}"
    if len(spec.metadata) > METADATA_ITEMS:
        yield "metadata", f"the server would have {len(spec.metadata)} metadata items, nova allows {METADATA_ITEMS}"
    if spec.userdata is not None:
        if not _can_be_sent(spec.userdata):
            yield "user_data", f"userdata has {_HALF}"
        size = len(base64.b64encode(spec.userdata.encode("utf-8", "replace")))
        if size > USER_DATA:
            text = f"userdata has {size} characters in base64, nova allows {USER_DATA}"
            yield "user_data", f"{text}: make it shorter, and let the image or the job fetch the rest"


def _can_be_sent(text: str) -> bool:
    """Return False for a text with a lone surrogate, which a JSON or YAML document may contain as an escape."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)

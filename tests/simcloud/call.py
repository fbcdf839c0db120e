# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One API request as the handlers see it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.simcloud.answers import nova_error
from tests.simcloud.faults import Rule

Query = Sequence[tuple[str, str]]


@dataclass(slots=True)
class Call:
    """A request, below the prefix of the cloud and the service.

    :ivar path: segments behind the service's version, without the leading one.
    :ivar root: URL of the service up to its version, for links (``http://127.0.0.1:1/alpha/compute/v2.1``).
    :ivar effects: faults that strike the server which the call makes or deletes.
    :ivar stream: the body in pieces, for uploads; then ``body`` is empty.
    """

    method: str
    path: list[str]
    root: str
    query: Query = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    effects: Sequence[Rule] = ()
    stream: AsyncIterator[bytes] | None = None

    def json(self) -> Any:
        """Return the parsed body.

        :raises Refusal: when it is no JSON.
        """
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError:
            raise nova_error(400, "Malformed request body") from None

    def document(self, name: str) -> dict[str, Any]:
        """Return the object that the body holds below ``name``.

        :raises Refusal: when there is none.
        """
        body = self.json()
        inner = body.get(name) if isinstance(body, dict) else None
        if not isinstance(inner, dict):
            raise nova_error(400, f"Invalid input for field/attribute {name}. '{name}' is a required property")
        return inner

    def first(self, name: str) -> str | None:
        """Return the first value of a query parameter, None when absent."""
        for key, value in self.query:
            if key == name:
                return value
        return None

    def all(self, name: str) -> list[str]:
        """Return every value of a query parameter."""
        return [value for key, value in self.query if key == name]

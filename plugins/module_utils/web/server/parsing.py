# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connections of the HTTP server.

They answer requests of which waitress's parser raises an error that waitress does not expect: it would log a traceback
and close the connection without an answer. And they count what their clients take.
"""

from __future__ import annotations

from typing import Any

from ..libraries import HTTPChannel, HTTPRequestParser, ParsingError


class Parser(HTTPRequestParser):
    """waitress's parser; what it cannot read at all is answered with 400."""

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the request line and the header.

        :raises ParsingError: they cannot be parsed; waitress answers with 400.
        """
        try:
            super().parse_header(header_plus)
        except ValueError as problem:
            # The library's URL parser refuses some hosts, and int() numbers of more than 4,300 digits.
            raise ParsingError("the request cannot be read") from problem


class Channel(HTTPChannel):
    """A connection whose requests are read by :class:`Parser`.

    :ivar taken: bytes that the kernel has accepted for the client.
    """

    parser_class = Parser
    taken = 0

    def send(self, data: bytes, *arguments: Any, **options: Any) -> int:
        """Send some of *data* and return the number of bytes."""
        sent: int = super().send(data, *arguments, **options)
        self.taken += sent
        return sent

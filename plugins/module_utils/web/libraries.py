# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The libraries of the web service, imported in one place."""

from __future__ import annotations

import traceback

from ..model.errors import MissingLibraryError

MISSING: dict[str, str] = {}
"""Library → why it could not be imported."""

try:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup
except ImportError:  # ansible-test imports every file without third-party libraries
    MISSING["Jinja2"] = traceback.format_exc()
    Environment = FileSystemLoader = Markup = StrictUndefined = object  # type: ignore[assignment,misc]

try:
    from werkzeug.datastructures import MIMEAccept
    from werkzeug.exceptions import HTTPException
    from werkzeug.http import parse_accept_header
    from werkzeug.routing import Map, Rule
    from werkzeug.wrappers import Request, Response
except ImportError:
    MISSING["werkzeug"] = traceback.format_exc()
    MIMEAccept = Map = Rule = Request = Response = object  # type: ignore[assignment,misc]

    class HTTPException(Exception):  # type: ignore[no-redef]
        """A stand-in that an except clause can name."""

    parse_accept_header = None  # type: ignore[assignment]

try:
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
except ImportError:
    MISSING["prometheus_client"] = traceback.format_exc()
    CollectorRegistry = generate_latest = object  # type: ignore[assignment,misc]
    CounterMetricFamily = GaugeMetricFamily = HistogramMetricFamily = object  # type: ignore[assignment,misc]

try:
    from waitress.channel import HTTPChannel
    from waitress.parser import HTTPRequestParser, ParsingError
    from waitress.server import create_server
except ImportError:
    MISSING["waitress"] = traceback.format_exc()
    HTTPChannel = HTTPRequestParser = ParsingError = object
    create_server = None

__all__ = [
    "CollectorRegistry",
    "CounterMetricFamily",
    "Environment",
    "FileSystemLoader",
    "GaugeMetricFamily",
    "HTTPChannel",
    "HTTPException",
    "HTTPRequestParser",
    "HistogramMetricFamily",
    "MIMEAccept",
    "Map",
    "Markup",
    "ParsingError",
    "Request",
    "Response",
    "Rule",
    "StrictUndefined",
    "create_server",
    "generate_latest",
    "parse_accept_header",
    "require_libraries",
]


def require_libraries() -> None:
    """Check that the libraries are installed.

    :raises MissingLibraryError: when a library of the web service is not installed.
    """
    for library, detail in MISSING.items():
        raise MissingLibraryError(library, detail)

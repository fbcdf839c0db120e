# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only module that imports openstacksdk and the libraries that come with it."""

from __future__ import annotations

import traceback

from ...model.errors import MissingLibraryError
from .light_import import postpone

postpone("openstack")

try:
    import requests
    import urllib3
    import yaml
    from keystoneauth1 import exceptions as ks_exceptions
    from keystoneauth1 import session as ks_session
    from openstack import exceptions as sdk_exceptions
    from openstack.config import loader as sdk_config
    from requests import Session as HttpSession
    from requests.adapters import HTTPAdapter
    from requests.exceptions import RequestException
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

    IMPORT_ERROR: str | None = None
except ImportError:
    IMPORT_ERROR = traceback.format_exc()
    # Placeholders: with them, classes that derive from these names can be defined and files that use them can be
    # imported. require() stops code that needs the real ones.
    requests = urllib3 = yaml = ks_exceptions = ks_session = sdk_exceptions = sdk_config = None  # type: ignore[assignment]
    HTTPAdapter = HttpSession = object  # type: ignore[assignment,misc]
    RequestException = Exception  # type: ignore[assignment,misc]
    HTTPConnection = object  # type: ignore[assignment,misc]
    HTTPSConnection = object  # type: ignore[assignment,misc]
    HTTPConnectionPool = object  # type: ignore[assignment,misc]
    HTTPSConnectionPool = object  # type: ignore[assignment,misc]

__all__ = [
    "HTTPAdapter",
    "HTTPConnection",
    "HTTPConnectionPool",
    "HTTPSConnection",
    "HTTPSConnectionPool",
    "HttpSession",
    "RequestException",
    "ks_exceptions",
    "ks_session",
    "requests",
    "require",
    "sdk_config",
    "sdk_exceptions",
    "urllib3",
    "yaml",
]


def require() -> None:
    """Raise MissingLibraryError when openstacksdk cannot be imported."""
    if IMPORT_ERROR is not None:
        raise MissingLibraryError("openstacksdk", IMPORT_ERROR)

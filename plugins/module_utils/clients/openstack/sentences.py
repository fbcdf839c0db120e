# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Explain the names of exceptions that OpenStack's services answer with. Pure.

nova answers an exception that it does not expect with "Unexpected API Error. Please report this …" and the class
(``nova/api/openstack/wsgi.py``), and stores the bare name of a foreign class as the fault of a server
(``exception_to_dict`` in ``nova/compute/utils.py``).
"""

from __future__ import annotations

import re

_REPORT_THIS = re.compile(
    r"(?:Unexpected|The server has either erred).{0,200}?(?:log if possible\.?|please report this[^<]{0,200})\s*",
    re.IGNORECASE | re.DOTALL,
)
_CLASS = re.compile(r"<class '([\w.]{1,200})'>")
_REMOTE = "_remote"
"""How oslo.messaging ends the name of a class that was raised in another process, in lower case."""
_NAME = re.compile(r"^[A-Za-z_][\w.]{2,200}$")
_CLIENTS = {
    "neutronclient": "neutron",
    "glanceclient": "glance",
    "cinderclient": "cinder",
    "keystoneclient": "keystone",
    "keystonemiddleware": "keystone",
    "ironicclient": "ironic",
    "novaclient": "nova",
}
"""The package of a class tells which service was called."""
_OTHER = "another service of the cloud"
_UNREACHED = "{service} cannot reach {other}"
_REFUSED = "{other} does not accept the account of {service}"
_FAILED = "{other} failed when {service} called it"
_QUEUE = "the services of {service} cannot reach each other through the message queue"
_DATABASE = "{service} cannot use its database"
_HOST_UNKNOWN = "{service} no longer knows one of its hosts"
_CLASSES = {
    # oslo.messaging
    "MessagingTimeout": _QUEUE,
    "MessageDeliveryFailure": _QUEUE,
    "MessageUndeliverable": _QUEUE,
    "RPCVersionCapError": "the services of {service} have incompatible versions",
    "UnsupportedVersion": "the services of {service} have incompatible versions",
    "RemoteError": "a part of {service} failed when another part called it",
    # oslo.db, SQLAlchemy, PyMySQL
    "DBConnectionError": _DATABASE,
    "DBError": _DATABASE,
    "DBDeadlock": _DATABASE,
    "DBNonExistentTable": _DATABASE,
    "CantStartEngineError": _DATABASE,
    "OperationalError": _DATABASE,
    # keystoneauth and the services' clients
    "ConnectFailure": _UNREACHED,
    "ConnectTimeout": _UNREACHED,
    "ConnectionError": _UNREACHED,
    "ConnectionFailed": _UNREACHED,
    "ConnectionRefused": _UNREACHED,
    "UnknownConnectionError": _UNREACHED,
    "RetriableConnectionFailure": _UNREACHED,
    "SSLFailure": _UNREACHED,
    "CommunicationError": _UNREACHED,
    "RequestTimeout": _UNREACHED,
    "DiscoveryFailure": _UNREACHED,
    "EndpointNotFound": "{service} cannot find {other} in the catalog of keystone",
    "EmptyCatalog": "{service} cannot find {other} in the catalog of keystone",
    "Unauthorized": _REFUSED,
    "HTTPUnauthorized": _REFUSED,
    "Forbidden": _REFUSED,
    "ServiceUnavailable": _FAILED,
    "HTTPServiceUnavailable": _FAILED,
    "InternalServerError": _FAILED,
    "HTTPInternalServerError": _FAILED,
    "BadGateway": _FAILED,
    "GatewayTimeout": _FAILED,
    "ClientException": _FAILED,
    # nova.exception
    "GlanceConnectionFailed": "{service} cannot reach glance",
    "CinderConnectionFailed": "{service} cannot reach cinder",
    "KeystoneConnectionFailed": "{service} cannot reach keystone",
    "PlacementAPIConnectFailure": "{service} cannot reach placement",
    "ResourceProviderRetrievalFailed": "{service} cannot reach placement",
    "ResourceProviderSyncFailed": "{service} cannot reach placement",
    "NeutronClientException": "neutron failed when {service} called it",
    "NeutronAdminCredentialConfigurationInvalid": "neutron does not accept the account of {service}",
    "PortBindingFailed": "neutron cannot bind a port of the server to its host",
    "VirtualInterfaceCreateException": "neutron did not report in time that the ports of the server are up",
    "VirtualInterfacePlugException": "the host of the server cannot connect its port",
    "BuildAbortException": "{service} gave up on the server",
    "InstanceDeployFailure": "the physical machine of the server could not be deployed",
    "ComputeServiceUnavailable": "the compute service of a host is down",
    "ComputeHostNotFound": _HOST_UNKNOWN,
    "HostNotFound": _HOST_UNKNOWN,
    "HostMappingNotFound": _HOST_UNKNOWN,
    "PortUpdateFailed": "neutron cannot bind a port of the server to its host",
    "VirtualInterfaceMacAddressException": "neutron cannot bind a port of the server to its host",
    "CellTimeout": "a cell of {service} does not answer",
    "LibvirtError": "the hypervisor failed",
}
"""The last part of a class's name → the sentence."""
_BY_NAME = {name.lower(): sentence for name, sentence in _CLASSES.items()}
_PHRASES = (
    (re.compile(r"timed out waiting for a reply to message|timeout waiting on RPC", re.IGNORECASE), _QUEUE),
    (re.compile(r"connection to glance host .{0,200} failed", re.IGNORECASE), "{service} cannot reach glance"),
    (re.compile(r"connection to cinder host failed", re.IGNORECASE), "{service} cannot reach cinder"),
    (re.compile(r"unable to communicate with the placement api", re.IGNORECASE), "{service} cannot reach placement"),
    (re.compile(r"lost connection to mysql|can't connect to mysql|QueuePool limit", re.IGNORECASE), _DATABASE),
    (
        re.compile(r"binding failed for port", re.IGNORECASE),
        "neutron cannot bind a port of the server to its host",
    ),
)
"""The texts of those exceptions whose class is not named."""
_UNEXPECTED = "{service} failed with an unexpected error"


def explained(text: str, service: str = "nova") -> str:
    """Return *text* of a *service* with a sentence in place of the name of an exception, which is kept in parentheses.

    A text without such a name is returned unchanged.
    """
    found = _CLASS.search(text)
    if found is not None:
        left = _CLASS.sub("", _REPORT_THIS.sub("", text)).strip(" :")
        return f"{_sentence(found[1], service) or _UNEXPECTED.format(service=service)} ({found[1]})" + (
            f": {left}" if left else ""
        )
    stripped = text.strip()
    if _NAME.match(stripped):
        sentence = _sentence(stripped, service)
        return f"{sentence} ({stripped})" if sentence else text
    for pattern, words in _PHRASES:
        if pattern.search(text):
            return f"{words.format(service=service)} ({stripped})"
    return text


def _sentence(name: str, service: str) -> str | None:
    """Return the sentence for a class, None when it is not known."""
    package, _dot, last = name.rpartition(".")
    words = _BY_NAME.get((last or name).lower().removesuffix(_REMOTE))
    if words is None:
        return None
    return words.format(service=service, other=_CLIENTS.get(package.partition(".")[0], _OTHER))

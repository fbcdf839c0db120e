# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Name what stands between a call and its service: the login, the token, its catalog, the proxy. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from ...model.bounded_text import bounded
from .json_values import Unreadable, wrong

_CREDENTIAL = "applicationcredential"
_NOT_FOUND = re.compile(
    r"could not find:? (?P<one>application credential|project|domain|user|trust|role|identity provider|token)"
    r"|user (?P<two>\S+ has no access to project)",
    re.IGNORECASE,
)
"""What keystone itself does not find (``keystone/exception.py``); other pages with 404 come from no keystone."""
_LACKS = re.compile(r"expecting to find (?P<what>.{1,60}?) in (?P<where>\w[\w ]{0,40})\.", re.IGNORECASE)
_TELLS_NOTHING = re.compile(r"requires authentication|not authorized to perform", re.IGNORECASE)
"""What keystone says of most logins, so that nobody learns from it which part was wrong."""


_MOST = 8
"""Number of regions or interfaces that are told: the largest clouds have dozens."""


def checked_access(access: Any) -> Any:
    """Return keystoneauth's AccessInfo unchanged if everything that the client reads of it can be read.

    :raises Unreadable: it has no token, or a value of the wrong type.
    """
    if not isinstance(access.auth_token, str) or not access.auth_token:
        raise wrong("X-Subject-Token", access.auth_token, "a text")
    if access.project_id is not None and not isinstance(access.project_id, str):
        raise wrong("project.id", access.project_id, "a text")
    if not access.has_service_catalog():
        raise Unreadable("the token has no catalog: the entry probably does not name a project")
    access.service_catalog.get_endpoints_data()
    return access


_ENTRY = {
    "project": "project_name or project_id, and the domain of the project,",
    "domain": "user_domain_name, project_domain_name or domain_name",
    "user": "username or user_id, and the domain of the user,",
    "trust": "trust_id",
    "role": "the project, in which its user has no role,",
    "identity provider": "identity_provider and protocol",
    "token": "the token, which has expired,",
}
"""What keystone does not find → the keys of the entry that are wrong."""
_DOMAINS = {
    "project": "project_domain_name or project_domain_id",
    "user": "user_domain_name or user_domain_id",
}


_ACCOUNT = {
    "password is expired": "set a new one (openstack user password set), and write it into password of the entry",
    "account is locked": "correct its password, and wait until keystone lets the user in again",
    "auth rules were satisfied": "its user must give more than one proof, e.g. a one-time password: create an"
    " application credential (openstack application credential create NAME), and write auth_type:"
    " v3applicationcredential, application_credential_id and application_credential_secret into the entry",
    "account is disabled": "ask the operators of the cloud to enable the user, or name another username in it",
}
"""What keystone says of an account to which the right password, or one that was right, was given → what to do."""
_ELSE = "correct its credentials (username, password, user_domain_name), project and auth_url"
_REQUEST_IDS = ("x-openstack-request-id", "x-compute-request-id")
"""Headers of every answer of keystone, nova, neutron and cinder: oslo.middleware, and nova's and cinder's own one."""


def is_foreign(body: str, headers: Mapping[str, str]) -> bool:
    """Return True for a refusal that does not come from a service of OpenStack, but from what stands before it.

    keystone, nova, neutron and cinder name the request in a header of each answer, and refuse in JSON. Old versions
    refuse a token in words, and name keystone in a header.

    :param headers: headers of the answer, case-insensitive.
    """
    named = any(headers.get(name) for name in _REQUEST_IDS) or "keystone" in headers.get("WWW-Authenticate", "").lower()
    return body.lstrip()[:1] not in ("{", "[") and not named


def not_by(service: str, body: str) -> str:
    """Return words for such an answer: who has not given it."""
    what = "by a page" if body.lstrip()[:1] == "<" else "without JSON"
    return f"{what}, so not by {service} but by what stands before it"


def is_credential(auth_type: str) -> bool:
    """Return True if a login is by an application credential, which may have access rules."""
    return _CREDENTIAL in auth_type


def login_words(said: str) -> str:
    """Return what keystone says of a login that it refuses (an expired password, a locked account); "" for nothing."""
    return "" if not said or _TELLS_NOTHING.search(said) else f": {said.rstrip('.')}"


def login_remedy(status: int, auth_type: str, said: str = "") -> str:
    """Return what to do about a login that keystone answered with *status*.

    :param said: the words of the answer.
    """
    missing, lacking = _NOT_FOUND.search(said), _LACKS.search(said)
    named = (missing["one"] or "project").lower() if missing is not None else ""
    if named in _ENTRY and not (named == "application credential" and _CREDENTIAL in auth_type):
        return f"correct {_ENTRY[named]} in it"
    if lacking is not None:
        where = lacking["where"].strip().lower()
        keys = _DOMAINS.get(where) if lacking["what"].strip().lower() == "domain" else None
        return f"add {keys} to it" if keys else f"it names no {lacking['what']} of its {where}: complete it"
    if status == 404 and missing is None:
        return (
            "auth_url does not lead to an identity service, or lacks the version: correct auth_url and the credentials"
        )
    if is_credential(auth_type):
        return (
            "the application credential does not exist, has expired, has another secret, or its user is disabled or"
            " has lost the role: create a new one (openstack application credential create NAME), and write it into"
            " application_credential_id and application_credential_secret of the entry"
        )
    return next((remedy for sign, remedy in _ACCOUNT.items() if sign in said.lower()), _ELSE)


def token_remedy(service: str, where: str, auth_type: str) -> str:
    """Return what to do about a service that refuses a token that keystone has just given."""
    if is_credential(auth_type):
        return (
            f"keystone accepts the login of {where} and {service} refuses its token: the access rules of the"
            " application credential do not allow this call; create one without access rules, or with a rule"
            " for this call"
        )
    return (
        f"keystone accepts the login of {where} and {service} refuses its token: ask the operators of the cloud"
        f" to check their clocks and the account of {service} in keystone"
    )


def proxy_for(url: str, proxies: Mapping[str, str]) -> str:
    """Return the host and port of the proxy by which *url* is called, without its login; "" when there is none.

    :param proxies: as requests has them: by scheme, or by scheme and host.
    """
    try:
        parts = urlsplit(url)
        keys = (f"{parts.scheme}://{parts.hostname}", parts.scheme, f"all://{parts.hostname}", "all")
        found = next((proxies[key] for key in keys if proxies.get(key)), "")
        proxy = urlsplit(found if "://" in found else f"//{found}")
        return f"{proxy.hostname}:{proxy.port}" if proxy.port else proxy.hostname or ""
    except ValueError:
        return ""


def elsewhere(endpoints: Iterable[Any], region: str | None) -> str:
    """Return the end of a sentence about a service that was not found: where the catalog has it; "" for nowhere.

    :param endpoints: keystoneauth's, of the service in all regions and with all interfaces.
    :param region: the region in which the service was looked for; "" or None for all.
    """
    places = [(_region(one), str(one.interface or "?")) for one in endpoints]
    there = [interface for where, interface in places if where == region or not region]
    if there:
        return f"; it has it there with interface {_listed(there)} alone"
    return f"; it has it in region {_listed([where for where, _interface in places])}" if places else ""


def several_regions(service: str, endpoints: Sequence[Any], where: str) -> str:
    """Return what to tell of endpoints of which the first is used because no region is named; "" if that is clear."""
    regions = list(dict.fromkeys(map(_region, endpoints)))
    if len(regions) < 2:
        return ""
    return (
        f"the cloud's catalog has service {service!r} in regions {_listed(regions)}, and {where} names none, so"
        f" {regions[0]!r} is used: set region-name of the provider"
    )


def _region(endpoint: Any) -> str:
    return bounded(str(endpoint.region_name or ""), 100)


def _listed(names: Iterable[str]) -> str:
    found = sorted(set(names))
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return ", ".join(map(repr, found[:_MOST])) + more

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the wrong type in an entry of clouds.yaml, told without the value. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

ENCRYPTED = "is encrypted with ansible-vault: decrypt it, or move only the secrets to secure.yaml and decrypt that file"
_TEXTS = ("auth_type", "region_name", "cacert", "cert", "key", "image_format", "floating_ip_source")
_SWITCHES = (
    *("private", "force_ipv4", "use_external_network", "use_internal_network"),
    *("image_api_use_tasks", "image_api_use_import", "image_api_converts"),
)
_NUMBERS = ("api_timeout",)
_NEVER_EMPTY = ("region_name", "regions", "networks", "auth_type", "metrics")
_NOT_TAKEN = re.compile(r"unexpected keyword argument '(?P<key>\w+)'")
_WITHOUT_DOMAIN = re.compile(r"You have provided a (?P<key>user|project)")
_BESIDE = frozenset({"region_name", "interface", "identity_api_version", "auth_type", "verify", "cacert"})
_GONE = {"external_network": "routes_externally", "internal_network": "nat_destination"}
"""Keys with which openstacksdk cannot be used since it knows more about networks, and what takes their place."""


def odd_values(entry: Any) -> str:
    """Return which values of an entry have the wrong type, and the remedy; "" when there are none.

    Only the keys are looked at whose wrong type no call could be made with, or which would be ignored.
    """
    if not isinstance(entry, Mapping):
        return "it is not a mapping"
    auth = entry.get("auth")
    found = [
        _told(f"auth.{key}", value, "a text") for key, value in (auth.items() if isinstance(auth, Mapping) else ())
    ]
    found += [_told(key, entry.get(key), "a text") for key in _TEXTS]
    # keystoneauth takes several interfaces, in the order in which they are wanted.
    interfaces = entry.get("interface")
    found += [
        _told("interface", each, "a text") for each in (interfaces if isinstance(interfaces, list) else [interfaces])
    ]
    found += [_told(key, entry.get(key), "true or false") for key in _SWITCHES]
    found += [_told(key, entry.get(key), "a number of seconds") for key in _NUMBERS]
    found.append(_odd_regions(entry))
    return ", ".join(text for text in found if text)


def cannot_be_read(entry: Any) -> str:
    """Return what in an entry makes openstacksdk fail while it reads the entry; "" when nothing is found."""
    if not isinstance(entry, Mapping):
        return "it is not a mapping"
    auth = entry.get("auth", {})
    if not isinstance(auth, Mapping):
        return "'auth' is not a mapping"
    texts = {"auth.auth_url": auth.get("auth_url", ""), "auth_type": entry.get("auth_type") or ""}
    if not isinstance(entry.get("profile", ""), Mapping):
        texts["profile"] = entry.get("profile", "")
    found = [f"{name!r} is not a text" for name, value in texts.items() if not isinstance(value, str)]
    found += [
        f"{key!r} is empty: give it a value, or take it out"
        for key in _NEVER_EMPTY
        if key in entry and entry[key] is None
    ]
    found += [odd] if (odd := _odd_regions(entry)) else []
    networks = entry.get("networks") or []
    if not isinstance(networks, list) or not all(isinstance(one, Mapping) and one.get("name") for one in networks):
        found.append("'networks' is not a list of mappings, each with a name")
    found += [
        f"openstacksdk no longer uses {key!r}: write networks: [{{name: NAME, {instead}: true}}]"
        for key, instead in _GONE.items()
        if key in entry
    ]
    if not found and set("{}") & set(str(auth.get("auth_url", ""))):
        found.append("'auth.auth_url' has braces, which openstacksdk replaces by keys of the entry")
    return ", ".join(found)


def _odd_regions(entry: Mapping[str, Any]) -> str:
    """Return what is told about a text in the place of several regions: openstacksdk takes each letter for one."""
    if not entry.get("regions") or not isinstance(entry["regions"], str):
        return ""
    return "'regions' is a text where a list belongs: write region_name for a single one"


def not_taken(problem: str, entry: Any) -> str:
    """Return which key of ``auth`` the kind of login does not know; "" if *problem* of the SDK is another one."""
    found, kind = _NOT_TAKEN.search(problem), str(entry.get("auth_type") or "password")
    if found is None:
        without, auth = _WITHOUT_DOMAIN.search(problem), entry.get("auth")
        by_id = isinstance(auth, Mapping) and auth.get("application_credential_id")
        if without is None or not by_id or "applicationcredential" not in kind:
            return ""
        return f"an application credential that is named by its id takes no {without['key']}: leave it out of 'auth'"
    key = found["key"]
    hint = ""
    if key in _BESIDE:
        hint = " (it belongs beside auth, not below it)"
    elif key.startswith("application_credential"):
        hint = " (auth_type: v3applicationcredential does)"
    return f"auth_type {kind!r} takes no {f'auth.{key}'!r}{hint}"


def no_entry(cloud: str, names: Collection[Any]) -> str:
    """Return what is told about a clouds.yaml without the entry *cloud*. YAML may have read other types than texts."""
    return f"has no entry {cloud!r} under 'clouds'; it has {', '.join(sorted(map(str, names))) or 'none'}"


def remedy_for_names(names: Collection[Any]) -> str:
    """Return what else may help when an entry is not found; "" when all names are texts."""
    if all(isinstance(name, str) for name in names):
        return ""
    return "; a name that YAML reads as a number or as true or false must stand in quotes"


def _told(key: str, value: Any, wanted: str) -> str:
    """Return the sentence about a value of the wrong type, "" for a good one or none."""
    if value is None:
        return ""
    if wanted == "a text":
        if isinstance(value, (str, bool)) or not isinstance(value, (int, float, list, Mapping)):
            return ""
        remedy = ": put it in quotes" if isinstance(value, (int, float)) else ""
        return f"{key!r} is {_kind(value)} where {wanted} belongs{remedy}"
    if wanted == "true or false":
        good = isinstance(value, (bool, int, str))
    else:
        good = not isinstance(value, bool) and _is_number(value)
    return "" if good else f"{key!r} is {_kind(value)} where {wanted} belongs"


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return "a number" if isinstance(value, (int, float)) else "a text"

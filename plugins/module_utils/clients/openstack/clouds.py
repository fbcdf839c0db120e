# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A provider's entry in clouds.yaml: the login and the settings for networks."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import unquote

from ...model.errors import CloudAuthError, ConfigError
from ..text_file import is_encrypted, read_text
from . import library
from .addresses import NetworkRoles
from .entry_values import ENCRYPTED, cannot_be_read, no_entry, not_taken, odd_values, remedy_for_names
from .faults import clean
from .quiet import mask_logs
from .unreached import innermost_words

DEFAULT_IMAGE_FORMAT = "qcow2"
HERE = "NODEPOOL_HERE"
"""Environment variable with the operator's working directory. The action plugins set it, because modules on the
controller run in the folder of the playbook."""
_NO_PROFILE = "Couldn't find the vendor profile"
"""How the SDK's warning about a profile begins that it does not know."""


@dataclass(frozen=True)
class Place:
    """The cloud, project and region of an entry: two entries with the same place see the same servers.

    The values are digests; "" is unknown.
    """

    auth_url: str = ""
    project: str = ""
    region: str = ""

    def matches(self, other: Place) -> bool:
        """Return True unless a value that is known in both differs."""
        pairs = ((self.auth_url, other.auth_url), (self.project, other.project), (self.region, other.region))
        return all(one == two or not one or not two for one, two in pairs)

    def document(self) -> dict[str, str]:
        """Return the place as it is stored."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Any) -> Place:
        """Read a stored place; a value that cannot be read is unknown."""
        values = document if isinstance(document, dict) else {}
        return cls(**{key: str(values.get(key) or "") for key in ("auth_url", "project", "region")})


@dataclass(frozen=True)
class CloudEntry:
    """An entry of clouds.yaml for one region.

    :param where: names the entry and its file, for error messages.
    :param region: the SDK's CloudRegion.
    :param secrets: values that must not appear in any message.
    :param remark: what is wrong with the entry although it can be used; "" for nothing.
    """

    cloud: str
    where: str
    region: Any
    private: bool
    force_ipv4: bool
    roles: NetworkRoles
    secrets: tuple[str, ...]
    remark: str = ""

    @property
    def auth_url(self) -> str:
        """The URL of its identity service; it may contain a login."""
        return str((self.region.config.get("auth") or {}).get("auth_url") or "")

    @property
    def auth_type(self) -> str:
        """The kind of login: password, v3applicationcredential …"""
        return str(self.region.config.get("auth_type") or "password")

    @property
    def api_timeout(self) -> float:
        """Seconds that the entry allows for a call; 0 where it has no usable value."""
        try:
            return max(0.0, float(self.region.config.get("api_timeout") or 0.0))
        except (TypeError, ValueError):
            return 0.0

    @property
    def image_format(self) -> str:
        """The format of disk images for the cloud: qcow2 unless the entry (or its vendor profile) sets another one."""
        return str(self.region.config.get("image_format") or DEFAULT_IMAGE_FORMAT).lower()

    @property
    def uploads_by_tasks(self) -> bool:
        """True when the entry (or its vendor profile) says that images are uploaded by swift and tasks of glance."""
        return self._is_on("image_api_use_tasks")

    @property
    def uploads_by_import(self) -> bool:
        """True when the entry says that images are uploaded by glance's import; a key of this collection."""
        return self._is_on("image_api_use_import")

    @property
    def converts_images(self) -> bool:
        """True when the entry says that the cloud writes images anew when they arrive, so that their size and checksum
        need not be those of the file; a key of this collection."""
        return self._is_on("image_api_converts")

    def _is_on(self, key: str) -> bool:
        """Return a switch of the entry; a text in quotes means what it says."""
        value = self.region.config.get(key)
        return value.strip().lower() in ("true", "yes", "on", "1") if isinstance(value, str) else bool(value)

    @property
    def image_properties(self) -> dict[str, str]:
        """Properties that each image gets in the clouds of this vendor."""
        given = self.region.config.get("disable_vendor_agent") or {}
        return {str(key): str(value) for key, value in given.items()}

    @property
    def metrics_prefix(self) -> str:
        """The prefix of the names of API metrics: the entry's own, or else that of the environment, or else that of the
        file, or else ``openstack.api``."""
        own = ((self.region.config.get("metrics") or {}).get("statsd") or {}).get("prefix")
        return str(own or os.environ.get("STATSD_PREFIX") or self.region.get_statsd_prefix())

    @property
    def fingerprint(self) -> str:
        """A digest of the whole entry: when it changes, a new client is needed."""
        return _digest([self.cloud, self.region.config, self.private, self.force_ipv4, repr(self.roles)])

    @property
    def place(self) -> Place:
        """The cloud, project and region of the entry; the user is not a part of it."""
        config = self.region.config
        auth = config.get("auth") or {}
        project = auth.get("project_id") or auth.get("project_name") or auth.get("tenant_id") or auth.get("tenant_name")
        url = str(auth.get("auth_url") or "").rstrip("/").removesuffix("/v3").lower()
        region = config.get("region_name")
        return Place(*(_digest(str(value)) if value else "" for value in (url, project, region)))


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]


def clouds_files(clouds_config: str | None = None) -> list[str]:
    """Return the files that :func:`load_cloud_entry` looks for, existing or not; none without the SDK."""
    if library.IMPORT_ERROR is not None:
        return []
    return [*_candidates(clouds_config), *_from_here(library.sdk_config.SECURE_FILES)]


def clouds_file(clouds_config: str | None = None) -> str | None:
    """Return the file that :func:`load_cloud_entry` reads; None when there is none, or without the SDK."""
    if library.IMPORT_ERROR is not None:
        return clouds_config
    return clouds_config or next((path for path in _candidates(None) if os.path.exists(path)), None)


def clouds_files_from_here(clouds_config: str | None = None) -> tuple[str, str]:
    """Return the clouds.yaml and the secure.yaml that are read now and would not be found from another folder.

    "" for one that is found from everywhere, or that is not there.
    """
    if library.IMPORT_ERROR is not None:
        return clouds_config or "", ""
    here = os.environ.get(HERE) or os.path.dirname(library.sdk_config.CONFIG_FILES[0])
    path = os.path.join(here, clouds_file(clouds_config) or "")
    moves = clouds_config is not None or path not in library.sdk_config.CONFIG_FILES or os.path.dirname(path) == here
    secure = [path for path in _from_here(library.sdk_config.SECURE_FILES) if os.path.dirname(path) == here]
    return (path if moves and os.path.basename(path) else ""), next(filter(os.path.exists, secure), "")


def load_cloud_entry(
    provider: str, cloud: str, region_name: str | None, clouds_config: str | None = None
) -> CloudEntry:
    """Return the entry *cloud*, found as the SDK does (OS_CLIENT_CONFIG_FILE, ., ~/.config/openstack, /etc/openstack).

    :param provider: name of the provider, for error messages.
    :param clouds_config: path of a clouds.yaml that is used instead.
    :raises CloudAuthError: no readable file, no such entry or region, or its login options are incomplete.
    :raises MissingLibraryError: openstacksdk is not installed.
    """
    library.require()
    mask_logs()
    path, text = _readable_file(provider, clouds_config)
    where = f"entry {cloud!r} in {path}"
    config, unknown = None, ""
    secrets = _check_secrets(provider)
    try:
        variables = _variables() if clouds_config is None else None
        config = _sdk_config(path, text, secrets, os.environ.get(HERE, ""), variables)
        names = config.get_cloud_names()
        if cloud not in names:
            raise CloudAuthError(
                f"provider {provider}: {path} {no_entry(cloud, names)}: correct cloud of the provider, or add the entry"
                f"{remedy_for_names(names)}",
                provider=provider,
            )
        with warnings.catch_warnings():
            # The SDK warns at each load that a feature will be removed, whether the feature is used or not.
            warnings.filterwarnings("ignore", message="Support for InfluxDB")
            warnings.filterwarnings("error", message=_NO_PROFILE)
            try:
                region = _region(config, cloud, region_name)
            except Warning:
                unknown = _profile_unknown(config.cloud_config["clouds"][cloud])
                warnings.filterwarnings("ignore", message=_NO_PROFILE)
                region = _region(config, cloud, region_name)
            roles = _roles(region)
    except library.RequestException as problem:
        raise _profile_not_fetched(provider, where, problem) from problem
    except _unusable() as problem:
        # The SDK does not check the types in an entry, so its error does not name the value that is wrong.
        found = config.cloud_config["clouds"][cloud] if config else {}
        why = cannot_be_read(found) or not_taken(str(problem), found) or clean(str(problem))
        raise _not_usable(provider, where, why, unknown) from problem
    why = odd_values(config.cloud_config["clouds"][cloud]) or _lacking(region)
    if why:
        raise _not_usable(provider, where, why, unknown)
    if not hasattr(region.get_auth(), "get_access"):
        raise CloudAuthError(
            f"provider {provider}: {where} has auth_type {region.config.get('auth_type')!r}, which provides"
            f" neither a token nor a catalog: use a password, an application credential or a token",
            provider=provider,
        )
    return CloudEntry(
        cloud=cloud,
        where=where,
        region=region,
        private=bool(region.config.get("private", False)),
        force_ipv4=bool(region.force_ipv4),
        roles=roles,
        secrets=(*_secrets(region.config.get("auth") or {}), *login_of(region.config.get("auth") or {})),
        remark=f"{where} is used without a profile: {unknown}: correct profile, or take it out" if unknown else "",
    )


def _candidates(clouds_config: str | None) -> list[str]:
    if clouds_config is not None:
        return [clouds_config]
    override = os.environ.get("OS_CLIENT_CONFIG_FILE")
    # A relative path is meant from where the operator is.
    return ([os.path.join(os.environ.get(HERE, ""), override)] if override else []) + _from_here(
        library.sdk_config.CONFIG_FILES
    )


def _from_here(paths: Iterable[str]) -> list[str]:
    """Return the SDK's paths, with the operator's directory in place of the module's working directory."""
    here = os.environ.get(HERE)
    if not here:
        return list(paths)
    first = os.path.dirname(library.sdk_config.CONFIG_FILES[0])
    return [os.path.join(here, os.path.basename(path)) if os.path.dirname(path) == first else path for path in paths]


def _variables() -> tuple[tuple[str, str], ...]:
    """Return the variables of the environment that the SDK reads."""
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("OS_")))


@functools.lru_cache(maxsize=1)
def _sdk_config(path: str, text: str, secrets: str, here: str, variables: tuple[tuple[str, str], ...] | None) -> Any:
    """Return the SDK's view of the files: one object for all providers, because the SDK reads all entries each time.

    :param path: the file, which has *text*.
    :param secrets: the text of the secure.yaml.
    :param here: the folder in place of the working directory.
    :param variables: those that the SDK is to use; None for none.
    """
    return library.sdk_config.OpenStackConfig(
        config_files=[path],
        secure_files=_from_here(library.sdk_config.SECURE_FILES),
        vendor_files=_from_here(library.sdk_config.VENDOR_FILES),
        load_envvars=variables is not None,
    )


def _parsed(text: str) -> Any:
    """Return the document in a YAML text; libyaml reads it nine times as fast as Python does."""
    return library.yaml.load(text, Loader=getattr(library.yaml, "CSafeLoader", library.yaml.SafeLoader))


def _readable_file(provider: str, clouds_config: str | None) -> tuple[str, str]:
    """Return the first candidate that exists, and its text. The SDK would skip a broken file without an error.

    :raises CloudAuthError: none exists, or the first one cannot be read or parsed.
    """
    candidates = _candidates(clouds_config)
    for path in candidates:
        if clouds_config is None and not os.path.exists(path):
            continue
        try:
            text = read_text(path, lambda _seconds: None)
            document = None if is_encrypted(text) else _parsed(text)
        except ConfigError as problem:
            raise CloudAuthError(f"provider {provider}: {problem}", provider=provider) from problem
        except library.yaml.YAMLError as problem:
            why = _no_yaml(problem)
            if "!vault" in text:
                raise CloudAuthError(f"provider {provider}: {path} {ENCRYPTED}", provider=provider) from problem
        else:
            if isinstance(document, dict) and isinstance(document.get("clouds"), dict):
                return path, text
            if is_encrypted(text):
                raise CloudAuthError(f"provider {provider}: {path} {ENCRYPTED}", provider=provider)
            why = "has no 'clouds' mapping"
        raise CloudAuthError(f"provider {provider}: {path} {why}: correct the file", provider=provider)
    looked = ", ".join(dict.fromkeys(path for path in candidates if path.endswith(".yaml")))
    # Somebody has sourced an openrc file, Horizon's other download, and expects that it is used.
    sourced = "; the variables OS_* alone are not used" if os.environ.get("OS_AUTH_URL") else ""
    raise CloudAuthError(
        f"provider {provider}: no clouds.yaml was found ({looked}){sourced}: create one, or name its path"
        " (clouds_config of a module, nodepool_clouds_config of a playbook, or OS_CLIENT_CONFIG_FILE)",
        provider=provider,
    )


def _check_secrets(provider: str) -> str:
    """Return the text of the first secure.yaml that exists; "" for none.

    The SDK would skip a broken one, and log in without its passwords.

    :raises CloudAuthError: it is encrypted, or no YAML. One that cannot be read is left out, as by the SDK.
    """
    for path in _from_here(library.sdk_config.SECURE_FILES):
        try:
            text = read_text(path, lambda _seconds: None)
        except ConfigError:
            continue
        if is_encrypted(text):
            raise CloudAuthError(f"provider {provider}: {path} {ENCRYPTED}", provider=provider)
        try:
            _parsed(text)
        except library.yaml.YAMLError as problem:
            raise CloudAuthError(
                f"provider {provider}: {path} {_no_yaml(problem)}: correct the file", provider=provider
            ) from problem
        return text
    return ""


def _no_yaml(problem: Exception) -> str:
    """Return what is wrong with a file and where; the text of the problem may show a line with a password."""
    mark = getattr(problem, "problem_mark", None)
    return "is not valid YAML" + (f" (line {mark.line + 1})" if mark else "")


def _not_usable(provider: str, where: str, why: str, unknown: str = "") -> CloudAuthError:
    """Return the error for an entry; *unknown* is what is told of its profile."""
    why = why.rstrip(".") + (f"; {unknown}" if unknown else "")
    return CloudAuthError(f"provider {provider}: {where} cannot be used: {why}: correct the entry", provider=provider)


def _profile_unknown(entry: Any) -> str:
    """Return what is told of a profile without which the SDK goes on: its auth_url and image_format may be missing."""
    return f"openstacksdk knows no profile {entry.get('profile', entry.get('cloud'))!r}, so nothing is taken from it"


def _profile_not_fetched(provider: str, where: str, problem: Exception) -> CloudAuthError:
    """Return the error for a profile that is an address: the SDK fetches it each time that the entry is read."""
    no_json = isinstance(problem, library.requests.exceptions.InvalidJSONError)
    why = "its answer is not JSON" if no_json else innermost_words(problem)
    return CloudAuthError(
        f"provider {provider}: {where} cannot be used: its profile is fetched from a web server, and that failed"
        f" ({why}): check the connection to it, or write auth_url and region_name in place of profile",
        provider=provider,
    )


def _lacking(region: Any) -> str:
    """Return the settings that the SDK accepts but with which no call can be made. No login is quoted."""
    url = str((region.config.get("auth") or {}).get("auth_url") or "").lower()
    if url and not url.startswith(("http://", "https://")):
        # It would be looked up in a catalog that nobody has.
        return "'auth.auth_url' does not begin with http:// or https://"
    if why := _without_login(region):
        return why
    if not url.startswith("https://"):
        return ""
    verify, cert = region.get_requests_verify_args()
    certificate, key = cert if isinstance(cert, tuple) else (cert, None)
    for name, path in (("cacert", verify), ("cert", certificate), ("key", key)):
        if isinstance(path, str):
            try:
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            except OSError as problem:
                told = f"{name!r} names {path}, which cannot be read: {problem.strerror}"
                if not os.path.isabs(path):
                    told += f" (a relative path begins at the working directory: {os.path.abspath(path)} was tried)"
                return told
    return ""


def _without_login(region: Any) -> str:
    """Return what a login with a password lacks. The SDK notices it at the first call, and does not name the entry."""
    auth = region.config.get("auth") or {}
    if region.config.get("auth_type") not in (None, "password", "v3password"):
        return ""
    if not (auth.get("username") or auth.get("user_id")):
        return "'auth.username' is missing"
    return "" if auth.get("password") else "'auth.password' is missing, here and in secure.yaml"


def _unusable() -> tuple[type[Exception], ...]:
    """Return the exceptions that the SDK raises for an entry that it cannot use."""
    sdk = (library.sdk_exceptions.SDKException, library.ks_exceptions.ClientException)
    return (*sdk, TypeError, ValueError, AttributeError, LookupError, OSError)


def _region(config: Any, cloud: str, region_name: str | None) -> Any:
    options = {"region_name": region_name} if region_name else {}
    region = config.get_one(cloud=cloud, **options)
    auth = region.config.get("auth") or {}
    versioned = str(auth.get("auth_url", "")).rstrip("/").endswith("/v3")
    if versioned and region.config.get("auth_type") in (None, "password"):
        # The versioned plugin needs no discovery of the identity service: one call less at each start, and only one
        # time-out when the service does not answer. It does not know all options of the other plugin.
        try:
            return config.get_one(cloud=cloud, auth_type="v3password", **options)
        except _unusable():
            pass
    return region


def _roles(region: Any) -> NetworkRoles:
    source = region.config.get("floating_ip_source")
    return NetworkRoles(
        external=tuple(region.get_external_ipv4_networks()),
        internal=tuple(region.get_internal_ipv4_networks()),
        default_interface=region.get_default_network(),
        nat_source=region.get_nat_source(),
        nat_destination=region.get_nat_destination(),
        use_external=bool(region.config.get("use_external_network", True)),
        use_internal=bool(region.config.get("use_internal_network", True)),
        floating_ips=bool(source) and str(source).lower() != "none",
    )


def login_of(auth: dict[str, Any]) -> tuple[str, ...]:
    """Return the login in auth_url, if any: the whole login, and its password."""
    login = str(auth.get("auth_url") or "").partition("://")[2].rpartition("@")[0]
    password = login.partition(":")[2]
    return tuple(dict.fromkeys(text for text in (login, password, unquote(password)) if text))


def _secrets(auth: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        str(value)
        for key, value in auth.items()
        if value and any(word in key for word in ("password", "secret", "token", "passcode"))
    )

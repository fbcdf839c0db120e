# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls to the OpenStack services by method, path and JSON; their errors are the Cloud* errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from ...model.bounded_text import bounded
from ...model.errors import CloudAuthError, CloudError, CloudNotFound, CloudTokenRefused
from .api_names import (
    ApiCall,
    api_name,
    in_one_folder,
    operation_of,
)
from .clouds import CloudEntry
from .faults import (
    error_from_answer,
    error_without_answer,
    is_from_before,
    message_of,
)
from .hops import (
    checked_access,
    elsewhere,
    is_credential,
    is_foreign,
    login_remedy,
    login_words,
    not_by,
    proxy_for,
    several_regions,
    token_remedy,
)
from .json_values import UNUSABLE, Unreadable
from .kinds import call_kind, names_nothing, service_of
from .library import (
    HttpSession,
    ks_exceptions,
    ks_session,
    requests,
)
from .login import refused_with, shared_login
from .remarks import Remarks
from .transport import (
    AnswerTimes,
    Transport,
    UploadTimes,
    status_without_answer,
)
from .unreached import innermost_words, unreached

# The version that is added to a URL of the catalog that has none. Each has been the only current major version for
# years.
_VERSIONS = {"compute": "v2.1", "block-storage": "v3", "image": "v2", "network": "v2.0", "object-store": "v1"}
_HAS_VERSION = re.compile(r"/v\d+(\.\d+)?(/|$)")
SIZE_HEADER = "X-OpenStack-Image-Size"
"""Newer versions of glance compare the number of received bytes with it; others ignore it."""
_MOST_ENDPOINTS = 20
_NEVER_SENT = ("no-connection", "tls")
LOGIN = "POST /auth/tokens"


@dataclass(frozen=True)
class ApiAnswer:
    """A successful answer: *document* is the JSON body, None when the caller named no key."""

    status: int
    document: Any
    headers: Mapping[str, str]


class _Http(HttpSession):
    """A requests session that reads proxies and certificates from the environment once per host, not once per call.

    requests reads all variables twice for that, which is a sixth of the CPU time of a call.
    """

    def __init__(self) -> None:
        super().__init__()
        self._merged: dict[tuple[Any, ...], dict[str, Any]] = {}

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        """Return the settings of a call; see requests."""
        if proxies:
            return super().merge_environment_settings(url, proxies, stream, verify, cert)
        key = (*urlsplit(url)[:2], stream, verify, cert)
        if key not in self._merged:
            self._merged[key] = super().merge_environment_settings(url, {}, stream, verify, cert)
        return dict(self._merged[key])

    def proxies_for(self, url: str) -> Mapping[str, str]:
        """Return the proxies that calls to *url* use, by scheme."""
        found = self.merge_environment_settings(url, {}, False, None, None)
        return found.get("proxies") or {}


def _refuses_token(call: str, response: Any) -> bool:
    """Return True if the service of the call does not accept the token; another one is no use before a proxy's page."""
    if response.status_code != 401:
        return False
    return not is_from_before(call, response.content.decode("utf-8", "replace"), response.headers)


class Rest:
    """The session of one provider. Thread-safe.

    :param entry: from load_cloud_entry.
    :param transport: mounted for http and https, so that every call passes through it.
    :param told: called after each API call, in the thread that made the call; it must not block.
    """

    def __init__(
        self,
        provider: str,
        entry: CloudEntry,
        transport: Transport,
        told: Callable[[ApiCall], None] | None = None,
    ) -> None:
        self._provider = provider
        self._entry = entry
        self._http = _Http()
        self._http.mount("http://", transport)
        self._http.mount("https://", transport)
        verify, cert = entry.region.get_requests_verify_args()
        # keystoneauth adds no time-outs or retries here: the transport bounds each call, and callers decide on retries.
        self._session = ks_session.Session(
            auth=None, session=self._http, verify=verify, cert=cert, app_name="stackci.nodepool"
        )
        self._login = shared_login(entry)
        self._checked: Any = None
        self.remarks = Remarks()
        self.remarks.put("profile", entry.remark)
        self._endpoints: dict[tuple[str, str], str] = {}
        """Token and service → URL in the token's catalog: operators may move a service, or add one."""
        self._types: dict[str, str] = {}
        self._project_id: str | None = None
        if told is not None:
            self._told = told
            transport.on_call = self._tell

    def close(self) -> None:
        """Close idle connections."""
        self._http.close()

    def project_id(self) -> str:
        """Return the id of the token's project."""
        return str(self._access().project_id or "")

    def odd(self) -> dict[str, str]:
        """Return what is odd about the cloud although its calls succeed, by subject."""
        return {**self._login.remarks.by_subject(), **self.remarks.by_subject()}

    def renew(self, seconds: float) -> None:
        """Make the next call fetch a new token when the present one expires within *seconds*.

        A service may use the token once more at the end of a long call.

        :raises CloudError: the client could not get a token.
        """
        self._access()
        self._login.renew(seconds)

    def has(self, service: str) -> bool:
        """Return True when the cloud's catalog (or clouds.yaml) has *service* in the provider's region."""
        return self._endpoint(service, self._access()) is not None

    def call(
        self,
        service: str,
        method: str,
        path: str,
        *,
        body: Any = None,
        params: Any = None,
        microversion: str | None = None,
        key: str | None = None,
        data: Sized | None = None,
        times: UploadTimes | AnswerTimes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ApiAnswer:
        """Make one call; repeat it once with a new token when the service does not accept the old one.

        :param service: "compute", "network", "image", "block-storage" or "object-store".
        :param path: path below the endpoint; ids in it are those of :func:`kinds.in_path`.
        :param body: JSON to send.
        :param key: the top-level key that the answer must have; None: the body of the answer is not read.
        :param data: bytes to send instead of JSON: an object with a length whose every iteration gives all the bytes
            in pieces.
        :param headers: further headers of the call, such as another Content-Type.
        :param times: the bounds of a call that sends much data, or whose answer may take long.
        :raises CloudError: the call did not succeed.
        """
        call = call_kind(method, f"http://cloud/v0/{path.lstrip('/')}")
        if names_nothing(path):
            what = f"provider {self._provider}: {call}: nothing can be at {bounded(unquote(path))!r}"
            raise CloudNotFound(what, provider=self._provider, call=call, status=404)
        access = self._access()
        url = self._url(service, path, access, call)
        call = call_kind(method, url)
        options: dict[str, Any] = {"json": body, "params": params}
        if data is not None:
            options = {"data": data, "params": params}
        if times is not None:
            options["timeout"] = times
        if microversion:
            options |= {"microversion": microversion, "microversion_service_type": "compute"}
        response = self._send(call, url, method, access, options, headers)
        if _refuses_token(call, response):
            self._login.reject(access.auth_token)
            response = self._send(call, url, method, self._access(), options, headers)
            if _refuses_token(call, response):
                raise self._token_refused(call, response)
        return self._answer(call, response, key)

    def _token_refused(self, call: str, response: Any) -> CloudError:
        """Return the error for a service that refuses a token that the identity service has just given."""
        error = error_from_answer(
            provider=self._provider,
            call=call,
            status=401,
            body=response.content.decode("utf-8", "replace"),
            headers=response.headers,
            secrets=self._entry.secrets,
        )
        remedy = token_remedy(service_of(call), self._entry.where, self._entry.auth_type)
        # Access rules belong to the account. Without them it is for the cloud to accept its own tokens.
        kind = CloudAuthError if is_credential(self._entry.auth_type) else CloudTokenRefused
        return kind(f"{error}: {remedy}", provider=self._provider, call=call, status=401)

    def _send(
        self,
        call: str,
        url: str,
        method: str,
        access: Any,
        options: Mapping[str, Any],
        more: Mapping[str, str] | None,
    ) -> Any:
        headers = {"Accept": "application/json", "X-Auth-Token": access.auth_token}
        data = options.get("data")
        if data is not None:
            headers |= {"Content-Type": "application/octet-stream", SIZE_HEADER: str(len(data))}
        headers |= more or {}
        try:
            return self._session.request(
                url,
                method,
                headers=headers,
                authenticated=False,
                raise_exc=False,
                allow_reauth=False,
                connect_retries=0,
                status_code_retries=0,
                **options,
            )
        except ks_exceptions.ClientException as problem:
            raise self._no_answer(call, problem) from problem

    def _no_answer(self, call: str, problem: BaseException) -> CloudError:
        """Return the error for *problem* of keystoneauth; its cause, an exception of requests, has the details."""
        cause: BaseException | None = problem
        while cause is not None and not isinstance(cause, requests.exceptions.RequestException):
            cause = cause.__cause__ or cause.__context__
        if cause is None:
            what = str(problem)
            elsewhere = what.rpartition("correct. ")[2] if isinstance(problem, ks_exceptions.DiscoveryFailure) else ""
            if isinstance(problem, ks_exceptions.MissingAuthPlugin):
                elsewhere = "it answers 401 without a login"
            if elsewhere and self._entry.auth_url.rstrip("/").endswith("/v2.0"):
                elsewhere = "it ends in /v2.0, which identity services no longer have: end it in /v3"
            if elsewhere:
                what = (
                    f"auth_url of {self._entry.where} does not lead to an identity service: {elsewhere}: correct it, or"
                    " check that the cloud is up"
                )
            return error_without_answer(
                provider=self._provider, call=call, what=what, sent=True, secrets=self._entry.secrets
            )
        if isinstance(cause, requests.exceptions.InvalidJSONError):
            # Only keystoneauth reads JSON with requests.
            what = "its answer is not JSON: check that this is the identity service"
            return error_without_answer(
                provider=self._provider, call=call, what=what, sent=True, secrets=self._entry.secrets
            )
        status = status_without_answer(cause)
        what = {
            "timeout": "no answer in time",
            "no-connection": "no connection",
            "tls": "no TLS connection",
            "reset": "the connection broke",
            "redirect": "a redirect is not followed",
            "damaged": "its answer cannot be decompressed, which a proxy may have damaged",
        }.get(status, "no answer")
        told = None
        if status in _NEVER_SENT:
            url = str(getattr(getattr(cause, "request", None), "url", "") or "")
            proxy = proxy_for(url, self._http.proxies_for(url))
            told = unreached(cause, status == "tls", url, self._entry.where, self._entry.auth_url, proxy)
        return error_without_answer(
            provider=self._provider,
            call=call,
            what=told or f"{what} ({innermost_words(cause)})",
            sent=status not in (*_NEVER_SENT, "redirect"),
            secrets=self._entry.secrets,
            status=getattr(cause.response, "status_code", None),
        )

    def _answer(self, call: str, response: Any, key: str | None) -> ApiAnswer:
        status: int = response.status_code
        if not 200 <= status < 300:
            raise error_from_answer(
                provider=self._provider,
                call=call,
                status=status,
                body=response.content.decode("utf-8", "replace"),
                headers=response.headers,
                secrets=self._entry.secrets,
            )
        if call.startswith("DELETE ") and response.content.strip():
            # The services answer a deletion with an empty body; an answer with a body comes from a proxy.
            what = f"its answer ({status}) has a body, but an answer to a deletion has none"
            raise self.senseless(call, what, status)
        document = None
        if key is not None:
            try:
                document = json.loads(response.content)
            except (ValueError, RecursionError):
                document = None
            if not isinstance(document, dict) or key not in document:
                raise self.senseless(call, f"its answer ({status}) is not JSON with {key!r}", status)
        return ApiAnswer(status, document, response.headers)

    def senseless(self, call: str, what: str, status: int = 200) -> CloudError:
        """Return the error for a success whose content makes no sense; the call may have taken effect."""
        return error_without_answer(
            provider=self._provider, call=call, what=what, sent=True, secrets=self._entry.secrets, status=status
        )

    def _access(self) -> Any:
        """Return a token that can be used; raise the CloudError that tells why there is none."""
        access: Any = None
        try:
            access = self._login.access(self._session)
            if access is not self._checked:
                self._checked = checked_access(access)
            return access
        except (ks_exceptions.HttpError, ks_exceptions.MissingAuthMethods) as problem:
            raise self._login_refused(problem) from problem
        except ks_exceptions.ClientException as problem:
            # The caller's own call has not been sent yet.
            error = self._no_answer(LOGIN, problem)
            error.unclear = False
            raise error from problem
        except UNUSABLE as problem:
            said = str(problem) if isinstance(problem, Unreadable) else "its token or catalog does not match the API"
            if access is not None:
                # The next token may have a catalog that can be read.
                self._login.reject(access.auth_token)
            raise error_without_answer(
                provider=self._provider,
                call=LOGIN,
                what=f"the answer does not come from an identity service ({said}): check auth_url of"
                f" {self._entry.where}",
                sent=False,
                secrets=self._entry.secrets,
            ) from problem

    def _login_refused(self, problem: Any) -> CloudError:
        """Return the error for a login that was answered with another status than success."""
        status = refused_with(problem) or 0
        body = getattr(problem.response, "text", "") or str(problem.message or "")
        if isinstance(problem, ks_exceptions.MissingAuthMethods):
            body = json.dumps({"message": str(problem)})
        headers = getattr(problem.response, "headers", None) or {}
        if status in (401, 403) and is_foreign(body, headers):
            return error_without_answer(
                provider=self._provider,
                call=LOGIN,
                what=f"was answered with {status} {not_by('the identity service', body)}"
                f" ({message_of(body, self._entry.secrets)}): check auth_url of {self._entry.where}, and the proxies on"
                " the way",
                sent=False,
                secrets=self._entry.secrets,
                status=status,
            )
        if status in (400, 401, 403, 404):
            words = message_of(body, self._entry.secrets)
            said = login_words(words)
            return CloudAuthError(
                f"provider {self._provider}: the cloud does not accept the login of {self._entry.where}"
                f" ({status}{said}): {login_remedy(status, self._entry.auth_type, words)}",
                provider=self._provider,
                call=LOGIN,
                status=status,
            )
        error = error_from_answer(
            provider=self._provider,
            call=LOGIN,
            status=status,
            body=body,
            headers=getattr(problem.response, "headers", None),
            secrets=self._entry.secrets,
        )
        error.unclear = False
        return error

    def _url(self, service: str, path: str, access: Any, call: str) -> str:
        endpoint = self._endpoint(service, access)
        if endpoint is None:
            region = self._entry.region.get_region_name(service)
            interface = self._entry.region.get_interface(service) or "public"
            other, keys = "", "region_name"
            there = elsewhere(self._in_catalog(service, access), region)
            if interface != "public" or "interface" in there:
                names = " or ".join(repr(name) for name in ([interface] if isinstance(interface, str) else interface))
                other, keys = f" and interface {names}", "interface or region_name"
            # A token keeps the catalog that it was made with.
            self._login.reject(access.auth_token)
            raise CloudAuthError(
                f"provider {self._provider}: the cloud's catalog has no service {service!r} in region {region!r}{other}"
                f" for {self._entry.where}{there}: correct region-name of the provider, or {keys} of the entry",
                provider=self._provider,
                call=call,
            )
        return f"{endpoint}/{path.lstrip('/')}"

    def _endpoint(self, service: str, access: Any) -> str | None:
        place = access.auth_token, service
        known = self._endpoints.get(place)
        if known is not None:
            return known
        region = self._entry.region
        try:
            url: str | None = region.get_endpoint(service) or self._catalog_url(service, access)
            if not url:
                return None
            url = url.rstrip("/")
            if not _HAS_VERSION.search(urlsplit(url).path + "/"):
                url = f"{url}/{_VERSIONS[service]}"
        except UNUSABLE as problem:
            raise self.senseless(
                LOGIN, f"its catalog cannot be read ({problem}): ask the operators of the cloud to correct it"
            ) from problem
        self._project_id = access.project_id
        self._types[url] = region.get_service_type(service)
        if len(self._endpoints) >= _MOST_ENDPOINTS:
            self._endpoints = {}
        self._endpoints[place] = url
        return url

    def _tell(self, method: str, url: str, status: int | None, seconds: float) -> None:
        """Report a call that the transport sent, except calls for tokens and discovery.

        openstacksdk does not report those either.
        """
        place = max((known for known in [*self._types] if url.startswith(f"{known}/")), key=len, default=None)
        if place is None:
            return
        # openstacksdk names a call without an answer by the path that its caller gave, any other by the URL that was
        # sent.
        operation = operation_of(url[len(place) :] if status is None else in_one_folder(url, place), self._project_id)
        name = api_name(self._entry.metrics_prefix, self._types[place], method, operation)
        self._told(ApiCall(name, status, seconds))

    def _catalog_url(self, service: str, access: Any) -> str | None:
        region = self._entry.region
        name = region.get_region_name(service) or None
        found = self._in_catalog(service, access, region.get_interface(service) or "public", name)
        if name is None:
            self.remarks.put(f"region of {service}", several_regions(service, found, self._entry.where))
        return next((str(entry.url) for entry in found), None)

    def _in_catalog(self, service: str, access: Any, interface: Any = None, name: str | None = None) -> list[Any]:
        """Return the endpoints of a service; None: those of every *interface*, or of regions of every *name*."""
        region = self._entry.region
        try:
            found = access.service_catalog.get_endpoints_data(
                service_type=region.get_service_type(service),
                service_name=region.get_service_name(service),
                interface=interface,
                region_name=name,
            )
        except ks_exceptions.ClientException:
            return []
        return [entry for entries in found.values() for entry in entries if entry.url]

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated API of Kubernetes over TLS, as far as Nodepool's driver kubernetes calls it.

Namespaces with service accounts, secrets, roles, role bindings and pods. As in a cluster: a token is written into its
secret some time after it was created, a pod runs some time after it was created, a namespace is Terminating before it
is gone and takes nothing new meanwhile; names and label values are checked; errors are objects of the kind Status.
"""

from __future__ import annotations

import base64
import copy
import json
import re
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from tests.support.zookeeper_certificates import Certificates

HOST = "127.0.0.1"
BOUND = 1 << 20
TIMEOUT = 30.0
CORE, RBAC = "/api/v1", "/apis/rbac.authorization.k8s.io/v1"
KINDS = {
    (CORE, "serviceaccounts"): "ServiceAccount",
    (CORE, "secrets"): "Secret",
    (CORE, "pods"): "Pod",
    (RBAC, "roles"): "Role",
    (RBAC, "rolebindings"): "RoleBinding",
}
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
MOST = 63
TOKEN_TYPE, ACCOUNT = "kubernetes.io/service-account-token", "kubernetes.io/service-account.name"


CONTEXT = "simulated"


def cluster_provider() -> dict[str, Any]:
    """A provider of Nodepool's driver kubernetes, with the labels ``namespace`` and ``pod``."""
    labels = [
        {"name": "namespace", "type": "namespace"},
        {"name": "pod", "type": "pod", "image": "python:3", "cpu": 1, "memory": 512},
    ]
    pool = {"name": "main", "max-servers": 8, "labels": labels}
    return {"name": "cluster", "driver": "kubernetes", "context": CONTEXT, "pools": [pool]}


class Refused(Exception):
    """An answer of the kind Status that is no success."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class Cluster:
    """What there is in the cluster.

    :param ca: the certificate that its secrets contain.
    :param token_after: seconds until a token is in its secret.
    :param run_after: seconds until a pod runs; may be changed.
    :param gone_after: seconds until a deleted namespace is gone.
    """

    def __init__(
        self,
        ca: bytes,
        *,
        token_after: float = 0.5,
        run_after: float = 1.5,
        gone_after: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ca = ca
        self._token_after, self.run_after, self._gone_after = token_after, run_after, gone_after
        self._clock = clock
        self._lock = threading.Lock()
        self._namespaces: dict[str, dict[str, Any]] = {}
        self._things: dict[tuple[str, str, str], dict[str, Any]] = {}
        """(namespace, kind, name) → object."""
        self._made: dict[str, float] = {}
        """uid → when it was created, or its deletion began."""
        self.tokens: set[str] = set()
        """All that it has given away."""

    def namespaces(self) -> dict[str, dict[str, Any]]:
        """Name → object of each that is there."""
        with self._lock:
            self._pass_time()
            return copy.deepcopy(self._namespaces)

    def answer(self, method: str, path: str, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """(status, object) of a request.

        :raises Refused: for what a cluster refuses.
        """
        with self._lock:
            self._pass_time()
            status, found = self._answer(method, path, body)
            return status, copy.deepcopy(found)

    def _answer(self, method: str, path: str, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        group = RBAC if path.startswith(f"{RBAC}/") else CORE
        parts = path.removeprefix(f"{group}/").split("/")
        match (method, parts):
            case ("GET", ["namespaces"]) if group == CORE:
                items = list(self._namespaces.values())
                return 200, {"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": items}
            case ("POST", ["namespaces"]) if group == CORE:
                return 201, self._create_namespace(body)
            case ("GET", ["namespaces", name]) if group == CORE:
                return 200, self._namespace(name)
            case ("DELETE", ["namespaces", name]) if group == CORE:
                return 200, self._delete_namespace(name)
            case ("POST", ["namespaces", name, kinds]) if (group, kinds) in KINDS:
                return 201, self._create(name, group, kinds, body)
            case ("GET", ["namespaces", name, kinds, thing]) if (group, kinds) in KINDS:
                return 200, self._thing(name, KINDS[group, kinds], thing)
        raise Refused(404, "NotFound", "the server could not find the requested resource")

    def _pass_time(self) -> None:
        now = self._clock()
        for name, found in list(self._namespaces.items()):
            ends = found["status"]["phase"] == "Terminating"
            if ends and now - self._made[found["metadata"]["uid"]] >= self._gone_after:
                del self._namespaces[name]
                self._things = {key: thing for key, thing in self._things.items() if key[0] != name}
        for (namespace, kind, _name), thing in self._things.items():
            age = now - self._made[thing["metadata"]["uid"]]
            if kind == "Secret" and thing.get("type") == TOKEN_TYPE and age >= self._token_after:
                self._fill(namespace, thing)
            if kind == "Pod" and age >= self.run_after:
                thing["status"] = {"phase": "Running"}
                thing["spec"]["nodeName"] = "worker-1"

    def _fill(self, namespace: str, secret: dict[str, Any]) -> None:
        account = (secret["metadata"].get("annotations") or {}).get(ACCOUNT, "")
        if "data" not in secret and (namespace, "ServiceAccount", account) in self._things:
            token = f"token-{uuid.uuid4().hex}"
            self.tokens.add(token)
            data = {"token": token.encode(), "ca.crt": self._ca, "namespace": namespace.encode()}
            secret["data"] = {key: base64.b64encode(value).decode() for key, value in data.items()}

    def _create_namespace(self, body: Mapping[str, Any]) -> dict[str, Any]:
        made = self._new("Namespace", "v1", body)
        name = made["metadata"]["name"]
        if name in self._namespaces:
            raise Refused(409, "AlreadyExists", f'namespaces "{name}" already exists')
        made |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        self._namespaces[name] = made
        return made

    def _namespace(self, name: str) -> dict[str, Any]:
        if name not in self._namespaces:
            raise Refused(404, "NotFound", f'namespaces "{name}" not found')
        return self._namespaces[name]

    def _delete_namespace(self, name: str) -> dict[str, Any]:
        found = self._namespace(name)
        if found["status"]["phase"] != "Terminating":
            found["status"]["phase"] = "Terminating"
            self._made[found["metadata"]["uid"]] = self._clock()
        return found

    def _create(self, namespace: str, group: str, kinds: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if self._namespace(namespace)["status"]["phase"] == "Terminating":
            raise Refused(403, "Forbidden", f"namespace {namespace} is being terminated")
        kind = KINDS[group, kinds]
        made = self._new(kind, "v1" if group == CORE else RBAC.removeprefix("/apis/"), body)
        made["metadata"]["namespace"] = namespace
        key = (namespace, kind, made["metadata"]["name"])
        if key in self._things:
            raise Refused(409, "AlreadyExists", f'{kinds} "{key[2]}" already exists')
        if kind == "Pod":
            if not made.get("spec", {}).get("containers"):
                raise Refused(422, "Invalid", "spec.containers: Required value")
            made["status"] = {"phase": "Pending"}
        self._things[key] = made
        return made

    def _thing(self, namespace: str, kind: str, name: str) -> dict[str, Any]:
        self._namespace(namespace)
        if (namespace, kind, name) not in self._things:
            raise Refused(404, "NotFound", f'{kind} "{name}" not found')
        return self._things[namespace, kind, name]

    def _new(self, kind: str, version: str, body: Mapping[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(json.dumps(body))
        if (made.get("kind", kind), made.get("apiVersion", version)) != (kind, version):
            raise Refused(400, "BadRequest", f"this is no {kind} of {version}")
        metadata = made.setdefault("metadata", {})
        name = str(metadata.get("name", ""))
        if not NAME.fullmatch(name) or len(name) > MOST:
            raise Refused(422, "Invalid", f"metadata.name: Invalid value: {name!r}")
        for key, value in (metadata.get("labels") or {}).items():
            if not isinstance(value, str):
                raise Refused(400, "BadRequest", f"metadata.labels: {key} is no string")
            if not LABEL_VALUE.fullmatch(value) or len(value) > MOST:
                raise Refused(422, "Invalid", f"metadata.labels: Invalid value: {value!r}")
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": stamp, "resourceVersion": str(len(self._made) + 1)}
        self._made[metadata["uid"]] = self._clock()
        return made | {"kind": kind, "apiVersion": version}


class KubernetesApi:
    """The API over HTTPS while it is entered.

    :param folder: where its certificates go.
    """

    def __init__(self, folder: Path) -> None:
        self._certificates = Certificates(folder / "kubernetes-tls", (HOST,))
        self.cluster = Cluster(self._certificates.ca.read_bytes())
        self._token = uuid.uuid4().hex
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = TIMEOUT

            def _handle(self) -> None:
                status, found = api.respond(self)
                data = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = _handle  # noqa: N815

            def log_message(self, *_words: object) -> None:
                pass

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self._server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._certificates.server_pair)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, name="kubernetes", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(TIMEOUT)

    @property
    def url(self) -> str:
        """Its address."""
        return f"https://{HOST}:{self._server.server_port}"

    def write_kubeconfig(self, home: Path) -> None:
        """What ``kubectl`` and the Python client read below this home directory."""
        entry = {"server": self.url, "certificate-authority": str(self._certificates.ca)}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": CONTEXT,
            "clusters": [{"name": "simulated", "cluster": entry}],
            "users": [{"name": "nodepool", "user": {"token": self._token}}],
            "contexts": [{"name": CONTEXT, "context": {"cluster": "simulated", "user": "nodepool"}}],
        }
        path = home / ".kube" / "config"
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_text(json.dumps(document), encoding="utf-8")
        path.chmod(0o600)

    def respond(self, request: BaseHTTPRequestHandler) -> tuple[int, dict[str, Any]]:
        """(status, object) of a request."""
        try:
            length = int(request.headers.get("Content-Length") or 0)
            if length > BOUND:
                raise Refused(413, "RequestEntityTooLarge", "the body is too long")
            body = json.loads(request.rfile.read(length)) if length else {}
            if request.headers.get("Authorization") != f"Bearer {self._token}":
                raise Refused(401, "Unauthorized", "Unauthorized")
            return self.cluster.answer(request.command, request.path.partition("?")[0], body)
        except Refused as refusal:
            status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
            return refusal.code, status | {"code": refusal.code, "reason": refusal.reason, "message": str(refusal)}

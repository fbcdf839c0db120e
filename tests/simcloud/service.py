# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTTP service: which cloud and handler a request is for, its latency, its faults and its place in the log."""

from __future__ import annotations

import asyncio
import secrets
import socket
import struct
import time
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from tests.simcloud.answers import (
    UNAUTHENTICATED,
    Answer,
    Refusal,
    glance_error,
    keystone_error,
    nova_error,
    proxy_page,
    service_error,
)
from tests.simcloud.call import Call
from tests.simcloud.calls import Entry, normalise
from tests.simcloud.cloud import Cloud
from tests.simcloud.compute.api import ComputeApi
from tests.simcloud.compute.quota import Usage, refusal
from tests.simcloud.config import ServiceConfig
from tests.simcloud.control import Control
from tests.simcloud.editing import edited
from tests.simcloud.faults import CALL_FAULTS, Rule
from tests.simcloud.guests.manager import Guests
from tests.simcloud.identity import Identity
from tests.simcloud.image import ImageApi
from tests.simcloud.network.api import NetworkApi
from tests.simcloud.network.state import over_quota
from tests.simcloud.timing import Duration, LoopScheduler
from tests.simcloud.upload_stream import CutShort, is_midway, pieces
from tests.simcloud.volume import VolumeApi

VERSIONS = {"identity": "v3", "compute": "v2.1", "image": "v2", "network": "v2.0", "volume": "v3", "object-store": "v1"}
LARGEST_BODY = 8 << 20
NO_WAIT = Duration("fixed", 0.0)


class Service:
    """All clouds of the process.

    :param base: URL of the service, without a slash at its end.
    """

    def __init__(self, config: ServiceConfig, base: str, state_dir: Path, guests: Guests | None) -> None:
        scheduler = LoopScheduler(asyncio.get_running_loop())
        self._base = base
        self._ids = secrets.token_hex(4)
        self._serial = 0
        self._tasks: set[asyncio.Task[Answer]] = set()
        identities = {
            name: Identity(cloud, base, scheduler) for name, cloud in config.clouds.items() if cloud.identity_of is None
        }
        self.clouds: dict[str, Cloud] = {}
        for name, spec in config.clouds.items():
            identity = identities[spec.identity_of or name]
            identity.regions.append((name, spec.region))
            cloud = Cloud(spec, identity, base, state_dir / name, scheduler)
            if guests is not None and spec.guests is not None:
                guests.attach(cloud)
            self.clouds[name] = cloud
        self._control = Control(self.clouds, scheduler)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request."""
        parts = [part for part in request.path.split("/") if part]
        if parts[:1] == ["control"]:
            body = await request.read()
            return _response(self._control.handle(request.method, parts[1:], body))
        cloud = self.clouds.get(parts[0]) if parts else None
        service = parts[1] if len(parts) > 1 else ""
        if cloud is None or service not in VERSIONS:
            return _response(nova_error(404, f"no cloud or service at {request.path}").answer)
        path = parts[2:]
        versioned = bool(path) and path[0] == VERSIONS[service]
        if versioned:
            path = path[1:]
        if service == "volume" and path[:1] == [cloud.identity.project_id]:
            path = path[1:]
        kind = normalise(request.method, service, path)
        entry = cloud.log.begin(time.time(), cloud.name, kind, request.path_qs)
        status: int | str = "broken"
        try:
            response, status = await self._serve(request, cloud, service, path, versioned, entry)
            return response
        except asyncio.CancelledError:
            status = entry.fault or "abandoned"
            raise
        finally:
            cloud.log.finish(entry, time.time(), status)

    async def _serve(
        self, request: web.BaseRequest, cloud: Cloud, service: str, path: list[str], versioned: bool, entry: Entry
    ) -> tuple[web.StreamResponse, int | str]:
        upload = request.method == "PUT" and (
            (service == "image" and path[-1:] in (["file"], ["stage"]))
            or (service == "object-store" and len(path) == 3 and "multipart-manifest" not in request.query)
        )
        call = Call(
            request.method,
            path,
            f"{cloud.url}/{service}/{VERSIONS[service]}",
            list(request.query.items()),
            request.headers,
            b"" if upload or not request.can_read_body else await request.read(),
        )
        if service == "volume":
            call.root = f"{call.root}/{cloud.identity.project_id}"
        struck = cloud.faults.strike(entry.kind, time.time(), *_server_of(cloud, call, entry.kind))
        call.effects = struck
        fault = next((rule for rule in struck if rule.fault in CALL_FAULTS and rule.fault != "slow"), None)
        if upload:
            midway = fault if fault is not None and is_midway(fault) else None
            call.stream = pieces(request, midway)
            fault = None if midway else fault
        entry.fault = ", ".join(rule.fault for rule in struck) or None
        seconds = _delay(cloud, entry.kind, struck)
        if fault is None:
            try:
                answer = await self._in_time(seconds, cloud, service, call, versioned)
            except CutShort as cut:
                call.stream = None
                return await self._faulty(request, cloud, service, call, versioned, cut.rule)
            return self._finished(answer), answer.status
        if seconds > 0:
            await asyncio.sleep(seconds)
        return await self._faulty(request, cloud, service, call, versioned, fault)

    async def _in_time(self, seconds: float, cloud: Cloud, service: str, call: Call, versioned: bool) -> Answer:
        """Answer after a while; as in a real cloud the work is done even if the client has gone by then."""
        if seconds <= 0:
            return await self._answer(cloud, service, call, versioned)
        if call.stream is not None:
            await asyncio.sleep(seconds)
            return await self._answer(cloud, service, call, versioned)

        async def later() -> Answer:
            await asyncio.sleep(seconds)
            return await self._answer(cloud, service, call, versioned)

        task = asyncio.create_task(later())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _faulty(
        self, request: web.BaseRequest, cloud: Cloud, service: str, call: Call, versioned: bool, rule: Rule
    ) -> tuple[web.StreamResponse, int | str]:
        """Answer a call that a fault strikes. Faults that end in ``_after`` do the work first."""
        options, fault = rule.options, rule.fault
        if fault.endswith("_after"):
            await self._answer(cloud, service, call, versioned)
            fault = fault.removesuffix("_after")
        if fault == "hang":
            await asyncio.Event().wait()
        if fault == "reset":
            _reset(request)
            return web.Response(), "reset"
        if fault == "status":
            status = int(options.get("status", 500))
            answer = service_error(service, status, str(options.get("message", "simulated failure")))
            answer.body = options.get("body", answer.body)
            if "page" in options:
                answer = proxy_page(status, str(options["page"]))
            answer.headers |= {str(name): str(value) for name, value in dict(options.get("headers", {})).items()}
            if options.get("retry_after") is not None:
                answer.headers["Retry-After"] = str(options["retry_after"])
        elif fault == "quota":
            answer = _quota_lie(cloud, service, call, options)
        elif fault == "garbage":
            answer = Answer(200, b'{"servers": [<<<truncated by a proxy', content_type="application/json")
        elif fault == "edited":
            answer = edited(await self._answer(cloud, service, call, versioned), dict(options.get("set", {})))
        else:
            answer = await self._answer(cloud, service, call, versioned)
            return await _drip(request, answer, float(options.get("interval", 1.0))), answer.status
        return self._finished(answer), answer.status

    async def _answer(self, cloud: Cloud, service: str, call: Call, versioned: bool) -> Answer:
        try:
            if not call.path or not versioned:
                found = self._discovery(cloud, service, call, versioned)
                if found is not None:
                    return found
            if service == "identity":
                return cloud.identity.handle(call)
            if not cloud.identity.accepts(call.headers.get("X-Auth-Token")):
                raise _unauthorized(cloud, service)
            if service == "object-store":
                return cloud.objects.handle(call) if call.stream is None else await cloud.objects.upload(call)
            if call.stream is not None:
                return await cloud.image_api.upload(call, call.path[1] if len(call.path) > 1 else "")
            match service:
                case "compute":
                    return cloud.compute_api.handle(call)
                case "network":
                    return cloud.network_api.handle(call)
                case "image" if call.path[:1] == ["tasks"]:
                    return cloud.task_api.handle(call)
                case "image":
                    return cloud.image_api.handle(call)
            return cloud.volume_api.handle(call)
        except Refusal as refused:
            return refused.answer

    @staticmethod
    def _discovery(cloud: Cloud, service: str, call: Call, versioned: bool) -> Answer | None:
        """Answer the roots, which need no token; None when the path is not one."""
        root = f"{cloud.url}/{service}"
        if call.path:
            return nova_error(404, "The resource could not be found.").answer
        match service:
            case "compute":
                v21 = f"{root}/v2.1"
                return ComputeApi.discovery(v21) if versioned else ComputeApi.versions(v21)
            case "volume":
                return VolumeApi.versions(f"{root}/v3", 200 if versioned else 300)
            case "identity" if not versioned:
                return cloud.identity.versions()
            case "image" if not versioned:
                return ImageApi.versions(root)
            case "network" if not versioned:
                return NetworkApi.versions(root)
        return None

    def _finished(self, answer: Answer) -> web.Response:
        self._serial += 1
        if not answer.foreign:
            answer.headers.setdefault("x-openstack-request-id", f"req-{self._ids}-{self._serial:012x}")
        return _response(answer)


def _response(answer: Answer) -> web.Response:
    if answer.body is None:
        return web.Response(status=answer.status, headers=answer.headers)
    body = answer.body if isinstance(answer.body, bytes) else orjson.dumps(answer.body)
    headers = {**answer.headers, "Content-Type": answer.content_type}
    return web.Response(status=answer.status, body=body, headers=headers)


def _server_of(cloud: Cloud, call: Call, kind: str) -> tuple[str, str]:
    """Return the name and the image of the server that a call makes or deletes, for rules that look at them."""
    if kind == "POST /servers":
        try:
            server = orjson.loads(call.body)["server"]
            return str(server["name"]), str(server.get("imageRef") or "")
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            return "", ""
    if kind.startswith("DELETE /servers/"):
        server = cloud.machines.servers.get(call.path[1])
        return (server.wish.name, server.wish.image_id or "") if server else ("", "")
    return "", ""


def _delay(cloud: Cloud, kind: str, struck: list[Rule]) -> float:
    """Return the seconds that a call takes: the latency of its kind and what slow faults add."""
    latency = cloud.settings.latency
    seconds = 0.0
    if latency:
        seconds = latency.get(kind, latency.get("default", NO_WAIT)).draw(cloud.random)
    if cloud.settings.plane is not None and kind == "POST /servers":
        seconds = cloud.settings.plane.post_seconds(time.time())
    return seconds + sum(float(rule.options.get("seconds", 1.0)) for rule in struck if rule.fault == "slow")


def _unauthorized(cloud: Cloud, service: str) -> Refusal:
    refused = keystone_error(401, UNAUTHENTICATED)
    if service == "image":
        refused = glance_error(
            401,
            "This server could not verify that you are authorized to access the document you requested. "
            "Either you supplied the wrong credentials (e.g., bad password), or your browser does not understand "
            "how to supply the credentials required.",
        )
    refused.answer.headers["WWW-Authenticate"] = f'Keystone uri="{cloud.identity.url}"'
    return refused


def _quota_lie(cloud: Cloud, service: str, call: Call, options: dict[str, Any]) -> Answer:
    """Refuse for want of quota although the limits say that there is room."""
    if service == "network":
        return over_quota("floatingip" if call.path[:1] == ["floatingips"] else "port").answer
    overs = sorted(options.get("resources") or ["instances"])
    if overs == ["ports"]:
        return nova_error(403, "Maximum number of ports exceeded").answer
    quota = cloud.settings.quota
    wanted = Usage(1, int(options.get("cores", 1)), int(options.get("ram", 1024)))
    full = Usage(quota["instances"], quota["cores"], quota["ram"])
    return nova_error(403, options.get("message") or refusal(quota, full, wanted, overs)).answer


def _reset(request: web.BaseRequest) -> None:
    """Break the connection so that the client sees a reset rather than an end."""
    transport = request.transport
    if transport is None:
        return
    raw = transport.get_extra_info("socket")
    if raw is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


async def _drip(request: web.BaseRequest, answer: Answer, interval: float) -> web.StreamResponse:
    """Send the true answer one byte at a time, ``interval`` seconds apart."""
    whole = _response(answer)
    body = whole.body if isinstance(whole.body, bytes) else b""
    response = web.StreamResponse(status=answer.status, headers=whole.headers)
    response.content_length = len(body)
    await response.prepare(request)
    for place in range(len(body)):
        await response.write(body[place : place + 1])
        await asyncio.sleep(interval)
    await response.write_eof()
    return response

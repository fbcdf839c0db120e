# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the simulated cloud for a test and talks to its control endpoint. Standard library only."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.ansible_run import begun
from tests.support.forked import ForkedProcess

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "simcloud" / "__main__.py"
CALL_TIMEOUT = 30.0
STOP_SECONDS = 10.0
LIKE_DEVCLOUD: dict[str, Any] = {
    "flavors": [
        {"name": "m1.tiny", "vcpus": 1, "ram": 512, "disk": 1},
        {"name": "m1.small", "vcpus": 1, "ram": 2048, "disk": 20},
        {"name": "m1.large", "vcpus": 4, "ram": 8192, "disk": 80},
    ],
    "images": [],
    "azs": ["nova"],
    "quota": {"instances": 10, "cores": 20, "ram": 51200},
}
"""Overrides of :func:`default_cloud` for what the control plane of ``tests/devcloud`` has."""


def default_cloud(name: str, **overrides: Any) -> dict[str, Any]:
    """Return ``{name: configuration}`` of a sensible cloud; overrides replace its keys (``quota`` is merged).

    Flavors small (1 core, 1 GiB), medium (2, 4 GiB) and large (8, 8 GiB); images debian-12 and ubuntu; networks
    private and public (external); keypair ci; AZs az1 and az2; quota of 20 instances, 100 cores and 200 GiB of
    memory; servers boot in 1 s and are deleted in 0.5 s; no latency.
    """
    cloud: dict[str, Any] = {
        "region": "RegionOne",
        "username": "nodepool",
        "password": f"secret-of-{name}",
        "project": "ci",
        "flavors": [
            {"name": "small", "vcpus": 1, "ram": 1024, "disk": 10},
            {"name": "medium", "vcpus": 2, "ram": 4096, "disk": 20},
            {"name": "large", "vcpus": 8, "ram": 8192, "disk": 40},
        ],
        "images": [{"name": "debian-12"}, {"name": "ubuntu"}],
        "networks": [{"name": "private"}, {"name": "public", "external": True}],
        "keypairs": ["ci"],
        "azs": ["az1", "az2"],
        "quota": {"instances": 20, "cores": 100, "ram": 204800},
        "boot": {"kind": "fixed", "value": 1.0},
        "delete": {"kind": "fixed", "value": 0.5},
    }
    quota = {**cloud["quota"], **overrides.pop("quota", {})}
    return {name: {**cloud, **overrides, "quota": quota}}


def _started(words: list[str], output: int) -> subprocess.Popen[bytes] | ForkedProcess:
    """The service: where a server was begun for its clouds, it is forked."""
    address = begun().get("clouds")
    if address is None:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.simcloud", *words],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
    with open(os.devnull, "rb") as nothing:
        files = nothing.fileno(), output, output
        return ForkedProcess(address, None, [str(PROGRAM), *words], folder=ROOT, variables=os.environ, files=files)


class ControlError(RuntimeError):
    """The control endpoint refused, or did not answer."""


class SimCloud:
    """A context manager around one process of the simulated cloud.

    :param clouds: configurations by cloud name, as :func:`default_cloud` makes them (merge with ``|``).
    :param state_dir: where it keeps its files; a temporary directory, removed at the end, when None.
    :param timeout: seconds until it must answer.
    :ivar clouds_yaml: path of a clouds.yaml with an entry for each cloud, named as the cloud.
    :ivar process: the running process (its pid is for tests that kill it).
    """

    def __init__(
        self,
        clouds: Mapping[str, Mapping[str, Any]],
        *,
        state_dir: Path | None = None,
        port: int = 0,
        timeout: float = 120.0,
    ) -> None:
        self._clouds = {name: dict(spec) for name, spec in clouds.items()}
        self._port = port
        self._timeout = timeout
        self._own_dir = state_dir is None
        self._given_dir = state_dir
        self.state_dir = Path()
        self.process: subprocess.Popen[bytes] | ForkedProcess | None = None
        self.url = ""

    def start(self) -> SimCloud:
        """Start the process and wait until it answers.

        :raises ControlError: when it ends or does not answer in time; the text has what it wrote.
        """
        self.state_dir = self._given_dir or Path(tempfile.mkdtemp(prefix="simcloud-"))
        self.state_dir.mkdir(parents=True, exist_ok=True)
        ready = self.state_dir / "ready.json"
        ready.unlink(missing_ok=True)
        config = self.state_dir / "config.json"
        config.write_text(json.dumps({"clouds": self._clouds}), encoding="utf-8")
        words = ["--state-dir", str(self.state_dir), "--config", str(config), "--port", str(self._port)]
        log = self.state_dir / "service.log"
        with log.open("ab") as output:
            self.process = _started(words, output.fileno())
        limit = time.monotonic() + self._timeout
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > limit:
                text = log.read_text(encoding="utf-8", errors="replace")[-2000:]
                self.stop()
                raise ControlError(f"the simulated cloud did not start: {text}")
            time.sleep(0.02)
        self.url = json.loads(ready.read_text(encoding="utf-8"))["url"]
        self.clouds_yaml.write_text(json.dumps(self._clouds_document(), indent=1), encoding="utf-8")
        return self

    def stop(self) -> None:
        """End the process and everything it started; harmless when it is dead already."""
        if self.process is not None:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
                try:
                    self.process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    self.process.kill()
            self.process.wait()
        if self._own_dir and self.state_dir != Path():
            shutil.rmtree(self.state_dir, ignore_errors=True)

    def __enter__(self) -> SimCloud:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def clouds_yaml(self) -> Path:
        return self.state_dir / "clouds.yaml"

    def _clouds_document(self) -> dict[str, Any]:
        """JSON is YAML too, and needs no library."""
        entries = {}
        for name, spec in self._clouds.items():
            owner_name = spec.get("identity_of") or name
            owner = self._clouds[owner_name]
            entries[name] = {
                "auth": {
                    "auth_url": f"{self.url}/{owner_name}/identity/v3",
                    "username": owner.get("username", "nodepool"),
                    "password": owner.get("password", "secret"),
                    "project_name": owner.get("project", "ci"),
                    "user_domain_id": "default",
                    "project_domain_id": "default",
                },
                "region_name": spec.get("region", "RegionOne"),
                "identity_api_version": "3",
            }
        return {"clouds": entries}

    def control(self, method: str, path: str, document: Any = None) -> Any:
        """Call the control endpoint; return the parsed answer, None when it is empty.

        :raises ControlError: with its reason.
        """
        data = None if document is None else json.dumps(document).encode()
        request = urllib.request.Request(f"{self.url}/control/{path}", data=data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=CALL_TIMEOUT) as answer:
                body = answer.read()
        except urllib.error.HTTPError as refused:
            raise ControlError(f"{method} {path}: {refused.read().decode(errors='replace')}") from None
        except OSError as problem:
            raise ControlError(f"{method} {path}: {problem}") from problem
        return json.loads(body) if body else None

    def settings(self, cloud: str, **changes: Any) -> None:
        """Set ``boot``, ``delete``, ``quota``, ``quota_race``, ``latency``, ``token_life``, ``azs``, ``page_limit``,
        ``password``."""
        self.control("PUT", f"clouds/{cloud}/settings", changes)

    def fault(self, cloud: str, kind: str | None, fault: str, **options: Any) -> int:
        """Add a fault rule and return its id; see tests/simcloud/README.md for the faults and their options.

        :param kind: glob of call kinds; None takes the fault's own (``POST /servers`` or ``DELETE /servers/{id}``).
        """
        document = {**options, "kind": kind, "fault": fault}
        return int(self.control("POST", f"clouds/{cloud}/faults", document)["id"])

    def faults(self, cloud: str) -> list[dict[str, Any]]:
        """Return the rules with how often each has struck."""
        return list(self.control("GET", f"clouds/{cloud}/faults")["faults"])

    def remove_fault(self, cloud: str, ident: int) -> None:
        self.control("DELETE", f"clouds/{cloud}/faults/{ident}")

    def clear_faults(self, cloud: str | None = None) -> None:
        """Remove all rules of one cloud, or of every cloud."""
        for name in [cloud] if cloud else list(self._clouds):
            self.control("DELETE", f"clouds/{name}/faults")

    def calls(self, cloud: str) -> list[dict[str, Any]]:
        """Return every API call: start, end (epoch seconds), kind, path, status, fault."""
        return list(self.control("GET", f"clouds/{cloud}/calls")["calls"])

    def clear_calls(self, cloud: str) -> None:
        self.control("DELETE", f"clouds/{cloud}/calls")

    def counts(self, cloud: str) -> dict[str, Any]:
        """Return ``total``, ``by_kind`` ({kind: n}) and ``by_status`` ({kind: {status: n}}) of the calls."""
        return dict(self.control("GET", f"clouds/{cloud}/counts"))

    def state(self, cloud: str) -> dict[str, Any]:
        """Return usage, quota, numbers of objects, images with their checksums and the guests' port."""
        return dict(self.control("GET", f"clouds/{cloud}/state"))

    def servers(self, cloud: str) -> list[dict[str, Any]]:
        """Return the servers that exist, with more than the API shows."""
        return list(self.control("GET", f"clouds/{cloud}/servers")["servers"])

    def journal(self, cloud: str) -> dict[str, Any]:
        """Return ``servers`` (id, name, image, created) and ``images`` (id → md5, stored, deleted) that ever were."""
        return dict(self.control("GET", f"clouds/{cloud}/journal"))

    def outsiders(self, cloud: str, count: int, **options: Any) -> list[str]:
        """Put servers of somebody else into the project; return their ids.

        Options are ``flavor``: name, ``ports``: bool, ``name``: with ``{}`` for the number.
        """
        return list(self.control("POST", f"clouds/{cloud}/outsiders", {**options, "count": count})["servers"])

    def renew_flavor(self, cloud: str, name: str) -> str:
        """Have a flavor deleted and made again under another id; return that id."""
        return str(self.control("POST", f"clouds/{cloud}/flavors/{name}")["id"])

    def remove_outsiders(self, cloud: str, count: int | None = None) -> int:
        return int(self.control("DELETE", f"clouds/{cloud}/outsiders", {"count": count})["removed"])

    def end_boots(self, cloud: str) -> int:
        """Have the servers that boot be active at once; return how many these were."""
        return int(self.control("DELETE", f"clouds/{cloud}/boots")["ended"])

    def stop_servers(self, cloud: str, name: str = "*") -> int:
        """Stop the active servers whose name matches the glob, behind everybody's back; return how many these were."""
        return int(self.control("POST", f"clouds/{cloud}/stops", {"name": name})["stopped"])

    def revoke_tokens(self, cloud: str) -> int:
        return int(self.control("DELETE", f"clouds/{cloud}/tokens")["revoked"])

    def ssh_port(self, cloud: str) -> int:
        """Return the port on which the guests of a cloud answer."""
        return int(self.state(cloud)["guest_port"])

# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated cloud in the place of the control plane: the same rows run against it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NoReturn, Self

from tests.openstack.control_plane import WIDE, WIDE_NETWORK, ControlPlane, NoHandle, connection
from tests.support.simcloud_process import LIKE_DEVCLOUD, SimCloud, default_cloud

ADMINISTRATORS = frozenset({"create_flavor", "get", "reset_server_state", "volume_attachments"})
"""What only the administrator of a real control plane can do; ``get`` shows the user data of a server."""
OWN = "GET /servers"
RENAMED = {"port": "ports", "floatingip": "floating_ips"}


class SimulatedPlane(ControlPlane):
    """A process of the simulated cloud with a cloud for each project; it builds as fast as the control plane.

    :param projects: names of the projects, which :meth:`beside` takes.
    """

    def __init__(self, *projects: str) -> None:
        super().__init__()
        self._projects = projects
        self._name = projects[0]
        furniture = {**LIKE_DEVCLOUD, "security_groups": ["judge"], "plane": {}}
        clouds = {name: default_cloud(name, **furniture)[name] for name in projects}
        self._sim = SimCloud(clouds)
        self._closed: int | None = None

    def install(self) -> float:
        """Nothing is to be installed."""
        return 0.0

    def __enter__(self) -> Self:
        self._sim.start()
        self.clouds_yaml = self._sim.clouds_yaml
        self._connect(self._entries()[self._name])
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _problem: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._sim.stop()

    def _connect(self, entry: dict[str, Any]) -> None:
        self.entry = entry
        self._member = connection(entry)
        self._admin = _Administrator(self._member)
        self._project_id = str(self._member.current_project_id)

    def beside(self, name: str) -> ControlPlane:
        """Another cloud of the process."""
        if name == self._name:
            return self
        other = SimulatedPlane(*self._projects)
        other._name, other._sim, other.clouds_yaml = name, self._sim, self.clouds_yaml
        other._connect(self._entries()[name])
        return other

    # -- what the simulated cloud has no services for -----------------------------------------------------------------

    def names(self) -> list[str]:
        """It has no services that could be stopped."""
        return []

    def freeze(self, name: str) -> NoReturn:
        """:raises NoHandle: always."""
        raise NoHandle(f"the simulated cloud has no process {name} that could be frozen")

    def thaw(self, name: str) -> None:
        """Nothing was frozen."""

    def kill(self, name: str) -> NoReturn:
        """:raises NoHandle: always."""
        raise NoHandle(f"the simulated cloud has no process {name} that could be killed")

    def sql(self, database: str, text: str) -> NoReturn:
        """:raises NoHandle: always."""
        raise NoHandle(f"the simulated cloud has no database {database}")

    # -- what its control endpoint does -------------------------------------------------------------------------------

    def revoke_tokens(self) -> None:
        """All tokens are worth nothing from now on."""
        self._sim.revoke_tokens(self._name)

    def quota(self, **limits: int) -> None:
        """Set quotas, by the names that nova and neutron have for them."""
        known = {name: value for name, value in limits.items() if name in WIDE | WIDE_NETWORK}
        self._sim.settings(self._name, quota={RENAMED.get(name, name): value for name, value in known.items()})

    def deactivate(self, image_id: str) -> None:
        """As in glance's default policy, a member of the project may do it."""
        self._member.image.deactivate_image(image_id)

    def reactivate(self, image_id: str) -> None:
        """It can be used again."""
        self._member.image.reactivate_image(image_id)

    def small_network(self, name: str, addresses: int) -> NoReturn:
        """:raises NoHandle: always."""
        raise NoHandle("the simulated cloud counts no addresses of a subnet")

    @contextmanager
    def forbidden(self, rule: str, call: str) -> Iterator[None]:
        """The call is refused with the words of nova's policy."""
        text = f"Policy doesn't allow {rule} to be performed."
        fault = self._sim.fault(self._name, call, "status", status=403, message=text)
        try:
            yield
        finally:
            self._sim.remove_fault(self._name, fault)

    def _set_hosts(self, method: str) -> None:
        if method == "disable_service":
            self._closed = self._sim.fault(self._name, "POST /servers", "error")
        elif self._closed is not None:
            self._sim.remove_fault(self._name, self._closed)
            self._closed = None

    def mark(self) -> int:
        """How many calls there were so far."""
        return len(self._sim.calls(self._name))

    def timed_calls(self, since: int) -> list[tuple[str, int, float]]:
        """(kind, status, seconds) of each call that its nova answered since a mark; the test's own are among them.

        Lists without details are left out, because only the test asks for them.
        """
        return [
            (call["kind"], call["status"], call["end"] - call["start"])
            for call in self._sim.calls(self._name)[since:]
            if "/compute/" in call["path"] and isinstance(call["status"], int) and call["kind"] != OWN
        ]


class _Administrator:
    """The project's own connection, in the place of the administrator's.

    :raises NoHandle: for what only an administrator can do.
    """

    def __init__(self, part: Any) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        if name in ADMINISTRATORS:
            raise NoHandle(f"the simulated cloud has no administrator (for {name})")
        found = getattr(self._part, name)
        return _Administrator(found) if name in ("compute", "network") else found

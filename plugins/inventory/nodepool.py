# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: nodepool
short_description: The nodes of Nodepool as an inventory
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Makes a host of each server that carries Nodepool's metadata. Other servers of a project are left out.
  - The plugin lists the servers of all clouds in parallel, each cloud by one paged listing.
  - Groups C(provider_NAME), C(label_NAME), C(pool_NAME), C(image_NAME), C(az_NAME), C(status_NAME) (of the server)
    and, with O(zookeeper), C(state_NAME) (of the node record) and C(lease_NAME). Characters that are not allowed in the
    name of a group become C(_).
  - Each host has one variable C(nodepool), a dictionary of C(provider), C(pool), C(label), C(image), C(node_id),
    C(az), C(server_id), C(name), C(status), C(task_state), C(created), C(addresses), C(metadata) and C(listed_at), and
    with O(zookeeper) the fields of the node record, such as C(state), C(request), C(user), C(port) and C(host_keys).
  - With O(zookeeper), the record of a node gives C(ansible_user), C(ansible_port), C(ansible_connection) and so on. A
    record chooses C(ssh), C(winrm), C(psrp) or C(paramiko); C(network_cli), C(netconf) and C(httpapi), for which
    Ansible runs many modules on the controller, only as O(nodepool_config) says for the image of its label. Other
    values, and addresses, users and interpreters that are none, are left out with a warning.
  - Values from clouds and from ZooKeeper are data. They are never evaluated as templates. A server that is named
    C(localhost) or like a group of Ansible itself gets its id added to the name.
  - A node that has the name of a host or group of an inventory source that was read before is an error, unless that is
    the same server.
  - Files that are encrypted with ansible-vault (C(clouds.yaml), C(nodepool.yaml), C(secure.conf)) are decrypted with
    the vault passwords of the command. C(clouds.yaml) may also have encrypted values.
  - A cloud is asked for all servers of the project, 1,000 in each call as far as nova's C(max_limit) allows, and the
    plugin selects among them. nova has no filter by metadata. It answers 400 to administrators who send one and
    silently ignores that of other users, in every microversion.
  - The file must be called C(nodepool.yml), or end with C(.nodepool.yml) or C(.nodepool.yaml).
requirements:
  - openstacksdk >= 4.0.0
  - kazoo >= 2.9.0 (with O(zookeeper))
  - jsonschema >= 4.0.0 (with O(nodepool_config))
extends_documentation_fragment:
  - constructed
  - inventory_cache
options:
  plugin:
    description:
      - Names this plugin.
    type: str
    required: true
    choices: [stackci.nodepool.nodepool]
  nodepool_config:
    description:
      - The C(nodepool.yaml) whose providers are listed. A relative path starts at the folder of the inventory file,
        as in all other options of this plugin that name a file.
      - Either this or O(clouds) is needed.
    type: str
    aliases: [config]
  secure_config:
    description:
      - Nodepool's C(secure.conf), where one is used.
    type: str
    aliases: [nodepool_secure_config]
  settings:
    description:
      - The C(nodepool-settings.yaml), where it is not beside O(nodepool_config).
    type: str
    aliases: [nodepool_settings]
  clouds_config:
    description:
      - The C(clouds.yaml) to use. When unset, openstacksdk's own search applies, beginning with
        E(OS_CLIENT_CONFIG_FILE).
    type: str
    aliases: [nodepool_clouds_config]
  clouds:
    description:
      - Entries of C(clouds.yaml) to list, for use without a C(nodepool.yaml).
    type: list
    elements: str
    default: []
  providers:
    description:
      - Only nodes of these providers.
    type: list
    elements: str
    default: []
  labels:
    description:
      - Only nodes of these labels.
    type: list
    elements: str
    default: []
  pools:
    description:
      - Only nodes of these pools.
    type: list
    elements: str
    default: []
  statuses:
    description:
      - Only servers in these states; empty for any state except those that are being deleted.
    type: list
    elements: str
    default: [ACTIVE]
  states:
    description:
      - Only nodes whose record is in one of these states, such as V(ready) or V(hold). Needs O(zookeeper).
      - A server that nova deletes, or whose record says V(used), V(deleting), V(deleted), V(failed) or V(aborted), is a
        host only if the state of its record is named here.
    type: list
    elements: str
    default: []
  leases:
    description:
      - Only nodes that M(stackci.nodepool.nodepool_request) leased under one of these names. Needs O(zookeeper).
    type: list
    elements: str
    default: []
  metadata_groups:
    description:
      - Whether a host is also put into the groups that nova's metadata C(groups) of its server names. Nodepool and this
        collection write provider, image and label there, unless C(instance-properties) of the label say otherwise.
      - These groups have no prefix. Whoever may change the metadata of a server decides about them, so this is off by
        default.
    type: bool
    default: false
  hostnames:
    description:
      - Jinja2 expressions for the name of a host, over the variables of the host, in order of preference. The first one
        that has a value is used. When none has, O(hostname) applies, and with O(strict) the plugin fails.
      - When the name is not unique, the server's id is added.
    type: list
    elements: str
    default: []
  hostname:
    description:
      - The name of a host. When it is not unique, the server's id is added.
      - V(node) is C(np) and the id of the node. V(name) is the name of the server, which every member of the project
        may choose.
    type: str
    choices: [node, name, node_id, server_id, address]
    default: node
  tree:
    description:
      - The id of the tree whose nodes are listed, or V(any) for all trees. Each launcher writes the id of its tree into
        the metadata C(stackci_site) of a server; several trees may share a project and names of providers.
      - By default, with O(zookeeper), the tree of O(nodepool_config), with the servers that a node record names, and
        without O(zookeeper) the only tree that there is; then servers of several trees are an error.
    type: str
  connect_with:
    description:
      - Kinds of addresses in order of preference. The first kind that a node has becomes C(ansible_host).
      - V(recorded) is the address that the launcher reached the node with and needs O(zookeeper). V(floating) is a
        floating IP, V(fixed) an IPv4 address and V(ipv6) an IPv6 address of the server itself.
    type: list
    elements: str
    choices: [recorded, floating, fixed, ipv6]
    default: [recorded, floating, fixed, ipv6]
  zookeeper:
    description:
      - Whether to read the node records in ZooKeeper, which have user, port, connection type, host keys, state and
        request. Needs O(nodepool_config). The plugin writes nothing there.
    type: bool
    default: false
  known_hosts:
    description:
      - File to which the plugin writes the recorded host keys. Hosts with recorded keys get C(ansible_ssh_common_args)
        that make ssh trust this file only. A file that the plugin has not written, such as C(~/.ssh/known_hosts), is an
        error. Needs O(zookeeper).
      - By default, with O(zookeeper), a file of this inventory in the folder C(stackci.nodepool) of E(ANSIBLE_HOME)
        (C(~/.ansible)). An empty text writes none.
    type: str
  deadline:
    description:
      - Seconds within which each cloud must have answered.
    type: int
    default: 60
  on_error:
    description:
      - What to do when a cloud or ZooKeeper does not answer.
      - V(fail) fails. V(stale) uses the cached data of that cloud of any age, with a warning, and fails when there is
        none. It needs O(cache). V(skip) continues without that cloud, with a warning.
      - When an inventory fails, Ansible by default only warns, tries its other inventory plugins on the same file, and
        continues without the inventory. C(any_unparsed_is_failed) in the section C([inventory]) of C(ansible.cfg) makes
        this an error, and C(enable_plugins) there selects the plugins. The collection's examples include such a file.
      - C(nodepool.listed_at) (seconds since 1970) tells how old the data of a host is.
    type: str
    choices: [fail, stale, skip]
    default: fail
  on_missing:
    description:
      - What to do when a cloud does not list the server of a chosen node that is ready, in use or held, or deletes it.
      - V(fail) fails. V(warn) warns, and the node is a host by its record, unless its server is being deleted.
      - The plugin reads both a second time before. For a cloud whose old data is used, V(warn) applies.
    type: str
    choices: [fail, warn]
    default: fail
"""

EXAMPLES = r"""
# ci.nodepool.yml: all nodes of the providers in nodepool.yaml
plugin: stackci.nodepool.nodepool
nodepool_config: /etc/nodepool/nodepool.yaml

# held.nodepool.yml: with users, ports and host keys from ZooKeeper, only held nodes
#
# plugin: stackci.nodepool.nodepool
# nodepool_config: /etc/nodepool/nodepool.yaml
# zookeeper: true
# states: [hold]
# known_hosts: ~/.cache/nodepool_known_hosts

# two.nodepool.yml: two clouds without a nodepool.yaml; cached data is used when a cloud is down
#
# plugin: stackci.nodepool.nodepool
# clouds: [east, west]
# cache: true
# cache_plugin: ansible.builtin.jsonfile
# cache_connection: ~/.cache/nodepool
# on_error: stale
# compose:
#   ansible_user: "'zuul'"
# keyed_groups:
#   - key: nodepool.label.split('-')[0]
#     prefix: distribution
"""

import hashlib
import logging
import os
import time
from dataclasses import replace
from functools import partial
from typing import Any

from ansible import constants
from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable, get_cache_plugin

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import (
    load_config,
    read_files,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.known_hosts import is_without_names
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.marked_file import write_marked
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.clouds import clouds_file
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.private_file import PRIVATE
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError, NodepoolError
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting import listing
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.cached_parts import sound_parts
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.gathering import (
    RECORDS,
    Fetch,
    Gathering,
    Part,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.hosts import (
    Host,
    Selection,
    all_known_hosts,
    enriched,
    hosts,
    of_servers,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.own_servers import own_servers
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.unlisted import row_of
from ansible_collections.stackci.nodepool.plugins.plugin_utils.inventory_data import fill, mark_listed, no_collection
from ansible_collections.stackci.nodepool.plugins.plugin_utils.untrusted import untrusted
from ansible_collections.stackci.nodepool.plugins.plugin_utils.vaulted import Vaulted

MARK = "# Written by the inventory stackci.nodepool.nodepool. Changes are lost."
"""The first line of the file of host keys: a file without it is not replaced."""

# Without a handler Python prints what the library logs to standard error, beside the errors that are raised.
logging.getLogger("keystoneauth").addHandler(logging.NullHandler())


class SaidOnce(AnsibleParserError):
    """An error whose text Ansible shows once.

    Ansible notes the inventory file in each error and then shows the text a second time together with that file.
    """

    @property
    def obj(self) -> None:
        """Always None."""
        return None

    @obj.setter
    def obj(self, value: object) -> None:
        """Keep nothing."""


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    """The inventory plugin: it makes hosts of nodes."""

    NAME = "stackci.nodepool.nodepool"

    # Text from clouds is not trusted; ansible-core evaluates only tagged text as a template.
    trusted_by_default = False

    def verify_file(self, path: str) -> bool:
        """Return True for files that are named for this plugin."""
        name = os.path.basename(path)
        named = name == "nodepool.yml" or name.endswith((".nodepool.yml", ".nodepool.yaml"))
        return named and bool(super().verify_file(path))

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Fill the inventory; with *cache* False nothing is read from the cache."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        self._folder = os.path.dirname(os.path.abspath(path))
        self._vaulted = Vaulted(self.loader)
        try:
            self._check_options()
            with no_collection():
                found = self._hosts(path, cache)
                fill(self.inventory, found, self._sanitize_group_name)
                self._construct(found)
                mark_listed(self.inventory, found)
        except NodepoolError as error:
            raise SaidOnce(f"{path}: {self._vaulted.named(str(error))}") from None
        finally:
            self._vaulted.close()

    # -- options ------------------------------------------------------------------------------------------------

    def _check_options(self) -> None:
        has_config = bool(self.get_option("nodepool_config"))
        rules = (
            (has_config != bool(self.get_option("clouds")), "give either nodepool_config or clouds"),
            (has_config or not self.get_option("zookeeper"), "zookeeper needs nodepool_config"),
            (self.get_option("zookeeper") or not self.get_option("states"), "states needs zookeeper: true"),
            (self.get_option("zookeeper") or not self.get_option("leases"), "leases needs zookeeper: true"),
            (self.get_option("zookeeper") or not self.get_option("known_hosts"), "known_hosts needs zookeeper: true"),
            (self.get_option("cache") or self.get_option("on_error") != "stale", "on_error: stale needs cache: true"),
            (self.get_option("deadline") > 0, "deadline must be at least 1 second"),
        )
        problems = [text for fine, text in rules if not fine]
        if problems:
            raise ConfigError(problems)

    def _path(self, option: str) -> str | None:
        value = self.get_option(option)
        if not value:
            return None
        text = os.path.expanduser(str(self.templar.template(value)))
        return os.path.normpath(os.path.join(self._folder, text))

    # -- fetch --------------------------------------------------------------------------------------------------

    def _hosts(self, path: str, cache: bool) -> list[Host]:
        gathering = self._gathered(path, cache)
        parts, missing = dict(gathering.parts), gathering.missing()
        gathering.tell_missing(missing, fail=self.get_option("on_missing") == "fail")
        known = parts.pop(RECORDS, {"rows": []})
        tree = known.get("tree")
        records, told = of_servers(known["rows"])
        for sentence in told:
            self.display.warning(sentence)
        rows = own_servers(
            [{**row, "listed_at": part["listed_at"]} for part in parts.values() for row in part["rows"]],
            records,
            chosen=self.get_option("tree") or "",
            tree=tree,
        )
        listed = {row["server_id"] for row in rows}
        unlisted = [record for found in missing.values() for record in found if record["external_id"] not in listed]
        known_hosts = self._known_hosts(path)
        found = hosts(
            untrusted([*enriched(rows, records), *({**row_of(record), "listed_at": None} for record in unlisted)]),
            self._selection(),
            hostname=self.get_option("hostname"),
            connect_with=self.get_option("connect_with"),
            known_hosts=known_hosts,
            metadata_groups=self.get_option("metadata_groups"),
            name_of=self._name_of if self.get_option("hostnames") else lambda variables: "",
        )
        if known_hosts:
            is_default = self.get_option("known_hosts") is None
            text, former = all_known_hosts(found), partial(is_without_names, path=known_hosts)
            write_marked(known_hosts, MARK, text, PRIVATE, lambda there: is_default or former(there))
        return found

    def _known_hosts(self, path: str) -> str | None:
        """Return the path of the file for host keys; None for none."""
        if self.get_option("known_hosts") is not None or not self.get_option("zookeeper"):
            return self._path("known_hosts")
        folder = os.path.join(constants.config.get_config_value("ANSIBLE_HOME"), "stackci.nodepool")
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as error:
            self.display.warning(
                f"the host keys cannot be written, so ssh will not recognize the nodes: {error}; set known_hosts"
            )
            return None
        return os.path.join(folder, f"known_hosts-{hashlib.sha256(os.path.abspath(path).encode()).hexdigest()[:16]}")

    def _selection(self) -> Selection:
        return Selection(*(self.get_option(key) for key in ("labels", "pools", "statuses", "states", "leases")))

    def _work(self) -> tuple[dict[str, Fetch], dict[str, frozenset[str]]]:
        """Return the functions that fetch, and names of providers, both by the name of their source."""
        clouds_config = self._clouds_config()
        wanted = self.get_option("providers")
        work: dict[str, Fetch] = {}
        config_path = self._path("nodepool_config")
        if config_path is None:
            clouds = [str(self.templar.template(cloud)) for cloud in self.get_option("clouds")]
            sources = listing.sources_of_clouds(clouds, wanted)
        else:
            config = self._config(config_path, self._path("secure_config"), self._path("settings"))
            for warning in config.warnings:
                self.display.vv(f"{config_path}: {warning}")
            sources = listing.sources_of_config(config, wanted)
            if self.get_option("zookeeper"):
                work[RECORDS] = lambda: listing.read_nodes(config)
        for source in sources:
            work[source.name] = lambda source=source: listing.list_servers(source, clouds_config)  # type: ignore[misc]
        return work, {source.name: source.providers or frozenset() for source in sources}

    def _clouds_config(self) -> str | None:
        """Return the clouds.yaml to use, decrypted where needed; None when the SDK looks for it."""
        given = self._path("clouds_config")
        found = clouds_file(given)
        plain = self._vaulted.yaml_file(found) if found else found
        return given if plain == found else plain

    def _config(self, path: str, secure_path: str | None, settings_path: str | None) -> NodepoolConfig:
        texts = [self._vaulted.text(one) if one else None for one in (path, secure_path)]
        if texts == [None, None]:
            return load_config(path, secure_path, settings_path)
        files = read_files(path, secure_path, settings_path)
        return replace(files, text=texts[0] or files.text, secure_text=texts[1] or files.secure_text).parse()

    def _gathered(self, path: str, cache: bool) -> Gathering:
        """Return the data: from the cache where it is young enough, otherwise from its sources."""
        stored = self._stored(path)
        work, providers = self._work()
        gathering = Gathering(
            work,
            providers,
            stored,
            selection=self._selection(),
            on_error=self.get_option("on_error"),
            deadline=self.get_option("deadline"),
            warn=lambda text: self.display.warning(self._vaulted.named(text)),
        )
        gathering.gather(time.time() - self.get_option("cache_timeout") if cache else None)
        if self.get_option("cache"):
            self._cache[self.get_cache_key(path)] = {**stored, **gathering.parts}
        return gathering

    def _stored(self, path: str) -> dict[str, Part]:
        """Return the cached parts of any age. The caller checks the ages, because it may have to use old parts."""
        if not self.get_option("cache"):
            return {}
        options = {"_uri": self.get_option("cache_connection"), "_prefix": self.get_option("cache_prefix")}
        given = {key: value for key, value in options.items() if value is not None}
        self._cache = get_cache_plugin(self.get_option("cache_plugin"), _timeout=0, **given)
        try:
            stored, told = sound_parts(self._cache.get(self.get_cache_key(path)))
        except Exception as error:  # whatever the plugin of the cache and its libraries raise
            stored, told = {}, f"the inventory cache cannot be read and is ignored: {error}"
        if told:
            self.display.warning(told)
        return stored

    def _name_of(self, variables: dict[str, Any]) -> str:
        """Return the first name that the expressions of ``hostnames`` give; "" when none does."""
        problems = []
        for expression in self.get_option("hostnames"):
            try:
                name = self._compose(expression, variables)
            except Exception as error:  # whatever Jinja2 and its filters raise
                problems.append(f"{expression}: {error}")
                continue
            if name:
                return str(name)
        if self.get_option("strict"):
            server = variables["nodepool"]["server_id"]
            raise ConfigError([f"none of the expressions in hostnames has a value for server {server}", *problems])
        return ""

    # -- fill ---------------------------------------------------------------------------------------------------

    def _construct(self, found: list[Host]) -> None:
        """Add the variables and groups from the expressions in the inventory's file."""
        strict = self.get_option("strict")
        compose, groups, keyed = (self.get_option(name) for name in ("compose", "groups", "keyed_groups"))
        for host in found if compose or groups or keyed else ():
            self._set_composite_vars(compose, host.variables, host.name, strict=strict)
            self._add_host_to_composed_groups(groups, host.variables, host.name, strict=strict)
            self._add_host_to_keyed_groups(keyed, host.variables, host.name, strict=strict)

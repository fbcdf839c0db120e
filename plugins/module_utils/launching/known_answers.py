# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The answers of clouds that are known, each with its owner: the table of :mod:`.classifier`. No I/O.

A rule looks at the call, the status and the machine-readable type first, and at words only where OpenStack gives
nothing else: nova stores the fault of a server as a text, and answers most refusals of a create with the same type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..model import owner
from ..model.resources import FLOATING_IPS, PORTS, VOLUMES

HOSTS = "hosts"
"""Room on hypervisors for one flavor in one zone: no quota, so it shows only in servers that fail."""
ADDRESSES = "addresses"
"""Addresses or ports in the networks of one label."""
CREATES = "creates"
"""Every create of the pool: the account may not create servers at all."""
ALLOWED = "allowed"
"""The creates of one flavor with one image: the account may not do what they ask for."""
SUCCESS = "success"
"""Creates of one flavor with one image that work: the cloud does not know what it shows to have."""
SUCCESS_THERE = "success there"
"""The same in one zone: the cloud refuses them for a trouble of its own, which other zones may not have."""
ZONE = "zone"
"""Creates in one zone that work: nova denies the zone, or refuses there what it accepts in another one."""
MEMBERS = "members"
"""Room for members in the server group of one label."""
PLUGGED = "plugged"
"""Ports in the networks of one label that the hosts of one zone can connect: addresses are left there."""
REACH = "reach"
"""Servers that answer by ssh in the networks of one label, in one zone."""

FAULT = "fault"
"""Stands for the call where a server went to ERROR after its create was accepted."""


@dataclass(frozen=True)
class Answer:
    """What a cloud answered to a launch.

    :ivar call: the kind of call, as ``POST /servers``; :data:`FAULT` for the fault of a server.
    :ivar status: the HTTP status, or the code of the fault; None if there was no answer.
    :ivar error_type: the machine-readable type in the body; "" without one.
    :ivar text: the words.
    :ivar foreign: True if no service of OpenStack has given it, but what stands before it.
    """

    call: str
    status: int | None
    error_type: str = ""
    text: str = ""
    foreign: bool = False


@dataclass(frozen=True)
class Rule:
    """One row of the table. A rule holds if the call and the status fit, and the type or the words, if any are given.

    :ivar shows: the row for people.
    :ivar calls: how the kind of call begins; "" for any.
    :ivar types: machine-readable types. Words are looked at only if the type is none of them.
    :ivar foreign: it holds only for what no service of OpenStack has answered.
    :ivar untyped: it holds only without a machine-readable type: then no service of OpenStack answered.
    :ivar once: what was refused cannot succeed with the same settings: it is tried once.
    """

    owner: str
    shows: str
    calls: str = ""
    statuses: frozenset[int] = frozenset()
    types: frozenset[str] = frozenset()
    words: str = ""
    resource: str = ""
    names: str = ""
    foreign: bool = False
    untyped: bool = False
    once: bool = False
    pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", re.compile(self.words or r"(?!)", re.IGNORECASE | re.DOTALL))

    def holds(self, answer: Answer) -> bool:
        """Return True if the rule knows the answer."""
        if not answer.call.startswith(self.calls) or (self.statuses and answer.status not in self.statuses):
            return False
        if (self.untyped and answer.error_type) or (self.foreign and not answer.foreign):
            return False
        if not self.types and not self.words:
            return True
        return answer.error_type in self.types or self.pattern.search(answer.text) is not None


def _these(*statuses: int) -> frozenset[int]:
    return frozenset(statuses)


SERVERS, FLOATING, READ = "POST /servers", "POST /floatingips", "GET "
RULES = (
    # nova stores the status of the exception with the fault: it is about a login of nova.
    Rule(owner.CLOUD, "another service does not accept the account of nova", calls=FAULT, statuses=_these(401)),
    Rule(owner.ACCOUNT, "the credentials are not accepted", statuses=_these(401)),
    Rule(
        owner.ACCOUNT,
        "the account may not read what a launch needs",
        calls=READ,
        statuses=_these(402, 403),
        resource=FLOATING_IPS,
    ),
    Rule(owner.CLOUD, "a service refuses a call that only reads", calls=READ, resource=FLOATING_IPS),
    Rule(
        owner.CLOUD,
        "a page or a text that is not from a service of OpenStack, but from a proxy or firewall before it",
        calls="POST ",
        foreign=True,
    ),
    Rule(
        owner.CAPACITY,
        "no floating IP or no address for one",
        calls=FLOATING,
        types=frozenset(
            {
                "OverQuota",
                "ExternalIpAddressExhausted",
                "IpAddressGenerationFailure",
                "IpAddressGenerationFailureAllSubnets",
            }
        ),
        words=r"quota exceeded|no more (ip addresses|floating)|unable to find any ip address|zero floating ips",
        resource=FLOATING_IPS,
    ),
    Rule(
        owner.LABEL,
        "the floating IP cannot reach the network of the server (nat_source, nat_destination)",
        calls=FLOATING,
        types=frozenset({"ExternalGatewayForFloatingIPNotFound"}),
        words=r"is not reachable from subnet|does not contain any ipv4 subnet|has no fixed ipv4 address",
    ),
    # nova of before 2018 says so too when a build failed on each host it was tried on.
    Rule(
        owner.UNKNOWN,
        "the build failed on every host that nova tried",
        calls=FAULT,
        words=r"exceeded max(imum)?( number of retries| scheduling attempts)|exhausted all hosts",
    ),
    Rule(
        owner.CAPACITY,
        "no host for the flavor",
        words=r"no valid host|insufficient compute resources|not enough hosts|no available (host|compute)"
        # Not every library says its errno in the words of the operating system.
        r"|cannot allocate memory|no space left on device|\[errno (12|28)\]|insufficient free memory"
        r"|pci ?device ?request|no suitable (host|node)|claim(ing)? .{0,40}failed|computeresourcesunavailable"
        r"|subset of free cpu set|(group|affinity) policy was violated|no hosts? available",
        resource=HOSTS,
    ),
    Rule(
        owner.CAPACITY,
        "no device, port, memory or disk left on the hosts",
        words=r"acquire a free port|not able to bind \S+:\d+|pci device .{1,80}(instead of available|from empty pool)"
        r"|(virtual|physical) functions? .{1,200}(are free|instead of)|pci device \S+ not found|failed to claim"
        r"|would exceed the capacity|unable to allocate inventory|scheduling failed"
        r"|\A(?!.*quota).*(insufficient (disk space|resources|capacity|memory)"
        r"|not enough (capacity|resources|memory|ram|v?cpus?|disk|space)"
        r"|\bsold out\b|\bout of (stock|capacity|resources)\b)",
        resource=HOSTS,
    ),
    Rule(
        owner.CAPACITY,
        "no address or no port in the network",
        types=frozenset(
            {
                "IpAddressGenerationFailure",
                "IpAddressGenerationFailureAllSubnets",
                "MacAddressGenerationFailure",
                "NoNetworkAvailable",
            }
        ),
        words=r"no fixed ip addresses|no more (fixed )?ip|no free ip|zero fixed ips|unable to generate unique mac"
        r"|ip ?address ?generation ?failure",
        resource=ADDRESSES,
    ),
    Rule(
        owner.CAPACITY,
        "no port left in the quota",
        words=r"(number of|maximum) ports exceeded|portlimitexceeded|quota exceeded for resources: \['port'\]",
        resource=PORTS,
    ),
    Rule(
        owner.CAPACITY,
        "no room for a volume",
        words=r"no valid backend|no weighed backends|insufficient free space for volume"
        r"|volume \S+ did not finish being created|no share which can host|size exceeded available disk space",
        resource=VOLUMES,
    ),
    Rule(
        owner.CLOUD,
        "the cloud wants fewer calls",
        words=r"rate.?limit|too many requests|\bthrottl(ed|ing)|overlimit retry",
    ),
    Rule(
        owner.LABEL,
        "more metadata than the quota allows",
        statuses=_these(400, 403),
        words=r"number of metadata items exceeds|server_metadata_items is over",
    ),
    Rule(
        owner.LABEL,
        "the zone does not exist, or no server may be created there",
        calls=SERVERS,
        statuses=_these(400, 403, 404, 409),
        words=r"\A(?!.*field/attribute).*(availability[ _-]?zone|\b(no such|unknown|invalid|bad|this|the) (az|zone)\b"
        r"|\b(az|zone) \S{1,80} (is|was|does|has|could|can|may|not|no)\b)",
        names="zone",
    ),
    Rule(
        owner.LABEL,
        "the volumes that the label asks for cannot be: their size, type, zone, number",
        words=r"volume size \S+ is larger than maximum allowed|image \S+ is larger than volume size"
        r"|cannot be smaller than the image mindisk|volume encryption is not supported"
        r"|volume type.{0,80}(could not be found|not found|is invalid)"
        r"|availability zone.{0,80}is invalid|fit in a volume of size|volume type is only supported in"
        r"|invalid volume type|default type for project \S+ not found|allowed number of disk devices",
    ),
    Rule(
        owner.LABEL,
        "the body of the create is too large for a proxy",
        calls=SERVERS,
        statuses=_these(413),
        words=r"\b(request|body|payload|entity|content) (entity |body |is )?(exceeds|size|too large|too long|length)",
    ),
    Rule(
        owner.CAPACITY,
        "no room for another member in the server group",
        words=r"too many servers in group|server_group_members is over",
        resource=MEMBERS,
    ),
    Rule(
        owner.CAPACITY,
        "a quota or a limit is exhausted",
        types=frozenset({"OverQuota", "QuotaExceeded"}),
        words=r"(?<!unknown )quota(?!.{0,120}(could not be found|\bexists\b))|limitexceeded"
        # Not that of the size of a file, the memory or the time of one program.
        r"|(?<!size )(?<!file )(?<!files )(?<!time )(?<!memlock )(?<!length )(?<!depth )limit exceeded"
        r"|is over (the |a )?limit"
        r"|maximum number of [\w -]{2,60}? ?(\(\d+\) )?exceeded",
    ),
    Rule(
        owner.LABEL,
        "the security groups fit neither each other nor the network, which may have no port security",
        words=r"requires port_security_enabled|stateful and stateless security groups",
    ),
    Rule(
        owner.LABEL,
        "the name of the server is not a valid host name",
        words=r"is not a valid dns name|invalid characters in hostname",
    ),
    Rule(
        owner.NETWORK,
        "the network could not be allocated or bound",
        calls=FAULT,
        words=r"failed to allocate the network|virtual interface (creation|plugin) failed|binding failed for port"
        r"|creation of virtual interface"
        r"|unexpected vif_type|port binding|cannot bind a port|did not report in time that the ports"
        r"|port update failed|activate binding for port|cannot connect its port|os_vif|failed to plug vif"
        r"|interface mtu on|unable to (add bridge|create tap)|bridge \S+ does not exist|\btap\S+ does not exist"
        r"|physical network is missing|not present in vif_details|is not compatible with the host"
        r"|network could not be found for (bridge|instance)|conntrack zones exhausted"
        r"|binding for port \S+ (on|for) host|port \S+ not usable for instance",
        resource=PLUGGED,
    ),
    Rule(
        owner.CLOUD,
        "a service behind nova is away",
        words=r"timed out|time-?out|unable to establish connection|connection (refused|to .{1,80} failed|aborted|reset)"
        r"|max retries exceeded|service (is )?unavailable|keystoneauth1|messagingtimeout|amqp|dberror|pymysql"
        r"|unexpected api error|remote error|cannot reach|cannot use its database|by the message queue"
        r"|not mapped to any cell|cell \S+ is not responding|resource ?provider|placement ?api"
        r"|when nova called it|connection to the hypervisor is broken|compute service of \S+ is unavailable"
        r"|(update|retrieve|move) (allocations|usages) |no mapping to a cell|key manager error"
        r"|virt driver is not ready|networking client is experiencing an unauthorized|dbconnectionerror|remoteerror"
        r"|bad gateway|internal server error|\(http 50\d\)|currently unavailable|requires authentication"
        r"|accept the account of|cannot find .{1,40} in the catalog|incompatible versions|service of a host is down"
        r"|accelerator requests|pci resources to placement|unknown quota resource",
    ),
    Rule(
        owner.CLOUD,
        "nova does not find one of its own hosts or records, or its parts do not fit together",
        words=r"\bhost \S+ could not be found|could not find binary|no longer knows one of its hosts"
        r"|service \S+ could not be found|cell \S+ has no mapping|does not support cinder api version"
        r"|api version \S+ is not available|does not support computes older|info cache for instance"
        r"|(request ?spec|build ?request) not found",
    ),
    Rule(
        owner.CLOUD,
        "the storage behind nova or cinder fails, or the disks of a host",
        words=r"volume \S+ could not be (attached|found)|storage volume backend api|volume driver not ready"
        r"|failed to export for volume|iscsi target for volume|fibre channel (connection|zone)|volume device not found"
        r"|rbd permission error|error connecting to (the )?cluster|mount vfat config drive|requires config drive"
        r"|config drive format|read or write disk info",
    ),
    Rule(
        owner.IMAGE,
        "the image is unusable",
        words=r"can not find requested image|failed to get image"
        r"|image \S+ (is not active|could not be found|is unacceptable)|image is (invalid|unacceptable|corrupt)"
        r"|imageunacceptable|invalid image|image verification failed|no disk image found|converted to raw"
        r"|checksum.{0,80}(image|mismatch)|image.{0,80}checksum|fixed image \S+ virtual size"
        r"|request of image \S+ got badrequest|not authorized for image|image signature certificate"
        r"|could not fetch image|failed to (download image|copy image to volume|verify image signature)"
        r"|signature metadata is incomplete|invalid image identifier|image conversion disallowed"
        r"|(kernel|ramdisk) not found for image|error opening image|image model .{1,40}not supported"
        r"|image has been deactivated|image \S+ is (in (status|state) )?"
        r"'?(queued|saving|importing|killed|pending_delete|deleted|deactivated)",
        names="image",
    ),
    Rule(
        owner.IMAGE,
        "the flavor and the image do not fit together: sizes or other settings",
        words=r"flavor's (memory|disk) is (too small|smaller)|disk would be too small"
        r"|found in the flavor .{0,80}and the image"
        r"|exceeds? the limits of the flavor"
        r"|exceed flavor value|allowed by flavor|automatic disk resize disabled|memory assigned, but expected"
        r"|\bnuma\b|numa_nodes|cpu (thread )?(pinning )?(policy|number)|emulator threads|realtime|dedicated.{0,10}cpu"
        r"|'mixed'|cpu number \d|memory page size|page size \S+ forbidden|locked_memory|pci alias|machine type"
        r"|number of serial ports|stateless firmware|disk format \S+ is not acceptable|video model|architecture name"
        r"|\b(uefi|secure boot|smm|vtpm)\b.{0,40}not supported|requested hardware .{1,80}not supported"
        r"|device profile|pinned vcpu|disk info file is invalid"
        r"|image.{0,200}against the flavor|(set|defined|specified) in.{0,40}image and.{0,40}flavor",
        once=True,
    ),
    Rule(
        owner.LABEL,
        "the flavor does not exist",
        statuses=_these(400, 404),
        words=r"flavor \S+ could not be found|invalid flavorref|flavor.{0,80}not found|unable to find flavor",
        names="flavor",
    ),
    Rule(
        owner.LABEL,
        "the keypair does not exist",
        statuses=_these(400, 404),
        words=r"invalid key_name|key ?pair .{1,80}not found",
        names="key",
    ),
    Rule(
        owner.LABEL,
        "the security group does not exist, or its name is ambiguous",
        statuses=_these(400, 404, 409),
        types=frozenset({"SecurityGroupNotFound"}),
        words=r"security.?group.{0,200}(not found|could not be found)|unable to find security.?group"
        r"|multiple security.?group|no unique match found",
        names="group",
    ),
    Rule(
        owner.LABEL,
        "the network does not exist, or servers may not use it",
        statuses=_these(400, 403, 404, 409),
        types=frozenset({"NetworkNotFound", "NoUniqueMatch"}),
        words=r"network \S+ could not be found|automatically allocate a network|requires a subnet"
        r"|(more than one|multiple) possible network"
        r"|not allowed to create an interface on external network|field/attribute (uuid|networks)\b",
        names="network",
    ),
    Rule(
        owner.LABEL,
        "the security group does not exist",
        calls=FAULT,
        words=r"security.?group.{0,200}(not found|could not be found)",
        names="group",
    ),
    Rule(
        owner.LABEL,
        "the network does not accept servers",
        calls=FAULT,
        words=r"not allowed to create an interface on external network|network \S+ could not be found"
        r"|networks with qos policy is not supported",
        names="network",
    ),
    Rule(
        owner.LABEL,
        "the server group does not exist",
        statuses=_these(400, 404),
        words=r"(instance|server) ?group.{0,80}(not found|could not be found)",
        names="server group",
    ),
    Rule(
        owner.LABEL,
        "the cloud does not support the policy of the server group",
        words=r"server ?group policy is not supported",
    ),
    Rule(
        owner.US,
        "the name of the server is taken",
        calls=SERVERS,
        statuses=_these(400, 409),
        words=r"instance .{1,300} already exists",
        names="name",
    ),
    Rule(
        owner.LABEL,
        "a field of the create is wrong; *request* if its value comes from the request",
        calls=SERVERS,
        statuses=_these(400, 413),
        words=r"invalid input for field/attribute|user.?data too large|metadata property (key|value)"
        r"|request entity too large|invalid metadata|user data needs to be valid|block device mapping is invalid"
        r"|invalid config_drive|config drive option|block device \S+ is not bootable|ephemeral disks requested"
        r"|swap drive requested|blank volumes|volume (size )?\S* ?is (too small|smaller)|(duplicate|bad) networks",
    ),
    Rule(owner.LABEL, "what the create sends is too large", calls=SERVERS, statuses=_these(413)),
    Rule(
        owner.LABEL,
        "the flavor needs a volume to boot from",
        calls=SERVERS,
        statuses=_these(400, 403),
        words=r"only volume-backed servers are allowed",
    ),
    Rule(
        owner.LABEL,
        "the network of the floating IP is not an external one",
        calls=FLOATING,
        statuses=_these(400),
        words=r"is not a valid external network",
    ),
    Rule(
        owner.CLOUD,
        "not nova answered, but what stands before it, with a status that says nothing of the create",
        calls=SERVERS,
        statuses=_these(404, 405, 406, 410, 411, 415, 417, 421, 422, 426, 431),
        untyped=True,
    ),
    Rule(owner.ACCOUNT, "the account has no credit", statuses=_these(402), resource=CREATES),
    Rule(owner.ACCOUNT, "the account may not do this", statuses=_these(403), resource=ALLOWED),
)
"""Ordered: the first rule that holds decides."""

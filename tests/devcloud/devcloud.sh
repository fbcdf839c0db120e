#!/usr/bin/env bash
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# devcloud: a real single-host OpenStack control plane for API-level tests.
#
#   devcloud.sh install   packages (apt), configuration, databases, schema
#   devcloud.sh start     daemons, then (first time) users, endpoints, networks
#   devcloud.sh stop      end the daemons this script started
#   devcloud.sh status    what runs, its memory, and whether the APIs answer
#
# keystone, glance (file store), placement, nova (fake virt driver), neutron
# (ML2 with a mechanism driver that binds every port, and an L3 plugin that
# keeps floating IP status, so that no agent is needed) and cinder (a driver
# that keeps no data), on MariaDB, RabbitMQ and memcached. No hypervisor, no
# systemd, no network namespace; loopback only.
# `install` needs root for apt (or the packages already there); the rest runs
# as any user.
#
# Settings (environment):
#   DEVCLOUD_BASE      everything lives here          ($PWD/.devcloud)
#   DEVCLOUD_PORT      first of a block of 11 ports   (18000)
#   DEVCLOUD_PASSWORD  password of every account      (devcloud)
#   DEVCLOUD_COMPUTES  number of fake compute hosts   (1)
#   DEVCLOUD_DRIVER    nova virt driver               (fake.FakeDriver)

set -euo pipefail

BASE=${DEVCLOUD_BASE:-$PWD/.devcloud}
mkdir -p "$BASE"
BASE=$(cd "$BASE" && pwd)
PORT=${DEVCLOUD_PORT:-18000}
PASSWORD=${DEVCLOUD_PASSWORD:-devcloud}
COMPUTES=${DEVCLOUD_COMPUTES:-1}
DRIVER=${DEVCLOUD_DRIVER:-fake.FakeDriver}

ADDR=127.0.0.1
REGION=RegionOne
P_KEYSTONE=$((PORT + 0)) P_GLANCE=$((PORT + 1)) P_PLACEMENT=$((PORT + 2))
P_NOVA=$((PORT + 3)) P_NEUTRON=$((PORT + 4)) P_DB=$((PORT + 5))
P_RABBIT=$((PORT + 6)) P_MEMCACHED=$((PORT + 7)) P_EPMD=$((PORT + 8))
P_ERLDIST=$((PORT + 9)) P_CINDER=$((PORT + 10))

ETC=$BASE/etc LOG=$BASE/log RUN=$BASE/run STATE=$BASE/state LIB=$BASE/lib

PACKAGES=(
  mariadb-server-core mariadb-client-core rabbitmq-server memcached
  uwsgi-core uwsgi-plugin-python3 python3-openstacksdk
  python3-keystone python3-glance python3-placement python3-nova python3-neutron python3-cinder
  python3-sqlalchemy-ext python3-mysqldb # in C: what the services do most is to work with their databases
)
# Only for the paste files in them; never installed.
PASTE_PACKAGES=(nova-common glance-common neutron-common cinder-common)

say() { printf '%s devcloud: %s\n' "$(date +%T)" "$*" >&2; }
die() { say "$*"; exit 1; }

# Debian's own interpreter and programs, whatever comes first in PATH.
owned() { dpkg -L "$1" | awk -v re="$2" '$0 ~ re && !n++ { print }'; }
find_programs() {
  PY=$(owned python3-minimal 'bin/python3$')
  MARIADBD=$(owned mariadb-server-core 'bin/mariadbd$')
  MARIADB_INSTALL=$(owned mariadb-server-core 'bin/mariadb-install-db$')
  MARIADB=$(owned mariadb-client-core 'bin/mariadb$')
  RABBIT=$(owned rabbitmq-server 'rabbitmq_server-.*/sbin/rabbitmq-server$')
  EPMD=$(owned erlang-base 'bin/epmd$')
  MEMCACHED=$(owned memcached 'bin/memcached$')
  UWSGI=$(owned uwsgi-core 'bin/uwsgi-core$')
}

# entry MODULE ARGS...: run MODULE:main as a console script would.
entry() {
  local module=$1; shift
  "$PY" -c "import sys; from $module import main; sys.argv[0] = '$module'; sys.exit(main())" "$@"
}

wait_for() { # wait_for SECONDS NAME COMMAND...: until the daemon answers, or dies
  local deadline=$((SECONDS + $1)) name=$2; shift 2
  until "$@" >>"$LOG/wait.log" 2>&1; do
    alive "$name" || die "$name died; see $LOG/$name.log"
    ((SECONDS < deadline)) || die "$name did not come up; see $LOG/$name.log"
    sleep 0.2
  done
}
http_up() { curl -sS -o "$RUN/http" --max-time 5 --noproxy '*' "http://$ADDR:$1/"; }

# ---------------------------------------------------------------- processes
# A pid file holds "PID STARTTIME", so a recycled pid is never signalled.

starttime() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
alive() {
  local pid start
  [[ -s $RUN/$1.pid ]] || return 1
  read -r pid start <"$RUN/$1.pid"
  [[ -n $start && $(starttime "$pid") == "$start" ]]
}
pid_of() { cut -d' ' -f1 "$RUN/$1.pid"; }

launch() { # launch NAME COMMAND...: own session, so stop can end the group
  local name=$1; shift
  if alive "$name"; then return; fi
  setsid "$@" >>"$LOG/$name.log" 2>&1 </dev/null &
  local pid=$!
  printf '%s %s\n' "$pid" "$(starttime "$pid")" >"$RUN/$name.pid"
  printf '%s\n' "$name" >>"$RUN/order"
}
launch_entry() {
  local name=$1 module=$2; shift 2
  launch "$name" "$PY" -c \
    "import sys; from $module import main; sys.argv[0] = '$name'; sys.exit(main())" "$@"
}
launch_wsgi() { # launch_wsgi NAME PORT FILE
  launch "$1" "$UWSGI" --plugin python3 --http-socket "$ADDR:$2" --wsgi-file "$3" \
    --master --processes 2 --enable-threads --thunder-lock --buffer-size 65535 \
    --lazy-apps --die-on-term --need-app --disable-logging \
    --add-header "Connection: close"
}
end() { # end NAME: TERM the process group, KILL what is left after a while
  local name=$1 pid
  if alive "$name"; then
    pid=$(pid_of "$name")
    kill -TERM -- "-$pid" 2>/dev/null || true
    for _ in {1..50}; do alive "$name" || break; sleep 0.1; done
    if alive "$name"; then kill -KILL -- "-$pid" 2>/dev/null || true; fi
  fi
  rm -f "$RUN/$name.pid"
}

service_env() {
  unset PYTHONHOME VIRTUAL_ENV OS_CLOUD http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
  export no_proxy='*' LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
  export PYTHONPATH=$LIB
  export OS_KEYSTONE_CONFIG_DIR=$ETC OS_KEYSTONE_CONFIG_FILES=keystone.conf
  export OS_PLACEMENT_CONFIG_DIR=$ETC OS_NOVA_CONFIG_DIR=$ETC
  export OS_NOVA_CONFIG_FILES='nova.conf'
}

start_memcached() {
  launch memcached "$MEMCACHED" -l "$ADDR" -p "$P_MEMCACHED" -U 0 -m 64 -c 4096 \
    -u "$(id -un)"
}

start_db() {
  launch mariadb "$MARIADBD" --no-defaults --user="$(id -un)" \
    --datadir="$STATE/mysql" --socket=mysqld.sock --pid-file="$RUN/mariadbd.pid" \
    --bind-address="$ADDR" --port="$P_DB" --skip-name-resolve --skip-log-bin --open-files-limit=8192 --table-open-cache=1500 \
    --max-connections=2000 --innodb-buffer-pool-size=256M --innodb-log-file-size=128M \
    --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0 \
    --character-set-server=utf8mb3 --collation-server=utf8mb3_general_ci
  wait_for 300 mariadb sql -e 'SELECT 1'
}
sql() {
  "$MARIADB" --no-defaults -h "$ADDR" -P "$P_DB" -u root --password="$PASSWORD" "$@"
}

start_rabbit() {
  launch epmd "$EPMD" -address "$ADDR" -port "$P_EPMD"
  launch rabbitmq env HOME="$STATE/rabbitmq" \
    ERL_EPMD_ADDRESS="$ADDR" ERL_EPMD_PORT="$P_EPMD" \
    RABBITMQ_NODENAME=devcloud@localhost RABBITMQ_DIST_PORT="$P_ERLDIST" \
    RABBITMQ_CONF_ENV_FILE="$ETC/rabbitmq-env.conf" \
    RABBITMQ_CONFIG_FILE="$ETC/rabbitmq.conf" \
    RABBITMQ_ENABLED_PLUGINS_FILE="$ETC/rabbitmq-plugins" \
    RABBITMQ_MNESIA_BASE="$STATE/rabbitmq" RABBITMQ_LOG_BASE="$LOG" RABBITMQ_LOGS=- \
    RABBITMQ_PID_FILE="$RUN/rabbitmq-server.pid" \
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1} +sbwt none" \
    "$RABBIT"
}
rabbit_up() { # AMQP answers its protocol header
  "$PY" - "$ADDR" "$P_RABBIT" <<'EOF'
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 3)
s.settimeout(3)
s.sendall(b"AMQP\x00\x00\x09\x01")
sys.exit(0 if s.recv(1) == b"\x01" else 1)
EOF
}

# ------------------------------------------------------------ configuration

authtoken() {
  cat <<EOF
[keystone_authtoken]
www_authenticate_uri = http://$ADDR:$P_KEYSTONE/v3
memcached_servers = $ADDR:$P_MEMCACHED
service_token_roles_required = true
service_token_roles = service,admin
$(credentials)
EOF
}
credentials() {
  cat <<EOF
auth_url = http://$ADDR:$P_KEYSTONE/v3
auth_type = password
username = service
password = $PASSWORD
project_name = service
user_domain_id = default
project_domain_id = default
region_name = $REGION
EOF
}
common() { # common NAME
  cat <<EOF
[DEFAULT]
debug = false
use_stderr = true
state_path = $STATE/$1
transport_url = rabbit://devcloud:$PASSWORD@$ADDR:$P_RABBIT/
[oslo_concurrency]
lock_path = $STATE/$1/locks
[oslo_messaging_rabbit]
heartbeat_in_pthread = false
[oslo_policy]
policy_file = $ETC/$1-policy.yaml
[cache]
enabled = true
backend = dogpile.cache.memcached
memcache_servers = $ADDR:$P_MEMCACHED
EOF
}
db_url() { # db_url DATABASE [DRIVER]; the services that use eventlet need a driver that lets others work meanwhile
  printf "mysql+%s://devcloud:%s@%s:%s/%s?charset=utf8" "${2:-pymysql}" "$PASSWORD" "$ADDR" "$P_DB" "$1"
}

write_config() {
  mkdir -p "$ETC" "$LOG" "$RUN" "$LIB" "$STATE"/{mysql,rabbitmq,glance,nova,neutron,cinder,keystone,placement,paste}
  mkdir -p "$STATE"/glance/{images,staging,tasks} "$STATE"/{glance,nova,neutron,cinder,keystone,placement}/locks
  find "$STATE/paste" -name '*api-paste.ini' -printf '%h %p\n' | while read -r dir file; do
    dir=${dir##*/}; cp "$file" "$ETC/${dir%-common}-paste.ini"
  done
  local s; for s in keystone glance placement nova neutron cinder; do
    [[ -e $ETC/$s-policy.yaml ]] || echo '# no overrides' >"$ETC/$s-policy.yaml"
  done

  cat >"$ETC/rabbitmq.conf" <<EOF
listeners.tcp.default = $ADDR:$P_RABBIT
default_user = devcloud
default_pass = $PASSWORD
loopback_users = none
vm_memory_high_watermark.absolute = 1GB
disk_free_limit.absolute = 100MB
log.console.level = warning
EOF
  echo '[].' >"$ETC/rabbitmq-plugins"
  : >"$ETC/rabbitmq-env.conf"

  { common keystone; cat <<EOF
[database]
connection = $(db_url keystone mysqldb)
[token]
provider = fernet
expiration = 86400
[fernet_tokens]
key_repository = $STATE/keystone/fernet-keys
[fernet_receipts]
key_repository = $STATE/keystone/fernet-keys
[credential]
key_repository = $STATE/keystone/credential-keys
[identity]
password_hash_rounds = 4
EOF
  } >"$ETC/keystone.conf"

  { common placement; authtoken; cat <<EOF
[placement_database]
connection = $(db_url placement mysqldb)
[api]
auth_strategy = keystone
EOF
  } >"$ETC/placement.conf"

  { common glance; authtoken; cat <<EOF
[DEFAULT]
bind_host = $ADDR
bind_port = $P_GLANCE
workers = 2
enabled_backends = file:file
enabled_import_methods = [glance-direct,web-download]
show_multiple_locations = false
worker_self_reference_url = http://$ADDR:$P_GLANCE
[database]
connection = $(db_url glance)
[glance_store]
default_backend = file
[file]
filesystem_store_datadir = $STATE/glance/images
[os_glance_staging_store]
filesystem_store_datadir = $STATE/glance/staging
[os_glance_tasks_store]
filesystem_store_datadir = $STATE/glance/tasks
[paste_deploy]
flavor = keystone
config_file = $ETC/glance-paste.ini
EOF
  } >"$ETC/glance-api.conf"

  { common nova; authtoken; cat <<EOF
[DEFAULT]
my_ip = $ADDR
compute_driver = $DRIVER
osapi_compute_listen = $ADDR
osapi_compute_listen_port = $P_NOVA
osapi_compute_workers = 2
api_paste_config = $ETC/nova-paste.ini
sync_power_state_interval = -1
heal_instance_info_cache_interval = -1
vif_plugging_is_fatal = false
vif_plugging_timeout = 0
max_concurrent_builds = 0
rootwrap_config =
[wsgi]
api_paste_config = $ETC/nova-paste.ini
[api_database]
connection = $(db_url nova_api)
[database]
connection = $(db_url nova)
[conductor]
workers = 2
[scheduler]
workers = 1
[image_cache]
manager_interval = -1
[glance]
region_name = $REGION
[placement]
$(credentials)
[neutron]
$(credentials)
[cinder]
os_region_name = $REGION
[service_user]
send_service_user_token = true
$(credentials)
[vnc]
enabled = false
EOF
  } >"$ETC/nova.conf"
  # As devstack and kolla have it: the API's own database is cell0, so its lists do not show faults of cell1.
  cat >"$ETC/nova-api.conf" <<EOF
[database]
connection = $(db_url nova_cell0)
EOF
  for ((i = 1; i <= COMPUTES; i++)); do
    mkdir -p "$STATE/nova-compute$i"
    cat >"$ETC/nova-compute$i.conf" <<EOF
[DEFAULT]
host = devcloud-compute$i
state_path = $STATE/nova-compute$i
[api_database]
connection =
[database]
connection =
EOF
  done

  { common neutron; authtoken; cat <<EOF
[DEFAULT]
bind_host = $ADDR
bind_port = $P_NEUTRON
api_workers = 2
rpc_workers = 1
rpc_state_report_workers = 0
core_plugin = ml2
service_plugins = devcloud_neutron.DevcloudL3Plugin
api_paste_config = $ETC/neutron-paste.ini
notify_nova_on_port_status_changes = true
notify_nova_on_port_data_changes = true
send_events_interval = 1
dhcp_agent_notification = false
l3_ha = false
[database]
connection = $(db_url neutron)
max_overflow = 100
[nova]
$(credentials)
[ml2]
type_drivers = flat,vlan,vxlan,local
tenant_network_types = vxlan
mechanism_drivers = devcloud
extension_drivers = port_security
[ml2_type_flat]
flat_networks = *
[ml2_type_vlan]
network_vlan_ranges = physnet1:100:1000
[ml2_type_vxlan]
vni_ranges = 1:100000
[securitygroup]
enable_security_group = true
EOF
  } >"$ETC/neutron.conf"

  { common cinder; authtoken; cat <<EOF
[DEFAULT]
my_ip = $ADDR
host = devcloud
osapi_volume_listen = $ADDR
osapi_volume_listen_port = $P_CINDER
osapi_volume_workers = 1
api_paste_config = $ETC/cinder-paste.ini
resource_query_filters_file = $ETC/cinder-filters.json
auth_strategy = keystone
glance_api_servers = http://$ADDR:$P_GLANCE
enabled_backends = devcloud
rootwrap_config =
[database]
connection = $(db_url cinder)
[devcloud]
volume_driver = devcloud_cinder.DevcloudVolumeDriver
volume_backend_name = devcloud
[service_user]
send_service_user_token = true
$(credentials)
EOF
  } >"$ETC/cinder.conf"
  echo '{"volume": ["name", "status", "metadata", "bootable"]}' >"$ETC/cinder-filters.json"

  cat >"$LIB/devcloud_cinder.py" <<'EOF'
"""A cinder driver whose volumes are records only."""
from cinder.volume import driver


class DevcloudVolumeDriver(driver.VolumeDriver):
    """Has room for everything, and does what it is told at once."""

    VERSION = "1.0"

    def check_for_setup_error(self):
        pass

    def _update_volume_stats(self):
        self._stats = {
            "volume_backend_name": "devcloud", "vendor_name": "devcloud",
            "driver_version": self.VERSION, "storage_protocol": "fake",
            "pools": [{"pool_name": "devcloud", "total_capacity_gb": "infinite",
                       "free_capacity_gb": "infinite",
                       "reserved_percentage": 0}]}

    def create_volume(self, volume):
        pass

    def clone_image(self, context, volume, image_location, image_meta,
                    image_service):
        return {}, True

    def delete_volume(self, volume):
        pass

    def ensure_export(self, context, volume):
        pass

    def create_export(self, context, volume, connector):
        pass

    def remove_export(self, context, volume):
        pass

    def initialize_connection(self, volume, connector):
        return {"driver_volume_type": "fake", "data": {"access_mode": "rw"}}

    def terminate_connection(self, volume, connector, **kwargs):
        pass
EOF

  cat >"$LIB/devcloud_neutron.py" <<'EOF'
"""Neutron drivers that stand in for the L2 and L3 agents."""
from neutron.objects import router as l3_obj
from neutron.services.l3_router import l3_router_plugin
from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins.ml2 import api
from sqlalchemy.orm import relationships, strategies

# Neutron 25 loads by "selectin" what Zed loads by "subquery" (bug 2067770):
# the same rows, without a third of neutron's work. ML2 imports this before
# the first query.
relationships.RelationshipProperty.strategy_for(lazy="subquery")(
    strategies.SelectInLoader)


class DevcloudMechanismDriver(api.MechanismDriver):
    """Binds every port to its first segment and reports it ACTIVE."""

    @property
    def connectivity(self):
        return portbindings.CONNECTIVITY_L2

    def initialize(self):
        pass

    def bind_port(self, context):
        for segment in context.segments_to_bind:
            context.set_binding(
                segment[api.ID], portbindings.VIF_TYPE_OVS,
                {portbindings.CAP_PORT_FILTER: True},
                status=constants.PORT_STATUS_ACTIVE)
            return


class DevcloudL3Plugin(l3_router_plugin.L3RouterPlugin):
    """Keeps floating IP status as an L3 agent would have reported it."""

    def _report(self, context, fip):
        self.update_floatingip_status(
            context.elevated(), fip["id"],
            constants.FLOATINGIP_STATUS_ACTIVE if fip.get("port_id")
            else constants.FLOATINGIP_STATUS_DOWN)

    def create_floatingip(self, context, floatingip):
        fip = super().create_floatingip(context, floatingip)
        self._report(context, fip)
        return fip

    def update_floatingip(self, context, id, floatingip):
        fip = super().update_floatingip(context, id, floatingip)
        self._report(context, fip)
        return fip

    def disassociate_floatingips(self, context, port_id, *args, **kwargs):
        ids = [f.id for f in l3_obj.FloatingIP.get_objects(
            context.elevated(), fixed_port_id=port_id)]
        result = super().disassociate_floatingips(
            context, port_id, *args, **kwargs)
        for id in ids:
            self._report(context, {"id": id})
        return result
EOF
  mkdir -p "$LIB/devcloud_neutron-1.0.dist-info"
  printf 'Metadata-Version: 2.1\nName: devcloud-neutron\nVersion: 1.0\n' \
    >"$LIB/devcloud_neutron-1.0.dist-info/METADATA"
  printf '[neutron.ml2.mechanism_drivers]\ndevcloud = devcloud_neutron:DevcloudMechanismDriver\n' \
    >"$LIB/devcloud_neutron-1.0.dist-info/entry_points.txt"

  echo 'from keystone.server.wsgi import initialize_public_application as i; application = i()' >"$LIB/keystone_app.py"
  echo 'from placement.wsgi import init_application as i; application = i()' >"$LIB/placement_app.py"

  cat >"$BASE/clouds.yaml" <<EOF
clouds:
  devcloud: &devcloud
    auth: &auth
      auth_url: http://$ADDR:$P_KEYSTONE/v3
      username: demo
      password: $PASSWORD
      project_name: demo
      user_domain_id: default
      project_domain_id: default
    region_name: $REGION
    identity_api_version: 3
  devcloud-admin:
    <<: *devcloud
    auth:
      <<: *auth
      username: admin
      project_name: admin
EOF
}

# ------------------------------------------------------------------ install

apt_install() {
  local stubs=$BASE/stubs missing=() p
  for p in "${PACKAGES[@]}"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || missing+=("$p")
  done
  if ((${#missing[@]})); then
    say "installing ${missing[*]}"
    # Stubs put first in dpkg's PATH keep the packages from starting daemons.
    mkdir -p "$stubs"
    for p in invoke-rc.d deb-systemd-invoke; do
      printf '#!/bin/sh\nexit 0\n' >"$stubs/$p"; chmod 755 "$stubs/$p"
    done
    eval "$(apt-config shell dpkg_path DPkg::Path)"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    apt-get install -y -q --no-install-recommends \
      -o DPkg::Path="$stubs:${dpkg_path:-$PATH}" \
      -o Dpkg::Options::=--force-confold "${missing[@]}" </dev/null
    rm -r "$stubs"
  fi
  if [[ ! -s $STATE/paste/${PASTE_PACKAGES[-1]}/api-paste.ini ]]; then
    mkdir -p "$STATE/paste/debs"
    (cd "$STATE/paste/debs" && apt-get -q download "${PASTE_PACKAGES[@]}")
    for p in "${PASTE_PACKAGES[@]}"; do
      mkdir -p "$STATE/paste/$p"
      dpkg-deb --fsys-tarfile "$STATE/paste/debs/${p}"_*.deb |
        tar -xf - -C "$STATE/paste/$p" --strip-components=4 --wildcards '*api-paste.ini'
    done
    rm -r "$STATE/paste/debs"
  fi
}

db_bootstrap() {
  if [[ ! -d $STATE/mysql/mysql ]]; then
    "$MARIADB_INSTALL" --no-defaults --user="$(id -un)" --datadir="$STATE/mysql" \
      --auth-root-authentication-method=normal --skip-test-db >>"$LOG/install.log" 2>&1
    "$MARIADBD" --no-defaults --user="$(id -un)" --datadir="$STATE/mysql" --bootstrap >>"$LOG/install.log" 2>&1 <<EOF
FLUSH PRIVILEGES;
CREATE OR REPLACE USER root@'$ADDR' IDENTIFIED BY '$PASSWORD';
GRANT ALL ON *.* TO root@'$ADDR' WITH GRANT OPTION;
CREATE OR REPLACE USER devcloud@'$ADDR' IDENTIFIED BY '$PASSWORD';
GRANT ALL ON *.* TO devcloud@'$ADDR';
EOF
  fi
}

schema() {
  local d
  for d in keystone glance placement nova nova_cell0 nova_api neutron cinder; do
    sql -e "CREATE DATABASE IF NOT EXISTS $d CHARACTER SET utf8mb3"
  done
  local jobs=() j
  keystone() { entry keystone.cmd.manage --config-file "$ETC/keystone.conf" "$@"; }
  nova() { entry nova.cmd.manage --config-file "$ETC/nova.conf" "$@"; }
  {
    keystone db_sync
    keystone fernet_setup --keystone-user "$(id -un)" --keystone-group "$(id -gn)"
    keystone credential_setup --keystone-user "$(id -un)" --keystone-group "$(id -gn)"
    keystone bootstrap --bootstrap-password "$PASSWORD" --bootstrap-region-id "$REGION" \
      --bootstrap-public-url "http://$ADDR:$P_KEYSTONE/v3/" \
      --bootstrap-internal-url "http://$ADDR:$P_KEYSTONE/v3/" \
      --bootstrap-admin-url "http://$ADDR:$P_KEYSTONE/v3/"
    entry placement.cmd.manage --config-file "$ETC/placement.conf" db sync
    entry glance.cmd.manage --config-file "$ETC/glance-api.conf" db_sync
    nova api_db sync
    nova cell_v2 map_cell0
    nova db sync
    nova cell_v2 list_cells | grep -w cell1 || nova cell_v2 create_cell --name cell1
  } >>"$LOG/install.log" 2>&1 & jobs+=($!)
  {
    entry neutron.db.migration.cli --config-file "$ETC/neutron.conf" upgrade heads
    entry cinder.cmd.manage --config-file "$ETC/cinder.conf" db sync
  } >>"$LOG/install-neutron.log" 2>&1 & jobs+=($!)
  for j in "${jobs[@]}"; do wait "$j" || die "schema failed; see $LOG/install*.log"; done
}

do_install() {
  mkdir -p "$LOG" "$STATE"
  apt_install
  find_programs; service_env; write_config
  db_bootstrap
  local versions
  versions=$(dpkg-query -W -f '${Package}=${Version}\n' "${PACKAGES[@]}")
  if [[ ! -e $STATE/schema || $(<"$STATE/schema") != "$versions" ]]; then
    trap 'end mariadb' EXIT
    start_db
    schema
    echo "$versions" >"$STATE/schema"
  fi
  # What a start seeds may have become more.
  rm -f "$STATE"/seeded-*
  say "installed in $BASE"
}

# -------------------------------------------------------------------- start

do_start() {
  [[ -s $ETC/nova.conf ]] || die "run install first"
  find_programs; service_env; write_config
  local i
  start_memcached; start_rabbit; start_db
  launch_wsgi keystone "$P_KEYSTONE" "$LIB/keystone_app.py"
  launch_wsgi placement "$P_PLACEMENT" "$LIB/placement_app.py"
  wait_for 300 rabbitmq rabbit_up
  launch_entry glance-api glance.cmd.api --config-file "$ETC/glance-api.conf"
  launch_entry neutron-server neutron.cmd.eventlet.server --config-file "$ETC/neutron.conf"
  launch_entry nova-api nova.cmd.api_os_compute --config-file "$ETC/nova.conf" --config-file "$ETC/nova-api.conf"
  wait_for 300 keystone http_up "$P_KEYSTONE"
  seed identity
  launch_entry nova-conductor nova.cmd.conductor --config-file "$ETC/nova.conf"
  launch_entry nova-scheduler nova.cmd.scheduler --config-file "$ETC/nova.conf"
  wait_for 300 placement http_up "$P_PLACEMENT"
  for ((i = 1; i <= COMPUTES; i++)); do
    launch_entry "nova-compute$i" nova.cmd.compute \
      --config-file "$ETC/nova.conf" --config-file "$ETC/nova-compute$i.conf"
  done
  launch_entry cinder-api cinder.cmd.api --config-file "$ETC/cinder.conf"
  launch_entry cinder-scheduler cinder.cmd.scheduler --config-file "$ETC/cinder.conf"
  launch_entry cinder-volume cinder.cmd.volume --config-file "$ETC/cinder.conf"
  wait_for 300 neutron-server http_up "$P_NEUTRON"
  wait_for 300 glance-api http_up "$P_GLANCE"
  wait_for 300 nova-api http_up "$P_NOVA"
  wait_for 300 cinder-api http_up "$P_CINDER"
  seed cloud
  say "up; clouds.yaml: $BASE/clouds.yaml"
}

# seed WHAT: idempotent; marked done per stage so later starts skip it.
seed() {
  local mark=$STATE/seeded-$1
  if [[ $1 == cloud ]]; then
    seed_py computes
    [[ -e $mark && $(cat "$mark") == "$COMPUTES" ]] ||
      entry nova.cmd.manage --config-file "$ETC/nova.conf" cell_v2 discover_hosts >>"$LOG/seed.log" 2>&1
  fi
  [[ -e $mark ]] || seed_py "$1"
  echo "$COMPUTES" >"$mark"
}
seed_py() {
  "$PY" - "$1" "$BASE/clouds.yaml" "$PASSWORD" "$COMPUTES" "$REGION" \
    "image=http://$ADDR:$P_GLANCE" "placement=http://$ADDR:$P_PLACEMENT" \
    "compute=http://$ADDR:$P_NOVA/v2.1" "network=http://$ADDR:$P_NEUTRON" \
    "volumev3=http://$ADDR:$P_CINDER/v3/%(project_id)s" \
    >>"$LOG/seed.log" 2>&1 <<'EOF'
import os, sys, time
stage, clouds, password, computes, region = sys.argv[1:6]
os.environ["OS_CLIENT_CONFIG_FILE"] = clouds
import openstack
conn = openstack.connect(cloud="devcloud-admin")


def identity():
    i = conn.identity
    for arg in sys.argv[6:]:
        kind, url = arg.split("=", 1)
        name = {"image": "glance", "compute": "nova", "network": "neutron",
                "volumev3": "cinderv3"}.get(kind, kind)
        service = i.find_service(name) or i.create_service(name=name, type=kind)
        if not list(i.endpoints(service_id=service.id)):
            for interface in ("public", "internal", "admin"):
                i.create_endpoint(service_id=service.id, interface=interface,
                                  url=url, region_id=region)
    for name, roles in (("service", ("admin", "service")), ("demo", ("member",))):
        project = i.find_project(name) or i.create_project(name=name, domain_id="default")
        user = i.find_user(name) or i.create_user(
            name=name, password=password, domain_id="default",
            default_project_id=project.id)
        for role_name in roles:
            role = i.find_role(role_name) or i.create_role(name=role_name)
            i.assign_project_role_to_user(project, user, role)


def computes_up():
    for _ in range(300):
        try:
            up = [s for s in conn.compute.services()
                  if s.binary == "nova-compute" and s.state == "up"]
            if len(up) >= int(computes):
                return
        except Exception as error:
            print(error)
        time.sleep(0.3)
    sys.exit("nova-compute did not register")


def cloud():
    for name, ram, vcpus, disk in (("m1.tiny", 512, 1, 1), ("m1.small", 2048, 1, 20),
                                   ("m1.large", 8192, 4, 80)):
        if not conn.compute.find_flavor(name):
            conn.compute.create_flavor(name=name, ram=ram, vcpus=vcpus, disk=disk)
    n = conn.network
    demo = conn.identity.find_project("demo")
    public = n.find_network("public") or n.create_network(
        name="public", is_router_external=True, provider_network_type="flat",
        provider_physical_network="public")
    if not n.find_subnet("public-subnet"):
        n.create_subnet(name="public-subnet", network_id=public.id, ip_version=4,
                        cidr="172.24.4.0/22", is_dhcp_enabled=False)
    private = n.find_network("private", project_id=demo.id) or n.create_network(
        name="private", project_id=demo.id)
    subnet = n.find_subnet("private-subnet", project_id=demo.id) or n.create_subnet(
        name="private-subnet", network_id=private.id, ip_version=4,
        cidr="10.20.0.0/16", project_id=demo.id)
    if not n.find_router("router1", project_id=demo.id):
        router = n.create_router(name="router1", project_id=demo.id,
                                 external_gateway_info={"network_id": public.id})
        n.add_interface_to_router(router, subnet_id=subnet.id)


{"identity": identity, "computes": computes_up, "cloud": cloud}[stage]()
EOF
}

# --------------------------------------------------------------- stop/status

do_stop() {
  [[ -e $RUN/order ]] || { say "nothing to stop"; return; }
  local name
  while read -r name; do
    case $name in mariadb | memcached | epmd | rabbitmq) continue ;; esac
    if alive "$name"; then kill -TERM -- "-$(pid_of "$name")" 2>/dev/null || true; fi
  done <"$RUN/order"
  tac "$RUN/order" | awk '!seen[$0]++' | while read -r name; do end "$name"; done
  rm -f "$RUN/order"
  say "stopped"
}

# PSS of a session, in MiB
memory() {
  local pid total=0 kib
  for pid in $(ps -s "$1" -o pid=); do
    kib=$(awk '/^Pss:/ {print $2}' "/proc/$pid/smaps_rollup" 2>/dev/null || true)
    total=$((total + ${kib:-0}))
  done
  echo $((total / 1024))
}

do_status() {
  local rc=0 name sum=0 mib p
  [[ -e $RUN/order ]] || { echo "not started"; return 3; }
  while read -r name; do
    if alive "$name"; then
      mib=$(memory "$(pid_of "$name")"); sum=$((sum + mib))
      printf '%-16s up    pid %-8s %5d MiB\n' "$name" "$(pid_of "$name")" "$mib"
    else
      printf '%-16s DOWN  see %s\n' "$name" "$LOG/$name.log"; rc=1
    fi
  done < <(awk '!seen[$0]++' "$RUN/order")
  printf '%-16s %26d MiB\n' total "$sum"
  for p in keystone:$P_KEYSTONE glance:$P_GLANCE placement:$P_PLACEMENT nova:$P_NOVA neutron:$P_NEUTRON cinder:$P_CINDER; do
    if http_up "${p#*:}" 2>/dev/null; then echo "api ${p%:*} answers on port ${p#*:}"
    else echo "api ${p%:*} DEAD on port ${p#*:}"; rc=1; fi
  done
  return $rc
}

case ${1:-} in
  install) do_install ;;
  start) do_start ;;
  stop) do_stop ;;
  status) do_status ;;
  *) sed -n '6,11s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

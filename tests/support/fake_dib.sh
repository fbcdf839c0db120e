#!/usr/bin/env bash
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Stands in for disk-image-create where a test is about what happens around it: takes its arguments, makes its files.
# FAKE_… in the environment says what goes wrong.
set -u
formats=qcow2 output=
while [ $# -gt 0 ]; do
  case "$1" in
    -t) formats=$2; shift 2 ;;
    -o) output=$2; shift 2 ;;
    --qemu-img-options) shift 2 ;;
    *) shift ;;
  esac
done

say() { printf '%s | %s\n' "$(date '+%Y-%m-%d %H:%M:%S.000')" "$*"; }

finish() {
  say "Unmount $TMP_DIR/mnt"
  rm -rf "$TMP_DIR"/dib_build.*
}

work=$(mktemp -d "$TMP_DIR/dib_build.XXXXXX")
say "Running hooks from $work/hooks/root.d"
[ -z "${FAKE_STUBBORN:-}" ] || trap '' TERM
[ -z "${FAKE_TIDY:-}" ] || trap finish EXIT
[ -z "${FAKE_DAEMON:-}" ] || setsid sleep "$FAKE_DAEMON" >/dev/null 2>&1 &
echo secret is "${FAKE_SECRET:-}"
[ -z "${FAKE_STARTED:-}" ] || echo $$ >>"$FAKE_STARTED"
say "dib-run-parts Running /tmp/in_target.d/install.d/50-fake"
end=$((SECONDS + ${FAKE_SECONDS:-0}))
while [ "$SECONDS" -lt "$end" ] && [ ! -e "${FAKE_GO:-/nonexistent}" ]; do sleep 0.1; done
while [ -n "${FAKE_HOLD:-}" ] && [ -e "${FAKE_HOLD:-}" ]; do sleep 0.1; done
if [ -n "${FAKE_FAIL:-}" ] && [ -e "$FAKE_FAIL" ]; then
  say "E: it cannot go on"
  finish
  exit 7
fi
for format in ${formats//,/ }; do
  [ "$format" != "${FAKE_OMIT:-}" ] || continue
  if ! head -c "${FAKE_SIZE:-4096}" /dev/urandom >"$output.$format-new"; then
    say "${FAKE_COMPLAINT:-No space left on device}"
    exit 1
  fi
  [ "$format" != "${FAKE_EMPTY:-}" ] || : >"$output.$format-new"
  mv "$output.$format-new" "$output.$format"
  md5sum "$output.$format" >"$output.$format.md5"
  sha256sum "$output.$format" >"$output.$format.sha256"
  say "Image file $output.$format created..."
done
mkdir -p "$output.d"
echo "fake 1.0" >"$output.d/dib-manifest-fake"
rm -rf "$work"
say "Build completed successfully"

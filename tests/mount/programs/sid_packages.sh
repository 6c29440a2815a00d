#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 2400
#
# Packages of Debian sid whose programs were compiled against LTTng-UST 2.16 run unmodified with the
# libraries of $BUILD/lttng, and their events are recorded.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/sid.sh"
need_sid
sid_install packages lomiri-app-launch-profiler mir-test-tools
mount_tree
mkdir "$S/s" && put '*' "$S/s/user/events" && put start "$S/s/control" || fail "session"
# (Without a display mir_demo_server ends with an error, after it has looked for its libraries.)
cat >"$work/programs" <<'END'
export TRAIL_RUNTIME_DIR=/mnt/state LD_LIBRARY_PATH=/srv/lttng XDG_RUNTIME_DIR=/run/home
dpkg-query -W liblttng-ust1t64 lomiri-app-launch-profiler mir-test-tools
lomiri-app-launch-tracepoints
timeout 60 mir_demo_server --shared-library-prober-report=lttng
:
END
sid programs >"$work/out" 2>&1 || fail "the programs do not run: $(tail -n 5 "$work/out")"
grep '^liblttng' "$work/out"
put stop "$S/s/control"
cat "$S/s/text" >"$work/text"
has "$(cat "$work/text")" ' app:invokeApplauncher: '
has "$(cat "$work/text")" ' mir_server_shared_library_prober:probing_path: '
! grep '^problem' "$S/s/status" || fail "a tracepoint is refused"
echo "$checks checks"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 90
#
# A mount is unmounted, and its daemon is killed before it has ended the sessions, at any moment of
# its end. The keeper starts a daemon that ends them, and another one if that dies. After the third
# death within a minute the sessions stay for the next `trailfs`.
. "$(dirname "$0")/../../lib/successor.sh"
# The daemon has seen no unmount when it is killed.
kill_before() {
	pid=$(daemon_pids)
	kill -STOP $pid
	fusermount3 -u -z "$MNT" || fail unmount
	kill -9 $pid
}
become <"$real"

# --- before it begins
start
mkdir "$S/s" || fail mkdir
kill_before
within 20 ended || fail "sessions or keeper stay: $(keeper_pid)"
start
is "no session is left" "" "$(sessions)"

# --- at any moment
for after in 0 0.001 0.002 0.004 0.008 0.012 0.02 0.04; do
	mkdir "$S/a" "$S/b" "$S/c" "$S/d" || fail mkdir
	pid=$(daemon_pids)
	fusermount3 -u "$MNT" || fail unmount
	sleep $after 2>/dev/null || :   # not every sleep(1) has fractions
	kill -9 $pid 2>/dev/null
	within 20 ended || fail "killed after $after s: $(keeper_pid) stays"
	start
	is "killed after $after s" "" "$(sessions)"
done

# --- another one is started by hand at once
for after in 0 0.004 0.02; do
	mkdir "$S/a" "$S/b" "$S/c" "$S/d" || fail mkdir
	kill_before
	sleep $after 2>/dev/null || :
	start
	is "killed, and started by hand after $after s" "" "$(sessions)"
done

# --- the one that ends them dies, too
mkdir "$S/s" || fail mkdir
become <<END
#!/bin/sh
echo started >>"$work/starts"
[ "\$(wc -l <"$work/starts")" -gt 1 ] || exit 1
exec "$real" "\$@"
END
kill_before
within 20 ended || fail "sessions or keeper stay after a second death: $(keeper_pid)"
is "starts" 2 "$(wc -l <"$work/starts")"
become <"$real"
start
is "no session is left by the second" "" "$(sessions)"

# --- all of them
mkdir "$S/s" || fail mkdir
become <<END
#!/bin/sh
echo started >>"$work/all"
exit 1
END
kill_before
tried() { [ "$(wc -l <"$work/all")" = 2 ]; }
within 20 tried || fail "starts: $(cat "$work/all")"
become <"$real"
start
is "sessions that could not be ended" "s " "$(sessions)"
fusermount3 -u "$MNT" || fail unmount
within 20 ended || fail "the keeper stays"
echo "$checks checks"

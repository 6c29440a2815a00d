#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# `ctf_version`: with 2, `trace/`, snapshots and the output of a session are CTF 2. A decoder that
# was written from the specification finds in them the events that export/json shows.
. "$(dirname "$0")/../../lib/mount.sh"
python3 -c 'import json' 2>/dev/null || skip "there is no python3"
fields=$BUILD/tests/lib/fields
mount_tree -o tz=UTC

same_events() { # TRACE JSON
	python3 "$top/tests/lib/judge_ctf2.py" "$1" "$2" >"$work/judged" ||
		fail "$1: $(head -c 3000 "$work/judged")"
	checks=$((checks + 1))
}

s=$S/two
mkdir "$s" "$s/user/channels/channel0" || fail mkdir
is "the default" '[1.8] 2' "$(cat "$s/ctf_version")"
is "a bad value" EINVAL "$(tool open "$s/ctf_version" wt write 3)"
has "$(cat "$s/error")" 'not one of 1.8, 2'
put 2 "$s/ctf_version"
is "what was written" '1.8 [2]' "$(cat "$s/ctf_version")"
has "$(cat "$s/config")" '^ctf_version = 2'
mkdir "$work/out" && put "$work/out" "$s/output"
put '*' "$s/user/events"
printf '%s\n' vpid procname '$app.fields:turn' '$app.fields:name' '$app.fields:half' \
	>"$s/user/channels/channel0/contexts" || fail "contexts"
put start "$s/control"
is "after the start" EBUSY "$(tool open "$s/ctf_version" wt write 1.8)"
"$fields" 50 >/dev/null || fail "fields"
"$BUILD/tests/mount/programs/many" >/dev/null 2>&1
echo 'a line with " and \ and é' >"$MNT/log"
put stop "$s/control"
cat "$s/export/json" >"$work/json"
[ "$(wc -l <"$work/json")" -gt 100 ] || fail "few events"
same_events "$s/trace" "$work/json"
mkdir "$s/snapshots/one" || fail "snapshot"
same_events "$s/snapshots/one" "$work/json"
same_events "$work/out/ust" "$work/json"
kill -KILL $(daemon_pids)
within 10 daemon_ended
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
mount_tree -o tz=UTC
is "after a restart of the daemon" '1.8 [2]' "$(cat "$s/ctf_version")"
same_events "$work/out/ust" "$work/json"
rmdir "$s"

# The default of a mount. Sessions that there are keep their version, across a restart as well.
mkdir "$S/first" "$S/second" || fail mkdir
put 2 "$S/second/ctf_version"
kill -KILL $(daemon_pids)
within 10 daemon_ended
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
mount_tree -o tz=UTC,ctf_version=2
is "a session of before" '[1.8] 2' "$(cat "$S/first/ctf_version")"
mkdir "$S/third" "$S/fourth" || fail mkdir
is "a new session" '1.8 [2]' "$(cat "$S/third/ctf_version")"
put 1.8 "$S/fourth/ctf_version"
grep -v '^ctf_version' "$S/third/config" >"$work/config"
put "$(cat "$work/config")" "$S/fourth/config"
is "a config without it" '1.8 [2]' "$(cat "$S/fourth/ctf_version")"
put 1.8 "$S/fourth/ctf_version"
kill -KILL $(daemon_pids)
within 10 daemon_ended
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
mount_tree -o tz=UTC
is "a restart without the option" '1.8 [2]' "$(cat "$S/third/ctf_version")"
is "what was written" '[1.8] 2' "$(cat "$S/fourth/ctf_version")"
is "what was written before" '1.8 [2]' "$(cat "$S/second/ctf_version")"
rmdir "$S/first" "$S/second" "$S/third" "$S/fourth"

# Metadata in packets, which babeltrace2 reads: of CTF 1.8. Those of CTF 2 differ by their header.
for version in 1.8 2; do
	s=$S/packets
	mkdir "$s" || fail mkdir
	put "$version" "$s/ctf_version"
	put packets "$s/metadata"
	has "$(cat "$s/config")" '^metadata = packets'
	put '*' "$s/user/events"
	put start "$s/control"
	"$fields" 5 >/dev/null || fail "fields"
	"$BUILD/tests/mount/programs/many" >/dev/null 2>&1
	put stop "$s/control"
	m=$(find "$s/trace" -name metadata)
	is "magic" "57 1d d1 75" "$(head -c 4 "$m" | od -An -tx1 | xargs)"
	is "version" "$version" "$(head -c 37 "$m" | tail -c 2 | od -An -tu1 | awk '
		{ print $1 == 2 && !$2 ? "2" : $1 "." $2 }')"
	if [ "$version" = 1.8 ] && command -v babeltrace2 >/dev/null; then
		same_text "$s"
	fi
	rmdir "$s"
done

# 512 events, each of another id, with 4 bytes of payload. Their headers have 4 or 6 bytes; those
# with a whole time, of which there are 7 in a second, have 13.
s=$S/wide
mkdir "$s" || fail mkdir
put 'many:*' "$s/user/events"
put start "$s/control"
"$BUILD/tests/mount/programs/many" >/dev/null 2>&1
put stop "$s/control"
bytes=$(awk '$1 == "bytes" { print $2 }' "$s/status")
is "events" 512 "$(wc -l <"$s/text")"
[ "$bytes" -lt $((512 * (8 + 4))) ] || fail "$bytes bytes for 512 events of 4 bytes"
rmdir "$s"

# The kernel's events: enumerations, arrays, headers with ids of 16 bits
if [ -d "$MNT/available/kernel" ] && ! grep -q '^kernel none' "$MNT/version"; then
	s=$S/kernel
	mkdir "$s"
	put 2 "$s/ctf_version"
	printf '%s\n' sched_switch 'syscall:*' 'lttng_statedump_*' >"$s/kernel/events" ||
		fail "kernel rules"
	echo 'pid procname' >"$s/kernel/contexts"
	echo $$ >"$s/kernel/track/pid"
	put start "$s/control"
	ls /proc/self >/dev/null
	put stop "$s/control"
	cat "$s/export/json" >"$work/json"
	same_events "$s/trace" "$work/json"
	[ "$(cat "$work/judged")" -gt 50 ] || fail "few events of the kernel"
	rmdir "$s"
fi
echo "$checks checks"

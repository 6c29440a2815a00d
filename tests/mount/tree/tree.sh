#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 400
#
# What exists, with which modes; what readdir lists can be looked up, and has the same inode number.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/rows.sh"
mount_tree

names() {
	ls -A "$1" | tr '\n' ' '
}

is "top" "README apps available error log metrics metrics.prom schema.json sessions status status.json triggers version " "$(names "$MNT")"
# The kernel domain is where a backend is
kernel=
grep -q '^kernel none' "$MNT/version" || kernel="kernel "
is "available" "jul jul.json ${kernel}${kernel:+kernel.json }log4j log4j.json log4j2 log4j2.json python python.json user user.json " "$(names "$MNT/available")"
# (probes: where more than one thing can record system calls)
probes=
[ ! -e "$MNT/available/kernel/probes" ] || probes="probes "
[ -z "$kernel" ] ||
	is "available/kernel" "contexts events groups ${probes}syscalls tracepoints " \
	"$(names "$MNT/available/kernel")"
is "available/user" "contexts fields tracepoints " "$(names "$MNT/available/user")"
is "no sessions yet" "" "$(names "$S")"
is "no apps yet" "" "$(names "$MNT/apps")"

# Modes of the top
modes() {
	(cd "$1" && shift && stat -c '%A %n' "$@")
}
is "modes of the top" "-r--r--r-- README
dr-xr-xr-x apps
dr-xr-xr-x available
-r--r--r-- error
--w--w--w- log
-r--r--r-- status
-r--r--r-- version" "$(modes "$MNT" README apps available error log status version)"
if [ "$(id -u)" = 0 ]; then
	is "everybody may make sessions" "drwxrwxrwt" "$(stat -c %A "$S")"
else
	is "sessions are the user's" "drwxr-xr-x" "$(stat -c %A "$S")"
fi

# Root files
has "$(cat "$MNT/README")" 'mkdir sessions/web'
is "README has its true size" "$(stat -c %s "$MNT/README")" "$(wc -c <"$MNT/README" | tr -d ' ')"
[ "$(wc -L <"$MNT/README")" -le 80 ] || fail "README has long lines"
has "$(cat "$MNT/version")" '^trailfs [0-9]'
has "$(cat "$MNT/version")" '^ctf 1\.8$'
has "$(cat "$MNT/version")" '^kernel '
has "$(cat "$MNT/version")" '^clock '
has "$(cat "$MNT/version")" '^time_zone .'
has "$(cat "$MNT/status")" '^sessions 0$'
is "no errors yet" "" "$(cat "$MNT/error")"

# A session
mkdir "$S/web" || fail "mkdir"
is "the session" "$(with_rows "archives checksum clock compress config control counts counts.json ctf_version error export input jul ${kernel}live_period log4j log4j2 metadata metrics metrics.prom output pipe pipe.json pipe.otlp pipe.symbols python rotate_period rotate_size rules.json snapshot_max_size snapshot_outputs snapshots stats stats.json status status.json text text.symbols top trace user wait " $(rows session/session_settings.def))" \
	"$(names "$S/web")"
if [ -n "$kernel" ]; then
	is "kernel" "channels contexts error events maps rules track " "$(names "$S/web/kernel")"
	is "kernel track" "cgroup gid pid uid vgid vpid vuid " "$(names "$S/web/kernel/track")"
	mkdir "$S/web/kernel/channels/k" || fail "mkdir of a kernel channel"
	is "a kernel channel" "$(with_rows "backend contexts enabled error events file_count file_size loss_mode memory_max_age monitor_period read_period status status.json streams subbuf_count subbuf_size switch_period " \
		$(rows session/channel_settings.def '\(KERNEL_\)\?SETTING'))" \
		"$(names "$S/web/kernel/channels/k")"
	rmdir "$S/web/kernel/channels/k" || fail "rmdir of a kernel channel"
fi
is "user" "channels contexts error events maps rules track " "$(names "$S/web/user")"
is "track" "cgroup vgid vpid vuid " "$(names "$S/web/user/track")"
is "all are tracked" "*" "$(cat "$S/web/user/track/vpid")"
is "no channels yet" "" "$(names "$S/web/user/channels")"
is "trace before the start" "" "$(names "$S/web/trace")"
is "private" "drwx------" "$(stat -c %A "$S/web")"
is "owner" "$(id -u) $(id -g)" "$(stat -c '%u %g' "$S/web")"
is "modes of a session" "-rw------- control
-r-------- error
-r-------- pipe
-r-------- status
-r-------- text
dr-x------ trace
dr-x------ user
-r-------- wait
drwx------ user/channels
-rw------- user/events" "$(modes "$S/web" control error pipe status text trace user wait user/channels user/events)"

# A channel
mkdir "$S/web/user/channels/fast" || fail "mkdir of a channel"
is "the channel" "$(with_rows "blocking_timeout buffer_preallocation buffering contexts enabled error events file_count file_size loss_mode memory_max_age monitor_period read_period status status.json streams subbuf_count \
subbuf_size switch_period " \
	$(rows session/channel_settings.def '\(USER_\)\?SETTING'))" \
	"$(names "$S/web/user/channels/fast")"
is "modes of a channel" "-rw------- buffering
-rw------- enabled
-rw------- events
-rw------- loss_mode
-r-------- status
dr-x------ streams
-rw------- subbuf_count
-rw------- subbuf_size" "$(modes "$S/web/user/channels/fast" buffering enabled events loss_mode status streams \
	subbuf_count subbuf_size)"

# chmod and its bits in what is below, also where the kernel has just been told other ones
is "a directory below" "dr-x------" "$(stat -c %A "$S/web/user")"
chmod 750 "$S/web" || fail "chmod"
is "chmod shows in a directory below" "dr-xr-x---" "$(stat -c %A "$S/web/user")"
is "chmod" "drwxr-x---" "$(stat -c %A "$S/web")"
is "chmod shows below" "-rw-r----- control
-r--r----- text
dr-xr-x--- trace
drwxr-x--- user/channels
-rw-r----- user/channels/fast/enabled" "$(modes "$S/web" control text trace user/channels user/channels/fast/enabled)"
chmod 770 "$S/web"
is "the group may write" "-rw-rw----" "$(stat -c %A "$S/web/control")"
chmod 700 "$S/web"
is "chmod shows there again" "dr-x------" "$(stat -c %A "$S/web/user")"

# What is listed can be looked up, has the type and number that were listed, and keeps them
(cd "$MNT" && find . ! -path ./apps/\* -printf '%i %y %p\n' | sort -k 3) >"$work/walk1"
(cd "$MNT" && find . ! -path ./apps/\* -printf '%p\n' | sort | xargs -d '\n' stat -c '%i %F %n' |
	sed 's/ regular empty file / f /; s/ regular file / f /; s/ directory / d /') | sort -k 3 >"$work/walk2"
cmp "$work/walk1" "$work/walk2" ||
	{ diff "$work/walk1" "$work/walk2"; fail "readdir and lookup differ"; }
is "inode numbers are unique" "" "$(cut -d ' ' -f 1 "$work/walk1" | sort | uniq -d)"
# (the digits of CPU time in status may grow)
ls -liR --time-style=+ "$MNT" | grep -Ev " (status|status.json|metrics|metrics.prom)$" >"$work/ls1"
ls -liR --time-style=+ "$MNT" | grep -Ev " (status|status.json|metrics|metrics.prom)$" >"$work/ls2"
cmp "$work/ls1" "$work/ls2" || fail "two ls -liR differ"
is "ls -a has dots" ". .. " "$(ls -a "$S/web/trace" | tr '\n' ' ')"
is "number of .." "$(stat -c %i "$S")" "$(stat -c %i "$S/web/..")"

# A session that is made again is another one
old=$(stat -c %i "$S/web")
(
	cd "$S/web" || exit 1
	rmdir "$S/web" && mkdir "$S/web" || fail "rmdir and mkdir from inside"
	[ ! -e control ] || fail "the removed session still has files"
	is "the removed session is empty" "" "$(ls 2>/dev/null)"
) || exit 1
[ "$old" != "$(stat -c %i "$S/web")" ] || fail "a new session has the inode number of the old one"
is "no channels in the new one" "" "$(names "$S/web/user/channels")"
rmdir "$S/web"
is "gone" "" "$(names "$S")"

# A channel, too, also while one sits in it
mkdir "$S/x" "$S/x/user/channels/c" || fail "mkdir"
(cd "$S/x/user/channels/c" && rmdir "$S/x/user/channels/c" && mkdir "$S/x/user/channels/c") ||
	fail "channel again"
is "the new channel works" "$(with_rows "blocking_timeout buffer_preallocation buffering contexts enabled error events file_count file_size loss_mode memory_max_age monitor_period read_period status status.json streams subbuf_count subbuf_size switch_period " \
	$(rows session/channel_settings.def '\(USER_\)\?SETTING'))" \
	"$(names "$S/x/user/channels/c")"
# rmdir of a session that is full, with open files
exec 3<"$S/x/status" 4<"$S/x/text" 5>"$S/x/control"
rmdir "$S/x" || fail "rmdir of a full session with open files"
cat <&3 >/dev/null || fail "an open status cannot be read any more"
cat <&4 >/dev/null || fail "an open text cannot be read any more"
is "a write to what was removed" "failed" "$(echo start 2>/dev/null >&5 || echo failed)"
exec 3<&- 4<&- 5>&-

# Dates, sizes, df
before=$(date +%s)
mkdir "$S/y"
made=$(stat -c %Y "$S/y")
[ "$made" -ge $((before - 1)) ] && [ "$made" -le $(($(date +%s) + 1)) ] ||
	fail "a session is as old as its mkdir"
is "size of pipe" 0 "$(stat -c %s "$S/y/pipe")"
df "$MNT" >/dev/null || fail "df"
is "name length" 255 "$(stat -f -c %l "$MNT")"
[ "$(stat -f -c %T "$MNT")" = fuseblk ] || [ "$(stat -f -c %T "$MNT")" = fuse ] ||
	fail "stat -f: $(stat -f -c %T "$MNT")"

# ls -lR, du, find: nothing blocks. (Thousands of files: seconds on a busy machine.)
timeout 200 ls -lR "$MNT" >/dev/null || fail "ls -lR"
timeout 200 du -a "$MNT" >/dev/null || fail "du"
timeout 200 find "$MNT" -type f -size +1M >/dev/null || fail "find"
echo "$checks checks"

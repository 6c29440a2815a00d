#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 90
#
# A daemon without descriptors (ulimit -n), then one without memory (ulimit -v): who asks for too
# much gets an errno; the daemon stays, and when what it had is given back, everything works, and it
# is as large as before.
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker
rss() { awk '/^RssAnon/ { print $2 }' "/proc/$pid/status"; }
descriptors() { find "/proc/$pid/fd" -mindepth 1 | wc -l; }
alive() {
	kill -0 "$pid" 2>/dev/null || fail "the daemon died: $(cat "$work/daemon.log")"
	timeout 200 cat "$MNT/version" >/dev/null || fail "the daemon does not answer"
}
# works: a session from mkdir to rmdir, with all that is in between
works() {
	mkdir "$S/works" && echo 'tick:*' >"$S/works/user/events" &&
		echo start >"$S/works/control" || fail "$1: start"
	"$ticker" 50 0 || fail "$1: ticker"
	is "$1: events" 50 "$(key events_recorded "$S/works/status")"
	is "$1: text" 50 "$(wc -l <"$S/works/text")"
	find "$S/works/trace" -type f -exec cat {} + >/dev/null || fail "$1: trace"
	rmdir "$S/works" || fail "$1: rmdir"
}
copy_status() { cat "$MNT/status" >"$work/status" 2>/dev/null; }
# many COUNT: sessions with a program that records in them, as far as it goes; what failed, by errno
many() {
	i=0
	while [ $i -lt "$1" ]; do
		i=$((i + 1))
		tool mkdir "$S/m$i"
		[ -d "$S/m$i" ] || continue
		tool open "$S/m$i/user/channels" r >/dev/null
		mkdir "$S/m$i/user/channels/c" 2>/dev/null &&
			echo "${2:-4096}" 2>/dev/null >"$S/m$i/user/channels/c/subbuf_size"
		tool open "$S/m$i/user/channels/c/events" w write 'tick:*\n'
		tool open "$S/m$i/control" w write 'start\n'
	done | sort | uniq -c >"$work/results"
	TRAIL_ATTACH_TIMEOUT=100 "$ticker" 100 0 || fail "a program ended with status $?"
	sort -rn "$work/results" | tr '\n' ' '
	# What may be said; a count is a write that was taken
	awk '$2 !~ /^(ok|[0-9]+|EMFILE|ENFILE|ENOMEM|ENOSPC|ENOENT|EIO|EINVAL|EAGAIN)$/ { bad = 1 } END { exit bad }' "$work/results" ||
		fail "what is this: $(cat "$work/results")"
	# (There may be no memory for a file at one moment, and some at the next.)
	within 20 copy_status || fail "status cannot be read"
	[ "$(key buffers "$work/status")" -lt "$1" ] ||
		fail "there was enough for all: $(cat "$work/status")"
	[ "$(key buffers_refused "$work/status")" -gt 0 ] ||
		fail "nothing is said of it: $(cat "$work/status")"
	# (By name: there may be no memory for a list.)
	for i in $(seq "$1"); do
		cat "$S/m$i/error"
	done >"$work/errors" 2>/dev/null
	has "$(cat "$work/errors")" 'no buffer'
	# All views of a few of them (SOAK: of all)
	set -- "$S"/m*
	[ -n "${SOAK-}" ] || set -- "$S"/m*[05] "$S"/m1
	find "$@" -type f ! -name 'pipe*' ! -name wait ! -path '*/streams/*' -exec cat {} + \
		>/dev/null 2>"$work/err"
	sed -n 's/.*: //p' "$work/err" | sort | uniq -c | sort -rn | head -n 5
}
remove() {
	for s in "$S"/m*; do
		[ ! -d "$s" ] || rmdir "$s" || fail "rmdir $s: $(cat "$MNT/error")"
	done
	is "sessions" 0 "$(key sessions "$MNT/status")"
	no_files() { [ "$(descriptors)" -le "$fds" ] &&
		[ "$(key frozen_bytes "$MNT/status")" = 0 ]; }
	within 15 no_files || fail "$fds descriptors before, $(descriptors) now"
	# An allocator keeps free memory between blocks in use.
	small() { [ "$(rss)" -le $((before + 8192)) ]; }
	[ -n "${SAN-}" ] || within 15 small || fail "memory: $before kB before, $(rss) kB now"
}
unmount() {
	fusermount3 -u "$MNT" && within 10 daemon_ended || fail "unmount"
}

# Descriptors
(ulimit -n 80 && mount_tree) || exit $?
pid=$(daemon_pids)
works "before"
before=$(rss) fds=$(descriptors)
many 60
alive
[ "$(descriptors)" -le 80 ] || skip "the limit is not obeyed: $(descriptors) of 80, $(grep open.files "/proc/$pid/limits")"
remove
works "with descriptors again"
unmount

# Memory: of addresses, which is what maps of buffers and large views take
case ${SAN:+-san/}$TRAILFS in *san/*) echo \
	"$checks checks (a sanitizer needs all addresses)"; exit 0 ;; esac
mount_tree
pid=$(daemon_pids)
size=$(awk '/^VmSize/ { print $2 }' "/proc/$pid/status")
command -v prlimit >/dev/null || skip "there is no prlimit"
prlimit --pid "$pid" --as=$(((size + 30000) * 1024)) || fail prlimit
works "before"
before=$(rss) fds=$(descriptors)
many 40 512k
alive
remove
works "with memory again"
# A view that is larger than what there is
mkdir "$S/v" "$S/v/user/channels/c" && echo 4M >"$S/v/user/channels/c/subbuf_size" &&
	echo 'trail:log' >"$S/v/user/channels/c/events" &&
	echo start >"$S/v/control" || fail "a session of 16 MB"
line=$(head -c 4000 /dev/zero | tr '\0' x)
i=0
while [ $i -lt 30 ]; do
	i=$((i + 1))
	for j in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
		echo "$line"
	done 2>/dev/null >"$MNT/log"
done
find "$S/v" -type f ! -name 'pipe*' ! -name wait ! -path '*/streams/*' -exec cat {} + \
	2>"$work/err" | wc -c
sed -n 's/.*: //p' "$work/err" | sort | uniq -c
alive
rmdir "$S/v" || fail rmdir
remove
works "after a large view"
unmount
# --- no inotify instance: the daemon says what is missing, and ends
if unshare -Urm sh -c 'echo 0 >/proc/sys/user/max_inotify_instances' 2>/dev/null; then
	mkdir "$work/other" "$work/other.state"
	TRAIL_RUNTIME_DIR=$work/other.state unshare -Urm sh -c \
		'echo 0 >/proc/sys/user/max_inotify_instances && exec "$TRAILFS" "$1"' sh \
			"$work/other" >"$work/out" 2>&1 &&
		fail "the daemon starts without inotify"
	has "$(cat "$work/out")" 'Too many open files, or inotify instances'
fi
echo "$checks checks"

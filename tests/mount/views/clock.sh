#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# `clock`: a session with `tai` shows the times of CLOCK_TAI, in text, in babeltrace2, after a
# restart of the daemon and from a saved configuration; others do not. The daemon sees a kernel that
# knows of 37 leap seconds.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
case ${SAN:-0} in 0) ;; *) skip "the daemon cannot be preloaded with a clock" ;; esac
${CC:-gcc} -O1 -shared -fPIC -o "$work/leap.so" -x c - -ldl <<'END2' || fail "leap.so does not build"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *ts)
{
	static int (*real)(clockid_t, struct timespec *);
	int ret;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	ret = real(id == CLOCK_TAI ? CLOCK_REALTIME : id, ts);
	ts->tv_sec += id == CLOCK_TAI ? 37 : 0;
	return ret;
}
END2
mount_leap() { LD_PRELOAD=$work/leap.so mount_tree; }
mount_leap
boot=$(cat /proc/sys/kernel/random/boot_id)

for s in tai mono; do
	mkdir "$S/$s" || fail "mkdir $s"
	is "the default of $s" '[mono] tai plugin' "$(cat "$S/$s/clock")"
	put 'tick:*' "$S/$s/user/events"
done
is "a bad value" "EINVAL" "$(tool open "$S/tai/clock" w write plug 2>&1 | grep -o EINVAL)"
has "$(cat "$S/tai/error")" 'not one of mono, tai, plugin'
put tai "$S/tai/clock"
is "what is written" 'mono [tai] plugin' "$(cat "$S/tai/clock")"

# judge SESSION NAME LEAP BEFORE: times are between BEFORE and now, LEAP seconds later
judge() {
	same_text "$S/$1"
	metadata=$(cat "$S/$1"/trace/ust/uid/*/*/metadata | tr -d '\000')
	has "$metadata" "name = \"$2\";"
	is "$1: clocks" "$2" "$(printf '%s\n' "$metadata" | sed -n 's/.*map = clock\.\(.*\)\.value;.*/\1/p' | sort -u)"
	uuid=$(printf '%s\n' "$metadata" | sed -n '/^clock/,/^}/s/.*uuid = "\(.*\)";/\1/p')
	case $2,$uuid in monotonic,"$boot" | tai,????????-*) ;; *) fail "$1: uuid $uuid" ;; esac
	[ "$2,$uuid" != "tai,$boot" ] || fail "$1: the UUID is that of the boot"
	at=$(TZ=UTC babeltrace2 --clock-seconds "$S/$1/trace" | sed -n '1s/^\[\([0-9]*\)\..*/\1/p')
	now=$(date +%s)
	[ $((at - $3)) -ge $(($4 - 1)) ] && [ $((at - $3)) -le $((now + 1)) ] ||
		fail "$1: an event at $at, not from $4 to $now and $3 later"
	checks=$((checks + 1))
}
for s in tai mono; do put start "$S/$s/control"; done
begin=$(date +%s)
"$BUILD/tests/lib/ticker" 5 0 || fail "ticker"
for s in tai mono; do put stop "$S/$s/control"; done
judge tai tai 37 "$begin"
judge mono monotonic 0 "$begin"
uuid_before=$(grep -a 'uuid = ' "$S/tai"/trace/ust/uid/*/*/metadata)
is "after the start" "EBUSY" "$(tool open "$S/tai/clock" w write mono 2>&1 | grep -o EBUSY)"
put 'regenerate metadata' "$S/tai/control"
judge tai tai 37 "$begin"

# saved and loaded
cat "$S/tai/config" >"$work/tai.ini"
has "$(cat "$work/tai.ini")" '^clock = tai$'
mkdir "$S/again"
cat "$work/tai.ini" >"$S/again/config" || fail "load: $(cat "$S/again/error")"
is "loaded" 'mono [tai] plugin' "$(cat "$S/again/clock")"
is "the other one" '[mono] tai plugin' "$(cat "$S/mono/clock")"

# a daemon that was killed
kill -9 $(daemon_pids)
within 60 daemon_ended
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
mount_leap
is "after a crash" 'mono [tai] plugin' "$(cat "$S/tai/clock")"
judge tai tai 37 "$begin"
is "the UUID of the trace and its clock" "$uuid_before" "$(grep -a 'uuid = ' "$S/tai"/trace/ust/uid/*/*/metadata)"
echo "$checks checks"

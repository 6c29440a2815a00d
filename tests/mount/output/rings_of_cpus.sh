#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# A channel's memory does not grow with the number of CPUs: the ring of a CPU takes memory when that
# CPU records, a sub-buffer at a time. (So one ring for all CPUs, as LTTng's `per-channel`, would
# save nothing where few CPUs record.)
. "$(dirname "$0")/../../lib/mount.sh"
[ "$(nproc)" -gt 1 ] || skip "there is one CPU"
command -v taskset >/dev/null || skip "there is no taskset"
mount_tree
cat >"$work/one.c" <<'END'
#include <trail/trail.h>
int main(void)
{
	for (int i = 0; i < 1000; i++)
		TRAIL(one, tick, i);
	return 0;
}
END
gcc -O2 -I"$top/ustlib" -o "$work/one" "$work/one.c" -L"$BUILD" -ltrail -Wl,-rpath,"$BUILD" ||
	fail "the program does not compile"
s=$S/s
c=$s/user/channels/c
mkdir "$s" "$c" && put 4M "$c/subbuf_size" && put 8 "$c/subbuf_count" && put 'one:*' "$c/events" &&
	put start "$s/control"
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
taskset -c "$cpu" "$work/one" || fail "the program ended with $?"
grep '^stream ' "$c/status" >"$work/streams"
is "streams" 1 "$(wc -l <"$work/streams")"
has "$(cat "$work/streams")" "^stream [0-9]*/cpu$cpu recorded 1000 "
resident=$(sed 's/.* resident //' "$work/streams")
[ "$resident" -gt 0 ] && [ "$resident" -le $((4 * 1048576 + 65536)) ] ||
	fail "one sub-buffer of 8 was written, and $resident bytes are resident"
put stop "$s/control"
rmdir "$s"

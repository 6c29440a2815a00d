#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Texts that fill a page in records of tracefs: in the kernel's own events, in event probes, and
# several in one record of a kprobe. The kernel counts no event that its sub-buffers have no room
# for: all are recorded, or the status says that they are missing.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
by_module && skip "it is about the buffers of tracefs"
by_instance
cat >"$work/long.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* long open N: opens N times "x". long exec N: /bin/true by a path of that length. */
int main(int count, char **words)
{
	static char path[8192];
	size_t n = count > 2 ? strtoul(words[2], NULL, 10) : 1;

	/* All of it, so that its pages are in memory. */
	memset(path, 'x', sizeof(path));
	path[n] = '\0';
	if (!strcmp(words[1], "open"))
		return open(path, O_RDONLY) >= 0;
	memset(path, '/', n);
	memcpy(path, "/bin", 4);
	memcpy(path + n - 4, "true", 4);
	execl(path, "true", (char *)NULL);
	return 1;
}
C
${CC:-cc} -o "$work/long" "$work/long.c" || skip "no compiler"

s=$S/l$mark
c=$s/kernel/channels/channel0
mkdir "$s" "$c"
put tracefs "$c/backend"
put sched:sched_process_exec "$s/kernel/events"
# Event probes read the text of system calls, unless the kernel has none: then it is an address. A
# kernel that has this file records the beginning of the text itself.
calls=
if [ ! -e $T/syscall_user_buf_size ] &&
	echo 'syscall:entry:openat if filename == "x*"' >>"$s/kernel/events"; then
	calls=1
fi 2>/dev/null
probes=
echo 'kprobe:begin_new_exec with '"$(printf 'bprm->filename:string as %s, ' a b c d)"'bprm->filename:string as e' \
	2>/dev/null >>"$s/kernel/events" && probes=1
echo start >"$s/control" || fail "start: $(cat "$s/error")"
sizes='3000 4000 4040 4060 4070 4080 4095'
for n in $sizes; do
	"$work/long" exec $n || fail "exec of $n bytes"
	"$work/long" open $n || fail "open of $n bytes"
done
echo stop >"$s/control"
# lengths EVENT FIELD: of the texts that begin with x or /bin/
lengths() {
	grep " $1: " "$s/text" | sed -n 's/.*[ {]'"$2"' = "\(\(x\|\/bin\/\/\)[^"]*\)".*/\1/p' |
		awk '{ printf "%d ", length($0) }'
}
# Whether this kernel has events of more than a page in large sub-buffers.
own=$T/instances/long$mark large=
mkdir "$own" || fail "no instance"
if echo 16 >"$own/buffer_subbuf_size_kb" && echo 1 >"$own/events/sched/sched_process_exec/enable"; then
	"$work/long" exec 4095
	! grep -q 'filename=/bin///' "$own/trace" || large=1
fi 2>/dev/null
rmdir "$own"
# recorded WHAT WORDS: as they are, or up to a page
recorded() {
	if [ "$large" ]; then
		is "$1" "$sizes " "$2"
	else
		is "$1, up to a page" "3000 4000 " "$(echo "$2" | sed 's/ 40[1-9].*/ /')"
	fi
}
if [ "$large" ]; then
	is "nothing is missing" "" "$(grep '^long_records' "$c/status")"
else
	has "$(cat "$c/status")" '^long_records not counted: events of more than .* bytes'
fi
recorded "the kernel's event" "$(lengths sched_process_exec filename)"
[ -z "$calls" ] || recorded "system calls" "$(lengths syscall_entry_openat filename)"
[ -z "$probes" ] || [ -z "$large" ] || for f in a b c d e; do
	is "field $f of kprobes" "$sizes " "$(lengths kprobe:begin_new_exec $f)"
done
is "none is discarded" 0 "$(key events_discarded "$s/status")"
if programs_record; then
	mkdir "$S/programs" "$S/programs/kernel/channels/channel0"
	put bpf "$S/programs/kernel/channels/channel0/backend"
	put sched:sched_process_exec "$S/programs/kernel/events"
	put start "$S/programs/control"
	is "tracefs records nothing" "" \
		"$(grep '^long_records' "$S/programs/kernel/channels/channel0/status")"
fi
echo "large: ${large:-0}, calls: ${calls:-0}, kprobes: ${probes:-0}; $checks checks"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# SOAK=1: LTTng's kernel modules record a trace in a guest, with contexts; a session outside imports
# it. Its text, and what babeltrace2 prints of its trace/, is what babeltrace2 prints of the trace.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/lttng_modules.sh"

record() { # In the guest. LOOP: as in tests/bench/vm/guest.sh
	LTTNG_HOME=/run/lttng-home
	export LTTNG_HOME
	mkdir -p $LTTNG_HOME && install_lttng_modules "$1" &&
		lttng-sessiond --background --quiet --kmod-probes=sched,irq &&
		lttng -n create k --output=/run/trace &&
		lttng -n enable-channel -k -s k --subbuf-size=1M --num-subbuf=8 ch &&
		lttng -n enable-event -k -s k -c ch 'sched_*,irq_*,softirq_*' &&
		lttng -n enable-event -k -s k -c ch --syscall openat,read,write,getppid,clone &&
		lttng -n add-context -k -s k -c ch -t pid -t tid -t procname -t ppid &&
		lttng -n start k || return
	for i in 1 2 3 4 5; do
		ls /usr >/dev/null
		sleep 0.1
	done
	lttng -n stop k && lttng -n destroy k && cp -r /run/trace "$OUT/trace"
}

if [ -n "${VM-}" ]; then
	record "$@" || exit
	exit 0
fi
[ -n "${SOAK-}" ] || { echo "LTTng's kernel modules are built for SOAK=1"; exit 77; }
for tool in babeltrace2 lttng lttng-sessiond; do
	command -v $tool >/dev/null || { echo "there is no $tool"; exit 77; }
done
. "$here/../lib/mount.sh"
! why=$(lttng_modules_missing) || skip "$why"
loop=$("$here/../bench/vm/modules" 6.1) || skip "$loop"
! why=$(lttng_modules_missing "$loop") || skip "$why"
OUT=$work/out
export OUT
mkdir "$OUT"
status=0
"$here/boot" 6.1 "$here/import_lttng.sh" "$loop" >"$work/guest" 2>&1 || status=$?
[ $status != 77 ] || skip "$(tail -n 1 "$work/guest")"
[ $status = 0 ] || fail "the guest: status $status: $(cat "$work/guest")"
TZ=UTC
export TZ
can_mount
"$TRAILFS" -f "$MNT" -o wait=100000,tz=UTC >>"$work/daemon.log" 2>&1 &
daemon=$!
within 20 test -s "$MNT/README" || skip "cannot mount here: $(tail -n 1 "$work/daemon.log")"
s=$S/old
mkdir "$s"
put "$OUT/trace" "$s/input"
babeltrace2 --clock-gmt "$OUT/trace" >"$work/original" 2>"$work/original.err" ||
	fail "babeltrace2: $(cat "$work/original.err")"
for what in ' sched_switch: ' ' syscall_entry_' ' syscall_exit_' ' softirq_\|irq_handler_' \
	'procname = "ls"' ' ppid = '; do
	grep -q "$what" "$work/original" || fail "LTTng recorded nothing with '$what'"
done
same_text "$s"
cmp "$work/bt" "$work/original" || fail "babeltrace2 prints another text of trace/"
echo "$(wc -l <"$work/original") events, $checks checks"

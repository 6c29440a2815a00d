#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 2400
#
# As import_lttng.sh, with LTTng 2.16 and babeltrace2 2.1.2 of Debian sid: its kernel modules are
# built for a guest, where its tools record the same events in CTF 2 and in CTF 1.8, with contexts.
# A session outside imports both traces; its text is what this babeltrace2 prints, byte for byte.
here=$(cd "$(dirname "$0")" && pwd)

# In the guest, in the root with Debian sid
if [ "${1-}" = record ]; then
	mkdir -p /run/home
	export HOME=/run/home LTTNG_HOME=/run/home
	lttng-sessiond --daemonize --kmod-probes=sched,irq,timer,signal,statedump,net,block \
		>/run/sessiond.log 2>&1 || { cat /run/sessiond.log; exit 1; }
	for format in ctf-2 ctf-1.8; do
		lttng -n create $format --output=/run/$format --trace-format=$format &&
			lttng -n enable-channel -k -s $format --subbuf-size=1M --num-subbuf=8 ch &&
			lttng -n enable-event -k -s $format -c ch 'sched_*,irq_*,softirq_*,timer_*,signal_*' &&
			lttng -n enable-event -k -s $format -c ch 'lttng_*' &&
			lttng -n enable-event -k -s $format -c ch --syscall \
				openat,read,write,getppid,clone,connect,poll,select,newselect,mmap || exit
		for c in pid tid procname ppid vpid vtid prio nice uid vgid cpu_id hostname pid_ns \
			interruptible need_reschedule callstack-user callstack-kernel; do
			lttng -n add-context -k -s $format -c ch -t $c || echo "no context $c"
		done
	done
	lttng -n start ctf-2 && lttng -n start ctf-1.8 || exit
	for i in 1 2 3; do
		ls /usr >/dev/null
		sleep 0.1
	done
	lttng -n destroy ctf-2 && lttng -n destroy ctf-1.8
	exit
fi

. "$here/../lib/lttng_modules.sh"

guest() { # LOOP ROOT
	install_lttng_modules "$1" && mkdir -p "$2/lib/modules" &&
		mount --bind /lib/modules "$2/lib/modules" || return
	for d in dev proc sys run; do mount --rbind /$d "$2/$d" || return; done
	cp "$here/import_lttng_new.sh" "$2/run/record"
	chroot "$2" sh /run/record record && cp -r /run/ctf-2 /run/ctf-1.8 "$OUT/"
}

if [ -n "${VM-}" ]; then
	guest "$@" || exit
	exit 0
fi
. "$here/../lib/mount.sh"
. "$here/../lib/sid.sh"
need_sid
! why=$(lttng_modules_missing) || skip "$why"
loop=$("$here/../bench/vm/modules" 6.1 sid) || skip "$loop"
! why=$(lttng_modules_missing "$loop") || skip "$why"
OUT=$work/out
export OUT
mkdir "$OUT"
status=0
"$here/boot" 6.1 "$here/import_lttng_new.sh" "$loop" "$sid_root" >"$work/guest" 2>&1 || status=$?
[ $status != 77 ] || skip "$(tail -n 1 "$work/guest")"
[ $status = 0 ] || fail "the guest: status $status: $(tail -n 40 "$work/guest")"
grep '^no context' "$work/guest" || :
TZ=UTC
export TZ
mount_tree -o tz=UTC
cat >"$work/read" <<'END'
TZ=UTC babeltrace2 "/mnt/out/$1" >"/mnt/$1.text" 2>"/mnt/$1.err"
END
for format in ctf-2 ctf-1.8; do
	sid read $format || fail "babeltrace2: $(head -n 5 "$work/$format.err")"
	s=$S/kernel-$format
	mkdir "$s" && put "$OUT/$format" "$s/input"
	cat "$s/text" >"$work/have"
	cmp "$work/$format.text" "$work/have" ||
		fail "the text of $format: $(diff "$work/$format.text" "$work/have" | cut -c1-400 | head -n 6)"
	for what in ' sched_switch: ' ' syscall_entry_' ' syscall_exit_' ' softirq_\|irq_handler_' \
		'procname = "ls"' ' ppid = ' ' timer_' ' lttng_statedump_' 'callstack_kernel = \['; do
		grep -q "$what" "$work/have" || fail "LTTng recorded nothing with '$what' in $format"
	done
	echo "$format: $(wc -l <"$work/have") events"
	checks=$((checks + 1))
done
echo "$checks checks"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Rules of maps whose events BPF programs count in the kernel: two million calls (SOAK: ten) are
# counted, none is lost; numbers and keys are those that the daemon makes of the same events; values survive the
# daemon, and end with the map.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
cat >"$work/calls.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * calls N [K]: stops; N times getsid; lseek to 0, 1, 7, 8, 300 and 2^40 of a file, two that fail,
 * and to K more places from 5000 on; brk with the same numbers, which change nothing: they are
 * below the break, or above all memory
 */
int main(int argc, char **argv)
{
	static const long places[] = { 0, 1, 7, 8, 300, 1L << 40, -1, -1 };
	long n = argc > 1 ? atol(argv[1]) : 0;
	FILE *f = tmpfile();

	raise(SIGSTOP);
	for (long i = 0; i < n; i++)
		syscall(SYS_getsid, 0);
	for (int i = 0; f && i < 8; i++)
		syscall(SYS_lseek, fileno(f), places[i], SEEK_SET);
	for (int i = 0; i < 8; i++)
		syscall(SYS_brk, places[i] == 1L << 40 ? -9L : places[i]);
	for (long i = 0; f && argc > 2 && i < atol(argv[2]); i++)
		syscall(SYS_lseek, fileno(f), 5000 + i, SEEK_SET);
	return !f;
}
C
${CC:-cc} -include signal.h -o "$work/calls" "$work/calls.c" || skip "no compiler"

# begin N [K]: a process that is about to make its calls, as $pid; $number is the kernel's number of it
begin() {
	"$work/calls" "$@" &
	pid=$!
	within 20 stands $pid || fail "the program does not stop"
	number=$(kernel_pid $pid)
}
go_on() { kill -CONT $pid && wait $pid || fail "the program failed"; }

# of RULE: its lines in the values; value WORD RULE: the number after the word
of() { awk -v r="rule $1" '$0 == r { on = 1 } on && !NF { exit } on' "$values"; }
value() { of "$2" | awk -v k="$1" '$1 == k { print $2 }'; }
# rows RULE: its rows, without the heading
rows() { of "$1" | sed '1,/^#/d'; }

s=$S/m$mark
m=$s/kernel/maps/calls
values=$work/values
# (A guest is slow.)
many=2000000
[ -z "${SOAK-}" ] || many=10000000
[ -z "${VM-}" ] || many=200000
begin $many
mkdir "$s" "$m"
exact="syscall:entry:getsid if \$ctx.tid == $number by \$event,\$ctx.procname,\$ctx.tid"
put "$exact" "$m/rules"
put start "$s/control"
cat "$m/values" >"$values"
[ "$(value counted_by "$exact")" = kernel ] ||
	skip "BPF programs count nothing here: $(grep '^kernel' "$MNT/version")"
go_on
cat "$m/values" >"$values"
is "many" "$many syscall_entry_getsid calls $number" "$(rows "$exact" | xargs)"
is "none lost" "$many 0 0 0" \
	"$(value events "$exact") $(value lost "$exact") $(value missing "$exact") $(value left_out "$exact")"
is "json" '"counted_by":"kernel"' "$(grep -o '"counted_by":"[a-z]*"' "$m/values.json")"

# --- the daemon has the same of the same events; a pattern with a star may match later ones
begin 0
only="if \$ctx.tid == $number"
ops='count, sum(ret), min(ret), max(ret), avg(ret), hist(ret), lhist(ret, -40, 310, 50)'
for pattern in 'syscall:exit:lseek' 'syscall:exit:lsee*'; do
	echo "$pattern $only by ret"
	echo "$pattern $only by \$ctx.procname,\$event $ops"
	echo "$pattern $only && (ret >= 7 && ret < 9 || ret != 0 && ret < 0) by \$ctx.tid sum(ret)"
	# (an unsigned number of 64 bits)
	echo "$(echo "$pattern" | sed s/exit:lsee/entry:br/) $only by \$ctx.tid lhist(brk, -40, 310, 50)"
done >"$work/rules"
cat "$work/rules" >"$m/rules" || fail "rules"
go_on
cat "$m/values" >"$values"
[ "$(grep -c '^counted_by kernel' "$values")" = 4 ] && [ "$(grep -c '^counted_by daemon' "$values")" = 4 ] ||
	fail "who counts: $(grep -e '^rule' -e '^counted_by' "$values")"
for i in 1 2 3 4; do
	rule=$(sed -n ${i}p "$work/rules")
	twin=$(sed -n $((i + 4))p "$work/rules")
	is "rows of $rule" "$(rows "$twin" | sort)" "$(rows "$rule" | sort)"
	[ -n "$(rows "$rule")" ] || fail "$rule has no rows"
done
is "failures" "2 -22" "$(rows "$(sed -n 1p "$work/rules")" | grep ' -22$' | xargs)"
is "sum" "$((0 + 1 + 7 + 8 + 300 + 1099511627776 - 44))" \
	"$(rows "$(sed -n 2p "$work/rules")" | awk 'NR == 1 { print $2 }')"

# --- clear; stop and start; a kill of the daemon; too many keys
all='syscall:entry:getsid by $ctx.procname'
named() { cat "$m/values" >"$values"; rows "$all" | awk '$2 == "calls" { print $1 }'; }
put "$all" "$m/rules"
begin 1000; go_on
is "before clear" 1000 "$(named)"
put 1 "$m/clear"
is "cleared" "" "$(named)"
begin 50; go_on
is "after clear" 50 "$(named)"
put clear "$s/control"
is "cleared with the session" "" "$(named)"
begin 30; go_on
put stop "$s/control"
begin 7; go_on
is "stopped" 30 "$(named)"
put start "$s/control"
begin 5; go_on
is "started again" 35 "$(named)"
since=$(grep '^since ' "$values")
kill -9 $(daemon_pids)
within 20 daemon_ended
end_dead_mount "$MNT"
begin 100; go_on
mount_tree
begin 20; go_on
is "with those of before, and while there was no daemon" 155 "$(named)"
is "still" kernel "$(value counted_by "$all")"
is "since when" "$since" "$(grep '^since ' "$values")"
put $$ "$s/kernel/track/pid"
begin 40; go_on
is "the daemon continues with these values" 195 "$(named)"
is "now" daemon "$(value counted_by "$all")"
put '*' "$s/kernel/track/pid"
few='syscall:entry:lseek if offset >= 0 by offset'
put "$few" "$m/rules"
put 2 "$m/max_keys"
begin 0; go_on
cat "$m/values" >"$values"
is "more keys than fit" "kernel 2" "$(value counted_by "$few") $(rows "$few" | wc -l)"
[ "$(value left_out "$few")" -ge 4 ] || fail "left out: $(cat "$values")"
is "all are said" "$(value events "$few")" \
	"$(($(value left_out "$few") + $(rows "$few" | awk '{ n += $1 } END { print n }')))"

# --- keys from before a clear leave room for others, also if no process reads in between
# (Other programs call lseek, too: these offsets are 100 whoever calls.)
few='syscall:entry:lseek if offset >= 5000 && offset < 5100 by offset'
put "$few" "$m/rules"
put 150 "$m/max_keys"
for i in 1 2 3; do
	put clear "$s/control"
	begin 0 100; go_on
done
cat "$m/values" >"$values"
is "keys after three clears" "100 0" \
	"$(rows "$few" | wc -l) $(value left_out "$few")"

# --- what programs cannot do is the daemon's
for rule in 'syscall:exit:lseek topk(ret, 3)' 'syscall:openat count' \
	'pair syscall:entry:lseek syscall:exit:lseek on $ctx.tid count' \
	'sched_switch if prev_comm == "calls" count' 'sched:sched_wake* count'; do
	put "$rule" "$m/rules"
	cat "$m/values" >"$values"
	case $rule in
	*openat*) want=kernel ;;
	*) want=daemon ;;
	esac
	is "$rule" $want "$(value counted_by "$rule")"
done

# --- no program is left
keeper=$(ps -eo pid=,args= | awk -v a="trail-keeper --keeper $TRAIL_RUNTIME_DIR" \
	'{ p = $1; sub(/^ *[0-9]* /, "") } $0 == a { print p }')
put "$all" "$m/rules"
held() { cat /proc/"$keeper"/fdinfo/* 2>/dev/null | grep -c '^prog_id'; }
[ "$(held)" -gt 0 ] || fail "the keeper holds no program"
rmdir "$m"
is "programs that are left" 0 "$(held)"
rmdir "$s"
echo "$checks checks"

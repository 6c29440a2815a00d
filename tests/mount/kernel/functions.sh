#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Rules on several functions of a file: uprobe:PATH:PATTERN, uretprobe:, ucall:. Each function is an
# event of its own, the same as by a rule on it alone; the rule is one line; its removal removes all;
# a daemon that is started again has them. What is refused is tested on any kernel; the rest skips
# where the kernel has no uprobes.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
cat >"$work/more.c" <<'C'
int more(int n);
static __attribute__((noinline)) int work_same(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 2;
}
int more(int n)
{
	return work_same(n);
}
C
cat >"$work/prog.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int more(int n);
#define FUNCTION __attribute__((noinline)) int
static FUNCTION work_same(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
FUNCTION work_add(int n) { __asm__ volatile("" : "+r"(n)); return n + 3; }
FUNCTION work_sub(int n) { __asm__ volatile("" : "+r"(n)); return n - 3; }
FUNCTION work_never(int n) { __asm__ volatile("" : "+r"(n)); return n; }
FUNCTION other(int n) { __asm__ volatile("" : "+r"(n)); return n; }
int __work_alias(int n) __attribute__((alias("work_add")));

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;

	for (int i = 0; i < 3; i++)
		n = work_add(work_same(more(n)));
	n = other(work_sub(n));
	if (n == 1000000)
		work_never(n);
	printf("%d\n", kernel_pid());
	return 0;
}
C
awk 'BEGIN { for (i = 0; i < 300; i++) printf "int f_%d(int n) { return n + %d; }\n", i, i
	print "int main(void) { return 0; }" }' >"$work/many.c"
P=$work/prog
${CC:-cc} $with_kernel_pid -O1 -o "$P" "$P.c" "$work/more.c" || skip "no compiler"
${CC:-cc} -o "$work/many" "$work/many.c" || skip "no compiler"
s=$S/f$mark
mkdir "$s"
E=$s/kernel/events

# refused ERRNO WORDS RULE
refused() {
	is "'$3'" "$1" "$(tool open "$E" w write "$3\n")"
	has "$(cat "$s/error")" "$2"
	is "rules after '$3'" "" "$(cat "$E")"
}

refused ENOENT "no function that matches 'nothing_\*'" "uprobe:$P:nothing_*"
refused E2BIG "300 functions .*at most 256" "uprobe:$work/many:f_*"
refused E2BIG "300 functions .*at most 256" "ucall:$work/many:f_*"
refused EINVAL "no offset" "uprobe:$P:work_*+4"
refused EINVAL "'\\*' only" "uprobe:$P:work_*@V1"
refused EINVAL "gives them no name" "uprobe:$P:work_* as mine"
refused EINVAL "function:NAME take" "kprobe:vfs_*"

# --- the events
grep -q '^kernel.*no uprobes' "$MNT/version" && skip "this kernel has no uprobes"
# made: events of this daemon in the kernel
made() { grep -c "$(kernel_probes "f$mark")" $T/dynamic_events; }
echo tid >"$s/kernel/contexts"
rule="uprobe:$P:work_*"
echo "$rule" >"$E" || fail "$(cat "$s/error")"
is "one line" "$rule" "$(cat "$E")"
is "one rule" "5 $rule" "$(awk '$1 == "channel0" { print $2, $4 }' "$s/kernel/rules")"
echo start >"$s/control"
pid=$("$P" 5)
is "events in the kernel" 5 "$(made)"
# seen: the functions of that run, in the order of the trace
seen() {
	sed -n "s/^.*prog:\([a-z_]*\)[^ ]*: .*{ tid = $pid }.*/\1/p" "$s/text"
}
same=$(nm "$P" | sed -n 's/^0*\([0-9a-f]*\) t work_same$/_\1/p')
count() { awk -v e="$1" '$3 == e { print $4 }' "$s/counts"; }
is "calls" "work_same_ work_same_ work_add work_same_ work_same_ work_add work_same_ work_same_ work_add work_sub" \
	"$(echo $(seen))"
for f in work_add $(printf 'work_same%s ' $same); do
	is "calls of $f" 3 "$(count "uprobe:$P:$f")"
done
is "calls of work_sub" 1 "$(count "uprobe:$P:work_sub")"
is "not called" "" "$(count "uprobe:$P:work_never")"
same_text "$s"

# --- a rule on one of them means the same event
echo "uprobe:$P:work_add" >>"$E"
is "one event" 5 "$(made)"
pid=$("$P" 5)
is "recorded once" 3 "$(seen | grep -c work_add)"
echo "!uprobe:$P:work_add" >>"$E"
pid=$("$P" 5)
is "by the pattern" 3 "$(seen | grep -c work_add)"

# --- a filter, extra data, entry and return
cat >"$E" <<RULES || fail "$(cat "$s/error")"
uprobe:$P:work_s* with \$arg1:s32 as n if n > 8
ucall:$P:work_a* with \$retval:s32 as got
RULES
pid=$("$P" 5)
grep "{ tid = $pid }" "$s/text" >"$work/run"
is "entries" 3 "$(grep -c ' work_add_entry: .*{ ip = 0x[0-9A-F]* }$' "$work/run")"
is "returns" "11 17 23" "$(echo $(sed -n 's/.* work_add_exit: .*got = \([0-9]*\).*/\1/p' "$work/run"))"
is "filtered" "11 13 17 19 23" "$(echo $(sed -n 's/.*:work_s[a-z_0-9]*: .* n = \([0-9]*\).*/\1/p' "$work/run"))"
has "$(cat "$s/stats")" '^pair kernel .* work_add$'
echo stop >"$s/control"

# --- a daemon that is started again has them
is "before" 5 "$(made)"
cat "$E" >"$work/rules"
echo start >"$s/control"
kill -9 $(daemon_pids)
within 20 daemon_ended || fail "the daemon does not end"
fusermount3 -u "$MNT" 2>/dev/null || umount -l "$MNT"
pid=$("$P" 5)
mount_tree
is "rules" "$(cat "$work/rules")" "$(cat "$E")"
is "after" 5 "$(made)"
is "without a daemon" 6 "$(grep "{ tid = $pid }" "$s/text" | grep -c work_add_)"
pid=$("$P" 5)
is "with the next" 6 "$(grep "{ tid = $pid }" "$s/text" | grep -c work_add_)"
cat "$s/config" >"$work/saved"
left=$(kernel_probes "f$mark")
rmdir "$s"
is "all are removed" 0 "$(grep -c "$left" $T/dynamic_events)"

# --- only names that are exported, from a configuration
mkdir "$s"
strip "$P" 2>/dev/null
cat "$work/saved" >"$s/config" 2>/dev/null && fail "a program without names has functions"
has "$(cat "$s/error" "$MNT/error")" "no function .*stripped"
rmdir "$s"
echo "$checks checks"

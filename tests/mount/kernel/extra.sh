#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Extra data of rules (`with`): what is refused, with the place of the mistake, and what probes of a
# program record where the kernel has uprobes. tests/vm/probes.sh has probes of the kernel.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
s=$S/x$mark
mkdir "$s"
E=$s/kernel/events

# refused 'RULE' WORDS: the caret is below the mark ^ of the rule, which is not written
refused() {
	rule=$(printf '%s' "$1" | tr -d '^')
	before=${1%%^*}
	is "'$rule'" EINVAL "$(tool open "$E" w write "$rule\n")"
	head -n 3 "$s/error" >"$work/error"
	has "$(cat "$work/error")" "$2"
	caret=$(sed -n '3s/^  \( *\)^.*/\1/p' "$work/error")
	is "place in '$rule'" ${#before} ${#caret}
}

# --- mistakes of any kind
K=kprobe:vfs_read
refused "$K with^" 'an expression is missing'
refused "$K with a,^" 'an expression is missing'
refused "$K with ^if a == 1" 'an expression is missing'
refused "$K with ^\$arg" 'no such place; there are'
refused "$K with ^\$arg0" 'no such place; there are'
refused "$K with file->^" 'the name of a member is missing'
refused "$K with file^-x" "follows '->'"
refused "$K with +8^" 'memory is given as'
refused "$K with +8(\$arg1^" "')' is missing"
refused "$K with \$arg1^)" 'not expected here'
refused "$K with \$arg1:^u31" "did you mean 'u32'"
refused "$K with \$arg1:^float" 'types are u8'
refused "$K with \$arg1 as ^8" "field's name has letters"
refused "$K with \$arg1 as n, ^\$arg2 as n" 'the same name'
refused "$K with ^\$arg1 as ip" 'a field of this name'
refused "$K with \$arg1 ^with \$arg2" "'with' comes once"
refused "$K ^wiht \$arg1" "did you mean 'with'"
refused "$K with +8(\$arg1)^->x" 'not expected here'
refused "$K with a$(printf -- '->b%.0s' $(seq 16))^->b" 'more than 16'
refused "* ^with \$arg1" 'for one tracepoint'
refused "sched_switch except sched_waking ^with a" 'for one event'
refused "syscall:read ^with fd" 'only tracepoints and probes'
refused "@netdev ^with skb->len" 'a hook has no extra data'
is "no such tracepoint" ENOENT "$(tool open "$E" w write 'sched_swich with next->pid\n')"
has "$(head -n 3 "$s/error")" "did you mean 'sched_switch'"
# … and what a misspelt kind of rule is nearest to
is "no such kind" ENOENT "$(tool open "$E" w write 'kcal:vfs_read\n')"
has "$(head -n 3 "$s/error")" "did you mean 'kcall'"
if [ -e /sys/kernel/btf/vmlinux ]; then
	refused "net_dev_queue with ^socket->x" 'no argument of this name'
	refused "net_dev_queue with skb->^mac_lem" "did you mean 'mac_len'"
	# (A tracepoint probe has the argument.)
	if by_module; then
		is "trail.ko" EOPNOTSUPP "$(tool open "$E" w write 'sched_switch with next->pid\n')"
	elif grep -qF ' t[:[<group>/][<event>]] <tracepoint>' $T/README; then
		put 'sched_switch with next->pid' "$E"
		put '' "$E"
	else
		refused "sched_switch with ^next->pid" 'does not have this pointer'
	fi
fi
is "user domain" EINVAL "$(tool open "$s/user/events" w write 'a:b with arg0\n')"
has "$(cat "$s/error")" "only rules of the kernel domain have 'with'"
# … with the program's or the kernel's types
P=$work/prog
cat >"$P.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A probe with a pointer and a number, as <sys/sdt.h> writes it. */
#define PLACE(text, n) \
	__asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 8,994f-993f,3\n" \
			 ".asciz \"stapsdt\"\n993: .8byte 990b, _.stapsdt.base, 0\n.asciz \"demo\"\n.asciz \"query\"\n" \
			 ".asciz \"8@%%rdi -4@%%esi -8@$77\"\n994: .balign 4\n.popsection\n" \
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
			 ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n.ifndef _.stapsdt.base\n_.stapsdt.base: .space 1\n" \
			 ".size _.stapsdt.base,1\n.endif\n.popsection" : : "D"(text), "S"(n) : "memory")

struct item {
	long id;
	const char *text;
	unsigned short port;
};

__attribute__((noinline)) long probed(const struct item *i, int n)
{
	__asm__ volatile("" : : "r"(i), "r"(n) : "memory");
	return i ? 1000 - n : -1;
}

int main(void)
{
	char query[64];
	struct item i = { .text = query };

	for (int n = 1; n <= 20; n++) {
		snprintf(query, sizeof(query), "SELECT %d FROM \"t,{}\"", n);
		i.id = -n;
		i.port = (unsigned short)(60000 + n);
		probed(&i, n);
		PLACE(query, -n);
	}
	probed(NULL, 21);
	printf("%d\n", kernel_pid());
	return 0;
}
C
${CC:-cc} $with_kernel_pid -O1 -fcf-protection=none -o "$P" "$P.c" || skip "no compiler"
U=uprobe:$P:probed
D=usdt:$P:demo:query
refused "$U with \$arg1^->id" 'types of programs are not known'
refused "$U with ^item" "names of a program's arguments are not known"
refused "$U with ^\$retval" 'only return probes'
refused "$U with ^\$arg7" 'in no register'
refused "$U+1 with ^\$arg1" "function's entry"
refused "uretprobe:$P:probed with ^\$arg1" "function's entry"
refused "$D with ^\$arg1" 'are arg0, arg1'
refused "$D with ^arg3" 'has no argument 3'
refused "$D with ^arg1:string" 'argument 1 is no pointer'
refused "$D with ^arg2:string" 'argument 2 is no pointer'
refused "$D with ^\$comm:u32" 'is a string'
is "nothing was taken" "" "$(cat "$E")"

grep -q '^kernel.*no uprobes' "$MNT/version" && skip "this kernel has no uprobes"
rules="$D with arg0:string as query, arg1, arg1:u8 as low
$U with \$arg1 as item, +0(\$arg1):s64 as id, +0(+8(\$arg1)):string as text, +16(\$arg1):u16 as port, \$comm
$U with \$arg2:s32 as n, %si as si if n > 5
uretprobe:$P:probed with \$retval:s64 as result, \$retval as raw"
echo tid >"$s/kernel/contexts"
printf '%s\n' "$rules" | sed 's/ as \([a-z]*\),/  as	\1 ,  /' >"$E" || fail "$(cat "$s/error")"
is "reads as written" "$rules" "$(cat "$E")"
echo start >"$s/control"
probes=$(kernel_probes "x$mark")
is "probes" 4 "$(grep -c "${probes:-no instance}" $T/uprobe_events)"
pid=$("$P")
echo stop >"$s/control"
same_text "$s"
# seen EVENT FIELDS: events of the program that have them
seen() {
	grep -c ":$1: .*{ tid = $pid }, .*$2\(, unavailable = \"\"\)\? }\$" "$work/text"
}
for n in 1 7 20; do
	is "string of a usdt probe" 1 "$(seen query \
		"arg2 = 77, query = .SELECT $n FROM ..t,{}.*, arg1 = -$n, low = $((256 - n))")"
	is "memory of a uprobe" 1 "$(seen probed \
		"id = -$n, text = .SELECT $n FROM .*, port = $((60000 + n)), comm = .prog.")"
	is "return value" 1 "$(seen probed \
		"parent_ip = .*, result = $((1000 - n)), raw = $((1000 - n))")"
done
is "a filter on extra data" 16 "$(seen probed '{ ip = 0x[0-9A-F]*, n = [0-9]*, si = [0-9]*')"
is "not those" 0 "$(seen probed ', n = [1-5], si = .*')"
is "a pointer that leads nowhere" 1 "$(seen probed 'item = 0, id = 0, .*comm = .prog., unavailable = .id text port.')"
is "no loss" 0 "$(key events_discarded "$s/status")"
sed -n '1,3p' "$s/counts" >/dev/null || fail "counts"
cat "$s/config" >"$work/saved"
rmdir "$s"
mkdir "$s"
cat "$work/saved" >"$s/config" || fail "configuration: $(cat "$s/error")"
is "from a configuration" "$rules" "$(cat "$E")"
echo "!$U with \$arg2:s32 as n,  %si as si if n > 5" >>"$E" || fail "$(cat "$s/error")"
is "one is removed" "$(printf '%s' "$rules" | grep -v 'n > 5')" "$(cat "$E")"
echo "!$U" >>"$E"
is "all of the pattern" "$(printf '%s' "$rules" | grep -v '^uprobe')" "$(cat "$E")"
rmdir "$s"
is "no probe is left" 0 "$(grep -c "$probes" $T/uprobe_events)"
echo "$checks checks"

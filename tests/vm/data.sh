#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# What system calls are given: `with data` records the bytes of write(2), and no other rule does,
# neither in the trace nor in the kernel's buffers. Kernels that record no such bytes (before Linux
# 6.19), and trail.ko, refuse the rule with a sentence.
# For SOAK=1 only.
[ -n "${VM_KERNEL-}${SOAK-}${VM-}" ] || { echo "only when asked: VM_KERNEL=... or SOAK=1"; exit 77; }
kernels_in_soak="6.1 backports"
. "$(dirname "$0")/lib.sh"

mount_tree
s=$S/t
mkdir "$s"
refuses() { # RULE SENTENCE
	{ echo "$1" >"$s/kernel/events"; } 2>/dev/null && fail "accepted: $1"
	grep -q "$2" "$s/error" || fail "$1: $(cat "$s/error")"
	checks=$((checks + 1))
}
refuses 'syscall:wri* with data' 'data are of one system call'
refuses 'syscall:exit:write with data' 'the entry of a system call has its data'
refuses 'syscall:write with fd' 'a system call has its arguments as fields'
if [ ! -e $T/syscall_user_buf_size ]; then
	refuses 'syscall:write with data' 'this kernel does not record the bytes'
	echo "$checks checks"
	exit 0
fi
refuses 'syscall:getppid with data' "no bytes that 'getppid' is given"

# both SESSIONS: one with the bytes and one without, at the same time
mkdir "$S/u"
echo 'syscall:write with data if fd == 1' >"$s/kernel/events" || fail "$(cat "$s/error")"
is "the rule" 'syscall:write with data if fd == 1' "$(cat "$s/kernel/events")"
echo 'syscall:*' >"$S/u/kernel/events"
for d in "$s" "$S/u"; do
	echo tid >"$d/kernel/contexts"
	echo $$ >"$d/kernel/track/pid"
	echo start >"$d/control" || fail "$(cat "$d/error")"
done
is "as much as the kernel gives" 165 "$(cat $T/instances/trailfs-t-*/syscall_user_buf_size)"
/bin/echo "a secret word" >"$work/out"
/bin/cat /no/such/file 2>"$work/out"     # says so on descriptor 2
/usr/bin/printf 'x\0y%0300d' 1 >"$work/out"
echo 0 | tee $T/instances/trailfs-u-*/tracing_on >/dev/null     # else this read is recorded, too
grep -q 'secret' $T/instances/trailfs-u-*/trace && fail "the kernel has the bytes without a rule"
echo stop >"$s/control"
echo stop >"$S/u/control"
same_text "$s"
is "the bytes" 1 "$(grep -c 'syscall_entry_write: .*fd = 1, buf = 0x[0-9A-F]*, count = 14, _data_length = 14, data = "a secret word' "$work/text")"
grep -q 'No such file' "$work/text" && fail "the filter lets another through"
# A NUL is a byte as any other, and what is too long is cut.
is "a NUL, and the limit" 1 \
	"$(grep -c 'syscall_entry_write: .*count = 303, _data_length = 165, data = "x' "$work/text")"
cat "$S/u/text" >"$work/text"
[ "$(grep -c 'syscall_entry_write: ' "$work/text")" -ge 3 ] || fail "the other has no writes"
grep -q secret "$work/text" && fail "the bytes are in a trace without such a rule"

# --- more rules while it records; the next daemon
echo start >"$s/control"
echo 'syscall:write' >>"$s/kernel/events" || fail "$(cat "$s/error")"
kill -9 $(daemon_pids)
within 20 daemon_ended
umount -l "$MNT"
/bin/echo "without a daemon" >"$work/out"
mount_tree
echo stop >"$s/control"
cat "$s/text" >"$work/text"
# (Other processes of this test may write as many bytes.)
is "both events" "1 1" "$(awk '
	/entry_write: .*count = 17/ { tid = $0; sub(/.*{ tid = /, "", tid); sub(/ .*/, "", tid) }
	/entry_write: .*count = 17, .*data = "without a daemon/ { a++; who = tid }
	/entry_write: .*count = 17 }/ { plain[tid]++ }
	END { print a + 0, plain[who] + 0 }' "$work/text")"
echo "$checks checks"

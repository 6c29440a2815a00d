#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# export/lket of a trace that another kernel made: what the kernel's events have as unsigned numbers
# is unsigned in LKET's fields, and each hook has the records of the best event that the trace has.
. "$(dirname "$0")/../../lib/mount.sh"
command -v python3 >/dev/null || skip "there is no python3"
mount_tree

PYTHONPATH=$top/tests/lib python3 -B - "$work" <<'END' || fail "no traces were written"
from ctf_trace import *

begin = TYPES + """trace { major = 1; minor = 8; byte_order = le; };
typealias integer { size = 32; align = 8; signed = true; } := int;
stream { event.header := struct { uint8_t id; }; };
"""
exec_event = "event { name = sched_process_exec; id = 0; fields := struct { string filename; int tid; }; };"
call_event = "event { name = syscall_entry_execve; id = 1; fields := struct { string filename; }; };"
trace("events", begin + exec_event + call_event + """
event { name = block_rq_complete; id = 2; fields := struct { uint32_t dev; uint64_t sector; }; };
event { name = net_dev_start_xmit; id = 3; fields := struct { string name; uint32_t len;
uint16_t protocol; uint32_t truesize; }; };
event { name = sched_switch; id = 4; fields := struct { int prev_tid; uint64_t prev_state; int next_tid; }; };
event { name = signal_generate; id = 5; fields := struct { int sig; int pid; int group; int result; }; };
event { name = syscall_entry_rt_sigpending; id = 6; fields := struct { uint64_t uset; uint64_t sigsetsize; }; };
""", s0=b"\1/bin/a\0" + b"\0/bin/a\0" + struct.pack("<i", 7) +
      b"\2" + struct.pack("<IQ", 254 << 20 | 200, 9) +
      b"\3lo\0" + struct.pack("<IHI", 4000000000, 0x88b5, 3000000000) +
      b"\4" + struct.pack("<iQi", -1, 128, 5) + b"\5" + struct.pack("<iiii", 9, -1, 1, -3) +
      b"\6" + struct.pack("<QQ", 0x7fffffff8000, 8))
trace("calls", begin + call_event, s0=b"\1/bin/a\0\1/bin/b\0")
END

for t in events calls; do
	mkdir "$S/$t"
	put "$work/$t" "$S/$t/input"
	cp -r "$S/$t/export/lket" "$work/lket.$t" || fail "export/lket of $t"
	python3 "$top/tests/lib/lket_records.py" "$work/lket.$t" | sort >"$work/$t.records"
	cat "$S/$t/export/lket.txt" >"$work/$t.lket"
done
is "records" "ioscheduler.elv_completed_request elevator_name:STRING=,disk_major:UINT8=254,disk_minor:UINT8=200,request_addr:INT64=0,request_flags:INT64=0,
netdev.transmit netdev_name:STRING=lo,data_length:UINT32=4000000000,protocol:UINT16=34997,buffer_length:INT32=0,
process.execve tid:INT32=7,pid:INT32=0,ppid:INT32=0,new_process_name:STRING=/bin/a,
signal.pending.entry sigset_addr:UINT32=4294934528,setsize:UINT32=8,
signal.send.entry sig:INT8=9,shared:INT8=1,send2queue:INT8=0,pid:INT32=-1,
syscall.entry syscall_name:STRING=execve,
tskdispatch.ctxswitch prev_pid:INT32=-1,next_pid:INT32=5,prev_state:UINT8=128," "$(cat "$work/events.records")"
has "$(cat "$work/events.lket")" ' EVT_NAME:ioscheduler.elv_completed_request disk_major:254,disk_minor:200,'
has "$(cat "$work/events.lket")" ' EVT_NAME:netdev.transmit netdev_name:lo,data_length:4000000000,protocol:34997,'
is "one record of each hook" 1 "$(grep -c ' EVT_NAME:process.execve ' "$work/events.lket")"
# A trace without the better event has the hook by the next one.
is "records by the system call" 2 "$(grep -c '^process.execve .*new_process_name:STRING=/bin/[ab],$' "$work/calls.records")"
echo "$checks checks"

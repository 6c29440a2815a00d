#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The one-line commands of docs/lket.md ("What passes the hooks") make this kernel pass the hooks
# that stand beside them: one session records all hooks of what this test starts, and each command
# runs once, as the document has it.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/hooks.sh"
command -v python3 >/dev/null || skip "there is no python3"
by_instance
mount_kernel
[ "$(kernel_pid $$)" = $$ ] || skip "in a PID namespace the numbers of new processes are not known"
[ -x "$BUILD/tests/lib/hook_calls" ] || skip "there is no hook_calls"

mkdir "$work/M"
echo "0123456789" >"$work/M/f"
# (An exception is of events: other hooks on system calls have rules of their own.)
hook_session "c$mark" '@* except @syscall' @iosyscall @aio @signal @process
s=$S/c$mark
# (Each system call of all processes is two events: these two hooks have a session of their own.)
hook_session "y$mark" @syscall
for d in "$s" "$S/y$mark"; do
	echo $$ >"$d/kernel/track/pid"
done
# (What the idle threads do while a command runs)
hook_session "i$mark" @tskdispatch.cpuidle
cat "$MNT/available/kernel/groups" >"$work/groups"

# run.py: makes the list of `passes` in data/lket-kernels.txt to commands, runs them, and prints when
# each began and ended, its process, its hooks and its words. What it leaves out begins with `skip`.
cat >"$work/run.py" <<'END'
import os, re, shutil, subprocess, sys, time

FAR = "nfs", "nfsd", "sunrpc", "scsi", "ioscheduler", "cpufreq"     # things that not each machine has
data, groups, build, work = sys.argv[1:]
have = {}
for line in open(groups):
    name, number, event = line.split(None, 2)
    have[name] = not event.startswith("-")

def pattern(words):
    text = re.escape(words).replace(r"\*", ".*")
    text = re.sub(r"\\\{(.*?)\\\}", lambda m: "(" + m.group(1).replace(",", "|") + ")", text)
    return re.compile(text + "$")

def command(text):
    """What a shell runs of the document's words; None: no whole command stands there."""
    found = re.match(r"(any program: |PY )?`(.*)`(, which makes all system calls of hooks)?$", text)
    if not found:
        return None
    words = found.group(2)
    if found.group(1) == "PY ":
        words = ("python3 -c 'import fcntl, mmap, os, signal, socket, threading; f = "
                 "os.open(\"M/f\", os.O_RDWR); %s'" % words)
    for a, b in (("build/", build + "/"), ("DIRECTORY", "M"), ("FILE", "M/f")):
        words = words.replace(a, b)
    return words

for line in open(data):
    found = re.match(r"passes (.*?): (.*)", line)
    if not found:
        continue
    wanted = [pattern(w) for w in found.group(1).split()]
    names = [n for n in have if any(w.match(n) for w in wanted)]
    local = [n for n in names if n.split(".")[0] not in FAR]
    here = [n for n in local if have[n]]
    words = command(found.group(2))
    if not local:
        print("skip|%s|it needs NFS, a disk or a processor: tests/vm/hook_values" % found.group(1))
    elif not here:
        print("skip|%s|this kernel has no such hook" % found.group(1))
    elif not words:
        print("skip|%s|it is not one command: tests/vm/hook_values" % found.group(1))
    elif not shutil.which(re.split("[ ;]", words)[0]):
        print("skip|%s|there is no %s" % (found.group(1), re.split("[ ;]", words)[0]))
    else:
        begin = time.time()
        p = subprocess.Popen(["sh", "-c", words], cwd=work, stdout=subprocess.DEVNULL)
        p.wait()
        print("%.6f|%.6f|%d|%s|%s" % (begin, time.time(), p.returncode, " ".join(here), words))
print("self|%d" % os.getpid())
END

for d in "$S/i$mark" "$S/y$mark" "$s"; do
	echo start >"$d/control"
done
python3 -B "$work/run.py" "$top/data/lket-kernels.txt" "$work/groups" "$BUILD" "$work" \
	>"$work/ran" 2>"$work/ran.err" || fail "run.py: $(cat "$work/ran.err")"
for d in "$s" "$S/y$mark" "$S/i$mark"; do
	echo stop >"$d/control"
	# (Linux 7.0 may preempt a program, and misses then events, which are counted.)
	kernel_since 7.0 ||
		is "events that are lost in ${d##*/}" "events_discarded 0" \
			"$(grep '^events_discarded' "$d/status")"
done
cat "$s/export/lket.txt" "$S/y$mark/export/lket.txt" "$S/i$mark/export/lket.txt" >"$work/lines" || fail "lket.txt"
sed -n 's/^skip|/not run: /p' "$work/ran"
is "commands that failed" "" "$(awk -F'|' '$1 ~ /^[0-9]/ && $3' "$work/ran")"
[ "$(grep -c '^[0-9]' "$work/ran")" -ge 10 ] || fail "only $(grep -c '^[0-9]' "$work/ran") commands"

# Each hook has an event of the command's threads in its time; or a row `unfired` of this kernel.
kernel=$(uname -r | sed 's/^\([0-9]*[.][0-9]*\).*/\1/')
python3 - "$work/ran" "$work/lines" "$top/data/lket-kernels.txt" "$kernel" >"$work/passed" <<'END'
import bisect, re, sys

ran, lines, data, kernel = sys.argv[1:]
unfired = {}
known = False
for line in open(data):
    found = re.match(r"unfired (\S+) (?:(\d\S*): )?(.*)", line)
    if found:
        unfired[found.group(1)] = (found.group(2), found.group(3))
    if line.startswith("kernel "):
        known = kernel in line.split()
rows = [line.rstrip("\n").split("|") for line in open(ran)]
runner = int(rows.pop()[1])
times = {}
for line in open(lines, errors="replace"):
    found = re.match(r"([\d.]+) CPU:\d+ TID:(\d+), .* EVT_NAME:(\S+)", line)
    if found and int(found.group(2)) != runner:
        times.setdefault(found.group(3), []).append(float(found.group(1)))
for t in times.values():
    t.sort()
count = 0
for row in rows:
    if row[0] == "skip":
        continue
    begin, end = float(row[0]), float(row[1])
    for hook in row[3].split():
        t = times.get(hook, [])
        at = bisect.bisect_left(t, begin - 0.001)
        # The processes that exist are recorded at the start.
        if (at < len(t) and t[at] <= end + 0.001) or (hook == "process.snapshot" and t):
            count += 1
            continue
        of = [v for k, v in unfired.items() if hook.startswith(k)]
        if of and (of[0][0] in (None, kernel) or not known):
            print("not fired: %s: %s" % (hook, of[0][1]), file=sys.stderr)
        else:
            print("%s: no event of %s" % (row[4], hook))
print("passed", count, file=sys.stderr)
sys.exit(count < 50)
END
[ $? = 0 ] || fail "too few hooks were passed"
is "hooks that their command does not pass" "" "$(cat "$work/passed")"
rmdir "$s" "$S/y$mark" "$S/i$mark"
echo "$checks checks"

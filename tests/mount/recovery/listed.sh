#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 200
#
# A directory with more than a thousand entries is read in parts, and the daemon is killed between
# them, while entries are made and removed: each entry that stays is listed once, those that were
# removed before are not listed, and there is no error. Also if the last one that was listed is
# removed, and over two kills.
. "$(dirname "$0")/../../lib/mount.sh"
command -v python3 >/dev/null || skip "there is no python3"
mount_tree -o max_sessions=0
grep -q ' no .*resend\|older than 6.9' "$work/daemon.log" && skip "requests are not sent again here"
cat >"$work/list.py" <<'END'
import ctypes, os, struct, subprocess, sys

top, count, kill = sys.argv[1], int(sys.argv[2]), sys.argv[3]

def name(i):
    return "session-with-a-name-%05d" % i

def again():
    subprocess.run(["sh", "-c", kill], check=True)

def make(i):
    os.mkdir(top + "/" + name(i))

for i in range(0, 2 * count, 2):
    make(i)
everything = {name(i) for i in range(0, 2 * count, 2)}
assert sorted(os.listdir(top)) == sorted(everything)

def read(changes):
    """Lists the directory; after each of the first parts: a kill, and changes."""
    seen, dead = [], set()
    with os.scandir(top) as entries:
        for e in entries:
            seen.append(e.name)
            if len(seen) % 700 == 10 and changes:
                last = changes.pop(0)(e.name)
                dead |= set(last)
                again()
    return seen, dead

def remove(names):
    for n in names:
        os.rmdir(top + "/" + n)
    return names

# One before the reader, the last one that it may have got, one far after it, and new ones
odd = iter(range(1, 2 * count, 2 * (count // 8)))
def change(at):
    make(next(odd))
    make(next(odd))
    i = int(at[-5:])
    return remove([n for n in (name(2), name(i), name(i + 2), name(2 * count - 2 - i))
                   if os.path.exists(top + "/" + n)])

before = set(os.listdir(top))
seen, dead = read([change, change])
assert len(seen) == len(set(seen)), "twice: %s" % sorted(n for n in seen if seen.count(n) > 1)[:5]
after = set(os.listdir(top))
stayed = before & after
assert not stayed - set(seen), "missing: %s" % sorted(stayed - set(seen))[:5]
assert not set(seen) - before - after, "neither before nor after"
assert seen == sorted(seen), "order"
print("%d listed" % len(seen))

# Buffers with less room than a reply, which is asked for again from within it; and earlier places
def read_small(size, kills, seek):
    fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    buf, seen, places, part = ctypes.create_string_buffer(size), [], [], 0
    while True:
        n = libc.getdents64(fd, buf, ctypes.c_size_t(size))
        if n < 0:
            raise OSError(ctypes.get_errno(), "getdents64 after %d names" % len(seen))
        if not n:
            break
        at = 0
        while at < n:
            _, place, length, _ = struct.unpack_from("=QqHB", buf.raw, at)
            seen.append(buf.raw[at + 19:at + length].split(b"\0")[0].decode())
            places.append(place)
            at += length
        part += 1
        if part in kills:
            change(seen[-1])
            again()
            if seek:        # back by some entries, which are read again
                os.lseek(fd, places[-1 - seek], os.SEEK_SET)
                del seen[-seek:], places[-seek:]
    os.close(fd)
    return [n for n in seen if n[0] != "."]

libc = ctypes.CDLL(None, use_errno=True)
if hasattr(libc, "getdents64"):
    for size, kills, seek in (280, (1, 40), 0), (4096, (3, 9), 0), (4096, (4, 8), 30):
        before = set(os.listdir(top))
        odd = iter(range(5 + 2 * size, 2 * count, 2 * (count // 8)))
        if size == 4096:
            odd = iter(range(7 + seek, 2 * count, 2 * (count // 8)))
        seen = read_small(size, kills, seek)
        stayed = before & set(os.listdir(top))
        assert len(seen) == len(set(seen)), "twice (%d)" % size
        assert not stayed - set(seen), "missing (%d): %s" % (size, sorted(stayed - set(seen))[:5])
END
cat >"$work/again" <<END
pid=\$(ps -eo pid=,args= | awk -v m="$MNT" '\$2 ~ /trailfs\$/ { for (i = 3; i <= NF; i++) if (\$i == m) { print \$1; next } }')
kill -9 \$pid
while kill -0 \$pid 2>/dev/null && ! grep -q "^State:.Z" /proc/\$pid/status; do sleep 0.05; done
exec "$TRAILFS" "$MNT" -o keeper=0,wait=100000 >>"$work/daemon.log" 2>&1
END
python3 "$work/list.py" "$S" 1500 "sh $work/again" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
cat "$work/out"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# A recording and copies of its snapshots in one directory: babeltrace2 reads all of it, each event
# once for each trace that has it, in order. So does an import. A snapshot's trace has a UUID of its
# own, in metadata and packets, in each copy and after a kill of the daemon.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/relay.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
command -v python3 >/dev/null || skip "there is no python3"
ticker=$BUILD/tests/lib/ticker

copied() { [ "$(key snapshots_copied "$s/status")" = "$1" ]; }
# uuids DIRECTORY…: the UUID of each trace below, which its metadata and all of its packets have
uuids() {
	python3 - "$@" <<'END'
import os, re, struct, sys, uuid

def of(path):
    data = open(path + "/metadata", "rb").read()
    text, heads = b"", set()
    while data[:4] == b"\x57\x1d\xd1\x75":
        size = struct.unpack_from("<I", data, 28)[0] // 8
        heads.add(data[4:20])
        text, data = text + data[37:size], data[size:]
    text += data
    found = re.search(rb'trace \{[^}]*?uuid = "([^"]*)"', text)
    if found:
        found = uuid.UUID(found[1].decode())
    else:
        found = re.search(rb'"trace-class".*?"uuid":\[([\d,]*)\]', text) or \
            re.search(rb'"uuid":\[([\d,]*)\]', text)
        found = uuid.UUID(bytes=bytes(map(int, found[1].split(b","))))
    for name in sorted(os.listdir(path)):
        if name in ("metadata", "index"):
            continue
        data, at = open(f"{path}/{name}", "rb").read(), 0
        while at < len(data):
            heads.add(data[at + 4:at + 20])
            at += struct.unpack_from("<Q", data, at + 56)[0] // 8
    assert heads <= {found.bytes}, f"{path}: {found}, but also {heads}"
    return found

found = sorted({str(of(d)) for top in sys.argv[1:] for d, _, names in os.walk(top)
                if "metadata" in names})
print(*found, sep="\n")
END
}
# read_all DIRECTORY: without what depends on the events before
read_all() {
	babeltrace2 --clock-seconds --no-delta "$1" 2>"$work/err" && [ ! -s "$work/err" ] ||
		fail "babeltrace2 ${1#"$work"}: $(cat "$work/err")" >&2
}
# import DIRECTORY: the same of a session with this input
import() {
	mkdir "$S/import" && put "$1" "$S/import/input"
	sed 's/ (+[^)]*)//' "$S/import/text"
	rmdir "$S/import"
}
# together READER DIRECTORY: reads what its traces have, one by one
together() {
	"$1" "$2" >"$work/all"
	: >"$work/each"
	for d in "$2"/ust "$2"/kernel "$2"/snapshots/*; do
		[ ! -d "$d" ] || "$1" "$d" >"$work/part"
		cat "$work/part" >>"$work/each"
		: >"$work/part"
	done
	[ "$(wc -l <"$work/all")" -gt 6000 ] || fail "$2: $(wc -l <"$work/all") events"
	LC_ALL=C sort "$work/all" >"$work/all.sorted"
	LC_ALL=C sort "$work/each" | cmp - "$work/all.sorted" || fail "$2 is not its parts"
	LC_ALL=C sort -c -s -k 1,1 "$work/all" 2>"$work/err" ||
		fail "$2 is not in order: $(cat "$work/err")"
	checks=$((checks + 1))
}

session() { # NAME: it records into $out, with a snapshot before any event
	s=$S/$1$$ out=$work/out.$1
	mkdir "$s" "$s/user/channels/channel0" || fail mkdir
	put 32K "$s/user/channels/channel0/subbuf_size"
	put "$out" "$s/output"
	put 'tick:*' "$s/user/events"
}
record() {
	put start "$s/control"
	mkdir "$s/snapshots/zero" || fail "snapshot zero"
	"$ticker" 3000 0 2 || fail ticker
	mkdir "$s/snapshots/one" || fail "snapshot one"
	within 20 copied 2 || fail "not copied: $(cat "$s/status")"
	put "$out/snapshots" "$s/snapshot_outputs"
	put 'snapshot two max-size 40K' "$s/control"
}
different() { # TRACES: the output and the snapshots have different ones
	uuids "$s/trace" "$out/ust" "$out"/kernel* "$out"/snapshots/* >"$work/uuids" ||
		fail "the UUIDs of $out"
	is "UUIDs in $out" "$1" "$(wc -l <"$work/uuids" | tr -d ' ')"
}

mount_tree -o tz=UTC

# With a checksum, the output has a UUID that trace/ does not have.
session sealed
put crc32 "$s/checksum"
put packets "$s/metadata"
grep -q '^kernel none' "$MNT/version" || put sched:sched_process_exec "$s/kernel/events"
record
together read_all "$out"
if grep -q '^kernel none' "$MNT/version"; then
	different 5
else
	grep -q sched_process_exec "$work/all" || fail "no event of the kernel"
	different 9
fi
rmdir "$s"

session compressed
put gzip "$s/compress"
record
together import "$out"
different 5
rmdir "$s"

session ctf2
put 2 "$s/ctf_version"
record
babeltrace2 --version | grep -q '^Babeltrace 2\.0' || together read_all "$out"
different 4
rmdir "$s"

session plain
record
together read_all "$out"
different 4
uuids "$s/snapshots/one" >"$work/one"
is "the copy has the UUID of the snapshot" "$(cat "$work/one")" "$(uuids "$out"/snapshots/one-*)"
kill -9 "$(daemon_pids)"
within 10 daemon_ended
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
mount_tree -o tz=UTC
is "the UUID after a kill" "$(cat "$work/one")" "$(uuids "$s/snapshots/one")"
if command -v lttng-relayd >/dev/null; then
	need_relay
	start_relay
	put "$relay_url" "$s/snapshot_outputs"
	put 'snapshot far' "$s/control"
	mv "$relay_out" "$out/snapshots/relay"
	together read_all "$out"
	different 5
fi
echo "$checks checks"

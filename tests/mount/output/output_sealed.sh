#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Packets in an output with a checksum, and compressed by gzip or xz: `text`, `trace/` and
# babeltrace2 on it, and an import of the files have each event once; through a full file, a
# rotation, a kill -9 of the daemon and a full disk. A bit that flips is found, with its place.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
command -v python3 >/dev/null || skip "there is no python3"
[ "$(id -u)" = 0 ] || skip "only root can mount a small tmpfs"
ticker=$BUILD/tests/lib/ticker
small_disk 8m

# (A first event has no time since the one before it; nor do events of other CPUs have the same.)
plain() { sed 's/ (+[^)]*)//' "$1"; }
# all_numbers FILE COUNT: each number of a tick once
all_numbers() {
	is "events in $1" "$2" "$(wc -l <"$1" | tr -d ' ')"
	is "different events in $1" "$2" "$(plain "$1" | sort -u | wc -l | tr -d ' ')"
}
# import DIRECTORY: its text, in $work/imported
import() {
	mkdir "$S/import"
	put "$1" "$S/import/input"
	cat "$S/import/text" >"$work/imported"
}
# flip FILE: one bit of the content of its last packet
flip() {
	python3 - "$1" <<'END'
import os, struct, sys
path = sys.argv[1]
index = open(os.path.dirname(path) + "/index/" + os.path.basename(path) + ".idx", "rb").read()
entries = [struct.unpack(">9Q", index[i:i + 72]) for i in range(16, len(index), 72)]
offset, size = [e[:2] for e in entries if e[1] > 8 * 91][-1]
with open(path, "r+b") as f:
    f.seek(offset + size // 8 - 9)
    byte = f.read(1)[0]
    f.seek(-1, 1)
    f.write(bytes([byte ^ 4]))
print(offset)
END
}

mount_tree -o tz=UTC
for how in crc32 gzip xz; do
	s=$S/$how out=$disk/$how
	c=$s/user/channels/channel0
	d=$out/ust/uid/0/64-bit
	mkdir "$s" "$c" || fail mkdir
	is "checksum" '[none] crc32' "$(cat "$s/checksum")"
	is "compress" '[none] gzip xz' "$(cat "$s/compress")"
	is "a bad value" EINVAL "$(tool open "$s/compress" wt write bzip2)"
	put crc32 "$s/checksum"
	[ $how = crc32 ] || put $how "$s/compress"
	put "$out" "$s/output"
	put 'tick:*' "$s/user/events"
	put vpid "$c/contexts"
	put 16K "$c/subbuf_size"
	put 64 "$c/subbuf_count"
	put 40K "$c/file_size"
	put start "$s/control"
	is "after the start" EBUSY "$(tool open "$s/checksum" wt write none)"
	one_cpu "$ticker" 3000 10 || fail ticker
	same_text "$s"
	all_numbers "$work/text" 3000
	for f in "$d/channel0_"*; do
		[ "$(stat -c %s "$f")" -le 40960 ] || fail "$f is greater than file_size"
	done
	if [ $how = crc32 ]; then
		# (babeltrace2 shows all of the packet context.)
		TZ=UTC babeltrace2 "$out" 2>/dev/null | sed 's/, checksum = [^}]* }/ }/' |
			cmp - "$work/text" || fail "babeltrace2"
	else
		has "$(cat "$s/status")" "^output_compression $how\$"
		[ "$(key output_plain_bytes "$s/status")" -gt \
			$((2 * $(key output_bytes "$s/status"))) ] || fail "not smaller"
		! TZ=UTC babeltrace2 "$out" >"$work/bt" 2>&1 || fail "babeltrace2 reads $how"
	fi
	# (A copy: the files grow.)
	cp -r "$out" "$work/copy"
	import "$work/copy"
	cmp "$work/imported" "$work/text" || fail "import of $how"
	rmdir "$S/import"
	mkdir "$s/snapshots/one" || fail "snapshot"
	TZ=UTC babeltrace2 "$s/snapshots/one" 2>/dev/null | cmp - "$work/text" || fail "snapshot"
	if [ $how = crc32 ]; then
		# Both at once: each event twice
		babeltrace2 "$work/copy" "$s/snapshots/one" >"$work/both" 2>"$work/bt2.err" ||
			fail "output and snapshot in one call: $(head -n 5 "$work/bt2.err")"
		is "events of both" 6000 "$(wc -l <"$work/both" | tr -d ' ')"
	fi
	rmdir "$s/snapshots/one"

	# A daemon that is killed; the first look writes what the rings have
	one_cpu "$ticker" 2000 10 || fail ticker
	kill -KILL $(daemon_pids)
	within 10 daemon_ended
	umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
	mount_tree -o tz=UTC
	is "checksum after the kill" 'none [crc32]' "$(cat "$s/checksum")"
	one_cpu "$ticker" 1000 10 || fail ticker
	same_text "$s"
	all_numbers "$work/text" 6000

	# A rotation: an archive is a trace as the output was
	put rotate "$s/control"
	one_cpu "$ticker" 500 10 || fail ticker
	put stop "$s/control"
	cat "$s/text" >"$work/second"
	all_numbers "$work/second" 500
	import "$out/archives/$(ls "$out/archives")"
	cmp "$work/imported" "$work/text" || fail "import of the archive"
	is "losses" 0 "$(key events_discarded "$s/status")"

	# A flipped bit
	rmdir "$S/import"
	f=$(ls "$d/channel0_"* | tail -n 1)
	offset=$(flip "$f")
	! cat "$s/text" >"$work/bad" || [ "$(wc -l <"$work/bad")" -lt 500 ] || fail "text is whole"
	has "$(cat "$s/error")" "${f##*/}: offset [0-9]*: the packet is not valid, or its checksum is wrong; its events are left out"
	! cp -r "$s/trace" "$work/bad.trace" 2>/dev/null || fail "trace/ is whole"
	has "$(cat "$s/error")" "${f##*/}: offset [0-9]*: the packet is not valid"
	mkdir "$S/import"
	put "$out/ust" "$S/import/input"
	! cat "$S/import/text" >"$work/imported" 2>/dev/null || [ -s "$work/imported" ] ||
		fail "an import with a wrong checksum is read"
	has "$(cat "$S/import/error")" \
		"${f##*/}: offset $offset: expected a content with the checksum [0-9a-f]*, found"
	rmdir "$S/import" "$s"
	rm -rf "$work/copy" "$work/bad.trace" "$out"
done

# A relay gets packets as they are.
mkdir "$S/far"
put net://127.0.0.1:1:2 "$S/far/output"
put gzip "$S/far/compress"
is "to a relay" EINVAL "$(tool open "$S/far/control" w write 'start\n')"
has "$(cat "$S/far/error")" 'for an output directory'

# A full disk
s=$S/full
mkdir "$s" "$s/user/channels/channel0"
put gzip "$s/compress"
put "$disk/out" "$s/output"
put 16K "$s/user/channels/channel0/subbuf_size"
put 'tick:*' "$s/user/events"
put start "$s/control"
"$ticker" 1000 10 || fail ticker
all_written "$s"
head -c 8m /dev/zero >"$disk/rest" 2>/dev/null
full() { grep -q '^output_error No space left' "$s/status"; }
good() { ! grep -q '^output_error' "$s/status"; }
emitted=1000
fill() { "$ticker" 5000 0 && emitted=$((emitted + 5000)) && full; }
within 20 fill || fail "the disk is not full: $(cat "$s/status")"
rm "$disk/rest"
within 20 good || fail "does not continue when there is space"
put stop "$s/control"
same_text "$s"
is "events and losses" $emitted \
	"$(($(wc -l <"$work/text") + $(key events_discarded "$s/status")))"
echo "$checks checks"

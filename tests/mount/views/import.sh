#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Imported sessions: a trace on disk, whose path is written to `input`, has the text that
# babeltrace2 prints, for a trace of ours and one of another writer (big endian, bit fields, times
# of 16 bits, a slow clock, no CPU); trace/ has its files. Wrong and changed files are errors that
# say where; the session cannot record; it survives a killed daemon.
. "$(dirname "$0")/../../lib/mount.sh"

command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
command -v python3 >/dev/null || skip "there is no python3"
TICKER=${TICKER:-$BUILD/tests/lib/ticker}
[ -x "$TICKER" ] || skip "there is no ticker"
TZ=UTC
export TZ
can_mount
start() {
	"$TRAILFS" -f "$MNT" -o wait=100000,tz=UTC >>"$work/daemon.log" 2>&1 &
	daemon=$!
	within 20 test -s "$MNT/README" || {
		[ "$(id -u)" = 0 ] ||
			skip "an ordinary user cannot mount here: $(tail -n 1 "$work/daemon.log")"
		fail "no mount"
	}
}
start

# refused WHAT PATTERN COMMAND…: it fails, and `error` of the session says why
refused() {
	what=$1 pattern=$2
	shift 2
	! "$@" 2>"$work/why" || fail "$what is accepted"
	has "$(cat "$s/error")" "$pattern"
}
write() { printf '%s\n' "$1" >"$2"; }

# ---- ours: with contexts, two channels, and more than one packet for each CPU ----

mkdir "$S/live" "$S/live/user/channels/two"
put 'tick:*' "$S/live/user/channels/two/events"
printf '%s\n' vpid procname >"$S/live/user/channels/two/contexts"
put 65536 "$S/live/user/channels/two/subbuf_size"
put '*' "$S/live/user/events"
put start "$S/live/control"
"$TICKER" 3000 0 2 || fail "ticker"
printf 'one "line"\n' >"$MNT/log"
put stop "$S/live/control"
copy_image "$S/live/trace" "$work/ours"
cat "$S/live/text" >"$work/live"
s=$S/old
mkdir "$s"
put "$work/ours" "$s/input"
is "input" "$work/ours" "$(cat "$s/input")"
is "format" "CTF 1.8" "$(sed -n 's/^input_format //p' "$s/status")"
is "verbs" "" "$(cat "$s/control")"
is "state" inactive "$(key state "$s/status")"
same_text "$s"
cmp "$s/text" "$work/live" || fail "the text of the import is not that of the session"
timeout 60 cat "$s/pipe" | cmp - "$work/live" || fail "pipe"
timeout 60 cat "$s/pipe.json" | cmp - "$S/live/export/json" || fail "pipe.json"
for f in json csv sql lket.txt; do
	cmp "$s/export/$f" "$S/live/export/$f" || fail "export/$f"
done
# (The owner of ours is its directory's name: what differs is the domain of nothing.)
awk '!/^#/ { print $3, $4 }' "$S/live/counts" >"$work/counts"
awk '!/^#/ { print $3, $4 }' "$s/counts" | cmp - "$work/counts" || fail "counts"
is "events in stats" "$(wc -l <"$work/live")" "$(awk '$1 == "events" { print $2 }' "$s/stats")"
diff -r "$s/trace" "$work/ours" || fail "trace/ is not the input"
# Somewhere in the text, and again from the beginning
tail -c 5000 "$s/text" | cmp - "$work/live.end" 2>/dev/null ||
	{ tail -c 5000 "$work/live" >"$work/live.end" && tail -c 5000 "$s/text" | cmp - "$work/live.end"; } ||
	fail "the end of the text"
dd if="$s/text" bs=1000 skip=300 count=2 2>/dev/null >"$work/middle"
dd if="$work/live" bs=1000 skip=300 count=2 2>/dev/null | cmp - "$work/middle" || fail "the middle"

# ---- what the session refuses, and what refuses it ----

refused start "cannot record" write start "$s/control"
refused "a rule" "cannot record" write '*' "$s/user/events"
refused "a context" "cannot record" write vpid "$s/user/contexts"
refused "a channel" "cannot record" mkdir "$s/user/channels/c"
refused "a snapshot" "records nothing" mkdir "$s/snapshots/a"
refused "no directory" "No such file" write /nonexistent "$s/input"
refused "a relative path" "absolute path" write ours "$s/input"
mkdir "$work/empty"
refused "no trace" "no trace in this directory" write "$work/empty" "$s/input"
is "input after errors" "$work/ours" "$(cat "$s/input")"
s=$S/live
refused "a session that was started" "was started" write "$work/ours" "$s/input"
mkdir "$S/full" "$S/full/user/channels/c"
s=$S/full
refused "a session with channels" "has channels" write "$work/ours" "$s/input"
s=$S/old

# ---- a configuration, a killed daemon ----

cat "$s/config" >"$work/saved"
has "$(cat "$work/saved")" "^input = $work/ours\$"
mkdir "$S/copy"
cat "$work/saved" >"$S/copy/config" || fail "config: $(cat "$S/copy/error")"
cmp "$S/copy/text" "$work/live" || fail "text of a configured session"
kill -9 $daemon
wait $daemon 2>/dev/null
start
is "input after the kill" "$work/ours" "$(cat "$s/input")"
cmp "$s/text" "$work/live" || fail "text after the kill"

# ---- another writer ----

mkdir "$work/be"
cat >"$work/be/metadata" <<'END'
/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; } := unsigned int;
trace {
	major = 1; minor = 8; byte_order = be;
	packet.header := struct { unsigned int magic; uint8_t stream_id; };
};
clock { name = slow; freq = 1000; offset_s = 1700000000; offset = 2500; };
env { hostname = "far"; answer = 42; };
typealias integer { size = 16; align = 8; map = clock.slow.value; } := short_time_t;
struct point { uint8_t x, y; };
enum colour : uint8_t { red, green = 5, "blue ones" = 10 ... 20, };
stream {
	id = 3;
	packet.context := struct {
		unsigned int packet_size, content_size;
		integer { size = 64; map = clock.slow.value; } timestamp_begin;
	};
	event.header := struct { uint8_t id; short_time_t timestamp; };
};
event {
	name = "be:bits"; id = 7; stream_id = 3;
	fields := struct {
		integer { size = 3; } a;
		integer { size = 5; signed = true; } b;
		integer { size = 12; base = hex; } _c;
		integer { size = 4; align = 1; } d;
		enum colour e;
		enum : integer { size = 8; } { no, some } kind;
		variant <kind> { struct { } no; struct point some; } v;
		uint8_t n;
		uint16_t list[n];
		struct point pair[2];
		string s;
		integer { size = 8; encoding = UTF8; } word[4];
		integer { size = 16; align = 8; byte_order = le; } swapped;
	} align(8);
};
event { name = "none"; id = 8; stream_id = 3; fields := struct { }; };
END
# magic, stream 3, sizes in bits, begin 65000 ms; events; the second time is smaller: it wrapped.
# bits: 101 11110, 0xabc 0x9; 15; some: 1 2; 2 elements; (3, 4) (5, 6); "hi"; "ab"; 0x0102
{
	printf '\301\374\037\301\003\000\000\002\000\000\000\001\300\000\000\000\000\000\000\375\350'
	printf '\007\375\350\276\253\311\017\001\001\002\002\000\001\377\377\003\004\005\006hi\000ab\000\000\002\001'
	printf '\010\000\001'
} >"$work/be/data"
printf '%s' "1234567890123" | head -c $((64 - $(wc -c <"$work/be/data"))) >>"$work/be/data"
bits=$((8 * (21 + 28 + 3)))
printf "$(printf '\\%03o\\%03o' $((bits / 256)) $((bits % 256)))" |
	dd of="$work/be/data" bs=1 seek=11 conv=notrunc 2>/dev/null
put "$work/be" "$s/input"
same_text "$s"
is "events of the other" 2 "$(wc -l <"$s/text")"
has "$(cat "$s/text")" 'far be:bits: { a = 5, b = -2, c = 0xABC, d = 9, e = ( "blue ones" : container = 15 ), kind = ( "some" : container = 1 ), v = { { x = 1, y = 2 } }, n = 2, list = \[ \[0\] = 1, \[1\] = 65535 \], .* s = "hi", word = "ab", swapped = 258 }'
has "$(cat "$s/export/json")" '"event":"be:bits".*"list":\[1,65535\]'
# Its packets do not name a CPU.
is "events with a CPU" 0 "$(grep -c '"cpu"' "$s/export/json")"
is "CPUs in csv" "" "$(sed 1d "$s/export/csv" | cut -d, -f3 | grep .)"
is "CPUs in sql" "" "$(grep 'far' "$s/export/sql" | grep -v "'far', *NULL")"

# ---- LKET ----

# Ours: the import has the same files again.
mkdir "$S/plain"
put '*' "$S/plain/user/events"
put start "$S/plain/control"
"$TICKER" 300 0 2 || fail "ticker"
printf 'one "line"\n' >"$MNT/log"
put stop "$S/plain/control"
copy_image "$S/plain/export/lket" "$work/lket"
put "$work/lket" "$s/input"
is "format" LKET "$(sed -n 's/^input_format //p' "$s/status")"
copy_image "$s/export/lket" "$work/lket.again"
diff -r "$work/lket" "$work/lket.again" || fail "LKET's files of an import"
is "events" "$(wc -l <"$S/plain/text")" "$(wc -l <"$s/text")"
rmdir "$S/plain"
# Another writer
python3 "$top/tests/lib/make_lket.py" "$work/other" || fail "make_lket.py"
put "$work/other" "$s/input"
cat >"$work/expected" <<'END'
[22:13:20.000001000] (+?.?????????) iosyscall.open.entry: { cpu_id = 0 }, { tid = 101, pid = 100, ppid = 7 }, { filename = "/etc/passwd", flags = -1, mode = 420, small = -3, unsigned = 65535, large = -1099511627776 }
[22:13:20.000002000] (+0.000001000) group3.hook5: { cpu_id = 1 }, { tid = 101, pid = 100, ppid = 7 }, { a = 255, b = 4294967295, c = 18446744073709551615, d = -2 }
[22:13:20.000003000] (+0.000001000) iosyscall.open.return: { cpu_id = 0 }, { tid = 101, pid = 100, ppid = 7 }, { return = -2 }
END
cmp "$s/text" "$work/expected" || fail "LKET: $(cat "$s/text")"
printf '\t' | dd of="$work/other/stpd_cpu1" bs=1 seek=40 conv=notrunc 2>/dev/null
refused "a changed file of LKET" "stpd_cpu1: offset [0-9]*: the file has changed" cat "$s/text"
put "$work/other" "$s/input"
refused "an unknown hook" "stpd_cpu1: offset 15: no event describes the group and hook" cat "$s/text"
printf '\0' | dd of="$work/other/stpd_cpu0" bs=1 seek=2 conv=notrunc 2>/dev/null
refused "a wrong header" "stpd_cpu0: offset 0: expected the magic number 0xAEFCDB6B" \
	write "$work/other" "$s/input"

# ---- wrong and changed files ----

sed 's/size = 3;/size = 3 align/' "$work/be/metadata" >"$work/bad" && cp -r "$work/be" "$work/wrong" &&
	cp "$work/bad" "$work/wrong/metadata"
refused "wrong metadata" "metadata:25: expected ';', found align" write "$work/wrong" "$s/input"
cp "$work/be/metadata" "$work/wrong/"
printf 'x' | dd of="$work/wrong/data" bs=1 seek=49 conv=notrunc 2>/dev/null
put "$work/wrong" "$s/input"
refused "an unknown event" "data: offset 49: the metadata has no event with the id" cat "$s/text"
# (What could be read, and then the error)
is "events before it" 1 "$(cat "$s/text" 2>/dev/null | wc -l)"
is "events before it" 1 "$(timeout 60 cat "$s/pipe" 2>/dev/null | wc -l)"
# A tag in an option that another event may not have
sed 's/variant <kind>/variant <pick.some.x>/; s/enum : integer { size = 8; } { no, some } kind;/enum : integer { size = 8; } { no, some } kind; variant <kind> { struct { } no; struct { enum : integer { size = 8; } { no, some } x; } some; } pick;/' \
	"$work/be/metadata" >"$work/wrong/metadata"
refused "a tag in an option" "'pick.some.x' is in an option" write "$work/wrong" "$s/input"
cp "$work/be/metadata" "$work/wrong/"
cp -r "$work/be" "$work/changed"
put "$work/changed" "$s/input"
is "events before the change" 2 "$(wc -l <"$s/text")"
# A file that has grown is read up to the size that it had.
printf 'more' >>"$work/changed/data"
is "events beside what was added" 2 "$(timeout 60 cat "$s/pipe" | wc -l)"
printf 'x' | dd of="$work/changed/data" bs=1 seek=49 conv=notrunc 2>/dev/null
refused "a changed file" "data: offset 0: the file has changed" timeout 60 cat "$s/pipe"
cp "$work/be/data" "$work/changed/data"
put "$work/changed" "$s/input"
touch "$work/changed/data"
refused "a file with another time" "data: offset 0: the file has changed" timeout 60 cat "$s/pipe"
# While it is read: after the first bytes of the text, the file is overwritten, cut or removed.
# (One stream of more than a reader takes at once)
mkdir "$S/long"
put 'tick:*' "$S/long/user/events"
put 64 "$S/long/user/channels/channel0/subbuf_count"
put start "$S/long/control"
one_cpu "$TICKER" 40000 0 || fail "ticker"
put stop "$S/long/control"
copy_image "$S/long/trace" "$work/long"
cat "$S/long/text" >"$work/live"
rmdir "$S/long"
cp -r "$work/long" "$work/changing"
f=$(find "$work/changing" -name 'channel0_*[0-9]' -size +512k)
cp "$f" "$work/stream"
for change in grown overwritten cut removed metadata; do
	put "$work/changing" "$s/input"
	exec 3<"$s/pipe"
	head -c 20000 <&3 >"$work/before"
	case $change in
	grown) head -c 70000 /dev/urandom >>"$f" ;;
	overwritten) dd if=/dev/urandom of="$f" bs=4096 seek=50 count=4 conv=notrunc 2>/dev/null ;;
	cut) truncate -s 300000 "$f" ;;
	removed) rm -r "$work/changing" ;;
	metadata) echo 'event {' >"${f%/*}/metadata" ;;
	esac
	result=0
	timeout 60 cat <&3 >"$work/after" 2>/dev/null || result=$?
	exec 3<&-
	cat "$work/before" "$work/after" >"$work/all"
	case $change in
	overwritten | cut)
		is "status, a file that was $change" 1 $result
		has "$(cat "$s/error")" "${f##*/}: offset [0-9]*: the file has changed"
		# What was read before is right, as far as it is.
		size=$(stat -c %s "$work/before")
		head -c "$size" "$work/live" | cmp - "$work/before" || fail "$change: the text"
		cp "$work/stream" "$f"
		;;
	grown)          # The session has the trace as it was when its path was written.
		is "status, a file that has grown" 0 $result
		cmp "$work/all" "$work/live" || fail "text of a file that has grown"
		cp "$work/stream" "$f"
		;;
	removed)        # The files are open.
		cmp "$work/all" "$work/live" || fail "text of removed files"
		cp -r "$work/long" "$work/changing"
		;;
	metadata)       # They were read before; when the input is opened again, they are wrong.
		cmp "$work/all" "$work/live" || fail "text beside changed metadata"
		refused "changed metadata" "metadata:" write "$work/changing" "$s/input"
		;;
	esac
done
put "$work/changed" "$s/input"
: >"$work/changed/data"
refused "an emptied file" "data: offset 0: the file has changed" cat "$s/counts"
head -c 40 "$work/be/data" >"$work/wrong/data"
refused "a short file" "data: offset 0: expected a packet of 64 bytes, but the file ends after 40" \
	write "$work/wrong" "$s/input"
if [ "$(id -u)" = 0 ]; then
	chmod 700 "$work/wrong"
	mkdir "$S/other" && chown 12345 "$S/other"
	s=$S/other
	refused "a directory of another user" "Permission denied" write "$work/wrong" "$s/input"
	s=$S/old
fi
[ "$(key frozen_bytes "$s/status")" -gt 4096 ] || fail "no user is charged for an import"
: >"$s/input" || fail "cannot remove the input: $(cat "$s/error")"
put '' "$s/input"
is "no input" "" "$(cat "$s/input")"
nothing_frozen() { grep -q '^frozen_bytes 0$' "$s/status"; }
within 20 nothing_frozen || fail "$(grep frozen_bytes "$s/status")"
is "no text" "" "$(cat "$s/text")"
put 'trail:log' "$s/user/events"
put start "$s/control"
# On a FUSE file system, such as this one: reads would wait for the daemon itself.
mkdir "$S/self" "$S/third" || fail mkdir
is "our own mount" EINVAL "$(tool open "$S/self/input" wt write "$S/third/trace\n")"
has "$(cat "$S/self/error")" 'FUSE'
echo "$checks checks"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# `export/ltt/` is an LTT 0.7 trace that has the events of `export/json`: fields of all types, an
# event larger than 64 KiB, two channels with other contexts, heartbeats in a long silence. A session
# that has it as its `input` shows the same text, of a kernel session, too; wrong and changed files
# are errors that say where.
. "$(dirname "$0")/../../lib/mount.sh"

command -v python3 >/dev/null || skip "there is no python3"
for p in "$BUILD/tests/lib/ticker" "$BUILD/tests/mount/views/words" \
	"$BUILD/tests/mount/programs/types"; do
	[ -x "$p" ] || skip "there is no $p"
done

# judge SESSION COUNT: copies the trace as `cp -r` does, and compares
judge() {
	rm -rf "$work/ltt"
	copy_image "$1/export/ltt" "$work/ltt"
	cat "$1/export/json" >"$work/json" || fail "json"
	python3 "$top/tests/lib/judge_ltt.py" "$work/ltt" "$work/json" >"$work/judged" 2>&1 ||
		fail "$(head -c 3000 "$work/judged")"
	read -r events beats sets <"$work/judged"
	is "events" "$2" "$events"
	same_import "$1"
}

# same_import SESSION: a session whose input is the copy has the same text. (The value of a context
# of an application is bytes in LTT. Events of one time have no order; sort has the same for both,
# without the time since the event before.)
same_import() {
	put "$work/ltt" "$old/input"
	for f in "$1" "$old"; do
		cat "$f/text" >"$work/raw" || fail "text: $(cat "$f/error")"
		cut -d ' ' -f 1 "$work/raw" >"$work/times.${f##*/}"
		sed 's/ (+[0-9?.]*)//; s/, [_a-z]*app_none_such.* }, {/ }, {/' "$work/raw" |
			sort >"$work/text.${f##*/}"
	done
	cmp "$work/times.${1##*/}" "$work/times.old" || fail "the order differs"
	cmp "$work/text.${1##*/}" "$work/text.old" || fail "text and import differ: $(diff \
		"$work/text.${1##*/}" "$work/text.old" | head -n 6)"
	diff -r "$old/trace" "$work/ltt" || fail "trace/ is not the input"
}

# refused PATTERN COMMAND…: it fails, and `error` of the imported session says why
refused() {
	pattern=$1
	shift
	! "$@" >"$work/refused" 2>&1 || fail "$* is accepted"
	has "$(cat "$old/error")" "$pattern"
}
write() { printf '%s\n' "$1" >"$2"; }

mount_tree -o tz=UTC
s=$S/ltt
old=$S/old
mkdir "$s" "$s/user/channels/two" "$old"
is "without events" "" "$(ls "$s/export/ltt")"
echo 1M >"$s/user/channels/two/subbuf_size" || fail "subbuf_size"
echo '*' >"$s/user/events"
printf '%s\n' 'tick:*' 'long:*' >"$s/user/channels/two/events"
printf '%s\n' vpid vtid procname '$app.none:such' >"$s/user/channels/two/contexts"
put start "$s/control"
cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
"$BUILD/tests/lib/ticker" 300 0 2 || fail "ticker"
taskset -c "$cpu" "$BUILD/tests/mount/views/words" 40 100000 || fail "words"
"$BUILD/tests/mount/programs/types" || fail "types"
put stop "$s/control"
since=$(date +%s%N)
judge "$s" "$(wc -l <"$s/text")"
[ "$events" -gt 1200 ] || fail "$events events"
is "files" "$(cd "$work/ltt" && find . -type f | wc -l)" "$(find "$s/export/ltt" -type f | wc -l)"
(cd "$work/ltt" && find . -type f -exec stat -c '%s %n' {} + | sort) >"$work/sizes"
(cd "$s/export/ltt" && find . -type f -exec stat -c '%s %n' {} + | sort) >"$work/honest"
cmp -s "$work/sizes" "$work/honest" || fail "sizes: $(diff "$work/sizes" "$work/honest")"
has "$(cat "$work/ltt/system.xml")" "node=\"$(uname -n)\".* endian=\"little\""
# A trace image lasts for two seconds after its last use, then its memory is free.
within 20 grep -q '^frozen_bytes 0$' "$s/status" || fail "$(grep frozen_bytes "$s/status")"
# Stamps have 32 bits: a heartbeat after 2.15 s tells a reader that they overflowed.
silent() { [ $(($(date +%s%N) - since)) -gt 2300000000 ]; }
within 20 silent
put start "$s/control"
taskset -c "$cpu" "$BUILD/tests/mount/views/words" 1 || fail "words"
put stop "$s/control"
judge "$s" "$(wc -l <"$s/text")"
[ "$beats" -gt 0 ] || fail "no heartbeat"

# ---- a session of the kernel: all its tracepoints and system calls ----

if [ -d "$MNT/available/kernel" ] && ! grep -q '^kernel none' "$MNT/version"; then
	k=$S/kernel
	mkdir "$k" "$k/kernel/channels/k"
	put 2M "$k/kernel/channels/k/subbuf_size"
	printf '%s\n' '*' 'syscall:*' >"$k/kernel/channels/k/events" || fail "kernel rules"
	put 'pid tid procname' "$k/kernel/channels/k/contexts"
	echo $$ >"$k/kernel/track/pid"
	put start "$k/control"
	ls -l /proc/self /dev >/dev/null
	echo text >"$work/some" && rm "$work/some"
	put stop "$k/control"
	copy_image "$k/export/ltt" "$work/ltt.kernel"
	cat "$k/export/json" >"$work/json" || fail "json"
	python3 "$top/tests/lib/judge_ltt.py" "$work/ltt.kernel" "$work/json" >"$work/judged" 2>&1 ||
		fail "kernel: $(head -c 3000 "$work/judged")"
	has "$(cat "$work/judged")" ' processes$'
	mv "$work/ltt" "$work/ltt.user"
	mv "$work/ltt.kernel" "$work/ltt"
	same_import "$k"
	echo "kernel: $(wc -l <"$work/raw") events of $(cut -d ' ' -f 4 "$work/raw" | sort -u | wc -l) kinds"
	rm -rf "$work/ltt"
	mv "$work/ltt.user" "$work/ltt"
	put "$work/ltt" "$old/input"
	rmdir "$k"
fi

# ---- the session that shows it ----

is "format" "LTT 0.x" "$(sed -n 's/^input_format //p' "$old/status")"
# What the events of the facility core say.
has "$(cat "$old/status")" '^facility [a-z_]* id [1-9][0-9]* checksum [0-9]* cycle [0-9]*$'
is "events in counts" "$events" "$(awk '$3 == "*" { n += $4 } END { print n }' "$old/counts")"
# (A viewer's marks are no part of the trace.)
echo '<bookmarks>' >"$work/ltt/bookmarks.xml"
put "$work/ltt" "$old/input"
is "events beside bookmarks.xml" "$events" "$(wc -l <"$old/text")"
mkdir "$work/all"
mv "$work/ltt" "$work/all/one"
file=$(cd "$work/all" && ls one/cpu_* | head -n 1)
printf x | dd of="$work/all/$file" bs=1 seek=40 conv=notrunc 2>/dev/null
refused "${file#*/}: offset [0-9]*: the file has changed" cat "$old/text"
put "$work/all" "$old/input"
refused "$file: offset 40: expected the magic number" cat "$old/text"
rm "$work/all/one/eventdefs/"*
refused "no trace in this directory" write "$work/all" "$old/input"
echo '<facility name=core>' >"$work/all/one/eventdefs/core.xml"
refused "one/eventdefs/ has no definition of the facility" write "$work/all" "$old/input"
echo "$checks checks"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# trace/: each process sees one moment; sizes hold, files can be mapped, a copy is a save; the
# moment ends.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree -o tz=UTC
mkdir "$S/s" || fail mkdir
cd "$S/s" || exit 2
echo 'trail:log' >user/events
echo start >control || fail start
i=0
while [ $i -lt 200 ]; do
	echo "message number $i"
	i=$((i + 1))
done >"$MNT/log"

stream=$(find trace -type f ! -path '*/index/*' ! -name metadata | head -n 1)
meta=$(find trace -name metadata | head -n 1)
[ -n "$stream" ] && [ -n "$meta" ] || fail "no stream or no metadata: $(find trace)"
has "$(head -c 200 "$meta" | tr -d '\0')" 'CTF 1.8'

# The size of a file stands, whatever is recorded meanwhile
is "one process, one moment" "0" "$(tool open "$stream" r size read 10 sh \
	"for i in 1 2 3 4 5 6 7 8 9; do echo more >$MNT/log; done" size read 10000000 size |
	awk 'NR == 1 { s = $1 } NR == 3 || NR == 5 { bad += $1 != s } NR == 4 { bad += $1 + 10 != s } END { print bad + 0 }')"
is "mapped is read" same "$(tool open "$stream" r map)"
is "mapped is read (metadata)" same "$(tool open "$meta" r map)"
# Another process looks at another moment
is "files have inodes of their own in each moment" 2 \
	"$({ stat -c %i "$stream"; stat -c %i "$stream"; } | sort -u | wc -l | tr -d ' ')"
is "within a process they are the same" 1 "$(stat -c %i "$stream" "$stream" "$stream" | sort -u | wc -l | tr -d ' ')"
is "directories keep theirs" 1 "$({ stat -c %i trace; stat -c %i trace; } | sort -u | wc -l | tr -d ' ')"
dir=$(dirname "$stream")
is "directories below, too" 1 "$({ stat -c %i "$dir"; stat -c %i "$dir"; } | sort -u | wc -l | tr -d ' ')"
(cd "$dir" && ls >/dev/null && sleep 3 && ls >/dev/null && [ "$(pwd -P)" = "$PWD" ] && stat metadata >/dev/null) ||
	fail "a working directory does not last"

# A copy is a save
copy_image trace "$work/save"
is "the copy is complete" "$(find trace | wc -l)" "$(find "$work/save" | wc -l)"
if command -v babeltrace2 >/dev/null; then
	echo stop >control
	TZ=UTC babeltrace2 trace >"$work/bt" 2>"$work/bt.err" || { cat "$work/bt.err"; fail babeltrace2; }
	cat text >"$work/text"
	cmp "$work/bt" "$work/text" || fail "text is not what babeltrace2 prints"
	is "all messages" 209 "$(grep -c trail:log "$work/text")"
	TZ=UTC babeltrace2 "$work/save" >"$work/bt2" || fail "babeltrace2 of the copy"
	is "the copy has what was there" 209 "$(wc -l <"$work/bt2" | tr -d ' ')"
	echo start >control
fi
if command -v tar >/dev/null; then
	tar -cf "$work/t.tar" trace 2>"$work/tar.err" || { cat "$work/tar.err"; fail "tar"; }
	is "tar is content" "" "$(cat "$work/tar.err")"
fi

# Nothing can be written, made, removed
is "write" EACCES "$(tool open "$meta" w)"
is "unlink" EPERM "$(tool unlink "$meta")"

# A moment ends two seconds after the last look, not while a file is open
frozen() {
	[ "$(key frozen_bytes "$MNT/status")" = 0 ]
}
exec 3<"$stream"
cat <&3 >/dev/null
sleep 2.5
frozen && fail "an open file does not keep its moment"
exec 3<&-
within 4 frozen || fail "a moment does not end: $(key frozen_bytes "$MNT/status") bytes are held"

# A limit on what moments hold
cd / && rmdir "$S/s"
fusermount3 -u "$MNT"
within 10 daemon_ended
mount_tree -o tz=UTC,max_frozen=1
mkdir "$S/s" || fail mkdir
cd "$S/s" || exit 2
echo 'trail:log' >user/events
echo start >control
echo message >"$MNT/log"
is "beyond max_frozen" EDQUOT "$(tool open "$stream" r read 10000)"
is "text is no moment" 1 "$(wc -l <text | tr -d ' ')"
cd / && rmdir "$S/s"
fusermount3 -u "$MNT"
within 10 daemon_ended
mount_tree -o tz=UTC
mkdir "$S/s" || fail mkdir
cd "$S/s" || exit 2
echo 'trail:log' >user/events
echo start >control
seq 100 >"$MNT/log"

# rmdir while a file of it is open
exec 3<"$stream"
cd / && rmdir "$S/s" || fail rmdir
[ "$(wc -c <&3)" -gt 100 ] || fail "an open file of a removed session cannot be read"
exec 3<&-
echo "$checks checks"

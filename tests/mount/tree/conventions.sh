#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# How control files are written and read: lists, atomic writes, partial lines, comments, quotes,
# units.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree
mkdir "$S/s" || fail mkdir
cd "$S/s" || exit 2
e=user/events

# `>` replaces, `>>` adds, O_TRUNC alone does nothing
echo 'a:one' >$e
echo 'a:two' >>$e
is "append" "a:one a:two " "$(tr '\n' ' ' <$e)"
echo 'b:*' >$e
is "replace" "b:*" "$(cat $e)"
cat /nonexistent 2>/dev/null >$e
is "cat of nothing" "b:*" "$(cat $e)"
: >$e
is "truncation alone" "b:*" "$(cat $e)"
is "truncate(2)" ok "$(tool truncate $e 0)"
is "truncate(2) changes nothing" "b:*" "$(cat $e)"
is "ftruncate(2)" "ok ok " "$(tool open $e w trunc 0 close | tr '\n' ' ')"
is "ftruncate changes nothing" "b:*" "$(cat $e)"
echo >$e
is "an empty line empties" "" "$(cat $e)"
echo 'a:one' >$e
echo >>$e
is "an empty line adds nothing" "a:one" "$(cat $e)"
echo 'a:one' >>$e
is "adding again changes nothing" "a:one" "$(cat $e)"
# The first write of an open replaces, later ones add
tool open $e wt write 'x:1\n' write 'x:2\n' write 'x:3\n' >/dev/null
is "later writes add" "x:1 x:2 x:3 " "$(tr '\n' ' ' <$e)"
{ echo 'y:1'; echo 'y:2'; } >$e
is "a shell's line by line" "y:1 y:2 " "$(tr '\n' ' ' <$e)"
tool open $e rw write 'y:3\n' >/dev/null
is "read-write adds" "y:1 y:2 y:3 " "$(tr '\n' ' ' <$e)"
printf 'z:1' >$e
is "no newline at the end" "z:1" "$(cat $e)"
is "offsets are ignored" "4 4" \
	"$(tool open $e w write 'z:2\n' write 'z:3\n' | tr '\n' ' ' | sed 's/ $//')"
is "offsets are ignored (2)" "z:1 z:2 z:3 " "$(tr '\n' ' ' <$e)"
dd if=/dev/zero bs=1 count=0 2>/dev/null >$e
is "dd of nothing" "z:1 z:2 z:3 " "$(tr '\n' ' ' <$e)"

# One write is one unit
is "all or nothing" EINVAL "$(tool open $e wt write 'a:good\na:b loglevel nonsense\na:good2\n')"
is "nothing of it" "z:1 z:2 z:3 " "$(tr '\n' ' ' <$e)"
has "$(cat error)" '^events:2: '
has "$(cat error)" '^  a:b loglevel nonsense$'
has "$(cat error)" '^ *^$'
cat >$e <<END
# a comment
a:one
  a:two
# another
END
is "here document" "a:one a:two " "$(tr '\n' ' ' <$e)"
is "the error is gone" "" "$(cat error)"

# After a failed write the same open takes no more, and repeats the error number
is "then the same" "EINVAL EINVAL EINVAL ok " \
	"$(tool open $e w write 'a:b loglevel 99x\n' write 'c:d\n' write 'e:f\n' close |
		tr '\n' ' ')"
is "nothing was added" "a:one a:two " "$(tr '\n' ' ' <$e)"
has "$(cat error)" 'loglevel 99x'
if command -v bash >/dev/null; then
	bash -c "{ echo 'a:three'; echo 'a:b loglevel x'; echo 'a:four'; } >>$e" 2>/dev/null
	is "bash stops at the first error" "a:one a:two a:three " "$(tr '\n' ' ' <$e)"
fi
# A new open is fresh
echo 'n:n' >>$e || fail "a new open after a failure"

# Partial lines: a write of 512 bytes or more may have been cut anywhere
echo >$e
i=0
while [ $i -lt 60 ]; do
	echo "prov$i:some_longer_event_name_$i"
	i=$((i + 1))
done >"$work/rules"
for bs in 512 513 700 1000 4096; do
	dd if="$work/rules" of=$e bs=$bs 2>/dev/null || fail "dd bs=$bs"
	cmp "$work/rules" $e || fail "rules in writes of $bs bytes"
done
cp "$work/rules" "$work/rules2"
printf 'last:line' >>"$work/rules2"
tee $e <"$work/rules2" >/dev/null || fail "tee"
is "the last line came with close" "last:line" "$(tail -n 1 $e)"
head -c 600 /dev/zero | tr '\0' 'a' >"$work/long"
printf ':x' >>"$work/long"
is "an unfinished long line waits" "602" \
	"$(tool open $e w file "$work/long" sh "tail -n 1 $e >$work/seen" close | head -n 1)"
is "and is not there before close" "last:line" "$(cat "$work/seen")"
: >"$work/bad"
i=0
while [ $i -lt 40 ]; do printf 'some:rule%d loglevel bad%d' $i $i >>"$work/bad"; i=$((i + 1)); done
is "close tells of a bad rest" "EINVAL" "$(tool open $e w file "$work/bad" close | tail -n 1)"

# Comments and quotes
echo >$e
printf '#a:b\na:b\n' >$e
is "comment" "a:b" "$(cat $e)"
mkdir user/channels/c || fail mkdir
cd user/channels/c || exit 2
echo '"4"' >subbuf_count || fail "a quoted word"
is "a quoted word" 4 "$(cat subbuf_count)"
echo '  8  ' >subbuf_count || fail "blanks around a word"
is "blanks around a word" 8 "$(cat subbuf_count)"
printf '# how many\n\n2\n' >subbuf_count || fail "comment before a value"
is "comment before a value" 2 "$(cat subbuf_count)"
printf '16' >subbuf_count && is "no newline" 16 "$(cat subbuf_count)"

# Sizes and choices; what is read can be written again
echo 1M >subbuf_size || fail "1M"
is "plain bytes" 1048576 "$(cat subbuf_size)"
echo 100k >subbuf_size || fail "100k"
is "rounded up" 131072 "$(cat subbuf_size)"
for f in enabled subbuf_size subbuf_count loss_mode buffering; do
	v=$(cat $f)
	case $v in *\[*) v=$(echo "$v" | sed 's/.*\[\(.*\)\].*/\1/') ;; esac
	echo "$v" >$f || fail "$f does not take what it shows: $v"
done
has "$(cat loss_mode)" '\[default\]'
echo overwrite >loss_mode && has "$(cat loss_mode)" '\[overwrite\]'
echo 0 >enabled && is "enabled" 0 "$(cat enabled)"
cd "$S/s" || exit 2

# Contents are fixed by a read and renewed at offset 0
exec 3<control
is "verbs" "start" "$(head -n 1 <&3)"
exec 3<&-
echo start >control || fail start
is "verbs now" "stop" "$(head -n 1 control)"
is "renewed at offset 0" "1 stop" "$(tool open status r read 5 sh 'echo stop >control' pread 0 100000 sh \
	'head -n 1 status | grep -c inactive' | tail -n 1) $(head -n 1 control | sed 's/start/stop/')"

# Control takes several verbs in one write, in order
printf 'start\nstop\nstart\n' >control || fail "three verbs"
is "three verbs" active "$(key state status)"
is "check all, then run" EINVAL "$(tool open control w write 'stop\nnonsense\n')"
is "none was run" active "$(key state status)"
has "$(cat error)" '^control:2: '
echo stop >control

# log
echo hello >"$MNT/log" || fail log
printf 'one\n\ntwo\n# three\nbin\377ary\n' >"$MNT/log" || fail "several lines"
head -c 4096 /dev/zero | tr '\0' x >"$MNT/log" || fail "4096 bytes"
{ head -c 4097 /dev/zero | tr '\0' x; echo; } >"$work/4097"
is "4097 bytes" EINVAL "$(tool open "$MNT/log" w file "$work/4097")"

# Times, locks
touch control "$S/s" || fail touch
if command -v flock >/dev/null; then
	flock "$S/s" -c true || fail "flock of the directory"
	flock control -c true || fail flock
fi
sync "$S/s" control 2>/dev/null || sync
echo "$checks checks"

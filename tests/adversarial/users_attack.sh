#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Two users on root's mount do each other all the harm they can: they read, write, remove, rename,
# link, flood limits, plant links in the directory of registrations, talk to the daemon's sockets.
# Both get EACCES (or EPERM) and EDQUOT, and nothing else; what each of them records meanwhile is
# complete, and afterwards the daemon is what it was.
. "$(dirname "$0")/../lib/mount.sh"
[ "$(id -u)" = 0 ] || skip "this needs root"
command -v setpriv >/dev/null || skip "there is no setpriv"
seconds=${ATTACK_SECONDS:-6}
[ -z "${SOAK-}" ] || seconds=120
a=54321 b=54322
as() {
	uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups env LD_LIBRARY_PATH="$work" "$@"
}
as $a true || skip "setpriv may not change users here"
cp "$TOOL" "$work/tool" && TOOL=$work/tool
cp "$BUILD/tests/lib/ticker" "$BUILD"/libtrail.so.0 "$work/" || fail "no ticker"
mount_tree -o user_sessions=12,user_buffers=64M,user_frozen=2M,max_frozen=8M
rss() { awk '/^RssAnon/ { print $2 }' "/proc/$daemon/status"; }
descriptors() { find "/proc/$daemon/fd" -mindepth 1 | wc -l; }
daemon=$(daemon_pids)

# What a script of user $1 does to $2's session, once: the name of each error (or "ok") on a line,
# with what was tried
cat >"$work/attack" <<'END'
tool=$1 s=$2 state=$3 victim=$4 mine=$5
cd /                    # it may not be allowed where it was called
try() {
	printf '%s %s\n' "$*" "$("$tool" "$@" 2>&1 | tail -n 1)"
}
for f in control status wait error text pipe user/events user/contexts user/track/vpid user/channels/c/events user/channels/c/enabled \
	user/channels/c/status user/channels/c/subbuf_size; do
	try open "$s/$f" r
	try open "$s/$f" w
	try open "$s/$f" wt
	try truncate "$s/$f" 0
	try access "$s/$f"
	try chmod "$s/$f" 666
	try unlink "$s/$f"
	try symlink /etc/passwd "$s/$f.x"
	try utimes "$s/$f"
done
for d in "" /user /user/channels /user/channels/c /user/channels/c/streams /trace; do
	try open "$s$d/x" wc
	try mkdir "$s$d/x"
	try rmdir "$s$d"
	try rename "$s$d" "$s.gone"
	try rename "$mine" "$s$d"
	try chmod "$s$d" 777
	try chown "$s$d" "$(id -u)"
done
# Files of the daemon's own, and of other users' registrations
for f in lock keeper keeper.lock clock active "sessions/${s##*/}/session" "sessions/${s##*/}/events-0"; do
	try open "$state/$f" w
	try unlink "$state/$f"
done
try mkdir "$state/x"
try open "$state/sessions" r
for f in "$state"/apps/*; do
	[ -O "$f" ] && continue
	try open "$f" r
	try open "$f" w
	try unlink "$f"
	try rename "$f" "$f.x"
done
# Another user's process and descriptors
for d in "/proc/$victim/fd" "/proc/$victim/map_files"; do
	for f in "$d"/*; do
		[ -e "$f" ] && try open "$f" r
	done
done
END
# Its own limits, as far as they go and further: sessions, channels, buffers, frozen bytes,
# messages, errors
cat >"$work/flood" <<'END'
tool=$1 S=$2 MNT=$3 me=$4 ticker=$5
cd /
i=0
while [ $i -lt 20 ]; do
	i=$((i + 1))
	r=$("$tool" mkdir "$S/flood-$me-$i")
	echo "mkdir session $r"
	[ "$r" = ok ] || continue
	mkdir "$S/flood-$me-$i/user/channels/c"
	echo 1M >"$S/flood-$me-$i/user/channels/c/subbuf_size"
	echo 'tick:*' >"$S/flood-$me-$i/user/channels/c/events"
	r=$("$tool" open "$S/flood-$me-$i/control" w write 'start\n')
	echo "start $r"
	# Its buffers come when the long program asks for them.
	n=0
	while [ "$r" = 6 ] && [ $n -lt 2000 ] && awk '/^buffer(_bytes|s_refused) / { n += $2 } END { exit n > 0 }' "$S/flood-$me-$i/status"; do
		n=$((n + 1))
		sleep 0.05
	done
	seq 1 100 | sed 's/^/x:/' >"$S/flood-$me-$i/user/channels/c/events"
	echo nonsense 2>/dev/null >"$S/flood-$me-$i/control"
done
"$ticker" 1000 0
find "$S"/flood-"$me"-*/trace -type f -exec cat {} + 2>&1 >/dev/null | sed -n 's/.*Disk quota exceeded/read trace EDQUOT/p' | sort -u
seq -f 'a flood of messages, this is number %.0f' 300 >"$MNT/log"
# Names and links in the directory that all may write
for n in 1 2 3 4 5; do
	ln -s /etc/shadow "$6/$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')"
	mkfifo -m 600 "$6/$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')"
done
find "$6" \( -type l -o -type p \) -user "$(id -u)" -exec rm {} +
rmdir "$S"/flood-"$me"-*
END

for u in $a $b; do
	as $u sh -c "mkdir $S/s$u $S/s$u/user/channels/c && cd $S/s$u/user/channels/c && echo 64k >subbuf_size && echo 64 >subbuf_count &&
		echo discard >loss_mode && echo 'tick:*' >events && echo start >$S/s$u/control" || fail "session of $u"
	# What is to be recorded, all the while: buffers have a limit where a program of the user
	# is. (exec: it is the process that the shell knows.)
	(exec setpriv --reuid $u --regid $u --clear-groups env LD_LIBRARY_PATH="$work" \
		"$work/ticker" 0 2000 >"$work/ticks.$u") &
	eval "tick$u=$!"
done
# (A flood has a program that ticks a thousand times: these two tick longer.)
ticked() { [ "$(key events_recorded "$S/s$1/status")" -ge 1000 ]; }
for u in $a $b; do
	within 60 ticked $u || fail "nothing is recorded of $u"
done
before=$(rss) fds=$(descriptors)
end=$(($(date +%s) + seconds))
# fight ME OTHER OTHER'S_PROCESS
fight() {
	while [ "$(date +%s)" -lt $end ]; do
		as $1 sh "$work/attack" "$TOOL" "$S/s$2" "$TRAIL_RUNTIME_DIR" "$3" "$S/s$1" \
			>>"$work/attack.$1" 2>/dev/null
		as $1 sh "$work/flood" "$TOOL" "$S" "$MNT" "$1" "$work/ticker" \
			"$TRAIL_RUNTIME_DIR/apps" >>"$work/flood.$1" 2>/dev/null
	done
}
fight $a $b $tick54322 &
one=$!
fight $b $a $tick54321 &
wait $one $!
kill $tick54321 $tick54322
wait $tick54321 && wait $tick54322 || fail "a ticker did not end well"

for u in $a $b; do
	[ "$(wc -l <"$work/attack.$u")" -gt 150 ] ||
		fail "$u tried little: $(wc -l <"$work/attack.$u")"
	# (The other one's registration may just have gone.)
	grep -v ' \(EACCES\|EPERM\)$' "$work/attack.$u" | grep -v '/apps/.* ENOENT$' >"$work/bad" &&
		fail "user $u: $(sort -u "$work/bad" | head)"
	grep -v ' \(ok\|6\|EDQUOT\)$' "$work/flood.$u" >"$work/bad" &&
		fail "user $u: $(sort -u "$work/bad" | head)"
	grep -q '^mkdir session EDQUOT$' "$work/flood.$u" || fail "user $u met no limit of sessions"
	grep -q '^start EDQUOT$' "$work/flood.$u" || fail "user $u met no limit of buffers"
	s=$S/s$u
	echo stop >"$s/control" || fail "stop"
	is "state of $s" "c" "$(ls "$s/user/channels")"
	# The flood's own programs are recorded there, too: those of the long one are all there
	[ "$(key events_discarded "$s/status")" = 0 ] || fail "$s: $(cat "$s/status")"
	is "mode of $s" "700 $u" "$(stat -c '%a %u' "$s")"
	sed -n 's/.*n = \([0-9]*\) }$/\1/p' "$s/text" | sort -n | uniq >"$work/seen"
	seq 0 $(($(cat "$work/ticks.$u") - 1)) | cmp - "$work/seen" || fail "$s: events are missing"
	checks=$((checks + 5))
done

# Afterwards
rmdir "$S"/s* || fail rmdir
is "sessions" 0 "$(key sessions "$MNT/status")"
nothing() { [ "$(key frozen_bytes "$MNT/status")" = 0 ] && ! grep -q '^user' "$MNT/status"; }
within 10 nothing || fail "left: $(cat "$MNT/status")"
fewer() { [ "$(descriptors)" -le "$fds" ]; }
within 10 fewer || fail "descriptors: $fds before, $(descriptors) now"
small() { [ "$(rss)" -le $((before + 8192)) ]; }
[ -n "${SAN-}" ] || within 10 small || fail "memory: $before kB before, $(rss) kB now"
echo "$checks checks; $(cat "$work"/attack.* | wc -l) attacks; memory $before kB, then $(rss) kB"

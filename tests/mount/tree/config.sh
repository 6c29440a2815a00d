#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# config: a session as a file. What is read back is what was written, for random sessions and for
# every file that can be written; what is wrong changes nothing and is explained; the error is that
# of close.
. "$(dirname "$0")/../../lib/mount.sh"
configs=$BUILD/tests/mount/tree/configs
mount_tree -o tz=UTC

# --- cat config > f; mkdir; cat f > config
mkdir "$S/a" && cd "$S/a" || fail mkdir
cat >user/events <<'EOF'
my_app:* except my_app:debug* loglevel <= warning
other:x if s == "a ; b # c" && n != 3
~off:*
EOF
echo 'vpid procname' >user/contexts
echo 12 >user/track/vpid
echo >user/track/vgid
mkdir user/channels/big
echo 1M >user/channels/big/subbuf_size
echo 2 >user/channels/big/subbuf_count
echo discard >user/channels/big/loss_mode
echo process >user/channels/big/buffering
echo inf >user/channels/big/blocking_timeout
echo 100ms >user/channels/big/switch_period
echo 1s >user/channels/big/read_period
echo 0 >user/channels/big/enabled
echo 'big:*' >user/channels/big/events
echo 3M >snapshot_max_size
[ ! -d kernel ] || echo sched_switch >kernel/events
cat config >"$work/f"
mkdir "$S/b" && cat "$work/f" >"$S/b/config" || fail "config is refused"
cmp "$work/f" "$S/b/config" || fail "the copy has another config"
# The same, file by file
compare() {
	for f in $(cd "$1" && find . -type f -perm -0200 ! -name log ! -name control | sort); do
		checks=$((checks + 1))
		cmp -s "$1/$f" "$2/$f" || fail "$f: '$(cat "$1/$f")' became '$(cat "$2/$f")'"
	done
}
compare "$S/a" "$S/b"
is "channels" "$(ls "$S/a/user/channels")" "$(ls "$S/b/user/channels")"
# Every file that can be written is in it, by its name; the shortcuts are their channels.
for f in $(find . -type f -perm -0200 ! -path './control' ! -path './config' ! -path './user/events' ! -path './user/contexts' \
	! -path './kernel/events' ! -path './kernel/contexts'); do
	name=${f##*/}
	case $f in */track/*) name=track/$name ;; esac
	grep -q "^$name =" config || fail "config does not have $f"
done
# A choice, by what it reads as
has "$(cat config)" '^loss_mode = discard$'
has "$(cat config)" '^events = other:x if s == "a ; b # c" && n != 3$'

# --- written by hand: in pieces, with comments, lists one below the other, what is not mentioned as
# in a new session
mkdir "$S/c" && cd "$S/c" || fail mkdir
{
	echo '# mine'
	echo '[user channel]'
	echo 'name=x'
	echo '; a comment'
	cat <<EOF
events = a:*
   b:* if k == 1

   c:*
subbuf_size: 64k
EOF
} | cat >config || fail "by hand"
is "list" 'a:* b:* if k == 1 c:*' "$(tr '\n' ' ' <user/channels/x/events | sed 's/ $//')"
is "suffix" 65536 "$(cat user/channels/x/subbuf_size)"
is "not mentioned" 4 "$(cat user/channels/x/subbuf_count)"
{ echo '[session]'; echo 'snapshot_max_size = 5'; cat "$work/f"; } >config ||
	fail "two writers, one file"
cmp -s config "$work/f" || fail "later lines win"
is "what is not mentioned goes" "big channel0" "$(ls user/channels | tr '\n' ' ' | sed 's/ $//')"
: >config
cmp -s config "$work/f" || fail "opening alone changes something"
# Each of these closes a descriptor of the same open: what was written until then is taken together.
exec 3>config
printf '[user channel]\n' >&3
printf 'name = y\n' >&3
printf 'events = y:*\n' >&3
exec 3>&-
is "taken together" y "$(ls user/channels)"

# --- mistakes
# wrong ERRNO-TEXT PATTERN TEXT
wrong() {
	before=$(cat config)
	printf "$3" | cat >config 2>"$work/err" && fail "taken: $3"
	has "$(cat "$work/err")" "$1"
	has "$(cat error)" "$2"
	is "nothing changed" "$before" "$(cat config)"
}
wrong Invalid '^config:1: neither \[SECTION\]' 'nonsense\n'
wrong Invalid '^config:2: neither' '[session]\n[user\n'
wrong Invalid '^config:1: a .SECTION. is missing' 'a = b\n'
wrong Invalid '^config:2: no such section' '[session]\n[users]\na = b\n'
wrong Invalid '^config:1: no such section' '[sesion]\n'
wrong Invalid '^config:2: .*below \[user channel\]' '[user]\nevents = a:*\n'
wrong Invalid "^config:2: .*did you mean 'snapshot_max_size'" '[session]\nsnapshot_max_sise = 1\n'
wrong Invalid '^config:2: ' '[session]\nsnapshot_max_size = much\n'
wrong Invalid '^config:2: one value' '[session]\nsnapshot_max_size = 1 2\n'
wrong Invalid '^config:2: a value is expected' '[session]\nsnapshot_max_size =\n'
wrong Invalid "begins with its name" '[user channel]\nevents = a:*\n'
wrong exists '^config:5: there is a channel' \
	'[user channel]\nname = q\nevents = a:*\n[user channel]\nname = q\n'
wrong Invalid '^config:4: this section has its name' \
	'[user channel]\nname = q\nevents = a:*\nname = r\nevents = b:*\n'
wrong Invalid '^config:7: ' '[user channel]\nname = q\nevents = a:*\n# here\n  b:*\n\nevents = c:* if ==\nsubbuf_size = 4k\n'
wrong Invalid '^config:4: .*loss_mode is overwrite' \
	'[user channel]\nname = q\nloss_mode = overwrite\nblocking_timeout = 1s\n'
wrong Invalid '^config:2: no setting' '[user]\ntrack/nothing = 1\n'
wrong Invalid '^config:2: no setting' '[user]\ntrack = 1\n'
wrong Invalid '^config:2: no setting' '[session]\ncontrol = start\n'
wrong Invalid '^config:2: no setting' '[session]\nuser = 1\n'
wrong Invalid '^config:2: must be yes or no' '[session]\nstart = perhaps\n'
wrong Invalid 'NUL' '[session]\nsnapshot_max_size = 1\0\n'
wrong Invalid 'UTF-8' '[session]\nsnapshot_max_size = \377\n'
wrong Invalid '^config:3: .*2049\|^config:3: ' \
	"[user channel]\nname = q\nevents = a:* if s == \"$(printf '%070000d' 0)\"\n"
# Long, but possible
long="x:* if s == \"$(printf '%03900d' 0)\""
printf '[user channel]\nname = long\nevents = %s\n' "$long" | cat >config ||
	fail "a long rule is refused"
is "nothing is cut" "$long" "$(cat user/channels/long/events)"
is "an error goes with the next success" "" "$(cat error)"
head -c 8388608 /dev/zero | tr '\0' '#' >"$work/much"
is "too much" "8388608 8388608 EFBIG EFBIG" \
	"$(tool open config w file "$work/much" file "$work/much" file "$work/much" write x |
		tr '\n' ' ' | sed 's/ $//')"
grep -q '^name = long$' config || fail "too much changed something"

# --- start, and what was started
printf '[session]\nstart = yes\n[user channel]\nname = channel0\nevents = trail:*\n' |
	cat >config || fail "start"
is "started" active "$(key state status)"
echo hello >"$MNT/log"
is "records" 1 "$(grep -c hello text)"
cat "$work/f" 2>/dev/null >config && fail "a started session takes a config"
has "$(cat error)" 'was started already'
echo stop >control
before=$(cat config)
cat "$work/f" 2>"$work/err" >config && fail "a session that was started takes a config"
has "$(cat "$work/err")" busy
is "nothing changed" "$before" "$(cat config)"
# What an active session shows makes one that is not active.
echo start >control
mkdir "$S/d" && cat config >"$S/d/config" || fail "the config of an active session"
is "not started" inactive "$(key state "$S/d/status")"
sed '/^active = yes$/d' config | cmp - "$S/d/config" || fail "the copy of an active session"
# A start that fails changes nothing, either.
mkdir "$S/e" && cd "$S/e" || fail mkdir
before=$(cat config)
printf '[session]\nsnapshot_max_size = 1\nstart = yes\n' | cat 2>/dev/null >config &&
	fail "a start without a channel"
has "$(cat error)" 'nothing to record'
is "as it was" "$before" "$(cat config)"

# --- who may
if [ "$(id -u)" = 0 ] && setpriv --reuid 54321 --regid 54321 --clear-groups true 2>/dev/null; then
	cp "$TOOL" "$work/tool"
	as() {
		setpriv --reuid 54321 --regid 54321 --clear-groups "$@"
	}
	is "private" EACCES "$(as "$work/tool" open "$S/a/config" r)"
	as mkdir "$S/theirs"
	before=$(as cat "$S/theirs/config")
	printf '[kernel channel]\nname = k\nevents = sched_switch\n' >"$work/k"
	as sh -c "cat $work/k >$S/theirs/config" 2>/dev/null &&
		fail "a user's session takes the kernel's events"
	is "nothing changed" "$before" "$(as cat "$S/theirs/config")"
fi

# --- kept over a kill
cat "$work/f" >"$S/e/config"
cd /
kill -9 $(daemon_pids)
within 10 daemon_ended
fusermount3 -u -z "$MNT" 2>/dev/null || umount -l "$MNT"
mount_tree -o tz=UTC
cmp "$work/f" "$S/e/config" || fail "another config after a kill"
compare "$S/a" "$S/e"

# --- at random
rmdir "$S"/*
kernel=
mkdir "$S/x" && [ -d "$S/x/kernel" ] && kernel=kernel
rmdir "$S/x"
seed=${SEED:-$$}
timeout 200 "$configs" "$S" round 40 "$seed" $kernel >"$work/out" ||
	{ cat "$work/out"; fail "seed $seed"; }
timeout 200 "$configs" "$S" spoil "${FUZZ_SECONDS:-5}" "$seed" >"$work/out" ||
	{ cat "$work/out"; fail "seed $seed"; }
echo "# $(cat "$work/out")"
daemon_ended && fail "the daemon is gone"
echo "$checks checks"

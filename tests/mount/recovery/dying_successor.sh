#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# The program that the keeper starts in the place of a killed daemon ends before it has the mount.
# The keeper sees that at once: the next start follows, and after the third death EIO. It waits for
# no daemon that cannot come.
. "$(dirname "$0")/../../lib/successor.sh"
answers() { timeout 5 ls "$S/s/status" >/dev/null 2>&1; }
become <"$real"
start
mkdir "$S/s" || fail mkdir
is "no daemon was replaced" 0 "$(key daemons_replaced "$MNT/status")"
mask() { grep Umask "/proc/$(daemon_pids)/status"; }
before=$(mask)

# --- one that dies, and then the right one. (The keeper gives a daemon that it does not watch 20 s.)
become <<END
#!/bin/sh
echo started >>"$work/starts"
[ "\$(wc -l <"$work/starts")" -gt 1 ] || exit 1
exec "$real" "\$@"
END
kill -9 $(daemon_pids)
within 15 answers || fail "no answer after a successor that died: $(cat "$work/starts")"
is "starts" 2 "$(wc -l <"$work/starts")"
is "one took the mount" 1 "$(key daemons_replaced "$MNT/status")"
is "its umask" "$before" "$(mask)"

# --- all of them die: the third death within a minute
become <<END
#!/bin/sh
exit 1
END
refuses() { timeout 5 cat "$MNT/version" 2>&1 | grep -q 'Input/output error'; }
kill -9 $(daemon_pids)
within 15 refuses || fail "the mount does not answer EIO"

# --- one that does not know the state of the mount: it mounts anew, with the sessions
become <"$real"
start
within 20 answers || fail "the session is gone (2)"
become <"$BUILD/tests/other/version/trailfs"
other() {
	cmp -s "$BUILD/tests/other/version/trailfs" "/proc/$(daemon_pids)/exe" && answers
}
kill -9 $(daemon_pids)
within 20 other || fail "no daemon of another version: $(cat "$MNT/version" 2>&1)"
fusermount3 -u "$MNT" || fail unmount
within 20 keeper_ended || fail "the keeper stays"

# --- an upgrade to a program that could take over, and dies when it is executed
become <"$real"
start
mkdir "$S/s" || fail mkdir
become <<END
#!/bin/sh
case \$1 in --try-upgrade) exec "$real" "\$@" ;; esac
echo executed >>"$work/executed"
[ "\$(wc -l <"$work/executed")" -gt 1 ] || kill -9 \$\$
exec "$real" "\$@"
END
kill -USR2 $(daemon_pids)
executed() { [ -s "$work/executed" ]; }
within 20 executed || fail "the new program was not executed: $(cat "$work/daemon.log")"
within 15 answers || fail "no answer after an upgrade that died"
is "starts (2)" 2 "$(wc -l <"$work/executed")"
fusermount3 -u "$MNT" || fail unmount
echo "$checks checks"

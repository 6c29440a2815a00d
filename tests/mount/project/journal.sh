#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Messages of the daemon go to the journal with fields: in the background, and in the foreground if
# standard error is the journal's. A socket of this test is the journal. Without one, messages are
# on standard error, as ever.
. "$(dirname "$0")/../../lib/mount.sh"
command -v python3 >/dev/null || skip "there is no python3"

cat >"$work/journal.py" <<'END'
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
out = open(sys.argv[2], 'a')
while True:
    data, fields = s.recv(65536), {}
    while data:
        name, _, rest = data.partition(b'\n')
        if b'=' in name:
            key, _, value = name.partition(b'=')
            data = rest
        else:
            n = int.from_bytes(rest[:8], 'little')
            key, value, data = name, rest[8:8 + n], rest[9 + n:]
        fields[key.decode()] = value.decode()
    out.write(' '.join('%s=[%s]' % f for f in sorted(fields.items())) + '\n')
    out.flush()
END
TRAILFS_JOURNAL=$work/socket
export TRAILFS_JOURNAL
python3 "$work/journal.py" "$TRAILFS_JOURNAL" "$work/messages" &
journal=$!
trap 'code=$?; kill $journal; (exit $code); clean_up' EXIT
within 20 test -S "$TRAILFS_JOURNAL" || fail "no socket"

# --- in the background; a failure of a session
mount_tree
s=$S/web
mkdir "$s" "$work/out" || fail mkdir
echo 'tick:*' >"$s/user/events"
echo "$work/out" >"$s/output"
echo start >"$s/control"
# The output may be making files in it at this moment.
no_directory() { { rm -rf "$work/out" && : >"$work/out"; } 2>/dev/null; }
within 20 no_directory || fail "the directory is not removed"
"$BUILD/tests/lib/ticker" 100 0
echo stop >"$s/control" 2>/dev/null
said() { grep -q "$1" "$work/messages"; }
within 20 said 'SESSION=\[web\]' || fail "no message has the session: $(cat "$work/messages" "$s/error")"
line=$(grep 'SESSION=\[web\]' "$work/messages" | head -n 1)
has "$line" 'MESSAGE=\[session web: '
has "$line" "MOUNTPOINT=\[$MNT\]"
has "$line" 'PRIORITY=\[6\]'
has "$line" 'SYSLOG_IDENTIFIER=\[trailfs\]'

# --- in the foreground
: >"$work/messages"
"$TRAILFS" "$work/none" -f 2>"$work/stderr" && fail "a mount point that is not there"
has "$(cat "$work/stderr")" '^trailfs: .*none'
[ -s "$work/messages" ] && fail "it is in the journal: $(cat "$work/messages")"
: >"$work/stderr"
JOURNAL_STREAM=$(stat -c %d:%i "$work/stderr") "$TRAILFS" "$work/none" -f 2>>"$work/stderr"
within 20 said 'MESSAGE=\[.*none' || fail "it is not in the journal: $(cat "$work/stderr")"
has "$(cat "$work/messages")" 'PRIORITY=\[3\]'
is "standard error" "" "$(cat "$work/stderr")"
echo "$checks checks"

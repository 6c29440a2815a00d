#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 1500
#
# `make static` without options: exports, imports and relays are refused, with a sentence in `error`
# that says that this build was made without them. With EXPORTS=1 IMPORTS=1 RELAY=1 the tests of
# these pass. (tests/vm/board.sh tries a board.) SOAK=1, or STATIC=1: it builds everything with musl.
here=$(cd "$(dirname "$0")" && pwd) || exit 2
top=${here%/tests/*}
[ -n "${STATIC-}${SOAK-}" ] || { echo "built with musl for SOAK=1, or with STATIC=1"; exit 77; }
command -v musl-gcc >/dev/null || { echo "there is no musl-gcc"; exit 77; }
log=$(mktemp "${TMPDIR:-/tmp}/static.XXXXXX") || exit 2
for options in "" "EXPORTS=1 IMPORTS=1 RELAY=1"; do
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u CC -u STATIC -u SAN make -C "$top" static $options \
		>"$log" 2>&1 || { echo "FAILED: make static $options: $(tail -n 20 "$log")"; exit 1; }
done
rm -f "$log"
TRAILFS=$top/build-musl-gcc/trailfs
export TRAILFS
. "$here/../../lib/mount.sh"

# said IN WORDS: the newest entry of the file `error` there
said() {
	has "$(head -n 1 "$1/error")" "$2"
}
mount_tree
s=$S/a
mkdir "$s" && put 'tick:*' "$s/user/events" && put start "$s/control" || fail "session"
"$BUILD/tests/lib/ticker" 3 0 >/dev/null 2>&1
put stop "$s/control"
is "export/" "json json.symbols" "$(echo $(ls "$s/export"))"
[ "$(grep -c . "$s/export/json")" -ge 1 ] || fail "export/json: $(cat "$s/status")"
for f in csv sql parquet otlp.jsonl lket.txt chrome.json perfetto flame.svg flame.folded \
	timeline.html report.html live.html; do
	cat "$s/export/$f" >"$work/out" 2>"$work/err" && fail "there is export/$f"
	said "$s" "^$f: this build was made without exports"
done
for f in lket ltt; do
	ls "$s/export/$f" >"$work/out" 2>"$work/err" && fail "there is export/$f"
	said "$s" "^$f: this build was made without exports"
done
ls "$s/export/other" 2>"$work/err" && fail "there is export/other"
grep -q 'No such file' "$work/err" || fail "export/other: $(cat "$work/err")"
cat "$s/pipe.otlp" >"$work/out" 2>"$work/err" && fail "there is pipe.otlp"
said "$s" "^pipe.otlp: this build was made without it"
mkdir "$S/b"
echo "$s/trace" >"$S/b/input" 2>/dev/null && fail "a trace of others was read"
said "$S/b" "^input: this build was made without imports"
echo net://127.0.0.1 >"$S/b/output" 2>/dev/null && fail "a relay was taken"
said "$S/b" "^output: this build was made without relays"
fusermount3 -u "$MNT"
within 20 daemon_ended || fail "the daemon does not end"

TRAILFS=$top/build-musl-gcc-relay-exports-imports/trailfs
for t in views/import views/import_forms views/import_ctf2 views/sql views/parquet views/ltt \
	views/report output/relay; do
	timeout 300 "$top/tests/mount/$t.sh" >"$work/log" 2>&1
	case $? in
	0) checks=$((checks + 1)) ;;
	77) echo "$t: $(tail -n 1 "$work/log")" ;;
	*) fail "$t: $(tail -n 20 "$work/log")" ;;
	esac
done

# Packets that are compressed, which this build cannot read
PYTHONPATH=$top/tests/lib python3 -B - "$work" <<'END' || fail "no traces were written"
from ctf_trace import *
import bz2, gzip, lzma
for form, number, compress in (("bzip2", 1, bz2.compress), ("gzip", 2, gzip.compress),
                               ("xz", 3, lzma.compress)):
    text = b"".join(i.to_bytes(2, "little") for i in range(300))
    body = compress(text)
    trace(form, TYPES + """trace { major = 1; minor = 8; byte_order = le; };
stream { packet.context := struct { uint32_t packet_size, content_size;
uint8_t compression_scheme, cpu_id; }; };
event { name = ev; fields := struct { uint16_t v; }; };
""", s0=(8 * (10 + len(body))).to_bytes(4, "little") + (8 * (10 + len(text))).to_bytes(4, "little") +
          bytes((number, 0)) + body)
END
mount_tree
for f in bzip2 gzip xz; do
	mkdir "$S/$f"
	put "$work/$f" "$S/$f/input"
	cat "$S/$f/pipe" >"$work/out" 2>/dev/null && fail "$f is read"
	said "$S/$f" "s0: offset 0: this build was made without decompression of packets (CTF 1.8.3"
done
echo "$checks checks, $(stat -c %s "$top/build-musl-gcc/trailfs" "$TRAILFS" | paste -s -d ' ') bytes"

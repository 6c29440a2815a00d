#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 1200
#
# Go's package with a Go that has log/slog (1.21 and later), in a root directory with Debian sid:
# `go vet` finds nothing, languages/'s programs and slog/'s record what they log.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/sid.sh"
need_sid
sid_install go golang-go
mount_tree -o tz=UTC
mkdir "$S/s" && printf '%s\n' 'gopher:all' 'go:*' >"$S/s/user/events" && put start "$S/s/control" ||
	fail "session"
cp -r "$here/languages" "$here/slog" "$work/"
cat >"$work/build" <<'END'
set -e
export GOCACHE=/mnt/gocache GOPROXY=off GOTOOLCHAIN=local CGO_CFLAGS=-I/media/ustlib
export CGO_LDFLAGS="-L/srv -Wl,-rpath,/srv"
go version
for d in languages slog; do
	cd "/mnt/$d"
	go mod init example
	go mod edit -require=trail@v0.0.0 -replace=trail@v0.0.0=/media/ustlib/go
	go vet -composites=false .
	go build -o program .
done
cd /mnt/slog
go vet trail
END
sid build >"$work/out" 2>&1 || fail "go: $(tail -n 20 "$work/out")"
version=$(sed -n 's/^go version \([^ ]*\) .*/\1/p' "$work/out")
echo 'TRAIL_RUNTIME_DIR=/mnt/state TRAIL_ATTACH_TIMEOUT=60000 exec "/mnt/$1/program"' >"$work/run"
is "languages" slog "$(sid run languages 2>&1)"
is "slog" done "$(sid run slog 2>&1)"
put stop "$S/s/control"
sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$S/s/text" >"$work/text"
cat >"$work/want" <<'END'
gopher:all { i = -1, u = 18446744073709551615, b = 1, f = 0.5, s = "/über", t = "cut" }
go:main { message = "slow", ms = 12.5, ok = 0, who = "[1]" }
go:main { message = "in", id = 7, g_n = -1, g_h_x = "y" }
go:main { message = "kinds", i = -7, u = 9223372036854775808, f = 0.25, b = 1, s = "é", d = "1.5s", e = "no", n = "<nil>" }
go:main { message = "again", x = 1, x_ = 2, message_ = "m", a_b = 3 }
go:main { message = "value", v_a = 1, v_b = "two", inline = 5 }
go:main { message = "deep", g_w = 1, g_h_x = 2 }
go:main { message = "", only = "with" }
go:main { message = "between", k = 1 }
END
grep -v '"loop"\|"many"' "$work/text" | diff - "$work/want" >"$work/diff" || fail "$(cat "$work/diff")"
checks=$((checks + $(wc -l <"$work/want")))
for g in 0 1 2 3 4 5 6 7; do
	is "goroutine $g" "$(seq 0 499 | cksum)" "$(sed -n \
		"s/^go:main { message = \"loop\", g = $g, n = \([0-9]*\) }/\1/p" "$work/text" | cksum)"
done
# Those without an event of their own share one.
is "layouts" "$(seq 0 199 | cksum)" "$(sed -n 's/.*"many", key\([0-9]*\) = \1 }$/\1/p
	s/^go:slog { package = "main", message = "many", attributes = "key\([0-9]*\)=\1" }$/\1/p' \
	"$work/text" | cksum)"
[ "$(grep -c '^go:slog ' "$work/text")" -gt 100 ] || fail "no event is shared"
is "discarded" 0 "$(key events_discarded "$S/s/status")"
echo "$checks checks: $version"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# Go's handler for log/slog with what is difficult for it (logs/logs.go): attributes without a name,
# a package with a dot in its name, and more combinations or attributes than there are events or
# fields: what records them has the level of the record.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/languages.sh"
command -v go >/dev/null || skip "there is no go"
minor=$(go version | sed -n 's/^go version go1\.\([0-9]*\).*/\1/p')
[ "${minor:-0}" -ge 21 ] || skip "$(go version) has no log/slog"
mount_tree
for s in all errors warnings; do
	mkdir "$S/$s" || fail "session"
done
put 'go:*' "$S/all/user/events" && put 'go:* loglevel == err' "$S/errors/user/events" &&
	put 'go:* loglevel == warning' "$S/warnings/user/events" || fail "rules"
for s in all errors warnings; do
	put start "$S/$s/control" || fail "session"
done
mkdir -p "$work/logs/part.v2"
cp "$here/logs/logs.go" "$work/logs/"
cp "$here/logs/part.go" "$work/logs/part.v2/"
build_go "$work/logs"
timeout 100 "$work/gopher" >"$work/out" 2>&1 || fail "exit status $?: $(tail "$work/out")"
is "what it prints" "" "$(cat "$work/out")"
for s in all errors warnings; do
	put stop "$S/$s/control"
	is "$s: lost" 0 "$(key events_discarded "$S/$s/status")"
	sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$S/$s/text" >"$work/$s"
done
cat >"$work/want" <<'END'
go:main { message = "no key", _ = 5, k = 1 }
go:main { message = "nothing", k = 1 }
go:main { message = "group", _ = 7, g_ = 8 }
go:main { message = "nul\\x00", text = "a\\x00b" }
go:main { message = "letters", ____ = 1, _____ = 2 }
go:example.part.v2 { message = "part" }
END
grep -v '"many"\|"wide"\|"same"\|"panics"' "$work/all" | diff - "$work/want" >"$work/diff" ||
	fail "$(cat "$work/diff")"
is "all" 303 "$(grep -c '"many"\|"wide"\|"same"\|"panics"' "$work/all")"
is "errors" "$(seq 0 149 | cksum)" "$(sed -n 's/.*"many".* key[0-9]* = \([0-9]*\) }$/\1/p
	s/^go:slog .*"many", attributes = "key[0-9]*=\([0-9]*\)" }$/\1/p' "$work/errors" | cksum)"
is "attributes" 'go:slog wide 64
go:slog same 20000
go:slog panics 1' "$(sed 's/ { package = "main", message = "\([a-z]*\)", attributes = / \1 /' \
	"$work/warnings" | awk '{ print $1, $2, gsub(/[a-z0-9]+=/, "") }')"
echo "$((checks + $(wc -l <"$work/want"))) checks: $(go version)"

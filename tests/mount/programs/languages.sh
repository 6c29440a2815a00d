#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# Rust's crate (ustlib/rust) and Go's package (ustlib/go): what their programs record; with the crate
# `tracing` and the package log/slog where the distribution has them.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/languages.sh"
# Of the distribution, if there are several
PATH=/usr/bin:$PATH
mount_tree
mkdir "$S/s" && printf '%s\n' 'rusty:*' 'rust:*' 'my_app:*' 'gopher:*' 'go:*' >"$S/s/user/events" &&
	put start "$S/s/control" || fail "session"
: >"$work/want"

if cargo --version >/dev/null 2>&1 && rustc --version >/dev/null 2>&1; then
	long=$(printf 'long%.0s' $(seq 1000))
	# (crates that are not used are looked for as well)
	if ls -d $registry/tracing-subscriber-0.3* >/dev/null 2>&1; then
		build_rust rusty "$here/languages/main.rs" '' ''
		build_rust example "$top/docs/examples/trail.rs" '' ''
	else
		cp -r "$top/ustlib/rust" "$work/rust"
		sed -i '/^\[features\]/,$d' "$work/rust/Cargo.toml"
		printf '[features]\ntracing = []\n' >>"$work/rust/Cargo.toml"
		(top=$work/plain && mkdir -p "$top/ustlib" && mv "$work/rust" "$top/ustlib/" &&
			build_rust rusty "$here/languages/main.rs" '' '' &&
			build_rust example "${here%/tests/*}/docs/examples/trail.rs" '' '') || exit 1
	fi
	cat >>"$work/want" <<END
rusty:none { }
rusty:empty { a = "", b = "", c = 1 }
rusty:generic { value = "text" }
rusty:generic { value = 1.5 }
rusty:generic { value = 255 }
rusty:generic { value = 1.5 }
rusty:generic { value = 255 }
rusty:all { a = -1, b = 18446744073709551615, c = 0.5, d = 1, e = "/über", f = "cut" }
rusty:loop { n = 0 }
rusty:loop { n = 1 }
rusty:loop { n = 2 }
rusty:many { a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = "x" }
rusty:again { n = 0, text = "x", length = 4000, long = "$long" }
rusty:again { n = 1, text = "x", length = 4000, long = "$long" }
rusty:again { n = 2, text = "x", length = 4000, long = "$long" }
rusty:built { i = -5, u = 7, f = 0.25, s = "é" }
my_app:request { id = 42, path = "/index.html", ms = 1.5 }
my_app:request { id = -1, path = "/thread", ms = 0 }
END
	languages="Rust"
	if ls -d $registry/tracing-subscriber-0.3* >/dev/null 2>&1; then
		build_rust layer "$here/languages/layer.rs" '"tracing"' '
tracing = { version = "0.1", default-features = false, features = ["std"] }
tracing-subscriber = { version = "0.3", default-features = false, features = ["registry", "std"] }'
		cat >>"$work/want" <<'END'
rust:layer { message = "request 0", id = 0, ratio = 0.5, ok = 1, path = "/index.html" }
rust:layer { message = "request 1", id = 1, ratio = 0.5, ok = 1, path = "/index.html" }
rust:other.part { message = "slow", why = "Some(1)" }
rust:layer { message = "failed" }
rust:layer { message = "detail", unsigned = 18446744073709551615 }
rust:layer { message = "most" }
rust:layer.load_begin { n = 3 }
rust:layer { message = "inside" }
rust:layer.load_end { }
rust:layer.load_begin { n = 3, late = "now" }
rust:layer.load_end { }
END
		languages="$languages (with tracing)"
	fi
fi
if command -v go >/dev/null; then
	mkdir "$work/example" "$work/all"
	cp "$top/docs/examples/trail.go" "$work/example/"
	build_go "$work/example"
	timeout 100 "$work/gopher" || fail "the example in Go: exit status $?"
	cp "$here"/languages/*.go "$work/all/"
	build_go "$work/all"
	timeout 100 "$work/gopher" >"$work/logs" || fail "the program in Go: exit status $?"
	cat >>"$work/want" <<'END'
my_app:request { id = 42, path = "/index.html", ms = 1.5 }
my_app:request { id = -1, path = "/goroutine", ms = 0 }
gopher:all { i = -1, u = 18446744073709551615, b = 1, f = 0.5, s = "/über", t = "cut" }
gopher:none { }
END
	if [ -s "$work/logs" ]; then
		cat >>"$work/want" <<'END'
go:main { message = "slow", ms = 12.5, ok = 0, who = "[1]" }
go:main { message = "in", id = 7, g_n = -1, g_h_x = "y" }
END
	fi
	is "events of two goroutines" "2000" "$(grep -c ' gopher:loop: ' "$S/s/text")"
	for s in a bcd; do
		is "those with $s" "$(seq 0 999 | cksum)" \
			"$(sed -n "s/.* gopher:loop: .* n = \([0-9]*\), s = \"$s\" }/\1/p" \
			"$S/s/text" | cksum)"
	done
	languages="${languages-} Go $(cat "$work/logs")"
fi
[ -n "${languages-}" ] || skip "there is neither cargo and rustc nor go"
put stop "$S/s/control"
grep -v -e ' gopher:loop: ' -e ' rust:forks: ' "$S/s/text" >"$work/text"
sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$work/text" |
	diff - "$work/want" >"$work/diff" || fail "$languages: $(cat "$work/diff")"
checks=$((checks + $(wc -l <"$work/want")))
echo "$checks checks: $languages"

# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs in Rust and Go, for tests: `. "$top/tests/lib/languages.sh"` after mount.sh.

# (rustup's cargo is a link that looks below HOME for the real one, which the test makes private.)
RUSTUP_HOME=${RUSTUP_HOME:-${HOME:-/root}/.rustup}
export RUSTUP_HOME
registry=/usr/share/cargo/registry
[ -d $registry ] || registry=$work/registry
# build_rust NAME SOURCE FEATURES DEPENDENCIES: "$work/target/debug/NAME", which then runs
build_rust() {
	mkdir -p "$work/$1/src" "$work/$1/.cargo" "$registry"
	cp "$2" "$work/$1/src/main.rs"
	cat >"$work/$1/Cargo.toml" <<END
[package]
name = "$1"
version = "0.1.0"
edition = "2018"
[dependencies]
trail = { path = "$top/ustlib/rust", features = [$3] }
$4
END
	cat >"$work/$1/.cargo/config.toml" <<END
[source.crates-io]
replace-with = "distribution"
[source.distribution]
directory = "$registry"
END
	(cd "$work/$1" && HOME=$work CARGO_HOME=$work/cargo CARGO_TARGET_DIR=$work/target \
		RUSTFLAGS="-D warnings -L native=$BUILD -C link-arg=-Wl,-rpath,$BUILD" \
		timeout 900 cargo build --offline >"$work/cargo.out" 2>&1) ||
			fail "cargo: $(tail -n 20 "$work/cargo.out")"
	timeout 100 "$work/target/debug/$1" || fail "the program $1 in Rust: exit status $?"
}
# build_go DIRECTORY: "$work/gopher"
build_go() {
	(cd "$1" && unset GOFLAGS && HOME=$work GOCACHE=$work/gocache GOPROXY=off \
		CGO_CFLAGS="-I$top/ustlib" CGO_LDFLAGS="-L$BUILD -Wl,-rpath,$BUILD" &&
		export HOME GOCACHE GOPROXY CGO_CFLAGS CGO_LDFLAGS && go mod init example &&
		go mod edit -require=trail@v0.0.0 "-replace=trail@v0.0.0=$top/ustlib/go" &&
		timeout 500 go build -o "$work/gopher" .) >"$work/go.out" 2>&1 ||
		fail "go: $(tail -n 20 "$work/go.out")"
}

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 200
#
# The JSON forms of `status`, `counts`, `stats` and `rules`: valid by docs/schema.json, with the values
# of the text forms; for an empty session, events with losses, pairs, names with blanks, an output,
# mistakes in rules; with the size that stat(2) says.
. "$(dirname "$0")/../../lib/mount.sh"

PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=python3
command -v $PYTHON >/dev/null || skip "there is no python3"
SELLER=$BUILD/tests/mount/views/seller
[ -x "$SELLER" ] || skip "there is no seller"
mount_tree
cmp "$MNT/schema.json" "$top/docs/schema.json" || fail "the mount has another schema"

command -v jq >/dev/null && jq=jq || jq=
[ -n "$jq" ] || echo "# there is no jq"
judge() { # KIND JSON TEXT
	[ -z "$jq" ] || jq -e 'type == "object" or type == "array"' "$2" >/dev/null || fail "jq: $1"
	$PYTHON "$top/tests/lib/judge_forms.py" "$top/docs/schema.json" "$1" "$2" "$3" \
		>"$work/judge" 2>&1 || fail "$1: $(cat "$work/judge")"
	checks=$((checks + 1))
}
# all SESSION
all() {
	for form in status counts stats; do
		kind=$form
		[ $kind != status ] || kind=session
		cat "$1/$form.json" >"$work/json" || fail "cannot read $form.json"
		cat "$1/$form" >"$work/text"
		judge $kind "$work/json" "$work/text"
	done
	for status in "$1"/user/channels/*/status; do
		[ -e "$status" ] || continue
		cat "$status.json" >"$work/json" || fail "cannot read $status.json"
		cat "$status" >"$work/text"
		judge channel "$work/json" "$work/text"
	done
	cat "$1/rules.json" >"$work/json" || fail "cannot read rules.json"
	for domain in user kernel; do
		[ ! -e "$1/$domain/rules" ] || sed "/^#/d; s/^/$domain /" "$1/$domain/rules"
	done >"$work/text"
	judge rules "$work/json" "$work/text"
}
cat "$MNT/status.json" >"$work/json"
cat "$MNT/status" >"$work/text"
judge daemon "$work/json" "$work/text"

s=$S/empty
mkdir "$s"
all "$s"

s=$S/shop
mkdir "$s"
printf '%s\n' 'shop:*' '~shop:o*' 'shop:nothing' 'shop:sale if no_such > 1' 'shop:sale if item == "t\"a"' >"$s/user/events"
put 'vpid procname' "$s/user/contexts"
mkdir "$s/user/channels/small"
put 4096 "$s/user/channels/small/subbuf_size"
put discard "$s/user/channels/small/loss_mode"
put 'shop:serve_*' "$s/user/channels/small/events"
put start "$s/control"
cp "$SELLER" "$work/a \"b\\"
LD_LIBRARY_PATH=$BUILD "$work/a \"b\\" 3000 2 </dev/null >/dev/null || fail "seller"
put stop "$s/control"
all "$s"
has "$(cat "$s/status.json")" '"advice":\["user/channels/small/subbuf_count'
has "$(cat "$s/status.json")" '^"shop:nothing"'
has "$(cat "$s/stats.json")" '"name":"shop:serve"'

s=$S/written
mkdir "$s"
put "$work/out" "$s/output"
put 'shop:*' "$s/user/events"
put start "$s/control"
"$SELLER" 100 </dev/null >/dev/null || fail "seller"
put stop "$s/control"
all "$s"
put snapshot "$s/control"
all "$s"

for f in "$MNT/status.json" "$S"/shop/*.json; do
	case $f in
	*/pipe.json) continue ;;
	esac
	$PYTHON - "$f" <<'EOF' || fail "size of $f"
import os, sys
with open(sys.argv[1], 'rb', buffering=0) as f:
    size, data = os.fstat(f.fileno()).st_size, b''
    while part := f.read(4096):
        data += part
sys.exit(size != len(data))
EOF
done

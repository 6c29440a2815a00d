#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Names and texts with markup, quotes, controls of the direction of text and 60 kB change nothing in
# the pictures: they are shown as they are. A process has the name of its main thread whatever its
# other threads are named; a main thread without events has no track; a thread that was renamed has
# its former names; where the cgroup is recorded, it is the group of the process.
. "$(dirname "$0")/../../lib/mount.sh"

python3 -c 'import json' 2>/dev/null || skip "there is no python3"
HOSTILE=$BUILD/tests/mount/views/hostile
[ -x "$HOSTILE" ] || skip "there is no hostile"
mount_tree
# record NAME [ARGUMENT]
record() {
	s=$S/$1
	mkdir "$s" || fail "mkdir"
	echo 'hostile:*' >"$s/user/events"
	printf '%s\n' vpid vtid procname cgroup_ns >"$s/user/contexts"
	put start "$s/control"
	"$HOSTILE" ${2-} || fail "hostile"
	put stop "$s/control"
	mkdir "$work/$1"
	for f in json chrome.json perfetto timeline.html flame.svg report.html live.html; do
		cat "$s/export/$f" >"$work/$1/$f" || fail "cannot read $f"
	done
}
record alone
record main 1
python3 - "$work" <<'END' >"$work/judged" 2>&1 || fail "$(cat "$work/judged")"
import json, re, sys, xml.etree.ElementTree
for name in "alone", "main":
	with open("%s/%s/chrome.json" % (sys.argv[1], name)) as f:
		events = json.load(f)["traceEvents"]
	xml.etree.ElementTree.parse("%s/%s/flame.svg" % (sys.argv[1], name))
	meta = [e for e in events if e["ph"] == "M"]
	process = [e["args"]["name"] for e in meta if e["name"] == "process_name" and e["pid"] < 1 << 22]
	assert process == ["hostile"], process
	labels = {e["args"]["labels"] for e in meta if e["name"] == "process_labels"}
	assert len(labels) == 1 and re.fullmatch(r"cgroup \d+", labels.pop()), labels
	threads = {(e["pid"] == e["tid"], e["args"]["name"]) for e in meta
		if e["name"] == "thread_name" and e["pid"] < 1 << 22}
	want = {(False, "hostile"), (False, "</script>\"<b>&'"), (False, "worker-3")}
	assert threads == want | ({(True, "hostile")} if name == "main" else set()), threads
	for file in "timeline.html", "report.html", "live.html":
		with open("%s/%s/%s" % (sys.argv[1], name, file)) as f:
			page = f.read()
		assert "default-src 'none'" in page, file
		assert page.count("<script") == page.count("</script>"), "scripts of " + file
		assert "alert(1)</script" not in page, file
END
checks=$((checks + 1))
if command -v chromium >/dev/null; then
	python3 "$top/tests/lib/browse_hostile.py" "$work/alone" hostile >"$work/browsed" 2>&1
	case $? in
	0) checks=$((checks + 1)) ;;
	77) echo "# chromium does not work here: $(tail -n 1 "$work/browsed")" ;;
	*) fail "the pages: $(tail -n 5 "$work/browsed")" ;;
	esac
else
	echo "# there is no chromium: nothing is drawn"
fi
echo "$checks checks"

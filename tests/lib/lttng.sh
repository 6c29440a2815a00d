# SPDX-License-Identifier: GPL-2.0-or-later
#
# For tests that compare with LTTng, after mount.sh.

# Why there is no LTTng to compare with; nothing if there is
lttng_missing() {
	[ -z "$(printf '#include <lttng/tracepoint.h>\n' | gcc -E - 2>&1 >/dev/null)" ] ||
		{ echo "liblttng-ust-dev is not installed"; return; }
	for tool in lttng lttng-sessiond; do command -v $tool >/dev/null ||
		{ echo "lttng-tools is not installed"; return; }; done
	[ "$(id -u)" != 0 ] || unshare -m true 2>/dev/null || echo "no mount namespace can be had"
}

# record_lttng DIR SCRIPT [SESSION]: an LTTng of its own records what the script does, see
# compat/lttng.sh. Status 77: it cannot, the last line of $work/lttng.out says why.
record_lttng() {
	[ "$(id -u)" = 0 ] && alone="unshare -m" || alone=
	env -u LD_LIBRARY_PATH $alone sh "$top/tests/mount/programs/compat/lttng.sh" "$@" \
		>"$work/lttng.out" 2>&1
	status=$?
	[ $status = 0 ] || [ $status = 77 ] ||
		fail "recording with LTTng: status $status: $(tail -n 5 "$work/lttng.out")"
	return $status
}

# plain TEXT: without times, hosts and processes' first structure; and without what the library says
plain() {
	grep -v ' lttng_ust_statedump:' "$1" |
		sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /'
}

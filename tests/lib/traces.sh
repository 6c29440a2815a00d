# SPDX-License-Identifier: GPL-2.0-or-later
# After mount.sh: mounts a tree that shows times of UTC, for a test that writes the traces it imports.
command -v python3 >/dev/null || skip "there is no python3"
TZ=UTC
export TZ
mount_tree -o tz=UTC

# write_traces <PROGRAM: in Python, with what ctf_trace.py has. The traces are in $work.
write_traces() {
	{ echo 'from ctf_trace import *'; cat; } |
		PYTHONPATH=$top/tests/lib python3 -B - "$work" || fail "no traces were written"
}

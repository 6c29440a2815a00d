# SPDX-License-Identifier: GPL-2.0-or-later
#
# After mount.sh, for tests of work that the daemon shares among CPUs: with $CPUS, it takes this
# machine for one with so many.

if [ -n "${CPUS-}" ]; then
	[ -z "${SAN-}" ] || [ "$SAN" = 0 ] || skip "a sanitizer must be the first library"
	printf '#!/bin/sh\nexport CPUS=%s LD_PRELOAD=%s\nexec "%s" "$@"\n' "$CPUS" \
		"$BUILD/tests/mount/views/libcpus.so" "$TRAILFS" >"$work/trailfs.cpus"
	chmod +x "$work/trailfs.cpus"
	TRAILFS=$work/trailfs.cpus
fi

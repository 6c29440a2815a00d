#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Packets of other writers with the checksums and the compressions that the CTF proposal (1.6,
# section 5) names: md5, sha1 and crc32; bzip2, gzip and xz. An altered packet is an error that has
# both checksums, after the events of the packets before it.
. "$(dirname "$0")/../../lib/mount.sh"
command -v python3 >/dev/null || skip "there is no python3"
TZ=UTC
export TZ
mount_tree -o tz=UTC

PYTHONPATH=$top/tests/lib python3 -B - "$work" >"$work/names" <<'END' || fail "no traces were written"
from ctf_trace import *
import bz2, gzip, hashlib, lzma, zlib

SUMS = {"none": 0, "md5": 1, "sha1": 2, "crc32": 3}
FORMS = {"plain": (0, bytes), "bzip2": (1, bz2.compress), "gzip": (2, gzip.compress),
         "xz": (3, lambda b: lzma.compress(b, check=lzma.CHECK_CRC32))}

def metadata(order, field):
    return TYPES + """trace { major = 1; minor = 8; byte_order = %s; };
stream { packet.context := struct { uint32_t packet_size, content_size; %s;
uint8_t checksum_scheme, compression_scheme; uint8_t cpu_id; }; };
event { name = ev; fields := struct { uint16_t v; string s; }; };
""" % (order, field)

def digest(scheme, data, order):
    if scheme == "crc32":
        return zlib.crc32(data).to_bytes(4, order)
    return hashlib.new(scheme, data).digest() if scheme != "none" else b""

def packet(first, scheme, form, width, order, padding=0, of_content=False):
    number, compress = FORMS[form]
    text = b"".join(i.to_bytes(2, order) + b"text %d\0" % i for i in range(first, first + 300))
    body = compress(text) + bytes(padding)
    head = 8 + width + 3
    size, content = 8 * (head + len(body)), 8 * (head + len(text))
    summed = body[:len(body) - padding] if of_content else body
    return (size.to_bytes(4, order) + content.to_bytes(4, order) +
            digest(scheme, summed, order)[:width].ljust(width, b"\0") +
            bytes((SUMS[scheme], number, 2)) + body)

def make(name, scheme, form, width=20, order="little", field=None, **more):
    parts = [packet(300 * i, scheme, form, width, order, **more) for i in range(3)]
    text = metadata("le" if order == "little" else "be", field or "uint8_t checksum[%d]" % width)
    trace(name, text, s0=b"".join(parts))
    # A byte of the content of the second packet
    at = len(parts[0]) + 8 + width + 3 + 60
    bad = bytearray(b"".join(parts))
    bad[at] ^= 1
    trace(name + ".bad", text, s0=bytes(bad))
    print(name, len(parts[0]))

for scheme in SUMS:
    for form in FORMS:
        if scheme != "none" or form != "plain":
            if scheme != "crc32":
                make("%s_%s" % (scheme, form), scheme, form)
make("md5_exact", "md5", "plain", 16)
make("crc32_bzip2", "crc32", "bzip2", 4, field="uint32_t checksum")
make("md5_integer", "md5", "plain", 4, field="uint32_t checksum")
make("sha1_big", "sha1", "plain", 4, "big", field="uint32_t checksum")
make("sha1_content", "sha1", "plain", padding=64, of_content=True)
make("md5_padded", "md5", "plain", padding=64)
END

n=0
while read -r i; do
	[ $n -ge 900 ] || printf 'ev: { cpu_id = 2 }, { v = %d, s = "text %d" }\n' $n $n
	n=$((n + 1))
done <<END >"$work/text"
$(yes | head -n 900)
END
head -n 300 "$work/text" >"$work/first"
while read -r name size; do
	s=$S/$name
	mkdir "$s"
	put "$work/$name" "$s/input"
	cmp "$s/text" "$work/text" || fail "text of $name"
	rmdir "$s"
	mkdir "$s"
	put "$work/$name.bad" "$s/input"
	! timeout 60 cat "$s/pipe" >"$work/pipe" 2>/dev/null || fail "$name.bad is read"
	cmp "$work/pipe" "$work/first" || fail "the events before the altered packet of $name"
	case $name in
	none_*) what="" ;;
	*) what="expected a content with the checksum [0-9a-f]*, found [0-9a-f]* (CTF 1.8.3, section 5)\$" ;;
	esac
	has "$(cat "$s/error")" "s0: offset $size: $what"
	rmdir "$s"
done <"$work/names"
is "traces" 17 "$(wc -l <"$work/names")"
echo "$checks checks"

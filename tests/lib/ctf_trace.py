# SPDX-License-Identifier: GPL-2.0-or-later
# Small CTF traces that tests write by hand: `from ctf_trace import *`.
import os, struct, sys, uuid

UUID = uuid.UUID("025e84d6-3d89-4fe1-b434-44b603a14a04")
OTHER = uuid.UUID("025e84d6-3d89-4fe1-b434-44b603a14a05")
MAGIC = struct.pack("<I", 0xC1FC1FC1)
TYPES = """
typealias integer { size = 8; align = 8; } := uint8_t;
typealias integer { size = 16; align = 8; } := uint16_t;
typealias integer { size = 32; align = 8; } := uint32_t;
typealias integer { size = 64; align = 8; } := uint64_t;
"""

def trace(name, metadata, **files):
    """Writes a trace below the directory of the first argument; metadata: text or bytes."""
    path = os.path.join(sys.argv[1], name)
    os.makedirs(path, exist_ok=True)
    if isinstance(metadata, str):
        metadata = ("/* CTF 1.8 */" + metadata).encode()
    with open(path + "/metadata", "wb") as f:
        f.write(metadata)
    for name, data in files.items():
        with open(path + "/" + name, "wb") as f:
            f.write(data)

def metadata_packet(text, of):
    """A packet of metadata of the trace with this UUID."""
    size = 8 * (37 + len(text))
    return (struct.pack("<I16sIII", 0x75D11D57, of.bytes, 0, size, size) + b"\0\0\0\1\10" +
            text.encode())

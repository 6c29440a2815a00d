# SPDX-License-Identifier: GPL-2.0-or-later
"""A program with loggers, and peers that are no agents.

agents.py log ACKS         logs the lines LOGGER LEVEL MESSAGE of its input; adds a line to ACKS for
                           each, and one when it has begun
agents.py hostile PORT     breaks the agents' protocol in several ways; each time the daemon must
                           close the connection
agents.py contexts PORT     does so when it is asked to enable an application context
agents.py listen FILE      listens on a port and writes it to FILE, until its input ends
agents.py agent PORT NUMBER   an agent for a domain by its number in the protocol: prints each
                           command that it gets, by its number, until the daemon closes
"""
import io
import logging
import os
import socket
import struct
import sys


def without_system(path, *args, really_open=io.open, **kwargs):
    """The agent would connect to the daemon of the system too, and record each line twice."""
    if path == "/var/run/lttng/agent.port":
        raise FileNotFoundError
    return really_open(path, *args, **kwargs)


def log(acks):
    io.open = without_system
    import lttngust  # noqa: F401: connects to the daemon

    with open(acks, "a", buffering=1) as out:
        out.write("begun\n")
        for line in sys.stdin:
            name, level, message = line.split(None, 2)
            logging.getLogger(name).log(int(level), message.strip())
            out.write(line)


def connect(port):
    s = socket.create_connection(("127.0.0.1", int(port)))
    s.settimeout(100)
    return s


def registration(domain=5, major=2):
    return struct.pack(">IIII", domain, os.getpid(), major, 0)


def receive(s, size):
    data = b""
    while len(data) < size:
        piece = s.recv(size - len(data))
        if not piece:
            return None
        data += piece
    return data


def is_closed(s):
    """Reads commands without an answer until the end."""
    try:
        while s.recv(4096):
            pass
    except ConnectionResetError:
        pass
    s.close()
    return True


def hostile(port):
    for data in (b"GET / HTTP/1.0\r\n\r\n", registration(domain=9), registration(major=7),
                 registration() + b"answers" * 1000, registration() + struct.pack(">III", 1, 2**31, 5)):
        s = connect(port)
        s.sendall(data)
        assert is_closed(s)
    s = connect(port)
    s.sendall(registration()[:7])
    s.close()


def contexts(port):
    kept = []
    for answer in (b"", b"\0\0", struct.pack(">I", 0) + b"more" * 5000, None):
        s = connect(port)
        s.sendall(registration(domain=3))
        command = 0
        while command != 5:
            size, command, _ = struct.unpack(">QII", receive(s, 16))
            receive(s, size)
            if command != 5:
                s.sendall(struct.pack(">I", 1))
        if answer is None:
            kept.append(s)      # it never answers
            continue
        s.sendall(answer)
        if len(answer) > 4:
            assert is_closed(s)
        s.close()
    print("done", flush=True)
    sys.stdin.read()


def listen(file):
    s = socket.create_server(("127.0.0.1", 0))
    with open(file + ".new", "w") as out:
        out.write("%d\n" % s.getsockname()[1])
    os.rename(file + ".new", file)
    sys.stdin.read()


def texts(data):
    """Two texts, each after its length; with NULs, which end the texts."""
    found = []
    while data:
        (size,) = struct.unpack(">I", data[:4])
        assert 1 < size <= len(data) - 4 and data[3 + size] == 0
        found.append(data[4:3 + size].decode())
        data = data[4 + size:]
    assert len(found) == 2
    return " ".join(found)


def agent(port, domain):
    s = connect(port)
    s.settimeout(None)
    s.sendall(registration(int(domain)))
    while True:
        header = receive(s, 16)
        if not header:
            return
        size, command, _ = struct.unpack(">QII", header)
        data = receive(s, size)
        if command == 2:
            print(command, data[8:264].rstrip(b"\0").decode(), flush=True)
        else:
            print(command, texts(data) if command in (5, 6) else "", flush=True)
        if command != 4:
            s.sendall(struct.pack(">I", 3))     # it does not know this name


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])

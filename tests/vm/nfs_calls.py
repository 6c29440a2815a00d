# SPDX-License-Identifier: GPL-2.0-or-later
"""nfs_calls.py DIR GROUPS: this kernel's NFS server and its clients on the loopback device.

Exports a directory by what exportfs(8), rpc.nfsd(8) and rpc.mountd(8) write, mounts it by NFS 4.2
and 3, and does what LKET's hooks of sunrpc, nfs and nfsd stand for. Prints a line `HOOK FIELDS` for
each that GROUPS (available/kernel/groups) has, as tests/lib/hook_calls.c does: the values of its
fields, or the address of a probe's function. Nothing of these services' programs is needed: RPCs of
rpcbind and mountd are answered here.
"""
import ctypes
import fcntl
import mmap
import os
import socket
import struct
import subprocess
import sys
import threading

top = sys.argv[1]
export, four, three = (os.path.join(top, d) for d in ("export", "nfs4", "nfs3"))
NFSD = "/proc/fs/nfsd/"
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
buffer = ctypes.create_string_buffer(4096)
# Of this machine, as in memory
HERE = struct.unpack("=I", socket.inet_aton("127.0.0.1"))[0]
INSECURE, NOSUBTREECHECK, CROSSMOUNT, FSID = 2, 0x400, 0x4000, 0x2000
MOUNTD_PORT = 20048


def put(path, text):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def run(*command):
    subprocess.run(command, check=True)


def handle_of(path):
    """The server's handle of a file."""
    fd = os.open(NFSD + "filehandle", os.O_RDWR)
    os.write(fd, ("local %s 64\n" % path).encode())
    handle = bytes.fromhex(os.read(fd, 4096).decode().strip().replace("\\x", ""))
    os.close(fd)
    return handle


# ---- rpcbind and mountd ----

def result_of(program, procedure):
    """The result of rpcbind's SET (true), and of mountd's MNT: the directory's handle."""
    if not procedure:
        return b""
    if program != 100005:
        return struct.pack(">I", 1)
    handle = handle_of(export)
    pad = b"\0" * (-len(handle) % 4)
    return struct.pack(">II", 0, len(handle)) + handle + pad + struct.pack(">II", 1, 1)


def answer(connection):
    stream = connection.makefile("rwb")
    while True:
        mark = stream.read(4)
        if len(mark) < 4:
            return
        call = stream.read(struct.unpack(">I", mark)[0] & 0x7fffffff)
        xid, _, _, program, _, procedure = struct.unpack_from(">6I", call)
        reply = struct.pack(">6I", xid, 1, 0, 0, 0, 0) + result_of(program, procedure)
        stream.write(struct.pack(">I", 0x80000000 | len(reply)) + reply)
        stream.flush()


def serve(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(8)

    def accept():
        while True:
            threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()


# ---- the server ----

def add_export(path, number):
    flags = INSECURE | NOSUBTREECHECK | CROSSMOUNT | FSID
    put("/proc/net/rpc/nfsd.export/channel",
        "local %s 2147483647 %d 65534 65534 %d\n" % (path, flags, number))
    put("/proc/net/rpc/nfsd.fh/channel", "local 1 \\x%s 2147483647 %s\n" %
        (struct.pack("<I", number).hex(), path))


def start_server():
    os.makedirs("/var/lib/nfs/v4recovery", exist_ok=True)
    for directory in (export, four, three):
        os.mkdir(directory)
    run("mount", "-t", "nfsd", "nfsd", NFSD)
    run("mount", "-t", "tmpfs", "export", export)
    os.mkdir(export + "/sub")
    run("mount", "-t", "tmpfs", "sub", export + "/sub")
    for name in "read", "changed", "sub/inner":
        with open(os.path.join(export, name), "wb") as f:
            f.write(b"12345678" * 1536)
    put("/proc/net/rpc/auth.unix.ip/channel", "nfsd 127.0.0.1 2147483647 local\n")
    add_export(export, 0)
    add_export(export + "/sub", 1)
    # No file is opened until clients of an earlier server had the time to say so.
    put("/proc/sys/fs/nfs/nlm_grace_period", "1\n")
    put(NFSD + "nfsv4gracetime", "10\n")
    for port in "tcp 2049", "udp 2049":
        put(NFSD + "portlist", port + "\n")
    put(NFSD + "threads", "2\n")
    put(NFSD + "v4_end_grace", "Y\n")


def mount(version, directory, more):
    run("mount", "-i", "-t", "nfs", "-o", "vers=%s,addr=127.0.0.1,proto=tcp,port=2049,rsize=4096,"
        "wsize=4096,%s" % (version, more), "127.0.0.1:" + ("/" if version[0] == "4" else export),
        directory)


# ---- what the hooks stand for ----

def use_files(top):
    """Returns what the test cannot know before: inode, device, memory."""
    os.listdir(top)
    fd = os.open(top + "/read", os.O_RDONLY)
    os.lseek(fd, 4321, os.SEEK_SET)
    libc.read(fd, buffer, 4000)
    memory = libc.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    libc.munmap(memory, 4096)
    os.sendfile(os.open("/dev/null", os.O_WRONLY), fd, 0, 100)
    os.close(fd)

    fd = os.open(top + "/changed", os.O_RDWR)
    os.lseek(fd, 10, os.SEEK_SET)
    libc.write(fd, buffer, 1)                   # reads the rest of its page first
    os.fsync(fd)
    os.close(fd)

    fd = os.open(top + "/made", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o640)
    os.write(fd, b"y" * 12288)
    number = os.fstat(fd).st_ino
    fcntl.lockf(fd, fcntl.LOCK_EX)
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
    os.fsync(fd)
    os.close(fd)

    os.mknod(top + "/node", 0o100640)
    os.mkdir(top + "/new dir")
    os.rename(top + "/made", top + "/moved")
    os.unlink(top + "/moved")
    os.unlink(top + "/node")
    os.rmdir(top + "/new dir")
    device = os.stat(top).st_dev
    return number, os.major(device) << 20 | os.minor(device), memory


def recall():
    """A change by NFS 3 of a file that the other client may keep: it is asked to give it back, and
    the change is repeated."""
    fd = os.open(four + "/sub/inner", os.O_RDONLY)
    os.read(fd, 10)
    other = os.open(three + "/sub/inner", os.O_WRONLY)
    os.write(other, b"z")
    os.fsync(other)
    os.close(other)
    os.close(fd)


# ---- what is recorded of it ----

def known_handle(path, prefix="fh_size", name="fhandle"):
    """Its first 8 bytes; a size that is at least 16 has the next, too."""
    handle = handle_of(path)
    words = struct.unpack("<%dQ" % (len(handle) // 8), handle[:len(handle) // 8 * 8])
    return "".join("%s:%d," % pair for pair in
                   [(prefix, len(handle))] + [("%s%d" % (name, i), w) for i, w in enumerate(words)])


def probe_values(made, device, memory):
    """Of probes' extra data; after the address of the function."""
    read, changed = (os.stat(os.path.join(export, name)).st_ino for name in ("read", "changed"))
    fop = "major_device:%d,minor_device:%d,fileid:%%d," % (device >> 20, device & 0xfffff)
    on = fop.replace("device", "dev")
    address = ctypes.addressof(buffer)
    root = known_handle(export)
    request = "peer_ip:%d,rq_xid:[1-9][0-9]*,rq_prog:100003,rq_vers:3," % HERE
    client = "servername:127.0.0.1,prog:100003,vers:3,"
    result = {hook: "return:0," for hook in (
        "nfs.fop.mmap nfs.fop.open nfs.fop.flush nfs.fop.release nfs.fop.lock nfs.fop.checkflags "
        "nfs.aop.writepages nfs.proc.lookup nfs.proc.create nfs.proc.remove "
        "nfs.proc.read_done nfs.proc.write_done nfs.proc.open nfsd.open "
        "nfsd.lookup nfsd.commit nfsd.create nfsd.createv3 nfsd.unlink nfsd.rename "
        "nfsd.proc.lookup nfsd.proc.read nfsd.proc.write nfsd.proc.commit nfsd.proc.remove "
        "nfsd.proc.rename nfsd.proc.create sunrpc.clnt.call_sync sunrpc.clnt.call_async "
        "sunrpc.svc.register").split()}
    result.update({
        "nfs.fop.llseek": "return:4321,",
        "nfs.fop.read": "return:4000,",
        "nfs.fop.write": "return:1,",
        "nfs.fop.sendfile": "return:100,",
        "nfs.aop.set_page_dirty": "return:1,",
        "nfsd.dispatch": "return:1,",
        "sunrpc.clnt.restart_call": "return:1,",
        "sunrpc.svc.authorise": "return:5,",     # SVC_OK
    })
    # Pointers to what was made
    for hook in "create_client", "clone_client", "bind_new_program":
        result["sunrpc.clnt." + hook] = "return:18[0-9]*,"
    for hook in "sunrpc.sched.new_task", "sunrpc.svc.create":
        result[hook] = "return:18[0-9]*,"
    # Procedures of NFS 3; hooks on a function that is recorded by another's name have those of 4.
    procedures = {"lookup": 3, "read": 6, "write": 7, "commit": 21, "remove": 12, "rename": 14}
    entries = {"nfsd.proc.%s" % name: "version:3,.*xid:[1-9][0-9]*,proc:%d," % number
               for name, number in procedures.items()}
    entries.update({
        "nfsd.proc.lookup": root + ".*version:[34],",
        "nfsd.proc.read": known_handle(export + "/read") + ".*version:4,count:4096,offset:8192,",
        "nfsd.proc.remove": root + ".*version:4,filename:moved,",
        "nfsd.proc.create": root + ".*version:4,filename:new dir,",
        "nfsd.proc.rename": known_handle(export, "old_fhsize", "old_fh") + ".*old_name:made," +
                            known_handle(export, "new_fhsize", "new_fh") + ".*new_name:moved,",
    })
    entries.update({
        "nfs.fop.llseek": fop % read + "offset:4321,origin:0,",
        "nfs.fop.read": fop % read + "buf_addr:%d,count:4000,offset:4321," % address,
        "nfs.fop.write": fop % changed + "buf_addr:%d,count:1,offset:10," % address,
        "nfs.fop.mmap": fop % read + "vm_start:%d,vm_end:%d," % (memory, memory + 4096),
        "nfs.fop.open": "fileid:%d,flag:32768,filename:read," % read,
        "nfs.fop.flush": fop % made,
        "nfs.fop.release": fop % read + "mode:[1-9]",
        "nfs.fop.lock": fop % made + "fl_start:0,fl_end:9223372036854775807,fl_type:1,.*cmd:7,",
        "nfs.fop.sendfile": fop % read + "count:100,ppos:0,",
        "nfs.fop.checkflags": "flag:%d," % os.O_APPEND,
        "nfs.aop.writepages": "fileid:%d,nr_to_write:[1-9]" % changed,
        "nfs.aop.set_page_dirty": "page_address:[1-9].*fileid:%d," % changed,
        "nfs.proc.read_setup": on % read + "version:3,count:4096,offset:8192,",
        "nfs.proc.write_setup": on % made + "version:3,how:[02],count:4096,offset:8192,",
        "nfs.proc.commit_setup": on % made + "version:3,count:0,offset:0,",
        "nfs.proc.open": on % read + "filename:read,flag:32768,mode:[1-9]",
        "nfs.proc.release": on % read + "filename:read,flag:32768,mode:[1-9]",
        "nfsd.dispatch": "proto:6,version:3,xid:[1-9][0-9]*,proc:3,client_ip:%d," % HERE,
        "nfsd.open": known_handle(export + "/read") + ".*access:[1-9]",
        "nfsd.lookup": root + ".*filename:sub,.*len:3,",
        "nfsd.commit": "fh_size:20,.*count:0,offset:0,",
        "nfsd.create": root + r".*filename:new dir,type:16384,.*iap_mode:\(511\|493\),.*flen:7,",
        "nfsd.createv3": "version:3,xid:[1-9][0-9]*,proc:8,",
        "nfsd.unlink": root + ".*filename:moved,type:-16384,.*flen:5,",
        "nfsd.rename": known_handle(export, "old_fhsize", "old_fh") + ".*old_name:made," +
                       known_handle(export, "new_fhsize", "new_fh") +
                       ".*new_name:moved,.*old_len:4,.*new_len:5,",
        "sunrpc.clnt.clone_client": "servername:127.0.0.1,prog:100003,vers:4,prot:6,port:2049,authflavor:1,",
        "sunrpc.clnt.bind_new_program":
            "servername:127.0.0.1,old_prog:100003,old_vers:3,prog:100227,vers:3,",
        "sunrpc.clnt.call_sync": client + "proc:4,flags:0,",
        "sunrpc.clnt.call_async": "servername:127.0.0.1,prog:1073741824,vers:1,proc:1,",
        "sunrpc.clnt.restart_call": "tk_pid:[1-9][0-9]*,tk_flags:[1-9]",
        "sunrpc.sched.execute": "prog:100003,vers:3,prot:6,",
        "sunrpc.sched.delay": "xid:[1-9][0-9]*,prog:100003,tk_pid:[1-9][0-9]*,.*delay:[1-9]",
        "sunrpc.svc.authorise": "sv_name:nfsd,%srq_proc:3," % request,
        "nfs.aop.readpage": "fileid:%d,page_address:[1-9][0-9]*,page_index:0," % changed,
        "nfs.proc.lookup": "version:[34],filename:inner,",
        "nfs.proc.read": on % read + "version:3,count:4096,offset:8192,",
        "nfs.proc.write": on % made + "version:3,count:4096,offset:8192,",
        "nfs.proc.commit": on % made + "version:3,count:0,offset:0,",
        "nfs.proc.read_done": on % read + "version:3,status:[0-9]*,count:4096,",
        "nfs.proc.write_done": on % made + "version:3,status:[0-9]*,count:4096,",
        "nfs.proc.commit_done": "version:3,status:[0-9]*,",
        "nfs.proc.create": "version:3,filename:node,mode:[1-9]",
        "nfs.proc.rename": "version:3,major_old:%d,minor_old:%d,old_fileid:[1-9][0-9]*,"
                           "old_name:made,.*new_fileid:[1-9][0-9]*,new_name:moved," %
                           (device >> 20, device & 0xfffff),
        "nfs.proc.remove": "version:3,filename:moved,",
        "nfsd.close": "filename:[a-z]",
        "sunrpc.clnt.create_client":
            "servername:127.0.0.1,prog:100003,vers:[34],prot:6,port:2049,authflavor:1,",
        "sunrpc.clnt.shutdown_client": "servername:127.0.0.1,prog:[1-9]",
        "sunrpc.svc.register": "sv_name:[a-z]*,prog:[1-9][0-9]*,prot:6,port:[1-9]",
        "sunrpc.svc.send": "sv_name:nfsd,%srq_proc:" % request,
        "sunrpc.svc.drop": "sv_name:nfsd,peer_ip:%d,rq_xid:%d," % (HERE, 1 << 24),
        "sunrpc.sched.new_task": "prog:100003,vers:[34],prot:6,",
        "sunrpc.sched.release_task": "prog:100003,vers:[34],prot:6,tk_pid:[1-9]",
        "sunrpc.svc.create": "prog:100021,pg_nvers:5,bufsize:[1-9]",
        "sunrpc.svc.recv": "sv_name:nfsd,",
    })
    all_hooks = {hook + ".return": text for hook, text in result.items()}
    all_hooks.update({hook + ".entry": text for hook, text in entries.items()})
    all_hooks.update({hook: text for hook, text in entries.items() if hook.endswith("_setup")})
    return all_hooks


def values(made, device, memory):
    read, changed = (os.stat(os.path.join(export, name)).st_ino for name in ("read", "changed"))
    return {
        "nfs.fop.fsync.entry": "fileid:%d," % changed,
        "nfs.fop.fsync.return": "return:0,.*fileid:%d,.*size:12288," % changed,
        "nfs.aop.readpage.entry": "fileid:%d,.*offset:0," % changed,
        "nfs.aop.readpage.return": "return:0,.*fileid:%d,.*offset:0," % changed,
        "nfs.aop.readpages.entry": "fileid:%d,nr_pages:2,.*offset:4096," % read,
        "nfs.aop.readpages.return": "return:0,.*fileid:%d," % read,
        "nfs.aop.writepage.entry": "fileid:%d,page_index:0,.*offset:0," % changed,
        "nfs.aop.writepage.return": "return:0,.*fileid:%d,.*offset:0," % changed,
        "nfs.proc.lookup.entry": "filename:inner,",
        "nfs.proc.lookup.return": "return:0,.*name:inner,",
        "nfs.proc.read.entry": "fileid:%d,count:4096,offset:8192," % read,
        "nfs.proc.read.return":
            "return:4096,.*fileid:%d,offset:8192,arg_count:4096,res_count:4096,eof:1," % read,
        "nfs.proc.write.entry": "fileid:%d,count:4096,offset:8192,.*stable:0," % made,
        "nfs.proc.write.return":
            "return:4096,.*fileid:%d,offset:8192,arg_count:4096,res_count:4096," % made,
        "nfs.proc.commit.entry": "fileid:%d,count:0,offset:0," % made,
        "nfs.proc.commit.return": "return:0,.*fileid:%d,offset:0," % made,
        "nfs.proc.create.entry": "filename:node,",
        "nfs.proc.create.return": "return:0,.*name:node,",
        "nfs.proc.rename.entry": "old_name:made,.*new_name:moved,",
        "nfs.proc.rename.return": "return:0,.*old_name:made,.*new_name:moved,",
        "nfs.proc.remove.entry": "filename:moved,",
        "nfs.proc.remove.return": "return:0,.*name:moved,",
        "nfsd.read.entry": "count:4096,offset:8192,",
        "nfsd.read.return": "return:4096,.*offset:8192,",
        "nfsd.write.entry": "count:4096,offset:8192,",
        "nfsd.write.return": "return:4096,.*offset:8192,",
        "nfsd.close.entry": "nf_ref:[1-9]",
        "nfsd.proc.compound.entry": "number:1,",
        "nfsd.proc.compound.return":
            "return:0,args_opcnt:1,resp_opcnt:1,name:OP_CREATE_SESSION,",
        "sunrpc.clnt.create_client.entry": "servername:127.0.0.1,.*program:nfs,",
        "sunrpc.clnt.shutdown_client.entry": "client_id:[0-9]",
        "sunrpc.svc.register.entry":
            "prot:6,port:[1-9][0-9]*,version:4,family:2,error:0,program:lockd,",
        "sunrpc.svc.process.entry":
            "sv_name:nfsd,peer_ip:%d,rq_xid:[0-9]*,rq_vers:4,rq_proc:1,procedure:COMPOUND," % HERE,
        "sunrpc.svc.recv.return": "return:[1-9].*xid:[1-9]",
        "sunrpc.svc.send.entry": "rq_xid:[1-9].*head_len:[1-9]",
        "sunrpc.svc.send.return": r"return:[1-9].*server:\[2,0,8,1,127,0,0,1,",
        "sunrpc.svc.drop.entry": r"rq_xid:1,server:\[2,0,8,1,",
        "sunrpc.sched.new_task.entry": "status:0,",
        "sunrpc.sched.release_task.entry": "tk_pid:[0-9]*,tk_flags:[0-9]*,.*status:0,",
    }


# No page is released while it waits for a commit; 6.1 writes single pages only if memory is short.
LEFT = ("nfs.aop.release_page.", "nfs.aop.writepage.")


def report(groups, known, of_probes):
    places = {}
    with open("/proc/kallsyms") as f:
        for line in f:
            words = line.split()
            places.setdefault(words[2], []).append(int(words[0], 16))
    for line in groups:
        hook, _, *patterns = line.split()
        probes = [p.split(":")[1] for p in patterns if p.startswith(("kprobe:", "kretprobe:"))]
        if not hook.startswith(("nfs.", "nfsd.", "sunrpc.")) or patterns[0] == "-":
            continue
        if not probes:
            print(hook, known[hook])
        elif not hook.startswith(LEFT):
            # (A function may begin with an instruction that only marks it.)
            at = [str(a + n) for p in probes for a in places.get(p, ()) for n in (0, 4)]
            print(hook, of_probes.get(hook) or r"ip:\(%s\)," % r"\|".join(at))


serve(111)
serve(MOUNTD_PORT)
start_server()
mount("4.2", four, "clientaddr=127.0.0.1")
mount("3", three, "nolock,mountaddr=127.0.0.1,mountport=%d,mountproto=tcp,mountvers=3" %
      MOUNTD_PORT)
os.stat(four + "/sub/inner")
use_files(four)
seen = use_files(three)
recall()
# No call, but an answer: it is dropped
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(struct.pack(">2I8x", 1, 1),
                                                        ("127.0.0.1", 2049))
with open(sys.argv[2]) as f:
    report(f, values(*seen), probe_values(*seen))
run("umount", three)
run("umount", four)
put(NFSD + "threads", "0\n")
run("umount", "-l", export)
run("umount", NFSD)

# SPDX-License-Identifier: GPL-2.0-or-later
# Yocto: in recipes-devtools/trailfs/, with trailfs-VERSION.tar.xz of `make dist` in files/ beside it
SUMMARY = "Linux tracing as a file system"
LICENSE = "MIT & GPL-2.0-only & GPL-2.0-or-later"
LIC_FILES_CHKSUM = "file://LICENSE;md5=fc8d814329f18a99bfe26f67fd3a93a9"
SRC_URI = "file://trailfs-${PV}.tar.xz"

DEPENDS = "fuse3 liburcu sqlite3 util-linux-libuuid xz zlib"
COMPATIBLE_HOST = "x86_64.*-linux"

inherit pkgconfig systemd useradd

EXTRA_OEMAKE = "PREFIX=${prefix} LIBDIR=${libdir} PYTHONDIR=${datadir}/trailfs/python \
    'CC=${CC}' 'AR=${AR}' 'CFLAGS=${CFLAGS}' 'LDFLAGS=${LDFLAGS}'"

do_compile() {
    oe_runmake all
}

do_install() {
    oe_runmake DESTDIR=${D} install
}

USERADD_PACKAGES = "${PN}"
GROUPADD_PARAM:${PN} = "--system tracing"
SYSTEMD_SERVICE:${PN} = "trailfs.service"

# What is preloaded, and the drop-in libraries, have no versions.
PACKAGES =+ "libtrail"
FILES:libtrail = "${libdir}/libtrail.so.* ${libdir}/libtrail-*.so ${libdir}/trail"
FILES:${PN} += "${datadir}/trailfs ${libdir}/sysusers.d ${libdir}/tmpfiles.d"
FILES:${PN}-dev += "${includedir} ${bindir}/trail-gen-tp"
INSANE_SKIP:libtrail += "dev-so"
RDEPENDS:${PN} = "fuse3"

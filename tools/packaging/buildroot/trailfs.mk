################################################################################
#
# trailfs: package/trailfs/ of Buildroot, with trailfs-VERSION.tar.xz of `make dist` beside it
#
################################################################################
# SPDX-License-Identifier: GPL-2.0-or-later

TRAILFS_VERSION = 0.2.0
TRAILFS_SOURCE = trailfs-$(TRAILFS_VERSION).tar.xz
TRAILFS_SITE = $(TRAILFS_PKGDIR)
TRAILFS_SITE_METHOD = file
TRAILFS_LICENSE = MIT (libtrail), GPL-2.0 (module), GPL-2.0+ (daemon)
TRAILFS_LICENSE_FILES = LICENSE
TRAILFS_INSTALL_STAGING = YES
TRAILFS_DEPENDENCIES = host-pkgconf libfuse3 liburcu util-linux xz zlib

TRAILFS_MAKE_OPTS = $(TARGET_CONFIGURE_OPTS) PREFIX=/usr

define TRAILFS_BUILD_CMDS
	$(TARGET_MAKE_ENV) $(MAKE) $(TRAILFS_MAKE_OPTS) -C $(@D) all
endef

define TRAILFS_INSTALL_STAGING_CMDS
	$(TARGET_MAKE_ENV) $(MAKE) $(TRAILFS_MAKE_OPTS) -C $(@D) DESTDIR=$(STAGING_DIR) install
endef

define TRAILFS_INSTALL_TARGET_CMDS
	$(TARGET_MAKE_ENV) $(MAKE) $(TRAILFS_MAKE_OPTS) -C $(@D) DESTDIR=$(TARGET_DIR) install
endef

define TRAILFS_INSTALL_INIT_SYSV
	sed 's,/usr/local/bin,/usr/bin,' $(@D)/docs/examples/trailfs.init > $(@D)/S50trailfs
	$(INSTALL) -D -m 755 $(@D)/S50trailfs $(TARGET_DIR)/etc/init.d/S50trailfs
endef

define TRAILFS_USERS
	- - tracing -1 - - - - -
endef

$(eval $(generic-package))

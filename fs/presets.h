/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions that are made when the tree is mounted, from INI files as `config` has them (config.h):
 *
 *	/etc/trailfs.conf                       behind its [trailfs]; root's daemon only
 *	/etc/trailfs/sessions.d/NAME.ini        likewise; in the order of their names
 *	$XDG_CONFIG_HOME/trailfs.conf, $XDG_CONFIG_HOME/trailfs/sessions.d/NAME.ini
 *
 * In [session], `name = NAME` begins one (a file of sessions.d has its own name otherwise), and `start = yes` starts it. A session that an
 * earlier daemon left stays as it is. What is wrong with one is in the root's `error` and in the log; the others are made.
 */
#ifndef FS_PRESETS_H
#define FS_PRESETS_H

void presets_make(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of a generated file with `probes`: a module that has nothing but compiled probes. */
static struct trail_probes all = { .owner = THIS_MODULE,
				   .probes = probes,
				   .count = ARRAY_SIZE(probes) };

static int __init table_init(void)
{
	return trail_probes_add(&all);
}

static void __exit table_exit(void)
{
	trail_probes_remove(&all);
}

module_init(table_init);
module_exit(table_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("compiled probes for trail.ko");

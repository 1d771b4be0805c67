// SPDX-License-Identifier: GPL-2.0-only
/*
 * Controls of the meter: four disks that do nothing with an I/O but one thing
 * that is known beforehand. /dev/c2c-NAME, with the stores to lines that every
 * CPU writes that the meter must find per I/O:
 *
 *	shared	an atomic counter that all CPUs share			1
 *	percpu	a counter per CPU					0
 *	false	two counters, of the even and the odd CPUs, in one line	1
 *	flag	a flag that all read and nobody writes			0
 */
#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/cache.h>
#include <linux/module.h>
#include <linux/percpu.h>

static struct {
	atomic_t counter;
} shared ____cacheline_aligned_in_smp;

static struct {
	unsigned long counter[2];
} pair ____cacheline_aligned_in_smp;

static struct {
	int flag;
	atomic_t seen;
} mostly_read ____cacheline_aligned_in_smp;

static DEFINE_PER_CPU(unsigned long, counter);
static int major;

static void shared_submit(struct bio *bio)
{
	atomic_inc(&shared.counter);
	bio_endio(bio);
}

static void percpu_submit(struct bio *bio)
{
	this_cpu_inc(counter);
	bio_endio(bio);
}

static void false_submit(struct bio *bio)
{
	int which = raw_smp_processor_id() & 1;

	WRITE_ONCE(pair.counter[which], READ_ONCE(pair.counter[which]) + 1);
	bio_endio(bio);
}

static void flag_submit(struct bio *bio)
{
	if (READ_ONCE(mostly_read.flag))
		atomic_inc(&mostly_read.seen);
	bio_endio(bio);
}

static struct control {
	const char *name;
	struct block_device_operations ops;
	struct gendisk *disk;
} controls[] = {
	{ "c2c-shared", { .owner = THIS_MODULE, .submit_bio = shared_submit } },
	{ "c2c-percpu", { .owner = THIS_MODULE, .submit_bio = percpu_submit } },
	{ "c2c-false", { .owner = THIS_MODULE, .submit_bio = false_submit } },
	{ "c2c-flag", { .owner = THIS_MODULE, .submit_bio = flag_submit } },
};

static void remove(int n)
{
	while (n--) {
		del_gendisk(controls[n].disk);
		put_disk(controls[n].disk);
	}
	unregister_blkdev(major, "c2c");
}

static int __init control_init(void)
{
	int i, err;

	major = register_blkdev(0, "c2c");
	if (major < 0)
		return major;
	for (i = 0; i < ARRAY_SIZE(controls); i++) {
		struct control *c = &controls[i];

		c->disk = blk_alloc_disk(NULL, NUMA_NO_NODE);
		if (IS_ERR(c->disk)) {
			remove(i);
			return PTR_ERR(c->disk);
		}
		c->disk->major = major;
		c->disk->first_minor = i;
		c->disk->minors = 1;
		c->disk->fops = &c->ops;
		c->disk->flags |= GENHD_FL_NO_PART;
		strscpy(c->disk->disk_name, c->name, DISK_NAME_LEN);
		set_capacity(c->disk, 65536);
		err = add_disk(c->disk);
		if (err) {
			put_disk(c->disk);
			remove(i);
			return err;
		}
	}
	return 0;
}

static void __exit control_exit(void)
{
	remove(ARRAY_SIZE(controls));
}

module_init(control_init);
module_exit(control_exit);
MODULE_DESCRIPTION("Controls of the meter of shared stores");
MODULE_LICENSE("GPL");

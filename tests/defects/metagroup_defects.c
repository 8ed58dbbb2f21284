// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that injects bugs on demand. A debug kernel must report each of them;
 * only then does a clean log show that a module has none. Use it only on kernels with
 * these checks: others may crash.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timer.h>

/* An object whose use the compiler cannot optimize away. */
static void *defects_alloc(size_t size)
{
	void *object = kzalloc(size, GFP_KERNEL | __GFP_NOFAIL);

	OPTIMIZER_HIDE_VAR(object);
	return object;
}

static void defects_use_after_free(void)
{
	int *object = defects_alloc(sizeof(*object));
	int *alias = object;

	OPTIMIZER_HIDE_VAR(alias);
	kfree(object);
	WRITE_ONCE(*alias, 1);
}

static void defects_leak(void)
{
	unsigned int i;

	/* A stale copy in a register hides one of them, not all. */
	for (i = 0; i < 10; i++)
		defects_alloc(128);
}

static void defects_shift(void)
{
	static unsigned int too_far = 40;
	static int result = 1;

	WRITE_ONCE(result, READ_ONCE(result) << READ_ONCE(too_far));
}

static void defects_bounds(void)
{
	static int array[4];
	static unsigned int beyond = 6;
	static int result;

	WRITE_ONCE(result, READ_ONCE(array[READ_ONCE(beyond)]));
}

static noinline void defects_called(int *number)
{
	WRITE_ONCE(*number, 1);
}

static void defects_call(void)
{
	void (*call)(long *number) = (void *)defects_called;
	long number = 0;

	OPTIMIZER_HIDE_VAR(call);
	call(&number);
}

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

static void defects_lock_order(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);

	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static DEFINE_SPINLOCK(lock);

static void defects_sleep(void)
{
	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);
}

static int __rcu *shared;

static void defects_rcu(void)
{
	if (rcu_dereference(shared))
		pr_info("something is shared\n");
}

static void defects_list(void)
{
	struct list_head *entry = defects_alloc(sizeof(*entry));
	LIST_HEAD(list);

	list_add(entry, &list);
	/* The previous entry no longer points to this one. */
	INIT_LIST_HEAD(&list);
	list_del(entry);
	kfree(entry);
}

static void defects_timer_expired(struct timer_list *timer)
{
}

static void defects_free_active(void)
{
	struct timer_list *timer = defects_alloc(sizeof(*timer));

	timer_setup(timer, defects_timer_expired, 0);
	mod_timer(timer, jiffies + HZ * 3600);
	kfree(timer);
}

static unsigned long racy;

static noinline void defects_count(void)
{
	unsigned long end = jiffies + 5 * HZ;

	while (time_before(jiffies, end)) {
		racy++;
		cond_resched();
	}
}

static int defects_racer(void *unused)
{
	defects_count();
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

static void defects_race(void)
{
	struct task_struct *racer = kthread_run(defects_racer, NULL, "racer");

	if (IS_ERR(racer))
		return;
	defects_count();
	kthread_stop(racer);
}

static const struct defect {
	const char *name;
	void (*commit)(void);
} defects[] = {
	{ "use-after-free", defects_use_after_free },
	{ "leak", defects_leak },
	{ "shift", defects_shift },
	{ "bounds", defects_bounds },
	{ "call", defects_call },
	{ "lock-order", defects_lock_order },
	{ "sleep", defects_sleep },
	{ "rcu", defects_rcu },
	{ "list", defects_list },
	{ "free-active", defects_free_active },
	{ "race", defects_race },
};

static int defects_commit(const char *name, const struct kernel_param *param)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(defects); i++) {
		if (sysfs_streq(name, defects[i].name)) {
			defects[i].commit();
			return 0;
		}
	}
	return -EINVAL;
}

static const struct kernel_param_ops defects_commit_ops = { .set = defects_commit };
module_param_cb(commit, &defects_commit_ops, NULL, 0200);
MODULE_PARM_DESC(commit, "the defect to inject");

static int __init defects_init(void)
{
	return 0;
}
module_init(defects_init);

static void __exit defects_exit(void)
{
}
module_exit(defects_exit);

MODULE_DESCRIPTION("Injects bugs, for tests of debug kernels");
MODULE_LICENSE("GPL");

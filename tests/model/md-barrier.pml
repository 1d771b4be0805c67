/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All of drivers/md/md-barrier.c together, on sequentially consistent memory:
 * fences and grace periods between two are what tests/litmus is for. Each step
 * of a process is one access to memory, or some that a lock covers. Waiting is a guard that blocks: that
 * nobody sleeps through a wake-up is tests/litmus, too.
 *
 * Two I/Os come and go for ever, one of each class, and may fail: then they are
 * queued, and the array's thread freezes the array, goes on with them by a
 * nested I/O, and ends both. Somebody else freezes the array, and a resync
 * comes and goes, each as often as it likes.
 *
 * Checked: nobody is in who should be out (assert), and nobody waits for ever
 * for somebody who waits for him (invalid end state).
 *
 * With one of these defined, spin must find an error:
 *	NO_GP		no grace period when a class gets slow
 *	NO_RECHECK	an I/O that comes in slow looks, then counts itself
 *	NO_DRAIN	a resync does not wait for what came in fast
 *	UNCOUNTED	a freeze is a flag, as in stock raid1
 *	NESTED_WAITS	a retry comes in like any other I/O, as in stock raid1
 *	NO_QUEUE	a freeze waits for what is queued, as quiesce in stock raid10
 *	NO_CONVERT	an I/O that came in fast keeps its token when it is queued
 *	SUM_LAST	a freeze looks at queued before the sum
 *	RELAX_EARLY	fast again without a look at who wants it slow
 */

#define SHARED		0
#define EXCLUSIVE	1
#define FAST		2	/* token: FAST + class, or the bucket */

bool fast[2] = true;
byte count[2];		/* I/Os that came in fast */
bool exact[2];		/* the count can be seen: atomic mode */
bool rcu[2];		/* an I/O is in its read-side critical section */

byte pending[2];	/* by bucket */
byte raised[2];
byte waiting[2];
byte frozen;
byte resync;
byte queued;

bool locked, mode_locked;
byte slow[2];

/* What is checked. */
byte token[2];
bool in[2];		/* an I/O is inside, and not queued */
bool failed[2];		/* it is queued */
bool taken;		/* the array's thread is at it */
bool still[2];		/* 0: the array's thread has the array frozen, 1: another */
bool working[2];	/* a request of a resync is at work in the bucket */

#define lock()		atomic { !locked -> locked = true }
#define unlock()	locked = false
#define mode_lock()	!mode_locked; mode_locked = true	/* in atomic */
#define mode_unlock()	mode_locked = false

/* The I/O of class c is in bucket b: one of them in each. */
#define bucket(c)	(c)

#define closed(c, b)	(frozen != 0 || (c == EXCLUSIVE && raised[b] != 0))

inline grace_period()
{
#ifdef NO_GP
	skip
#else
	!rcu[0];
	!rcu[1]
#endif
}

inline make_slow(c)
{
	if
	:: fast[c] ->
		fast[c] = false;
		grace_period();
		exact[c] = true
	:: else
	fi
}

inline get(c, b)
{
	rcu[c] = true;
	if
	:: fast[c] ->
		count[c]++;
		token[c] = FAST + c;
		rcu[c] = false
	:: else ->
		rcu[c] = false;
#ifdef NO_RECHECK
		!closed(c, b);
		pending[b]++;
#else
		pending[b]++;
		if
		:: !closed(c, b)
		:: else ->
			lock();
			waiting[b]++;
			pending[b]--;
			do
			:: closed(c, b) ->
				unlock();
				!closed(c, b);
				lock()
			:: else -> break
			od;
			pending[b]++;
			waiting[b]--;
			unlock()
		fi;
#endif
		token[c] = b
	fi
}

inline put(t)
{
	if
	:: t >= FAST -> count[t - FAST]--
	:: else -> pending[t]--
	fi
}

proctype io(byte c)
{
	do
	:: get(c, bucket(c));
		atomic {
			in[c] = true;
			assert(!still[0] && !still[1]);
			assert(c == SHARED || !working[bucket(c)])
		}
		if
		:: true ->	/* ends well */
			in[c] = false;
			put(token[c])
		:: true ->	/* md_barrier_queue() */
			in[c] = false;
#ifdef NO_CONVERT
			queued++;
#else
			if
			:: token[c] >= FAST ->
				pending[bucket(c)]++;
				queued++;
				count[c]--;
				token[c] = bucket(c)
			:: else -> queued++
			fi;
#endif
			failed[c] = true;
			!failed[c]
		fi
	:: break
	od
}

#ifdef NO_QUEUE
#define QUIET(x)	(count[0] + count[1] == 0 && \
			 pending[0] + pending[1] + resync == x)
#else
#define QUIET(x)	(count[0] + count[1] == 0 && \
			 pending[0] + pending[1] + resync == x + queued)
#endif

/* Waits until the array is quiet; w is who freezes, x is its extra. */
inline freeze(w, x)
{
	atomic {
		!locked;
#ifdef UNCOUNTED
		frozen = 1
#else
		frozen++
#endif
	}
	atomic {
		mode_lock();
		slow[0]++;
		slow[1]++
	}
	make_slow(0);
	make_slow(1);
	mode_unlock();
	do
	:: true ->
		exact[0] && count[0] == 0;
		exact[1] && count[1] == 0;
#ifdef SUM_LAST
		sum[w] = 64 - queued;
#else
		sum[w] = 64;
#endif
		sum[w] = sum[w] + resync;
		sum[w] = sum[w] + pending[0];
		sum[w] = sum[w] + pending[1];
#if !defined(NO_QUEUE) && !defined(SUM_LAST)
		sum[w] = sum[w] - queued;
#endif
		if
		:: sum[w] == 64 + x -> break
		:: else -> QUIET(x)	/* sleeps, and looks again */
		fi
	od;
	atomic {
		still[w] = true;
		assert(!in[0] && !in[1]);
		assert(!working[0] && !working[1])
	}
}

inline unfreeze(w)
{
	atomic {
		!locked;
		still[w] = false;
#ifdef UNCOUNTED
		frozen = 0
#else
		frozen--
#endif
	}
	atomic {
		!mode_locked;
		slow[0]--;
		slow[1]--
	}
}

byte sum[2];
byte nested_token[2];

proctype daemon()
{
	byte c, held;

end:	do
	:: atomic {
			failed[0] || failed[1];
			if
			:: failed[0] -> c = 0
			:: failed[1] -> c = 1
			fi;
			queued--
		}
		held = token[c];
		if
		:: freeze(0, 1);
			unfreeze(0)
		:: true		/* the array is read-only, or the disk failfast */
		fi;
		/* md_barrier_get_nested() */
#ifdef NESTED_WAITS
		get(c, bucket(c));
		nested_token[c] = token[c];
#else
		pending[bucket(c)]++;
		nested_token[c] = bucket(c);
#endif
		assert(c == SHARED || !working[bucket(c)]);
		put(held);
		put(nested_token[c]);
		failed[c] = false
	od
}

proctype freezer()
{
	do
	:: freeze(1, 0);
		unfreeze(1)
	:: break
	od
}

/* Requests in the bucket of the exclusive I/O; in the other one nobody cares. */
proctype resyncer()
{
	do
	:: atomic {
			mode_lock();
			slow[EXCLUSIVE]++
		}
		make_slow(EXCLUSIVE);
		mode_unlock();
#ifndef NO_DRAIN
		exact[EXCLUSIVE] && count[EXCLUSIVE] == 0;
#endif
		do
		:: lock();
			do
			:: waiting[1] != 0 ->
				unlock();
				waiting[1] == 0;
				lock()
			:: else -> break
			od;
			raised[1]++;
			do
			:: frozen != 0 || pending[1] != 0 ->
				unlock();
				frozen == 0 && pending[1] == 0;
				lock()
			:: else -> break
			od;
			resync++;
			unlock();
			atomic {
				working[1] = true;
				assert(!in[EXCLUSIVE]);
				assert(!still[0] && !still[1])
			}
			working[1] = false;
			raised[1]--;
			resync--
		:: break
		od;
		atomic {
			!mode_locked;
			slow[EXCLUSIVE]--
		}
	:: break
	od
}

inline relax(c)
{
	if
#ifdef RELAX_EARLY
	:: true ->
#else
	:: slow[c] == 0 ->
#endif
		if
		:: !fast[c] ->
			exact[c] = false;
			fast[c] = true
		:: else
		fi
	:: else
	fi
}

#ifdef RELAX_EARLY
#define RELAX_ANYWAY	|| true
#else
#define RELAX_ANYWAY
#endif

proctype relaxer()
{
end:	do
	:: atomic {
			!mode_locked &&
			((slow[0] == 0 && !fast[0]) ||
			 (slow[1] == 0 && !fast[1]) RELAX_ANYWAY);
			mode_lock()
		}
		relax(0);
		relax(1);
		mode_unlock()
	od
}

init
{
	atomic {
		run io(SHARED);
		run io(EXCLUSIVE);
		run daemon();
		run freezer();
		run resyncer();
		run relaxer()
	}
}

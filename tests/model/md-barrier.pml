/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What drivers/md/md-barrier.c does together, on sequentially consistent
 * memory: fences and grace periods between two are what tests/litmus is for.
 * Each step of a process is one access to memory, or some that a lock covers.
 * Waiting is a guard that blocks: that nobody sleeps through a wake-up is
 * tests/litmus, too. One bucket.
 *
 * Two I/Os come and go for ever, one of each class. An I/O may fail: then it is
 * queued, and the array's thread freezes the array, or does not, and goes on
 * with it by a nested one, which may fail as well. Somebody else freezes or
 * drains the array. A resync comes and goes and sends one request at a time, or
 * two together; a request ends, or is queued and ended by the array's thread.
 *
 * Checked: nobody is in who should be out (assert), and nobody waits for ever
 * for somebody who waits for him (invalid end state). Left out: the limit to
 * requests, interrupted waits, exit, and what is left to the thread to submit.
 *
 * With QUICK defined there is no drain, and no two requests together.
 *
 * With one of these defined, spin must find an error, and of that kind:
 *	NO_GP		assert	no grace period when a class gets slow
 *	NO_RECHECK	assert	an I/O that comes in slow looks, then counts itself
 *	NO_DRAIN	assert	a resync does not wait for what came in fast
 *	UNCOUNTED	assert	a freeze is a flag, as in stock raid1
 *	NESTED_WAITS	end	a retry comes in like any other I/O, as in stock raid1
 *	NESTED_FREE	end	a retry is not counted
 *	NO_QUEUE	end	the array's thread waits for what is queued
 *	NO_CONVERT	end	an I/O that came in fast keeps its token when queued
 *	QUEUED_FIRST	assert	what is dequeued during the sum counts as queued
 *	QUEUED_LAST	assert	what is queued is looked up after the sum
 *	FAST_EARLY	end	fast again without a look at who wants it slow
 */

#define SHARED		0
#define EXCLUSIVE	1
#define FAST		2	/* token: FAST + class; SLOW for the bucket */
#define SLOW		0

bool fast[2] = true;
byte count[2];		/* I/Os that came in fast */
bool exact[2];		/* the count can be seen: atomic mode */
bool rcu[2];		/* an I/O is in its read-side critical section */

byte pending, raised, waiting, frozen, resync, queued;
bool locked, mode_locked;
byte slow[2];

/* A freeze that sums up: w is who, 0 the array's thread, 1 somebody else. */
byte sum[2];
byte seen[2];		/* queued, as seen; less what has been dequeued since */

/* What is checked, and who has to do what. */
#define OUT	0	/* an I/O, by class: not there, or not in yet */
#define IN	1	/* at work */
#define QUEUED	2
#define TAKEN	3	/* the array's thread is at it */
#define NESTED	4	/* at work again */
byte stage[2];
byte token[2];
bool still[2];		/* the array is frozen by w */
bool list_locked;	/* of what is queued */
byte at_work;		/* requests of a resync */
byte sent;		/* of them, those that a disk is at */
byte left;		/* of them, those that are queued */

#define closed(c)	(frozen != 0 || (c == EXCLUSIVE && raised != 0))

inline dequeue()
{
	queued--;
#ifndef QUEUED_FIRST
	if
	:: seen[0] > 0 -> seen[0]--
	:: else
	fi;
	if
	:: seen[1] > 0 -> seen[1]--
	:: else
	fi
#endif
}

inline grace_period()
{
#ifdef NO_GP
	skip
#else
	!rcu[0];
	!rcu[1]
#endif
}

/* Both, or the exclusive one. */
inline enter_slow(both)
{
	atomic {
		!mode_locked;
		mode_locked = true;
		slow[0] = slow[0] + both;
		slow[1]++
	}
	if
	:: fast[1] || (both && fast[0]) ->
		atomic {
			fast[0] = fast[0] && !both;
			fast[1] = false
		}
		grace_period();
		atomic {
			exact[0] = !fast[0];
			exact[1] = true
		}
	:: else
	fi;
	mode_locked = false
}

inline exit_slow(both)
{
	atomic {
		!mode_locked;
		slow[0] = slow[0] - both;
		slow[1]--
	}
}

inline get(c)
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
		!closed(c);
		pending++;
#else
		pending++;
		if
		:: !closed(c)
		:: else ->
			atomic {
				!locked;
				waiting++;
				pending--
			}
			/* Under the lock it is open, and is counted. */
			atomic {
				!locked && !closed(c);
				pending++;
				waiting--
			}
		fi;
#endif
		token[c] = SLOW
	fi
}

inline put(t)
{
	if
	:: t >= FAST -> count[t - FAST]--
	:: else -> pending--
	fi
}

proctype io(byte c)
{
	do
	:: get(c);
		atomic {
			stage[c] = IN;
			assert(!still[0] && !still[1]);
			assert(c == SHARED || at_work == 0)
		}
		if
		:: true ->	/* ends well */
			stage[c] = OUT;
			put(token[c])
		:: true ->	/* md_barrier_queue() */
			atomic {
				!list_locked;
				list_locked = true;
#ifndef NO_CONVERT
				if
				:: token[c] >= FAST -> pending++
				:: else
				fi
#endif
			}
			atomic {
				queued++;
				stage[c] = QUEUED
			}
			atomic {
#ifndef NO_CONVERT
				if
				:: token[c] >= FAST ->
					count[c]--;
					token[c] = SLOW
				:: else
				fi;
#endif
				list_locked = false
			}
			stage[c] == OUT
		fi
	:: break
	od
}

#ifdef NO_QUEUE
#define LESS(n)	0
#else
#define LESS(n)	(n)
#endif
#define QUIET(x, all)	(count[0] + count[1] == 0 && \
			 pending + resync == x + (all -> 0 : LESS(queued)))

inline nobody(k, w, all)
{
	assert(stage[k] != IN && stage[k] != NESTED);
	assert(stage[k] != TAKEN || w == 0);
	assert(!all || stage[k] == OUT)
}

/* Until the array is quiet; w is who freezes, x is its extra. */
inline freeze(w, x, all)
{
	enter_slow(1);
	atomic {
		!locked;
#ifdef UNCOUNTED
		frozen = 1
#else
		frozen++
#endif
	}
	do
	:: exact[0] && count[0] == 0;
		exact[1] && count[1] == 0;
		seen[w] = queued;
		sum[w] = resync;
		sum[w] = sum[w] + pending;
#ifdef QUEUED_LAST
		seen[w] = queued;
#endif
		/* Here it looks at what was dequeued; so what holds, holds here. */
		atomic {
			if
			:: sum[w] == x + (all -> 0 : LESS(seen[w])) ->
				still[w] = true;
				assert(at_work == left);
				nobody(0, w, all);
				nobody(1, w, all)
			:: else
			fi;
			seen[w] = 0;
			sum[w] = 0
		}
		if
		:: still[w] -> break
		:: else -> QUIET(x, all)	/* sleeps, and looks again */
		fi
	od
}

inline unfreeze(w, all)
{
	assert(!all || (stage[0] == OUT && stage[1] == OUT && at_work == 0));
	atomic {
		!locked;
		still[w] = false;
#ifdef UNCOUNTED
		frozen = 0
#else
		frozen--
#endif
	}
	exit_slow(1)
}

inline lower()
{
	at_work--;
	raised--;
	resync--
}

/* The array's thread. */
proctype daemon()
{
	byte c, held;

end:	do
	:: atomic {
			!list_locked && (stage[0] == QUEUED || stage[1] == QUEUED);
			if
			:: stage[0] == QUEUED -> c = 0
			:: stage[1] == QUEUED -> c = 1
			fi;
			stage[c] = TAKEN;
			dequeue()
		}
		held = token[c];
		if
		:: freeze(0, 1, false);
			unfreeze(0, false)
		:: true		/* the array is read-only, or the disk failfast */
		fi;
		/* md_barrier_get_nested() */
#ifdef NESTED_WAITS
		get(c);
#else
#ifndef NESTED_FREE
		pending++;
#endif
		token[c] = SLOW;
#endif
		atomic {
			stage[c] = NESTED;
			assert(c == SHARED || at_work == 0)
		}
		put(held)
	:: atomic {
			!list_locked && left > 0 -> left--;
			dequeue()
		}
		lower()
	od
}

/* Ends what is at work: nested I/O, and requests; or it has to be queued. */
proctype disk()
{
	byte c;

end:	do
	:: atomic {
			stage[0] == NESTED || stage[1] == NESTED;
			if
			:: stage[0] == NESTED -> c = 0
			:: stage[1] == NESTED -> c = 1
			fi
		}
		if
		:: true ->
			atomic {
#ifndef NESTED_FREE
				pending--;
#endif
				stage[c] = OUT
			}
		:: atomic {
				!list_locked -> queued++;
				stage[c] = QUEUED
			}
		fi
	:: sent > 0 ->
		if
		:: true ->
			sent--;
			lower()
		:: atomic {
				!list_locked -> sent--;
				left++;
				queued++
			}
		fi
	od
}

proctype freezer()
{
	do
	:: freeze(1, 0, false);
		unfreeze(1, false)
#ifndef QUICK
	:: freeze(1, 0, true);
		unfreeze(1, true)
#endif
	:: break
	od
}

proctype resyncer()
{
	do
	:: enter_slow(0);
#ifndef NO_DRAIN
		exact[EXCLUSIVE] && count[EXCLUSIVE] == 0;
#endif
		do
		:: atomic {
				!locked && waiting == 0;
				locked = true
			}
			raised++;
			locked = false;
again:			atomic {
				!locked && frozen == 0;
				locked = true
			}
			if
			:: pending == 0 ->
				atomic {
					resync++;
					locked = false;
					at_work++;
					assert(stage[EXCLUSIVE] == OUT);
					assert(!still[0] && !still[1])
				}
			:: else ->
				locked = false;
				frozen == 0 && pending == 0;
				goto again
			fi;
			if
			:: sent++
#ifndef QUICK
			:: raised++;	/* md_barrier_raise_more() */
				resync++;
				at_work++;
				sent++;
				sent++
#endif
			fi;
			sent + left == 0	/* one, or two together */
		:: break
		od;
		resync == 0;
		exit_slow(0)
	:: break
	od
}

#ifdef FAST_EARLY
#define WANTED(c)	false
#else
#define WANTED(c)	(slow[c] != 0)
#endif

proctype fast_worker()
{
end:	do
	:: atomic {
			!mode_locked && ((!WANTED(0) && !fast[0]) ||
					 (!WANTED(1) && !fast[1]));
			mode_locked = true
		}
		atomic {
			exact[0] = exact[0] && WANTED(0);
			exact[1] = exact[1] && WANTED(1)
		}
		atomic {
			fast[0] = !WANTED(0);
			fast[1] = !WANTED(1)
		}
		mode_locked = false
	od
}

init
{
	atomic {
		run io(SHARED);
		run io(EXCLUSIVE);
		run daemon();
		run disk();
		run freezer();
		run resyncer();
		run fast_worker()
	}
}

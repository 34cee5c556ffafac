/* What readers see: rows are staged where nobody looks, verified, and switched on in one transaction.
 *
 * One set of chunks (a version's, under one pipeline, of one generation), which one or two orders make (an INDEX and a
 * RECOMPUTE may share it). An attempt makes manifest X (one row) or Y (two rows): another revision of a worker may cut a text
 * differently. `lock[t]` is the row lock of task t that a finish holds between its steps; other transactions are one `atomic`
 * and wait for it. See lease.pml for names in capitals. */
#define CLAIMS 2                       /* attempts of one task, to keep the model finite */

mtype = { NONE, WAITING, RUNNING, SUCCEEDED, DEAD, CANCELLED };

mtype st[3] = NONE; byte att[3]; bool expired[3]; bool lock[3];
byte row[3];                           /* what stands at ordinals 1 and 2: nothing (0), X (1) or Y (2) */
byte served = 0;                       /* the manifest that the pointer includes; 0: no pointer */
bool deleted = false; bool purged = false; bool closed = false;
bool two = false;                      /* whether there are two orders; ghost, as is: */
byte claims[3];

#define TERMINAL(t) (st[t] == NONE || st[t] == SUCCEEDED || st[t] == DEAD || st[t] == CANCELLED)
#define DONE (closed && TERMINAL(1) && TERMINAL(2) && (!deleted || purged))
#define CLAIMABLE(t) (!lock[t] && att[t] < CLAIMS && (st[t] == WAITING || (st[t] == RUNNING && expired[t])))
#define HELD (st[my] == RUNNING && att[my] == a && !expired[my])
#define STORED(m) (row[1] == m && row[2] == (m == 2 -> 2 : 0))
#define STRANGER(i, m) (row[i] != 0 && (row[i] != m || i > m))      /* X has one row, Y has two */

#define COMPLETE(m) ((row[1] != 0) + (row[2] != 0) == m)             /* as many rows as the manifest has */

/* In every state: readers see one complete set, and nothing comes back after a purge. */
#define CONSISTENT ((served == 0 || STORED(served)) && (!purged || (row[1] == 0 && row[2] == 0 && served == 0)))

inline fence() {
  if :: HELD -> skip :: else -> goto idle fi;
  assert(claims[my] == g)              /* rows are staged, discarded and switched on by a fenced writer alone */
}
inline leave(t, state) { st[t] = state; expired[t] = false }

proctype Worker() {
  byte my = 0; byte a = 0; byte g = 0; byte m = 0; byte i = 0;
idle:
  atomic {
    my = 0; a = 0; g = 0; m = 0; i = 0;
    if
    :: CLAIMABLE(1) -> my = 1
    :: CLAIMABLE(2) -> my = 2
    :: DONE -> goto fin
    fi;
    att[my]++; claims[my]++; a = att[my]; g = claims[my]; st[my] = RUNNING; expired[my] = false;
#ifndef NO_BEGIN
    if :: deleted -> leave(my, CANCELLED); goto idle :: else fi    /* begin: nobody wants it */
#endif
  };
  if :: m = 1 :: m = 2 :: goto idle fi;            /* parse, split, embed; or SIGKILL */

#ifdef NO_SIBLING_LOCK
  atomic { !lock[my] ->
#else
  atomic { !lock[my] && !lock[3 - my] ->           /* already_staged: rows of other contents go; every order's lock first */
#endif
#ifndef UNFENCED_DISCARD
    fence();
#endif
#ifndef DISCARD_SERVED
    if :: served != 0 -> goto idle :: else fi;       /* what readers see does not go */
#endif
#ifndef NO_DISCARD
    if :: STRANGER(1, m) -> row[1] = 0 :: else fi;
    if :: STRANGER(2, m) -> row[2] = 0 :: else fi;
#endif
    assert(CONSISTENT)
  };
  i = 1;
  do                                               /* stage, a batch a transaction */
  :: i <= m ->
     if :: goto idle :: skip fi;                   /* SIGKILL between two batches */
     atomic { !lock[my] ->
#ifndef UNFENCED_STAGE
       fence();
#endif
#ifndef STAGE_SERVED
       if :: served != 0 -> goto idle :: else fi;     /* nor is anything added to it */
#endif
       if
       :: row[i] == 0 -> row[i] = m
       :: row[i] == m                              /* staged by an earlier attempt: kept */
       :: else -> assert(two); goto idle           /* another text at its place: refused by the unique index */
       fi;
       i++;
       assert(CONSISTENT)
     }
  :: else -> break
  od;
  if
  :: goto idle
  :: atomic { !lock[my] -> fence(); leave(my, WAITING) }; goto idle      /* given back */
  :: skip
  fi;
  atomic { !lock[my] -> fence(); lock[my] = true };                        /* finish: the fence … */
  if                                               /* … the checks, read after it … */
  :: atomic { deleted || served != 0 -> leave(my, CANCELLED); lock[my] = false }; goto idle
#ifdef NO_COMPLETE
  :: atomic { !deleted && served == 0 -> skip }
#else
  :: atomic { !deleted && served == 0 && STORED(m) -> skip }
  :: atomic { !deleted && served == 0 && !STORED(m) -> assert(two); leave(my, WAITING); lock[my] = false }; goto idle
#endif
  fi;
  atomic {                                         /* … and the switch, under the lock of the set: counted again */
#ifndef NO_COUNT
    if :: served != 0 || !COMPLETE(m) -> lock[my] = false; goto idle :: else fi;
#endif
    served = m; leave(my, SUCCEEDED); lock[my] = false; assert(CONSISTENT)
  };
  goto idle;
fin: skip
}

proctype Clock() {
  do
  :: atomic { st[1] == RUNNING && !expired[1] -> expired[1] = true }
  :: atomic { st[2] == RUNNING && !expired[2] -> expired[2] = true }
  :: atomic { !lock[1] && att[1] >= CLAIMS && (st[1] == WAITING || expired[1]) -> leave(1, DEAD) }
  :: atomic { !lock[2] && att[2] >= CLAIMS && (st[2] == WAITING || expired[2]) -> leave(2, DEAD) }
  :: DONE -> break
  od
}

proctype People() {                                /* delete takes the document's lock, which a finish holds until its end */
  if
  :: atomic { !lock[1] && !lock[2] -> deleted = true;
       if :: st[1] == WAITING -> leave(1, CANCELLED) :: else fi;
       if :: st[2] == WAITING -> leave(2, CANCELLED) :: else fi }
  :: skip
  fi;
  closed = true
}

proctype Sweep() {
  do
#ifdef PURGE_RUNNING
  :: atomic { deleted && !lock[1] && !lock[2] ->
#else
  :: atomic { deleted && !lock[1] && !lock[2] && (st[1] != RUNNING || expired[1]) && (st[2] != RUNNING || expired[2]) ->
       if :: st[1] == RUNNING -> leave(1, DEAD) :: else fi;
       if :: st[2] == RUNNING -> leave(2, DEAD) :: else fi;
#endif
       row[1] = 0; row[2] = 0; served = 0; purged = true; break }
  :: closed && !deleted -> break
  od
}

proctype Monitor() {
  timeout ->
  assert(TERMINAL(1) && TERMINAL(2));              /* no task is lost */
  assert(!deleted || (purged && row[1] == 0 && row[2] == 0));       /* and nothing of a deleted document */
  assert((st[1] == SUCCEEDED || st[2] == SUCCEEDED) == (served != 0) || deleted)
}

init {
  atomic {
    st[1] = WAITING;
    if :: skip :: two = true; st[2] = WAITING fi;
    run Worker(); run Worker(); run Clock(); run People(); run Sweep(); run Monitor()
  }
}

/* Who may write: leases, fencing tokens, budgets, and what people wish meanwhile.
 *
 * One document with two orders. Order 2 is for version 2, or with -DREBUILD for the next generation of version 1. Two workers
 * SHARE one name, so only the attempt tells owners apart. Each `atomic` is one transaction (its row locks make it one step);
 * everything between two of them can be interleaved. `Clock` ends leases at any moment, so a frozen worker (SIGSTOP) of any
 * length is covered. Names in capitals that test_model.py passes as -D take one guard away; docs/protocol.md says which line of
 * the product each stands for. Ghost variables observe and decide nothing. */
#ifndef ACTIONS
#define ACTIONS 2                      /* that people take after the first publish */
#endif
#define BUDGET 2                       /* max_failures */
#ifdef REBUILD
#define VERSION(t) 1
#else
#define VERSION(t) (t)
#endif

mtype = { NONE, WAITING, RUNNING, SUCCEEDED, DEAD, CANCELLED };    /* WAITING: PENDING or RETRY_WAIT, whose time may have come */
mtype = { FAULT, BEHIND, UNWANTED };      /* what ends an attempt */

mtype st[3] = NONE; byte att[3]; byte failures[3]; bool expired[3]; bool wish[3];
byte requested = 0; byte ptr = 0; bool deleted = false; bool withdrawn = false; bool purged = false;
bool closed = false;                   /* nobody orders anything any more */
byte uncharged = 0;                    /* releases and rate limits so far: bounded, to keep the model finite */

byte claims[3]; byte last[3]; byte charged[3]; byte commits[3]; byte maxptr = 0; bool stopped[3];   /* ghosts */

#define TERMINAL(t) (st[t] == NONE || st[t] == SUCCEEDED || st[t] == DEAD || st[t] == CANCELLED)
#define DONE (closed && TERMINAL(1) && TERMINAL(2) && (!deleted || purged))
#define WAITS(t) (st[t] == WAITING || st[t] == DEAD)
#define SPENT(t) (st[t] == RUNNING && expired[t] && failures[t] + 1 >= BUDGET)
#define UNWISHED (deleted || withdrawn || wish[my])
#ifdef NO_CAP
#define TAKEABLE(t) (st[t] == RUNNING && expired[t])
#else
#define TAKEABLE(t) (st[t] == RUNNING && expired[t] && failures[t] + 1 < BUDGET)
#endif
#ifdef CLAIM_LIVE
#define CLAIMABLE(t) (st[t] == WAITING || st[t] == RUNNING)
#else
#define CLAIMABLE(t) (st[t] == WAITING || TAKEABLE(t))
#endif

#ifdef NO_STATE
#define STATE_OK true
#else
#define STATE_OK (st[my] == RUNNING)
#endif
#ifdef NO_ATTEMPT
#define TOKEN_OK true
#else
#define TOKEN_OK (att[my] == a)
#endif
#ifdef NO_EXPIRY
#define LEASE_OK true
#else
#ifdef EARLY_EXPIRY                             /* looked at before the lock was there */
#define LOOK seen = !expired[my]
#define LEASE_OK seen
#else
#define LEASE_OK (!expired[my])
#endif
#endif
#ifdef SPLIT_CHECK                              /* check and write in two transactions */
#define LOOK seen = STATE_OK && TOKEN_OK && LEASE_OK
#define HELD seen
#else
#define HELD (STATE_OK && TOKEN_OK && LEASE_OK)
#endif

/* The first statement of a transaction that writes for an attempt. */
inline fence() {
  if :: HELD -> skip :: else -> goto idle fi;
  assert(claims[my] == g);                         /* one fenced writer */
  assert(st[my] == RUNNING);                       /* nobody writes for a task that has ended */
  assert(!expired[my])                             /* and only under a live lease */
}
inline leave(t, state) { st[t] = state; expired[t] = false }
inline charge(t) { failures[t]++; charged[t]++ }

/* sink.end: wishes are read again, under the locks that the commands take, whatever the worker saw before. */
inline conclude(reason) {
  fence();
  if
#ifdef LATE_CANCEL
  :: reason == UNWANTED -> assert(UNWISHED); leave(my, CANCELLED); wish[my] = false
  :: reason != UNWANTED && UNWISHED -> leave(my, CANCELLED); wish[my] = false
#else
#ifdef DROP_WISH
  :: reason != FAULT && UNWISHED -> leave(my, CANCELLED); wish[my] = false
#else
  :: UNWISHED -> leave(my, CANCELLED); wish[my] = false
#endif
#endif
  :: else ->
     if
     :: reason == BEHIND -> leave(my, CANCELLED)
     :: reason == UNWANTED -> leave(my, WAITING)     /* wanted again: given back, uncharged */
     :: reason == FAULT -> charge(my); wish[my] = false;
        if
        :: failures[my] >= BUDGET -> leave(my, DEAD)
        :: else -> leave(my, WAITING)
        fi
     fi
  fi
}

proctype Worker() {
  byte my = 0; byte a = 0; byte g = 0;
#ifdef LOOK
  bool seen = false;
#endif
idle:
  atomic {
    my = 0; a = 0; g = 0;
    if
    :: CLAIMABLE(1) -> my = 1
    :: CLAIMABLE(2) -> my = 2
    :: DONE -> goto fin
    fi;
    assert(st[my] != RUNNING || expired[my]);        /* a live lease is not taken away */
    if
    :: st[my] == RUNNING -> charged[my]++;
#ifndef NO_CHARGE
       failures[my]++
#endif
    :: else
    fi;
    assert(charged[my] < BUDGET);                    /* crashes do not go on for ever */
    assert(failures[my] == charged[my]);             /* and nothing else is charged */
    att[my]++; claims[my]++; assert(att[my] > last[my]); last[my] = att[my];        /* attempts strictly rise */
    a = att[my]; g = claims[my]; st[my] = RUNNING; expired[my] = false
  };
work:
  if
  :: goto idle                                       /* SIGKILL: everything forgotten */
#ifdef RENEW_DEAD
  :: atomic { (STATE_OK && TOKEN_OK) -> assert(!expired[my]); expired[my] = false }
#endif
  :: atomic { VERSION(my) < requested || (ptr > 0 && VERSION(my) < VERSION(ptr)) -> conclude(BEHIND) }; goto idle
  :: atomic { conclude(FAULT) }; goto idle           /* a timeout, a crash of the parser */
  :: atomic { UNWISHED -> goto ending }              /* seen before the next batch */
  :: atomic { uncharged < 1 -> fence(); uncharged++; leave(my, WAITING);            /* SIGTERM, or a rate limit */
#ifdef CHARGE_RELEASE
       failures[my]++
#endif
     };
     if :: goto idle :: goto work fi                 /* given back by another thread: the attempt itself goes on */
  :: skip                                            /* slow work of any length */
  fi;
#ifdef LOOK
  LOOK;
#endif
  atomic {                                           /* finish */
    fence();
    if
    :: false
#ifndef NO_DELETE
    :: deleted -> goto ending
#endif
#ifndef NO_WITHDRAW
    :: withdrawn -> goto ending
#endif
#ifndef NO_WISH
    :: wish[my] -> goto ending
#endif
    :: else
    fi;
#ifndef NO_EPOCH
    if :: my <= ptr -> conclude(BEHIND); goto idle :: else fi;       /* (version, generation) in this order */
#endif
    assert(!deleted && !purged);                     /* delete is final */
    assert(!withdrawn);                              /* what was withdrawn comes back by a publish alone */
    assert(!stopped[my]);                            /* what a person cancelled stays so until a person reopens it */
    ptr = my; assert(ptr > maxptr); maxptr = ptr;    /* the pointer never goes back, and switches once a set */
    commits[my]++; assert(commits[my] == 1);         /* one success a task */
    leave(my, SUCCEEDED); wish[my] = false
  };
  goto idle;

ending:
  skip;                                              /* people decide again meanwhile */
#ifdef LOOK
  LOOK;
#endif
  atomic { conclude(UNWANTED) };
  goto idle;
fin: skip
}

proctype Clock() {                                 /* the database's clock, and the claim's part that ends spent tasks */
  do
  :: atomic { (st[1] == RUNNING && !expired[1]) -> expired[1] = true }
  :: atomic { (st[2] == RUNNING && !expired[2]) -> expired[2] = true }
#ifndef NO_REAPER
  :: atomic { SPENT(1) -> charge(1); assert(charged[1] == BUDGET); leave(1, DEAD) }
  :: atomic { SPENT(2) -> charge(2); assert(charged[2] == BUDGET); leave(2, DEAD) }
#endif
  :: DONE -> break
  od
}

inline reopen(t) {
  if
#ifdef STALE_REOPEN
  :: st[t] != SUCCEEDED && st[t] != NONE ->
#else
  :: st[t] != SUCCEEDED && st[t] != NONE && !deleted && !withdrawn && VERSION(t) >= requested ->
#endif
     assert(!deleted && !withdrawn && VERSION(t) >= requested);    /* nothing is reopened that nobody wants */
     stopped[t] = false; wish[t] = false;
     if
     :: st[t] == DEAD || st[t] == CANCELLED -> failures[t] = 0; charged[t] = 0; leave(t, WAITING);
#ifdef RESET_ATTEMPT
        att[t] = 0; last[t] = 0;                   /* ABA: an old number is valid again */
#endif
     :: else
     fi
  :: else
  fi
}
inline order(t) { if :: st[t] == NONE -> st[t] = WAITING :: else -> reopen(t) fi }
inline cancel_waiting(t) { if :: WAITS(t) -> leave(t, CANCELLED) :: else fi }

proctype People() {
  byte left = ACTIONS; byte t = 1;
  atomic { requested = 1; order(1) };
  do
  :: atomic { left > 0 && !deleted -> left-- };
     if
#ifdef REBUILD
     :: atomic { order(2) }                        /* a deliberate rebuild, or part of a bulk run */
     :: atomic { requested = 1; withdrawn = false; order(1) }
#else
     :: atomic { requested = 2; withdrawn = false;                  /* publish version 2 */
#ifndef KEEP_OLDER
          cancel_waiting(1);
#endif
          assert(!WAITS(1)); order(2) }
     :: atomic { withdrawn = false; order(requested) }              /* publish again */
#endif
     :: atomic { if :: t = 1 :: t = 2 fi;                           /* cancel one task */
          if
          :: WAITS(t) -> leave(t, CANCELLED); wish[t] = false; stopped[t] = true
          :: st[t] == RUNNING -> wish[t] = true; stopped[t] = true
          :: else
          fi; t = 1 }
     :: atomic { if :: t = 1 :: t = 2 fi; reopen(t); t = 1 }               /* retry */
     :: atomic { withdrawn = true; cancel_waiting(1); cancel_waiting(2) }
     :: atomic { deleted = true; cancel_waiting(1); cancel_waiting(2) }
     fi
  :: break
  od;
  closed = true
}

proctype Sweep() {                                 /* purge of a deleted document */
  do
  :: atomic { (deleted && (st[1] != RUNNING || expired[1]) && (st[2] != RUNNING || expired[2])) ->
       if :: st[1] == RUNNING -> leave(1, DEAD) :: else fi;
       if :: st[2] == RUNNING -> leave(2, DEAD) :: else fi;
       purged = true; ptr = 0; break }
  :: closed && !deleted -> break
  od
}

proctype Monitor() {
  timeout ->                                       /* nothing can move any more */
  assert(closed && TERMINAL(1) && TERMINAL(2));    /* no task is lost */
  assert(deleted || withdrawn || st[requested] != CANCELLED || stopped[requested] || ptr > requested);     /* nor cancelled without a reason */
  assert(deleted || st[1] != SUCCEEDED || ptr >= 1);
  assert(deleted || st[2] != SUCCEEDED || ptr == 2)                                     /* success means served */
}

init { atomic { run Worker(); run Worker(); run Clock(); run People(); run Sweep(); run Monitor() } }

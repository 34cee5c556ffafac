/* Two pipelines of one tenant: whatever changes roles, a version is indexed under every pipeline in use, and comes into force
 * with the serving one's pointer.
 *
 * One document under `publish_when_ready` with two versions; an order per version and pipeline. Leases are lease.pml's
 * matter: here an attempt is one finish. `holders` counts transactions of more than one step that hold the tenant (shared);
 * who changes roles holds it alone. What `Operator` may do is what the command of a migration has to keep to. */
mtype = { ABSENT, BUILDING, SERVING, STANDBY, RETIRED };
mtype = { NONE, WAITING, RUNNING, SUCCEEDED, CANCELLED };

mtype role[3] = ABSENT; mtype st[5] = NONE; byte ptr[3]; byte requested = 0; byte published = 0; byte holders = 0;
bool closed = false; bool settled = false; byte retries = 0;

#define T(v, p) ((v) + 2 * (p) - 2)                /* versions 1, 2 under pipeline 1: 1, 2; under pipeline 2: 3, 4 */
#define VERSION(t) (((t) - 1) % 2 + 1)
#define PIPELINE(t) (((t) - 1) / 2 + 1)
#define IN_USE(p) (role[p] != ABSENT && role[p] != RETIRED)
#define ENDED(t) (st[t] != WAITING && st[t] != RUNNING)
#define DONE (closed && settled && ENDED(1) && ENDED(2) && ENDED(3) && ENDED(4))
#define ONE_SERVES ((role[1] == SERVING) + (role[2] == SERVING) == 1)
#define SERVES (role[1] == SERVING -> 1 : 2)
#ifdef NO_TENANT_LOCK
#define HOLD skip
#define LET_GO skip
#else
#define HOLD holders++
#define LET_GO holders--
#endif

#ifdef REOPEN_RETIRED
#define REOPEN(p) st[T(requested, p)] = WAITING; assert(IN_USE(p))
#else
#define REOPEN(p) if :: IN_USE(p) -> st[T(requested, p)] = WAITING :: else fi
#endif
#ifdef NO_GATE
#define GATE(old, new) true
#else
#define GATE(old, new) (ptr[new] >= ptr[old])
#endif
#ifdef NO_PROMOTION
#define PROMOTE(p) skip
#else
#define PROMOTE(p) if :: ptr[p] > published -> published = ptr[p] :: else fi
#endif
#ifdef TWO_STEPS
#define SWITCH(old, new) atomic { holders == 0 && GATE(old, new) -> role[old] = STANDBY }; atomic { role[new] = SERVING; PROMOTE(new) }
#else
#define SWITCH(old, new) atomic { holders == 0 && GATE(old, new) -> role[old] = STANDBY; role[new] = SERVING; PROMOTE(new); \
                                   assert(published <= ptr[SERVES]) }
#endif
#define RETIRE(p) role[p] = RETIRED

inline order(t) {
  if
  :: st[t] == NONE || st[t] == CANCELLED -> st[t] = WAITING
  :: else
  fi
}
inline cancel_older(t) { if :: st[t] == WAITING -> st[t] = CANCELLED :: else fi }

proctype Worker() {
  byte my = 0; bool may = false; bool serves = false;
idle:
  atomic {
    my = 0; may = false; serves = false;
    if
    :: st[1] == WAITING -> my = 1
    :: st[2] == WAITING -> my = 2
    :: st[3] == WAITING -> my = 3
    :: st[4] == WAITING -> my = 4
    :: DONE -> goto fin
    fi;
    st[my] = RUNNING
  };
  atomic { HOLD;                                   /* finish: roles are read under the tenant's lock … */
#ifdef NO_ROLE
    may = true;
#else
    may = IN_USE(PIPELINE(my));
#endif
    serves = role[PIPELINE(my)] == SERVING };
  atomic {                                         /* … and acted on */
    if
    :: !may || VERSION(my) <= ptr[PIPELINE(my)] -> st[my] = CANCELLED
    :: else ->
       assert(IN_USE(PIPELINE(my)));               /* a retired pipeline's pointer never moves */
       ptr[PIPELINE(my)] = VERSION(my); st[my] = SUCCEEDED;
#ifdef PROMOTE_ANY
       serves = true;
#endif
       if :: serves && VERSION(my) > published -> published = VERSION(my) :: else fi;
       assert(published <= ptr[SERVES])            /* in force means that readers find it */
    fi;
    LET_GO
  };
  goto idle;
fin: skip
}

proctype Editor() {
  byte v = 1; bool one = false; bool other = false;
  do
  :: v <= 2 ->
     atomic { HOLD; one = IN_USE(1); other = IN_USE(2) };           /* pipelines_to_fill */
     atomic {
       assert(ONE_SERVES);                         /* exactly one pipeline serves */
       requested = v;
       cancel_older(T(1, 1)); cancel_older(T(1, 2));
       if :: v == 1 && one -> order(T(1, 1)) :: v == 2 && one -> order(T(2, 1)) :: else fi;
       if :: v == 1 && other -> order(T(1, 2)) :: v == 2 && other -> order(T(2, 2)) :: else fi;
       one = false; other = false; LET_GO
     };
     v++
  :: v > 1 && retries < 1 ->                       /* retry of a cancelled order */
     atomic { retries++;
       if
       :: st[T(requested, 1)] == CANCELLED -> REOPEN(1)
       :: st[T(requested, 2)] == CANCELLED -> REOPEN(2)
       :: else
       fi }
  :: v > 1 -> break
  od;
  closed = true
}

proctype Operator() {                              /* a migration from pipeline 1 to pipeline 2, and perhaps back */
  if
  :: atomic { holders == 0 -> role[2] = BUILDING;
#ifndef NO_BACKFILL
       if :: requested > 0 -> order(T(requested, 2)) :: else fi
#endif
     }
  :: goto over
  fi;
  if
  :: atomic { holders == 0 -> RETIRE(2) }; goto over                /* given up */
  :: SWITCH(1, 2)
  :: goto over
  fi;
  if
  :: SWITCH(2, 1); if :: atomic { holders == 0 -> RETIRE(2) } :: skip fi
  :: atomic { holders == 0 -> RETIRE(1) }
  :: skip
  fi;
over:
  settled = true
}

proctype Monitor() {
  timeout ->
  assert(DONE);                                    /* no order is lost */
  assert(role[1] == ABSENT || role[1] == RETIRED || ptr[1] == requested);
  assert(role[2] == ABSENT || role[2] == RETIRED || ptr[2] == requested);     /* every pipeline in use has what was asked for */
  assert(published == requested)                   /* and it came into force */
}

init { atomic { role[1] = SERVING; run Worker(); run Worker(); run Editor(); run Operator(); run Monitor() } }

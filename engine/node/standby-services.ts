/**
 * Wrappers of the services that client listeners call: while this node is in STANDBY they refuse every new read, write,
 * transaction, listing and job of a client with `Standby`. Requests under way continue, and requests of peers do not
 * pass through these wrappers.
 */
import { LockstepError } from '../base/errors.ts';
import type { NameLister } from '../api/name-lister.ts';
import type { MapReduceAdmin } from '../api/map-reduce-answers.ts';
import type { Dispatcher } from '../replication/requests.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { TransactionService } from '../transactions/transactions.ts';

/** Throws `Standby` while this node is in STANDBY. */
export type StandbyCheck = () => void;

/** The check over this node's own state in `membership`. */
export function standbyCheck(membership: Pick<Membership, 'self' | 'isStandby'>): StandbyCheck {
  return () => {
    const { node } = membership.self;
    if (!membership.isStandby(node)) return;
    const detail = `${node} is in STANDBY and takes no requests of clients: ask another node, or take it back with lockstep standby --return`;
    throw new LockstepError('Standby', detail);
  };
}

/** The dispatcher, whose reads and writes reject with `Standby` while this node is in STANDBY. */
export function openDispatcher(dispatcher: Dispatcher, check: StandbyCheck): Dispatcher {
  return {
    get: async (request) => {
      check();
      return dispatcher.get(request);
    },
    put: async (request) => {
      check();
      return dispatcher.put(request);
    },
  };
}

/** The transactions, of which none begins in STANDBY. An operator can still find and resolve them. */
export function openTransactions(transactions: TransactionService, check: StandbyCheck): TransactionService {
  return {
    run: async (request) => {
      check();
      return transactions.run(request);
    },
    find: (xid) => transactions.find(xid),
    survey: (xid) => transactions.survey(xid),
    inDoubt: () => transactions.inDoubt(),
    resolve: (xid, decision) => transactions.resolve(xid, decision),
  };
}

/** The listings, of which none begins in STANDBY. */
export function openLister(lister: NameLister, check: StandbyCheck): NameLister {
  return {
    keys: (...asked) => {
      check();
      return lister.keys(...asked);
    },
    buckets: (...asked) => {
      check();
      return lister.buckets(...asked);
    },
  };
}

/** The MapReduce jobs, of which none begins in STANDBY. A refusal counts as a refused job. */
export function openJobs(mapReduce: MapReduceAdmin, check: StandbyCheck): MapReduceAdmin {
  return {
    get bytesMax() {
      return mapReduce.bytesMax;
    },
    start: (job) => {
      try {
        check();
      } catch (error) {
        mapReduce.refused();
        throw error;
      }
      return mapReduce.start(job);
    },
    refused: () => mapReduce.refused(),
  };
}

/**
 * Wrappers of the services that client listeners call: while this node is in STANDBY they refuse every new read, write,
 * transaction, listing and job of a client with `Standby`. Requests under way continue, and requests of peers do not
 * pass through these wrappers.
 */
import { asLockstepError, LockstepError } from '../base/errors.ts';
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
    get: (request) => refusal(check) ?? dispatcher.get(request),
    put: (request) => refusal(check) ?? dispatcher.put(request),
  };
}

/** The refusal as a promise; undefined if the node is not in STANDBY. Costs requests no promise of its own. */
function refusal(check: StandbyCheck): Promise<never> | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return Promise.reject(asLockstepError(error));
  }
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

/**
 * Wrappers of the services that client listeners call: they refuse every new read, write, transaction, listing and job
 * of a client while a check fails, which it does with `Standby` while this node is in STANDBY, and with `Overloaded`
 * while requests wait too long here (`api/session/overload-gate.ts`). Requests under way continue, and requests of peers
 * do not pass through these wrappers.
 */
import { asLockstepError, LockstepError } from '../base/errors.ts';
import type { OverloadGate } from '../api/session/overload-gate.ts';
import type { NameLister } from '../api/name-lister.ts';
import type { MapReduceAdmin } from '../api/map-reduce-answers.ts';
import type { Dispatcher } from '../replication/requests.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { TransactionService } from '../transactions/transactions.ts';

/** Throws a definite error while this node begins no request of a client. */
export type AdmissionCheck = () => void;

/** All checks of a new request of a client: this node is not in STANDBY, and requests do not wait too long here. */
export function admissionCheck(
  membership: Pick<Membership, 'self' | 'isStandby'>,
  { admit }: Pick<OverloadGate, 'admit'>,
): AdmissionCheck {
  const checkStandby = standbyCheck(membership);
  return () => {
    checkStandby();
    admit();
  };
}

/** The check over this node's own state in `membership`. */
export function standbyCheck(membership: Pick<Membership, 'self' | 'isStandby'>): AdmissionCheck {
  return () => {
    const { node } = membership.self;
    if (!membership.isStandby(node)) return;
    const detail = `${node} is in STANDBY and takes no requests of clients: ask another node, or take it back with lockstep standby --return`;
    throw new LockstepError('Standby', detail);
  };
}

/** The dispatcher, whose reads and writes reject while the check fails. */
export function openDispatcher(dispatcher: Dispatcher, check: AdmissionCheck): Dispatcher {
  return {
    get: (request) => refusal(check) ?? dispatcher.get(request),
    read: (request, end) => {
      const error = errorOf(check);
      if (error === undefined) dispatcher.read(request, end);
      else end.failed(error);
    },
    readMany: (requests) => {
      const admitted = requests.filter((request) => {
        const error = errorOf(check);
        if (error !== undefined) request.failed(error);
        return error === undefined;
      });
      if (admitted.length > 0) dispatcher.readMany(admitted);
    },
    put: (request) => refusal(check) ?? dispatcher.put(request),
    replace: (request, done) => {
      const error = errorOf(check);
      if (error === undefined) dispatcher.replace(request, done);
      else done(error);
    },
    replaceMany: (requests) => {
      const admitted = requests.filter((request) => {
        const error = errorOf(check);
        if (error !== undefined) request.replaced(error);
        return error === undefined;
      });
      if (admitted.length > 0) dispatcher.replaceMany(admitted);
    },
  };
}

/** The refusal as a promise; undefined if the request is admitted. Costs requests no promise of its own. */
function refusal(check: AdmissionCheck): Promise<never> | undefined {
  const error = errorOf(check);
  return error === undefined ? undefined : Promise.reject(error);
}

/** Why the request is refused; undefined if it is admitted. */
function errorOf(check: AdmissionCheck): LockstepError | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return asLockstepError(error);
  }
}

/** The transactions, of which none begins while the check fails. An operator can still find and resolve them. */
export function openTransactions(
  transactions: TransactionService,
  check: AdmissionCheck,
): TransactionService {
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

/** The listings, of which none begins while the check fails. */
export function openLister(lister: NameLister, check: AdmissionCheck): NameLister {
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

/** The MapReduce jobs, of which none begins while the check fails. A refusal counts as a refused job. */
export function openJobs(mapReduce: MapReduceAdmin, check: AdmissionCheck): MapReduceAdmin {
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

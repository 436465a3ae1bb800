/** Judges a call of the binary protocol by what its client may reach, and limits what a job or a listing shows. */
import type { Permit } from '../../auth/permit.ts';
import type { Access } from '../../auth/role.ts';
import type { NameLister } from '../name-lister.ts';
import { reachable } from '../name-lister.ts';
import type { MapReduceAdmin } from '../map-reduce-answers.ts';
import { withinReach } from '../map-reduce-answers.ts';
import type { Call } from './calls.ts';

/**
 * The call, limited to what its client may reach. Throws `Forbidden` if it names a bucket out of reach; `jobs` counts a
 * job that does.
 */
export function judged(
  call: Call,
  needed: Access,
  permit: Permit,
  jobs: Pick<MapReduceAdmin, 'refused'>,
): Call {
  if (!permit.isLimited) return call;
  switch (call.kind) {
    case 'get':
    case 'put':
    case 'delete':
      permit.mustReach([call.key]);
      return call;
    case 'transaction':
      permit.mustReach(call.request.operations.map(({ key }) => key));
      return call;
    case 'listKeys':
      permit.mustReach([call]);
      return call;
    case 'getBucket':
    case 'setBucket':
    case 'resetBucket':
      permit.mustReach([call.name]);
      return call;
    case 'preflist':
      permit.mustReach([call.object]);
      return call;
    case 'mapReduce':
      try {
        return { ...call, job: withinReach(call.job, permit) };
      } catch (error) {
        jobs.refused();
        throw error;
      }
    case 'transactionGet':
      return { ...call, hidesDetail: true };
    default:
      if (needed === 'admin') permit.mustReachAll();
      return call;
  }
}

/** The lister, without the buckets that the client may not reach. */
export function limitedLister(lister: NameLister, permit: Permit): NameLister {
  if (!permit.isLimited) return lister;
  return {
    keys: (...given) => lister.keys(...given),
    buckets: (type, deadlineUs) => reachable(lister.buckets(type, deadlineUs), type, permit),
  };
}

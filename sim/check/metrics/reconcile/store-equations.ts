/**
 * Equations of the store metrics, compared with the disk. Every batch given to the driver lies in the log, byte for
 * byte, unless it failed or waits at the driver or in the store.
 */
import type { IncarnationAccount } from './account.ts';
import type { Claim } from './claims.ts';
import { between, equal } from './claims.ts';
import type { Numbers } from './numbers.ts';

/** The claims about the store metrics of one account. */
export function storeEquations(numbers: Numbers, account: IncarnationAccount): readonly Claim[] {
  const { moment, truth } = account;
  const ejects = numbers.pool('server_ejects');
  const ejectedAt = numbers.serverGauge('server_ejected_at');
  const faults = truth.failedOperations + truth.alteredPlaces;
  return [
    ...requestEquations(numbers),
    ...diskEquations(numbers, account),
    ...histogramEquations(numbers),
    ...diskErrorEquations(numbers, account),
    between('read_requests', numbers.server('read_requests'), readsOf(numbers, account), Infinity),
    // The sample may be taken in the middle of a stop.
    between(
      'server_eof',
      numbers.server('server_eof'),
      moment === 'stopped' ? 1 : 0,
      moment === 'settled' ? 0 : 1,
    ),
    between('server_ejects', ejects, 0, Math.min(1, faults)),
    equal('server_ejected_at is there', ejectedAt > 0 ? 1 : 0, ejects),
    between('server_err', numbers.server('server_err'), 0, faults === 0 ? 0 : Infinity),
    between(
      'server_timedout',
      numbers.server('server_timedout'),
      0,
      numbers.server('server_timedout_requests'),
    ),
    ...refusalEquations(numbers, account),
    repairs(numbers, moment === 'stopped'),
    ...sizeEquations(numbers, account),
    ...(moment === 'stopped' ? emptiness(numbers) : []),
  ];
}

/** Rejections by cause, for any sender: a client's request, a peer's, or the node's own. */
function refusalEquations(numbers: Numbers, { truth: { refusals } }: IncarnationAccount): readonly Claim[] {
  const { storeFull, storeClosed } = refusals;
  return [
    equal('server_dropped_requests', numbers.server('server_dropped_requests'), storeFull + storeClosed),
    equal('dispatch_backend_send_full_total', numbers.sum('dispatch_backend_send_full_total'), storeFull),
    equal(
      'dispatch_backend_send_closed_total',
      numbers.sum('dispatch_backend_send_closed_total'),
      storeClosed,
    ),
  ];
}

/** Requests = answered + given up + waiting; the store may still hold a request that was given up. */
function requestEquations(numbers: Numbers): readonly Claim[] {
  const asked = numbers.server('read_requests') + numbers.server('write_requests');
  const answered = numbers.server('read_responses') + numbers.server('write_responses');
  const timedOut = numbers.server('server_timedout_requests');
  const waiting = numbers.serverGauge('in_queue') + numbers.serverGauge('out_queue');
  const owed = asked - answered - timedOut;
  return [between('in_queue + out_queue', waiting, owed, owed + timedOut)];
}

function diskEquations(numbers: Numbers, { truth: { store } }: IncarnationAccount): readonly Claim[] {
  const failed = numbers.server('server_err') + numbers.server('server_timedout_requests');
  const waiting = numbers.serverGauge('in_queue') + numbers.serverGauge('out_queue') + failed;
  const waitingBytes = numbers.serverGauge('in_queue_bytes') + numbers.serverGauge('out_queue_bytes');
  const bytes = numbers.server('write_request_bytes');
  const most = store.contentBytes + store.repeatedBytes + (failed === 0 ? waitingBytes : Infinity);
  const batches = store.batches + store.repeated;
  const answered = numbers.server('write_responses');
  const flushes = numbers.sum('svc_store_flushes_total');
  return [
    between('write_requests', numbers.server('write_requests'), store.batches, batches + waiting),
    between('write_request_bytes', bytes, store.contentBytes, most),
    between('write_responses', answered, 0, batches + failed),
    ...readBytes(numbers),
    equal('write_response_bytes', numbers.server('write_response_bytes'), 0),
    // A flush is counted once its writers, and those of every earlier flush, have their answers.
    between('svc_store_flushes_total', flushes, store.flushes - waiting, store.flushes + store.repeated),
  ];
}

function histogramEquations(numbers: Numbers): readonly Claim[] {
  const asked = numbers.server('read_requests') + numbers.server('write_requests');
  const answered = numbers.server('read_responses') + numbers.server('write_responses');
  const taken = asked - numbers.serverGauge('in_queue');
  const timedOut = numbers.server('server_timedout_requests');
  return [
    equal('requests of server_latency', numbers.recorded('serverLatencyUs'), answered),
    equal('requests of server_in_queue', numbers.recorded('serverInQueue'), asked),
    between('requests of server_queue_wait', numbers.recorded('serverQueueWaitUs'), taken - timedOut, taken),
    between('requests of server_out_queue', numbers.recorded('serverOutQueue'), taken - timedOut, taken),
  ];
}

/** Disk errors equal the failures that the disk returned, by operation and file. */
function diskErrorEquations(
  numbers: Numbers,
  { truth: { diskErrors } }: IncarnationAccount,
): readonly Claim[] {
  const family = 'svc_disk_errors_total';
  const kinds = Object.entries(diskErrors).map(([kind, count]) => {
    const [operation = '', role = '', failure = ''] = kind.split(' ');
    return equal(`${family} ${kind}`, numbers.sum(family, { operation, role, failure }), count);
  });
  const all = Object.values(diskErrors).reduce((sum, count) => sum + count, 0);
  return [...kinds, equal(family, numbers.sum(family), all)];
}

/** Sizes on the disk, once the driver and the store have nothing left to write. */
function sizeEquations(numbers: Numbers, { truth: { sizes } }: IncarnationAccount): readonly Claim[] {
  const { store, hints } = sizes;
  const waiting = numbers.serverGauge('in_queue') + numbers.serverGauge('out_queue');
  const gaveUp = numbers.server('server_timedout_requests');
  const ofStore = {
    svc_store_keys: store?.keys,
    svc_store_disk_bytes: store?.diskBytes,
    svc_store_live_bytes: store?.liveBytes,
  };
  const ofHints = { svc_hints_kept: hints?.keys, svc_hints_kept_bytes: hints?.liveBytes };
  return [
    ...Object.entries(ofStore).map(([family, truth]) => {
      return exactly(family, numbers, waiting + gaveUp === 0 ? truth : undefined);
    }),
    ...Object.entries(ofHints).map(([family, truth]) => exactly(family, numbers, truth)),
  ];
}

/** The family's single value; where the expected value is unknown, only that it is not negative. */
function exactly(family: string, numbers: Numbers, truth: number | undefined): Claim {
  const counted = numbers.sum(family);
  return truth === undefined ? between(family, counted, 0, Infinity) : equal(family, counted, truth);
}

/** A read's key has bytes; the bytes found are invisible when memory answers. */
function readBytes(numbers: Numbers): readonly Claim[] {
  const reads = numbers.server('read_requests');
  const answered = numbers.server('read_responses');
  const keyBytes = numbers.server('read_request_bytes');
  const valueBytes = numbers.server('read_response_bytes');
  return [
    between('read_request_bytes', keyBytes, reads, reads === 0 ? 0 : Infinity),
    between('read_response_bytes', valueBytes, 0, answered === 0 ? 0 : Infinity),
  ];
}

/**
 * Reads of peers, with three exceptions: reads still handled, reads whose peer has gone (they may wait for a lock
 * forever), and reads answered with a failure (a lock held too long, a primary that is not rebuilt, no space). The
 * node's own reads are added.
 */
function readsOf(numbers: Numbers, { truth: { asked } }: IncarnationAccount): number {
  return asked.reads - asked.abandoned - asked.failedReads - numbers.poolGauge('dnode_client_in_queue');
}

function repairs(numbers: Numbers, over: boolean): Claim {
  const stage = (name: string): number => numbers.sum('svc_read_repairs_total', { stage: name });
  const ended = stage('done') + stage('failed');
  return between('svc_read_repairs_total, started', stage('started'), ended, over ? ended : Infinity);
}

/** A node that has stopped holds nothing. */
function emptiness(numbers: Numbers): readonly Claim[] {
  const gauges = [
    'dnode_client_in_queue',
    'dnode_client_out_queue',
    'peer_in_queue',
    'remote_peer_in_queue',
    'peer_out_queue',
    'remote_peer_out_queue',
  ].flatMap((name) => [name, `${name}_bytes`]);
  const connections = ['client_connections', 'dnode_client_connections', 'peer_connections'];
  return [
    ...[...gauges, ...connections].map((name) => equal(`${name}, stopped`, numbers.poolGauge(name), 0)),
    ...['in_queue', 'in_queue_bytes', 'out_queue', 'out_queue_bytes'].map((name) =>
      equal(`${name}, stopped`, numbers.serverGauge(name), 0),
    ),
    equal('svc_free_msgs, stopped', numbers.sum('svc_free_msgs'), numbers.sum('svc_alloc_msgs')),
    equal('svc_free_mbufs, stopped', numbers.sum('svc_free_mbufs'), numbers.sum('svc_alloc_mbufs')),
  ];
}

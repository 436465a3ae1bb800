/** Injects faults of the network between hosts. */
import { assert, present } from '../../engine/base/assert.ts';
import { replyKinds, requestKinds } from '../../engine/peer/wire/kinds.ts';
import type { FaultKind } from './kinds/fault-kinds.ts';
import type { PlanFault } from '../plan/plan.ts';
import type { FrameFault } from '../world/network/frame-faults.ts';
import type { Latency } from '../world/core/latency.ts';
import type { Lasting } from '../world/world.ts';
import type { Stage } from './fault-context.ts';

const networkFaultKinds = [
  'network-delay',
  'message-loss',
  'message-duplication',
  'message-replay',
  'message-reordering',
  'network-clog',
  'swizzle-clog',
  'network-partition',
  'one-way-partition',
  'message-filter',
  'connection-reset',
  'half-open-connection',
  'stream-fragmentation',
  'wire-version-skew',
] as const;

type NetworkFaultKind = (typeof networkFaultKinds)[number];

/** A plan's fault of the network. */
export type NetworkFault = PlanFault & { readonly kind: NetworkFaultKind };

/** Narrows a plan's fault to one of the network. */
export function isNetworkFault(fault: PlanFault): fault is NetworkFault {
  return isNetworkFaultKind(fault.kind);
}

/** Whether the kind is a fault of the network between hosts. */
export function isNetworkFaultKind(kind: FaultKind): kind is NetworkFaultKind {
  return networkFaultKinds.some((one) => one === kind);
}

/** Frame kinds of each sort of message that `message-filter` can hold back. */
const framesOf: Readonly<Record<string, readonly number[]>> = {
  gossip: [requestKinds.gossip],
  reads: [requestKinds.readObject],
  writes: [requestKinds.mergeObject, requestKinds.mergeBatch],
  forwards: [requestKinds.coordinateWrite],
  transactions: [requestKinds.transact],
  antiEntropy: [requestKinds.antiEntropy],
  transfers: [requestKinds.transferRange],
  answers: Object.values(replyKinds),
};

/** Injects the fault. Returns false if there was nothing to strike. */
export function injectNetworkFault(fault: NetworkFault, stage: Stage): boolean {
  const { network } = stage.world;
  const { targets, params } = fault;
  const others = stage.others(fault);
  switch (fault.kind) {
    case 'network-delay': {
      const [left, right] = linkOf(fault);
      const latency = latencyOf(fault);
      stage.last(fault, network.slow([left], [right], latency), network.slow([right], [left], latency));
      return true;
    }
    case 'message-loss':
    case 'message-duplication':
    case 'message-replay':
    case 'message-reordering':
    case 'message-filter':
      return meddle(fault, stage, frameFaultOf(fault.kind, params));
    case 'wire-version-skew':
      return meddle(fault, stage, {
        kind: 'wire-version-skew',
        oneIn: 1,
        versionBy: params['by'] === 'older' ? -1 : 1,
      });
    case 'network-clog': {
      const { direction } = params;
      const both = direction === 'both';
      const lasting: Lasting[] = [];
      if (direction === 'in' || both) lasting.push(network.clog(others, targets));
      if (direction === 'out' || both) lasting.push(network.clog(targets, others));
      stage.last(fault, ...lasting);
      return true;
    }
    case 'swizzle-clog':
      return swizzle(fault, stage);
    case 'network-partition':
      stage.last(fault, network.partition(targets, others));
      return true;
    case 'one-way-partition': {
      const [from, to] = params['direction'] === 'deaf' ? [others, targets] : [targets, others];
      stage.last(fault, network.partitionOneWay(from, to));
      return true;
    }
    case 'connection-reset':
      return network.reset(...linkOf(fault)) > 0;
    case 'half-open-connection':
      return network.halfOpen(...linkOf(fault)) > 0;
    case 'stream-fragmentation':
      stage.last(fault, network.shred(targets, others), network.shred(others, targets));
      return true;
  }
}

function meddle(fault: PlanFault, stage: Stage, frameFault: FrameFault): boolean {
  const { network } = stage.world;
  const others = stage.others(fault);
  const lasting = [network.meddle(fault.targets, others, frameFault)];
  // Only what the node itself sends is in the other version.
  if (fault.kind !== 'wire-version-skew') lasting.push(network.meddle(others, fault.targets, frameFault));
  stage.last(fault, ...lasting);
  return true;
}

function frameFaultOf(
  kind: 'message-loss' | 'message-duplication' | 'message-replay' | 'message-reordering' | 'message-filter',
  params: PlanFault['params'],
): FrameFault {
  const oneIn = Number(params['oneIn'] ?? 1);
  if (kind === 'message-filter') {
    const frames = present(framesOf[String(params['message'])], 'frames of a sort of message');
    return { kind, oneIn, frames: new Set(frames) };
  }
  const delayMsMax = params['delayMsMax'];
  return { kind, oneIn, ...(delayMsMax === undefined ? {} : { delayUsMax: Number(delayMsMax) * 1000 }) };
}

/**
 * `swizzle-clog`: clogs the targets one after another and frees them one after another, starting `turn` places later.
 */
function swizzle(fault: PlanFault, stage: Stage): boolean {
  const { targets, params, forUs } = fault;
  const stepUs = Number(params['stepMs']) * 1000;
  const turn = Number(params['turn']) % targets.length;
  const { network } = stage.world;
  targets.forEach((target, index) => {
    const rest = stage.cluster.names.filter((name) => name !== target);
    const away = (index + turn) % targets.length;
    stage.later(index * stepUs + 1, `clog ${fault.id}`, () => {
      const lasting = [network.clog([target], rest), network.clog(rest, [target])];
      const forAll = forUs + away * stepUs;
      stage.later(forAll, `free ${fault.id}`, () => lasting.forEach((one) => one.lift()));
    });
  });
  return true;
}

function linkOf({ targets }: PlanFault): readonly [string, string] {
  const [first, second] = targets;
  assert(first !== undefined && second !== undefined, 'a link has two ends');
  return [first, second];
}

function latencyOf({ params }: PlanFault): Latency {
  return {
    minUs: Number(params['minUs']),
    meanUs: Number(params['meanUs']),
    tailOneIn: 200,
    tailUs: 500_000,
  };
}

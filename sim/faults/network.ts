/**
 * Faults of the network between hosts: partitions, slow and blocked links, frames that are lost, duplicated or held back,
 * reset connections, and hosts that claim to be another node.
 */
import { assert, present } from '../../engine/base/assert.ts';
import { replyKinds, requestKinds } from '../../engine/peer/wire/kinds.ts';
import type { Claim } from '../world/cluster/impostors.ts';
import type { Latency } from '../world/core/latency.ts';
import type { FrameFault } from '../world/network/frame-faults.ts';
import type { Lasting } from '../world/world.ts';
import type { CommonFaultContext } from './fault-context.ts';
import type { Fault } from './fault.ts';
import type { CommonFaultFamily } from './fault-row.ts';
import { targetOf } from './fault.ts';
import { disturbsAll, disturbsTargets } from './fault-row.ts';

const ms = 1000;

/** Frame kinds of each sort of message that `message-filter` can hold back. */
const framesOf: Readonly<Record<string, readonly number[]>> = {
  gossip: [requestKinds.gossip],
  reads: [requestKinds.readObject, requestKinds.readMany],
  writes: [requestKinds.mergeObject, requestKinds.mergeBatch, requestKinds.mergeMany],
  forwards: [requestKinds.coordinateWrite],
  transactions: [requestKinds.transact],
  antiEntropy: [requestKinds.antiEntropy],
  transfers: [requestKinds.transferRange],
  answers: Object.values(replyKinds),
};

/** The rows by name. */
export const networkFaults = {
  'network-delay': {
    code: 'FN1',
    description: 'a link is slow, now and then very slow',
    aim: 'link',
    lasting: true,
    params: {
      minUs: { kind: 'integer', min: 0, max: 30 * ms },
      meanUs: { kind: 'integer', min: 1 * ms, max: 100 * ms },
    },
    disturbs: disturbsTargets,
    strike: (fault, context) => {
      const { network } = context.world;
      const [left, right] = linkOf(fault);
      const latency = latencyOf(fault);
      context.last(fault, network.slow([left], [right], latency), network.slow([right], [left], latency));
      return true;
    },
  },
  'message-loss': {
    code: 'FN2',
    description: 'some messages between nodes are lost',
    aim: 'side',
    lasting: true,
    params: { oneIn: { kind: 'integer', min: 3, max: 100 } },
    disturbs: disturbsAll,
    strike: (fault, context) => meddle(fault, context, frameFaultOf('message-loss', fault.params)),
  },
  'message-duplication': {
    code: 'FN3',
    description: 'some messages arrive twice, perhaps much later',
    aim: 'side',
    lasting: true,
    params: {
      oneIn: { kind: 'integer', min: 1, max: 50 },
      delayMsMax: { kind: 'integer', min: 1, max: 30_000 },
    },
    disturbs: disturbsAll,
    strike: (fault, context) => meddle(fault, context, frameFaultOf('message-duplication', fault.params)),
  },
  'message-replay': {
    code: 'FN4',
    description: 'requests of the past arrive once more',
    aim: 'side',
    lasting: true,
    params: {
      oneIn: { kind: 'integer', min: 1, max: 50 },
      delayMsMax: { kind: 'integer', min: 1, max: 5_000 },
    },
    disturbs: disturbsAll,
    strike: (fault, context) => meddle(fault, context, frameFaultOf('message-replay', fault.params)),
  },
  'message-reordering': {
    code: 'FN5',
    description: 'some messages are overtaken by later ones',
    aim: 'side',
    lasting: true,
    params: { oneIn: { kind: 'integer', min: 2, max: 20 } },
    disturbs: disturbsAll,
    strike: (fault, context) => meddle(fault, context, frameFaultOf('message-reordering', fault.params)),
  },
  'network-clog': {
    code: 'FN6',
    description: 'messages wait, and flow when the clog is gone',
    aim: 'side',
    lasting: true,
    params: { direction: { kind: 'choice', of: ['in', 'out', 'both'] } },
    disturbs: disturbsAll,
    strike: (fault, context) => {
      const { network } = context.world;
      const { direction } = fault.params;
      const others = context.others(fault);
      const lasting: Lasting[] = [];
      if (direction !== 'out') lasting.push(network.clog(others, fault.targets));
      if (direction !== 'in') lasting.push(network.clog(fault.targets, others));
      context.last(fault, ...lasting);
      return true;
    },
  },
  'swizzle-clog': {
    code: 'FN7',
    description: 'nodes are clogged and freed one after another',
    aim: 'side',
    lasting: true,
    params: {
      stepMs: { kind: 'integer', min: 10, max: 1_000 },
      turn: { kind: 'integer', min: 0, max: 99 },
    },
    // It clogs the last target, and frees the last one, so many steps later.
    disturbs: ({ targets, forUs, params }, fromUs) => {
      const stepsUs = targets.length * Number(params['stepMs']) * 1000;
      return [{ node: '', fromUs, toUs: fromUs + forUs + 2 * stepsUs, away: false }];
    },
    strike: swizzle,
  },
  'network-partition': {
    code: 'FN8',
    description: 'two sides hear nothing of each other',
    aim: 'side',
    lasting: true,
    params: {},
    disturbs: disturbsAll,
    strike: (fault, context) => {
      context.last(fault, context.world.network.partition(fault.targets, context.others(fault)));
      return true;
    },
  },
  'one-way-partition': {
    code: 'FN9',
    description: 'one side hears the other, but not vice versa',
    aim: 'side',
    lasting: true,
    params: { direction: { kind: 'choice', of: ['mute', 'deaf'] } },
    disturbs: disturbsAll,
    strike: (fault, context) => {
      const { targets, params } = fault;
      const others = context.others(fault);
      const [from, to] = params['direction'] === 'deaf' ? [others, targets] : [targets, others];
      context.last(fault, context.world.network.partitionOneWay(from, to));
      return true;
    },
  },
  'message-filter': {
    code: 'FN10',
    description: 'one kind of message no longer passes',
    aim: 'side',
    lasting: true,
    params: {
      message: {
        kind: 'choice',
        of: ['gossip', 'reads', 'writes', 'forwards', 'transactions', 'antiEntropy', 'transfers', 'answers'],
      },
    },
    disturbs: disturbsAll,
    strike: (fault, context) => meddle(fault, context, frameFaultOf('message-filter', fault.params)),
  },
  'connection-reset': {
    code: 'FN11',
    description: 'the connections between two hosts are reset',
    aim: 'link',
    lasting: false,
    params: {},
    disturbs: disturbsTargets,
    strike: (fault, { world }) => world.network.reset(...linkOf(fault)) > 0,
  },
  'half-open-connection': {
    code: 'FN12',
    description: 'connections end, and one side does not know it',
    aim: 'link',
    lasting: false,
    params: {},
    disturbs: disturbsTargets,
    strike: (fault, { world }) => world.network.halfOpen(...linkOf(fault)) > 0,
  },
  'stream-fragmentation': {
    code: 'FN13',
    description: 'all bytes arrive in small pieces',
    aim: 'side',
    clients: ['c', 'x', 'r', 'j'],
    lasting: true,
    params: {},
    disturbs: disturbsAll,
    strike: (fault, context) => {
      const { network } = context.world;
      const others = context.others(fault);
      context.last(fault, network.shred(fault.targets, others), network.shred(others, fault.targets));
      return true;
    },
  },
  'wire-version-skew': {
    code: 'FP9',
    description: 'a node speaks another version of the protocol',
    aim: 'node',
    lasting: true,
    params: { by: { kind: 'choice', of: ['older', 'newer'] } },
    disturbs: disturbsAll,
    strike: (fault, context) =>
      meddle(fault, context, {
        kind: 'wire-version-skew',
        oneIn: 1,
        versionBy: fault.params['by'] === 'older' ? -1 : 1,
      }),
  },
  'wrong-identity': {
    code: 'FN16',
    description: 'a process claims to be a member that it is not',
    aim: 'node',
    lasting: true,
    params: {
      claim: { kind: 'choice', of: ['sameName', 'otherCluster', 'duplicateToken', 'hugeToken'] },
    },
    // The impostor's host is named after its fault, and one of the load's hosts is `x-after`.
    refusal: ({ id }) => (id === 'after' ? 'a wrong-identity has any other id than "after"' : undefined),
    strike: (fault, { cluster }) => {
      cluster.impose(fault.id, targetOf(fault), fault.params['claim'] as Claim);
      return true;
    },
  },
} satisfies CommonFaultFamily;

function meddle(fault: Fault, context: CommonFaultContext, frameFault: FrameFault): boolean {
  const { network } = context.world;
  const others = context.others(fault);
  const lasting = [network.meddle(fault.targets, others, frameFault)];
  // Only what the node itself sends is in the other version.
  if (fault.kind !== 'wire-version-skew') lasting.push(network.meddle(others, fault.targets, frameFault));
  context.last(fault, ...lasting);
  return true;
}

function frameFaultOf(
  kind: 'message-loss' | 'message-duplication' | 'message-replay' | 'message-reordering' | 'message-filter',
  params: Fault['params'],
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
function swizzle(fault: Fault, context: CommonFaultContext): boolean {
  const { targets, params, forUs } = fault;
  const stepUs = Number(params['stepMs']) * 1000;
  const turn = Number(params['turn']) % targets.length;
  const { network } = context.world;
  targets.forEach((target, index) => {
    const rest = context.cluster.names.filter((name) => name !== target);
    const away = (index + turn) % targets.length;
    context.later(index * stepUs + 1, `clog ${fault.id}`, () => {
      const lasting = [network.clog([target], rest), network.clog(rest, [target])];
      const forAll = forUs + away * stepUs;
      context.later(forAll, `free ${fault.id}`, () => lasting.forEach((one) => one.lift()));
    });
  });
  return true;
}

function linkOf({ targets }: Fault): readonly [string, string] {
  const [first, second] = targets;
  assert(first !== undefined && second !== undefined, 'a link has two ends');
  return [first, second];
}

function latencyOf({ params }: Fault): Latency {
  return {
    minUs: Number(params['minUs']),
    meanUs: Number(params['meanUs']),
    tailOneIn: 200,
    tailUs: 500_000,
  };
}

/** Faults of processes: they die, stand still, restart, or start twice. */
import { messageVersions } from '../../engine/peer/wire/versions.ts';
import type { CommonFaultContext } from './fault-context.ts';
import { resume } from './fault-context.ts';
import type { Fault } from './fault.ts';
import type { CommonFaultFamily } from './fault-row.ts';
import { targetOf } from './fault.ts';

/** The rows by name. */
export const processFaults = {
  'process-crash': {
    code: 'FP1',
    description: 'a process dies and returns; its files are whole',
    aim: 'node',
    lasting: true,
    params: {},
    strike: (fault, context) => context.crash(fault, 'keepAll', 'reset'),
  },
  'process-pause': {
    code: 'FP4',
    description: 'a process stands still and goes on',
    aim: 'node',
    lasting: true,
    params: {},
    strike: (fault, context) => {
      const host = context.cluster.host(targetOf(fault));
      if (!host.alive || host.paused) return false;
      host.pause();
      context.later(fault.forUs, `resume ${fault.id}`, () => resume(host));
      return true;
    },
  },
  'cpu-starvation': {
    code: 'FP6',
    description: 'a process gets the processor only now and then',
    aim: 'node',
    lasting: true,
    params: {
      awayMs: { kind: 'integer', min: 1, max: 200 },
      hereMs: { kind: 'integer', min: 1, max: 50 },
    },
    strike: stutter,
  },
  'graceful-restart': {
    code: 'FP7',
    description: 'a node is stopped in order and started again',
    aim: 'node',
    lasting: true,
    params: {},
    strike: (fault, context) => context.restart(fault),
  },
  'build-change': {
    code: 'FP11',
    description: 'a node is stopped, and starts as another build',
    aim: 'node',
    lasting: true,
    params: { build: { kind: 'choice', of: ['older', 'newer'], named: ['middle'] } },
    strike: (fault, context) =>
      context.restart(fault, (name) => {
        const { min, max } = messageVersions;
        const version = { older: min, middle: max - 1, newer: max }[String(fault.params['build'])];
        context.cluster.changeBuild(name, version ?? max);
      }),
  },
  'double-start': {
    code: 'FP8',
    description: 'a second process starts on a used directory',
    aim: 'node',
    lasting: false,
    params: {},
    strike: (fault, { cluster }) => cluster.startTwice(targetOf(fault)),
  },
  'node-flapping': {
    code: 'FM5',
    description: 'a node is silent and heard of in turns',
    aim: 'node',
    lasting: true,
    params: {
      awayMs: { kind: 'integer', min: 50, max: 20_000 },
      hereMs: { kind: 'integer', min: 20, max: 5_000 },
    },
    strike: stutter,
  },
  'power-loss': {
    code: 'FD6',
    description: 'a node dies; unsynced writes are lost or partial',
    aim: 'node',
    lasting: true,
    params: { keeps: { kind: 'choice', of: ['nothing', 'some'] } },
    strike: (fault, context) =>
      context.crash(fault, fault.params['keeps'] === 'some' ? 'subset' : 'dropAll', 'silent'),
  },
  'torn-write': {
    code: 'FD7',
    description: 'a node dies; unsynced writes are torn in sectors',
    aim: 'node',
    lasting: true,
    params: {},
    strike: (fault, context) => context.crash(fault, 'torn', 'silent'),
  },
} satisfies CommonFaultFamily;

/** Pauses the node for `awayMs` and resumes it for `hereMs`, in turn, while the fault lasts. */
function stutter(fault: Fault, context: CommonFaultContext): boolean {
  pauseAndResume(fault, context, context.world.nowUs + fault.forUs);
  return true;
}

function pauseAndResume(fault: Fault, context: CommonFaultContext, endUs: number): void {
  const host = context.cluster.host(targetOf(fault));
  if (context.world.nowUs >= endUs) return;
  if (host.alive && !host.paused) host.pause();
  context.later(Number(fault.params['awayMs']) * 1000, `here ${fault.id}`, () => {
    resume(host);
    const again = (): void => pauseAndResume(fault, context, endUs);
    context.later(Number(fault.params['hereMs']) * 1000, `away ${fault.id}`, again);
  });
}

/** What operators do to the running cluster; the operators of `workload/` act them out. */
import { credentialChanges } from '../evidence/credential-changes.ts';
import { operatorDecisions } from '../evidence/operator-decisions.ts';
import type { FaultFamily } from './fault-row.ts';

/** The rows by name. */
export const operatorFaults = {
  upgrade: {
    code: 'FO1',
    description: 'an operator installs today’s build and finalizes it',
    aim: 'node',
    lasting: false,
    params: { rolled: { kind: 'choice', of: ['yes', 'no'] } },
    strike: (fault, { operators }) => operators.upgrade(fault),
  },
  'credential-change': {
    code: 'FO2',
    description: 'an operator changes a credential that is in use',
    aim: 'node',
    lasting: true,
    params: { change: { kind: 'choice', of: credentialChanges } },
    strike: (fault, { operators }) => operators.changeCredential(fault),
  },
  'backup-abandoned': {
    code: 'FO3',
    description: 'a backup has a node hold its writes, and vanishes',
    aim: 'node',
    lasting: false,
    params: {
      leaseMs: { kind: 'integer', min: 20, max: 3_000 },
      cuts: { kind: 'choice', of: ['yes', 'no'] },
    },
    strike: (fault, { operators }) => operators.abandonBackup(fault),
  },
  'heuristic-decision': {
    code: 'FO4',
    description: 'an operator decides what is in doubt at a node',
    aim: 'node',
    lasting: false,
    params: { decision: { kind: 'choice', of: operatorDecisions } },
    strike: (fault, { operators }) => operators.decide(fault),
  },
} satisfies FaultFamily;

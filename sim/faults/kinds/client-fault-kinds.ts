/**
 * The faults that clients cause by their own behaviour, as rows of the table of fault kinds; `faults/client-faults.ts`
 * injects them.
 */
import { falseCredentials, guardedListeners } from '../../evidence/unauthenticated-clients.ts';
import type { FaultKindRow } from './fault-kind-row.ts';

/** Their names, in the order of the list command. */
export const clientFaultNames = [
  'immediate-retry',
  'client-disconnect',
  'hot-key',
  'slow-reader',
  'unauthorized-request',
  'sticky-clients',
  'late-retry',
] as const;

/** One kind of client fault. */
export type ClientFault = (typeof clientFaultNames)[number];

/**
 * How long after it sent a request the client gives it up, in microseconds. If that one is answered by then, it gives
 * up the next.
 */
const patience = { afterUs: { kind: 'integer', min: 0, max: 20_000 } } as const;

/** The rows by name. */
export const clientFaultKinds: Readonly<Record<ClientFault, FaultKindRow>> = {
  'immediate-retry': {
    code: 'FK1',
    description: 'a client leaves and repeats a transaction at once',
    aim: 'client',
    clients: ['x'],
    lasting: false,
    params: patience,
  },
  'client-disconnect': {
    code: 'FK2',
    description: 'a client leaves before it is answered',
    aim: 'client',
    clients: ['c', 'x', 'r', 'j'],
    lasting: false,
    params: patience,
  },
  'hot-key': {
    code: 'FK3',
    description: 'a crowd of clients wants one key at once',
    aim: 'node',
    lasting: false,
    params: { clients: { kind: 'integer', min: 4, max: 12 } },
  },
  'slow-reader': {
    code: 'FK4',
    description: 'a client asks for much and reads nothing',
    aim: 'node',
    lasting: true,
    params: {
      requests: { kind: 'integer', min: 300, max: 600 },
      bytes: { kind: 'integer', min: 3_000, max: 4_000 },
    },
  },
  'unauthorized-request': {
    code: 'FK5',
    description: 'a client asks for what it may not do',
    aim: 'node',
    lasting: false,
    params: {
      listener: { kind: 'choice', of: guardedListeners },
      guise: { kind: 'choice', of: falseCredentials },
      what: { kind: 'integer', min: 0, max: 11 },
    },
  },
  'sticky-clients': {
    code: 'FK6',
    description: 'clients keep to one node and ask for single copies',
    aim: 'node',
    lasting: true,
    params: { clients: { kind: 'integer', min: 1, max: 3 } },
  },
  'late-retry': {
    code: 'FK7',
    description: 'a client repeats transactions that are long over',
    aim: 'client',
    clients: ['x'],
    lasting: false,
    params: { count: { kind: 'integer', min: 1, max: 12 } },
  },
};

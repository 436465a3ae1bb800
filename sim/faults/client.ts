/** Faults that clients cause by their own behaviour; the clients of `workload/` act them out. */
import { falseCredentials, guardedListeners } from '../evidence/unauthenticated-clients.ts';
import type { CommonFaultFamily } from './fault-row.ts';
import { targetOf } from './fault.ts';

/**
 * How long after it sent a request the client gives it up, in microseconds. If that one is answered by then, it gives
 * up the next.
 */
const patience = { afterUs: { kind: 'integer', min: 0, max: 20_000 } } as const;

/** The rows by name. */
export const clientFaults = {
  'immediate-retry': {
    code: 'FK1',
    description: 'a client leaves and repeats a transaction at once',
    aim: 'client',
    clients: ['x'],
    lasting: false,
    params: patience,
    countedByClients: true,
    strike: (fault, { clients }) => {
      const impatience = clients.impatienceOf(targetOf(fault));
      impatience?.loseIt(Number(fault.params['afterUs']), true);
      return impatience !== undefined;
    },
  },
  'client-disconnect': {
    code: 'FK2',
    description: 'a client leaves before it is answered',
    aim: 'client',
    clients: ['c', 'x', 'r', 'j'],
    lasting: false,
    params: patience,
    countedByClients: true,
    strike: (fault, { clients }) => {
      const impatience = clients.impatienceOf(targetOf(fault));
      impatience?.loseIt(Number(fault.params['afterUs']), false);
      return impatience !== undefined;
    },
  },
  'hot-key': {
    code: 'FK3',
    description: 'a crowd of clients wants one key at once',
    aim: 'node',
    lasting: false,
    params: { clients: { kind: 'integer', min: 4, max: 12 } },
    strike: ({ id, params }, { clients }) => clients.crowd(id, Number(params['clients'])),
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
    strike: (fault, { clients }) => {
      const { id, params, forUs } = fault;
      return clients.readSlowly(
        id,
        targetOf(fault),
        Number(params['requests']),
        Number(params['bytes']),
        forUs,
      );
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
    strike: (fault, { clients }) => clients.askUnauthorized(fault.id, targetOf(fault), fault.params),
  },
  'sticky-clients': {
    code: 'FK6',
    description: 'clients keep to one node and ask for single copies',
    aim: 'node',
    lasting: true,
    params: { clients: { kind: 'integer', min: 1, max: 3 } },
    strike: (fault, { clients }) => {
      clients.keepTo(fault.id, targetOf(fault), Number(fault.params['clients']), fault.forUs);
      return true;
    },
  },
  'late-retry': {
    code: 'FK7',
    description: 'a client repeats transactions that are long over',
    aim: 'client',
    clients: ['x'],
    lasting: false,
    params: { count: { kind: 'integer', min: 1, max: 12 } },
    strike: (fault, { clients }) => {
      const impatience = clients.impatienceOf(targetOf(fault));
      impatience?.doubt(Number(fault.params['count']));
      return impatience !== undefined;
    },
  },
} satisfies CommonFaultFamily;

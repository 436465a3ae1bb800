/** What clients do to the cluster by their own behaviour (numbers: the catalogue's). */
import { strangerGuises, strangerListeners } from '../../evidence/unauthenticated-clients.ts';
import type { FaultKindRow } from './fault-kind-row.ts';

export const clientFaultIds = ['FK1', 'FK2', 'FK3', 'FK4', 'FK5', 'FK6', 'FK7'] as const;

export type ClientFault = (typeof clientFaultIds)[number];

/** How long after a request was sent its client gives it up; one that is answered by then is followed by the next. */
const patience = { afterUs: { kind: 'integer', min: 0, max: 20_000 } } as const;

export const clientFaultKinds: Readonly<Record<ClientFault, FaultKindRow>> = {
  FK1: {
    title: 'abandoned and asked again',
    story: 'a client leaves before its transaction is answered, and repeats it at once under its id',
    aim: 'client',
    clients: ['x'],
    lasting: false,
    params: patience,
  },
  FK2: {
    title: 'abandoned',
    story: 'a client leaves before its request is answered',
    aim: 'client',
    clients: ['c', 'x', 'r', 'j'],
    lasting: false,
    params: patience,
  },
  FK3: {
    title: 'hot key',
    story: 'a crowd of clients wants one and the same key at once',
    aim: 'node',
    lasting: false,
    params: { clients: { kind: 'integer', min: 4, max: 12 } },
  },
  FK4: {
    title: 'slow reader',
    story: 'a client asks for much and reads nothing for a while',
    aim: 'node',
    lasting: true,
    params: {
      requests: { kind: 'integer', min: 300, max: 600 },
      bytes: { kind: 'integer', min: 3_000, max: 4_000 },
    },
  },
  FK5: {
    title: 'stranger',
    story:
      'a client asks for what it may not: without credentials, with wrong ones, or with a role that is too small',
    aim: 'node',
    lasting: false,
    params: {
      listener: { kind: 'choice', of: strangerListeners },
      guise: { kind: 'choice', of: strangerGuises },
      what: { kind: 'integer', min: 0, max: 11 },
    },
  },
  FK6: {
    title: 'loyal clients',
    story: 'clients keep to one node, whatever it answers, and ask it for single copies',
    aim: 'node',
    lasting: true,
    params: { clients: { kind: 'integer', min: 1, max: 3 } },
  },
  FK7: {
    title: 'asked again later',
    story: 'a client asks for transactions that are long over once more, under their ids',
    aim: 'client',
    clients: ['x'],
    lasting: false,
    params: { count: { kind: 'integer', min: 1, max: 12 } },
  },
};

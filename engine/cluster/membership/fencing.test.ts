import { expect, test } from 'vitest';

import type { NodeId } from '../../base/ids.ts';
import { Fencing } from './fencing.ts';

const peer = 'n2' as NodeId;

function standing(isHeard: () => boolean = () => false): { made: Fencing; told: string[] } {
  const told: string[] = [];
  const log = {
    enabled: () => true,
    event: (level: string, name: string) => void told.push(`${level} ${name}`),
  };
  return { made: new Fencing(log, isHeard), told };
}

test('a node is a member until a peer refuses it as none, and again once a peer accepts it', () => {
  const { made, told } = standing();
  made.accepted(peer);
  expect(made.isMember).toBe(true);
  made.disowned(peer);
  made.disowned(peer);
  expect(made.isMember).toBe(false);
  made.accepted(peer);
  expect(made.isMember).toBe(true);
  expect(told).toEqual(['error membership.disowned', 'warn membership.accepted']);
});

test('the refusal of one peer does not count while another peer has a link to the node', () => {
  let heard = true;
  const { made } = standing(() => heard);
  made.disowned(peer);
  expect(made.isMember).toBe(true);
  heard = false;
  expect(made.isMember).toBe(false);
});

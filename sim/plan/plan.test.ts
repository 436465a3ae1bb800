import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { LockstepError } from '../../engine/base/errors.ts';
import { version } from '../../engine/base/version.ts';
import { scenarios } from '../../scenarios/catalogue.ts';
import { crashAndRestart } from '../../scenarios/crash-and-restart.ts';
import { generatePlan } from './plan-generation.ts';
import { formatPlan } from './plan.ts';
import { parsePlan } from './plan-validation.ts';

const plan = generatePlan(crashAndRestart, 7);

/** The message of the error that the plan's validation throws after an edit of its JSON; `none` if it is valid. */
function complaint(edit: (json: Record<string, unknown>) => void): string {
  const json = JSON.parse(formatPlan(plan)) as Record<string, unknown>;
  edit(json);
  return complaintAbout(JSON.stringify(json));
}

function complaintAbout(text: string): string {
  try {
    parsePlan(text);
  } catch (error) {
    if (error instanceof LockstepError && error.code === 'PlanInvalid') return error.message;
    throw error;
  }
  return 'none';
}

describe('plans', () => {
  it('are the same for the same seed and differ between seeds', () => {
    expect(generatePlan(crashAndRestart, 7)).toEqual(plan);
    expect(formatPlan(generatePlan(crashAndRestart, 8))).not.toBe(formatPlan(plan));
  });

  it('survive being written and read', () => {
    const property = fc.property(fc.constantFrom(...scenarios), fc.nat(), (scenario, seed) => {
      const drawn = generatePlan(scenario, seed);
      expect(parsePlan(formatPlan(drawn))).toEqual(drawn);
    });
    fc.assert(property, { numRuns: 20, seed: 1 });
  });

  it('keep the names of the user invariants that judged them when written and read', () => {
    const judged = { ...plan, judgedBy: { file: 'ours.js', invariants: ['no-update-is-lost'] } };
    expect(parsePlan(formatPlan(judged))).toEqual(judged);
    const unnamed = { ...plan, judgedBy: { invariants: ['no-update-is-lost'] } };
    expect(parsePlan(formatPlan(unnamed))).toEqual(unnamed);
    expect(complaint((json) => (json['judgedBy'] = { file: 'ours.js', invariants: [] }))).toContain(
      'plan.judgedBy.invariants: at least one name is expected',
    );
  });

  it('switch fault kinds on and off: some seeds have a kind, some do not', () => {
    const kinds = Array.from({ length: 40 }, (_, seed) => {
      return new Set(generatePlan(crashAndRestart, seed).faults.map((fault) => fault.kind));
    });
    const withCrash = kinds.filter((kind) => kind.has('process-crash')).length;
    expect(withCrash).toBeGreaterThan(5);
    expect(withCrash).toBeLessThan(35);
    expect(kinds.every((kind) => kind.has('power-loss'))).toBe(true);
  });

  it('draw the length of the load over its whole range', () => {
    const lengths = Array.from(
      { length: 40 },
      (_, seed) => generatePlan(crashAndRestart, seed).operations.length,
    );
    expect(Math.min(...lengths)).toBeLessThan(175);
    expect(Math.max(...lengths)).toBeGreaterThan(225);
  });
});

describe('a damaged plan is refused with the place and the cause', () => {
  it.each<[string, (json: Record<string, unknown>) => void, string]>([
    ['an unknown key', (json) => (json['sed'] = 1), 'plan: unknown key "sed"; did you mean "seed"?'],
    [
      'an unknown key that is like none',
      (json) => (json['weather'] = 1),
      'plan: unknown key "weather"; the keys are format, ',
    ],
    ['a missing key', (json) => delete json['faults'], 'plan: the key "faults" is missing'],
    [
      'another format',
      (json) => (json['format'] = 9),
      `plan.format: this version (${version}) reads plans of format 1, not 9; a newer version wrote it: replay it with that one`,
    ],
    [
      'another format with fields that this version does not know',
      (json) => Object.assign(json, { format: 9, wind: 3 }),
      'reads plans of format 1, not 9',
    ],
    [
      'a file of another program',
      (json) => delete json['format'],
      'plan: this is not a plan of lockstep-sim: it has no "format"',
    ],
    [
      'what a campaign has written',
      (json) => {
        delete json['scenario'];
        json['scenarios'] = [];
      },
      'plan: this is what a campaign has written of all its runs, and no plan',
    ],
    [
      'a wrong type',
      (json) => (json['clients'] = 'four'),
      'plan.clients: a whole number 1..256 is expected, not the string "four"',
    ],
    ['a number out of range', (json) => (json['clients'] = 1000), 'plan.clients: 1000 is outside 1..256'],
    ['a storm of no length', (json) => (json['stormUs'] = 0), 'plan.stormUs: 0 is outside 1..86400000000'],
    ['no nodes', (json) => (json['nodes'] = []), 'plan.nodes: at least one node is needed'],
    [
      'a foreign invariant',
      (json) => (json['floors'] = { INV99: 1 }),
      'plan.floors.INV99: there is no invariant "INV99"; the nearest are causality,',
    ],
    [
      'a nested setting',
      (json) => (json['settings'] = { a: {} }),
      'plan.settings.a: a number, a text or a truth value',
    ],
  ])('%s', (_, edit, expected) => {
    expect(complaint(edit)).toContain(expected);
  });

  it('names the item in a list', () => {
    const fault = {
      id: 'f0',
      kind: 'process-crash',
      targets: ['n9'],
      when: { atUs: 1 },
      forUs: 1,
      params: {},
    };
    const edits: [object, string][] = [
      [fault, 'plan.faults[0].targets[0]: one of n1, n2, n3 is expected, not "n9"'],
      [{ ...fault, targets: ['n1', 'n2'] }, 'plan.faults[0].targets: process-crash aims at one node'],
      [{ ...fault, kind: 'FX9' }, 'plan.faults[0].kind: there is no kind of fault "FX9"; the nearest are '],
      [
        { ...fault, targets: ['n1'], when: { atUs: 1, event: 'x' } },
        'plan.faults[0].when: a moment is either',
      ],
      [{ ...fault, targets: ['n1'], when: { event: 'x' } }, 'plan.faults[0].when: a moment is {atUs} or'],
      [{ ...fault, targets: ['n1'], params: { speed: 1 } }, 'plan.faults[0].params: unknown key "speed"'],
      [
        { ...fault, kind: 'connection-reset', targets: ['n1', 'c0'] },
        'plan.faults[0].forUs: connection-reset is over at once',
      ],
    ];
    for (const [item, expected] of edits) {
      expect(complaint((json) => (json['faults'] = [item]))).toContain(expected);
    }
  });

  it('refuses a node with the name of another node, a client or another host of the world', () => {
    const [first, second] = plan.nodes;
    const calls = (name: string): string =>
      complaint((json) => (json['nodes'] = [first, { ...second, name }]));
    expect(calls('n1')).toContain('plan.nodes[1].name: two nodes are called "n1"');
    expect(calls('n 1')).toContain('plan.nodes[1].name: "n 1" is not a node name');
    const others = ['c0', 'x12', 'f0.c1', 'f0.slow', 'reader-dc1', 'x-after', 'operator', '10.0.0.1'];
    for (const name of others) {
      expect(calls(name)).toContain(`plan.nodes[1].name: "${name}" is what a client or another host`);
    }
  });

  it('refuses two items with the same id', () => {
    const scrape = { id: 's0', atUs: 1, node: 'n1' };
    expect(complaint((json) => (json['scrapes'] = [scrape, scrape]))).toContain('the id "s0" is given twice');
  });

  it('refuses a spare that replaces no node, and an impostor with the name of a host of the load', () => {
    const spare = { name: 'n9', datacenter: 'dc1', rack: 'r1', spare: true, replaces: 'n8' };
    const nodes = [...plan.nodes, spare];
    expect(complaintAbout(JSON.stringify({ ...plan, nodes }))).toContain(
      'n9 replaces "n8", which is none of the nodes',
    );
    const impostor = {
      kind: 'wrong-identity',
      targets: ['n1'],
      when: { atUs: 1 },
      forUs: 0,
      params: { claim: 'sameName' },
    };
    const complaint = (id: string): string =>
      complaintAbout(JSON.stringify({ ...plan, faults: [{ id, ...impostor }] }));
    expect(complaint('after')).toContain('a wrong-identity has any other id than "after"');
    expect(complaint('before')).toBe('none');
  });

  it('returns a plan or throws PlanInvalid for any text', () => {
    expect(complaintAbout('{"format":')).toContain('the plan is not JSON: it is cut off after 10 characters');
    expect(complaintAbout('{"format": 1')).toContain('it is cut off after 12 characters');
    expect(complaintAbout(' \n')).toContain('the plan is not JSON: it is empty');
    expect(complaintAbout('{"format": 1]')).toContain('in JSON at position 12');
    const arbitraryText = fc.oneof(
      fc.json(),
      fc.string(),
      fc.object().map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(arbitraryText, (text) => complaintAbout(text) !== 'none'),
      { numRuns: 300, seed: 1 },
    );
  });

  it('returns a plan or throws PlanInvalid for a valid plan with a part changed, removed or repeated', () => {
    const property = fc.property(
      fc.constantFrom(...scenarios),
      fc.nat(1000),
      fc.array(changeOfPlan, { minLength: 1, maxLength: 3 }),
      (scenario, seed, changes) => {
        const changed = changes.reduce(changedPlan, JSON.parse(formatPlan(generatePlan(scenario, seed))));
        return complaintAbout(JSON.stringify(changed)) !== '';
      },
    );
    fc.assert(property, { numRuns: 400, seed: 1 });
  });
});

/** A place in a plan, as steps into it (each modulo the number of parts), and what is done there. */
interface Change {
  readonly steps: readonly number[];
  readonly deed: 'replace' | 'remove' | 'repeat';
  readonly value: unknown;
}

const changeOfPlan: fc.Arbitrary<Change> = fc.record({
  steps: fc.array(fc.nat(), { minLength: 1, maxLength: 5 }),
  deed: fc.constantFrom('replace', 'remove', 'repeat'),
  value: fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(-1, 0, 0.5, 1e300, 2 ** 53, '', '__proto__', 'n1', [], {}, null, true),
  ),
});

/** The JSON value with the change. */
function changedPlan(value: unknown, { steps, deed, value: given }: Change): unknown {
  const [step, ...more] = steps;
  if (step === undefined || typeof value !== 'object' || value === null) return given;
  const names = Object.keys(value);
  const name = names[step % Math.max(1, names.length)];
  if (name === undefined) return given;
  const inner: unknown = Reflect.get(value, name);
  if (more.length > 0 && typeof inner === 'object' && inner !== null) {
    const changed = changedPlan(inner, { steps: more, deed, value: given });
    return Array.isArray(value) ? value.with(Number(name), changed) : { ...value, [name]: changed };
  }
  if (Array.isArray(value)) {
    const at = Number(name);
    if (deed === 'remove') return value.toSpliced(at, 1);
    return deed === 'repeat' ? [...value, value[at]] : value.with(at, given);
  }
  const others = Object.entries(value).filter(([other]) => other !== name);
  return deed === 'remove' ? Object.fromEntries(others) : { ...value, [name]: given };
}

import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { swarm } from '../../scenarios/swarm.ts';
import { readCorpus, writeCorpus } from '../cli/corpus-files.ts';
import { excusesOf } from '../plan/swarm/fault-contract.ts';
import { generatePlan } from '../plan/plan-generation.ts';
import { parsePlan } from '../plan/plan-validation.ts';
import { formatPlan } from '../plan/plan.ts';
import type { Plan } from '../plan/plan.ts';
import { WorldRandom } from '../world/core/random.ts';
import { Corpus } from './corpus.ts';
import { Explorer } from './explorer.ts';
import { depthMax, priorities } from './order.ts';
import { variantOf } from './variants.ts';

const plans = new Map<number, Plan>();

/** Plans of a few seeds, made once: the explorer asks for more than these tests need. */
function planOfSeed(seed: number): Plan {
  const at = seed % 12;
  const made = plans.get(at) ?? generatePlan(swarm, at);
  plans.set(at, made);
  return made;
}

const both = ['seed', 'variant'] as const;

/** Batches of an exploration in which the runs of these kinds reach something new. */
function explored(batches: number, fruitful: readonly ('seed' | 'variant')[]): Explorer {
  const explorer = new Explorer(new Corpus(), 1, planOfSeed);
  for (let batch = 0; batch < batches; batch++) {
    const attempts = explorer.next();
    explorer.took(
      attempts,
      attempts.map(({ kind, number }) => (fruitful.includes(kind) ? [`cell ${number}`] : ['cell 0'])),
    );
  }
  return explorer;
}

it('the same first seed and the same findings make the same decisions', () => {
  expect(explored(6, both).next()).toEqual(explored(6, both).next());
});

it('variants get half of the runs once they find more than seeds, a fifth until then, and a tenth if they find nothing', () => {
  expect(explored(3, ['variant']).sharePercent).toBeGreaterThan(0);
  expect(explored(16, ['variant']).sharePercent).toBe(50);
  expect(explored(16, both).sharePercent).toBe(20);
  expect(explored(60, ['seed']).sharePercent).toBe(10);
});

it('a plan whose run reached nothing rare is not kept, and the rarer of two is chosen more often', () => {
  const corpus = new Corpus();
  const origin = { parent: '', change: '' };
  for (let run = 0; run < 5; run++)
    corpus.add(() => planOfSeed(1), ['often', ...(run === 4 ? ['once'] : [])], { name: `${run}`, ...origin });
  expect(corpus.kept.map(({ name }) => name)).toEqual(['0', '1', '2', '4']);
  const random = WorldRandom.root('corpus');
  for (let draw = 0; draw < 40; draw++) corpus.choose(random);
  const chosen = corpus.kept.map((one) => one.chosen);
  expect(Math.max(...chosen)).toBe(chosen[3]);
});

it('a variant is a valid plan that differs, and it judges nothing that its faults excuse', () => {
  const random = WorldRandom.root('variants');
  for (let draw = 0; draw < 50; draw++) {
    const plan = planOfSeed(draw);
    const variant = variantOf(plan, planOfSeed(draw + 5), random).plan;
    expect(variant).not.toEqual(plan);
    expect(parsePlan(formatPlan(variant))).toEqual(variant);
    const kinds = variant.faults.map(({ kind }) => kind);
    const excused = excusesOf({
      ...{
        transactions: true,
        redis: true,
        jobs: true,
        modules: true,
        credentials: true,
        antiEntropy: true,
        backups: true,
      },
      kinds,
    });
    expect(Object.keys(variant.floors).filter((name) => name in excused)).toEqual([]);
  }
});

it('priorities give each host one pace, and at most depth - 1 changes', () => {
  const random = WorldRandom.root('order');
  const { paces } = priorities(['n1', 'n2', 'n3'], random);
  const first = paces.filter(({ packet }) => packet === 0);
  expect(first.map(({ host }) => host).toSorted()).toEqual(['n1', 'n2', 'n3']);
  expect(new Set(first.map(({ delayUs }) => delayUs)).size).toBe(3);
  expect(paces.length - first.length).toBeLessThan(depthMax);
});

it('a corpus that is read again goes on as it would have gone on', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'lockstep-corpus-'));
  const explorer = explored(4, both);
  await writeCorpus(directory, 1, { corpus: explorer.corpus.state, explorer: explorer.state });
  const saved = await readCorpus(directory, 1);
  const again = new Explorer(new Corpus(saved?.corpus), 1, planOfSeed, saved?.explorer);
  expect(again.next()).toEqual(explorer.next());
  expect((await readdir(directory)).length).toBe(explorer.corpus.kept.length + 1);
  await expect(readCorpus(directory, 2)).rejects.toThrow('--first-seed 1');
});

/** Tests what `lockstep-sim` answers to mistakes of its caller, in this process: a process for each takes a second. */
import { expect, it } from 'vitest';

import { complaintAbout } from './complaints.ts';
import { makeProgram, withPresentOptions } from './program.ts';

/** The exit code and stderr of the command line. */
async function complaintOf(words: readonly string[]): Promise<readonly [code: number, err: string]> {
  let err = '';
  const writeErr = (text: string): void => {
    err += text;
  };
  const none = (): void => undefined;
  const program = makeProgram(none, none);
  for (const command of [program, ...program.commands]) command.exitOverride().configureOutput({ writeErr });
  try {
    await program.parseAsync(withPresentOptions(['node', 'lockstep-sim', ...words]));
  } catch (error) {
    const { code, text } = complaintAbout(error, words);
    return [code, `${err}${text}`];
  }
  throw new Error(`${words.join(' ')} was carried out`);
}

it.each([
  [['run', 'no-such-scenario'], 'there is no scenario "no-such-scenario"'],
  [['replay', 'calm'], 'Add --seed S'],
  [['replay', 'missing.json'], 'there is no plan file missing.json'],
  [['replay', 'README.md'], 'README.md is no plan: plan files end in .json'],
  [['run', '--seeds', 'many'], 'A whole number'],
  [['run', 'calm', '--seeds', '1', '--jobs', '5000'], 'At most '],
  [['run', '--for', 'long'], 'is not a duration'],
  [['run', '--for', '10'], '"10" has no unit; write a number with ms, s, m or h: 500ms, 90s, 5m, 1h'],
  [['replay', 'calm', '--seed', '3', '--until', '2'], '"2" has no unit'],
  [['run', 'calm', '--seed', '3', '--seeds', '5'], "'--seed <s>' cannot be used with option '--seeds <n>'"],
  [['run', 'calm', '--first-seed', '4', '--seed', '3'], "cannot be used with option '--first-seed <s>'"],
  [
    ['run', 'calm', '--first-seed', '9007199254740990', '--seeds', '3', '--jobs', '1'],
    'go beyond the last one',
  ],
  [['run', 'transactions', '--history', 'h.edn'], 'a history is of one run'],
  [['run', '--mutant', 'M999'], 'there is no mutant "M999"'],
  // Its former name.
  [['run', '--plant', 'M999'], 'there is no mutant "M999"'],
  [
    ['enumerate', 'xa', '--only', 'zzzz'],
    'no point\'s description contains "zzzz"; each is STEP FAULT NODE, of',
  ],
  [['enumerate', 'xa', '--pairs', '--only', 'p.vote.sent crash n2 + zzzz'], 'STEP FAULT NODE + STEP FAULT'],
  [['enumerate', 'store-batch', '--only', 'zzz'], 'enumerate store-batch has no --only; --limit, --seed'],
  [['enumerate', 'store-batch', '--pairs', '--jobs', '1'], 'enumerate store-batch has no --pairs, --jobs;'],
  [['conform'], 'which plan? Name scenarios or plan files, or add --all'],
  [['coverage', '--places', '--seeds', '3'], "'--places' cannot be used with option '--seeds <n>'"],
  [['coverage', 'calm', '--places'], '--places surveys all scenarios'],
  [['conform', 'calm', '--all'], 'name scenarios, or take --all; not both'],
  [['walk'], 'unknown command'],
])('%j is usage', async (words, complaint) => {
  expect(await complaintOf(words)).toEqual([2, expect.stringContaining(complaint)]);
});

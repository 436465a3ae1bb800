import { CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';

import { LockstepError } from '../../engine/base/errors.ts';
import { SimulatorFault } from '../runner/simulator-fault.ts';
import { complaintAbout } from './complaints.ts';

const words = ['replay', 'calm', '--seed', '3'];

describe('a complaint', () => {
  it('about what was asked for is usage, in one line', () => {
    const unknown = new LockstepError('NotFound', 'there is no scenario "clam"');
    expect(complaintAbout(unknown, words)).toEqual({
      code: 2,
      text: 'lockstep-sim: there is no scenario "clam" (NotFound)\n',
    });
    expect(complaintAbout(new CommanderError(1, 'x', 'said already'), words)).toEqual({ code: 2, text: '' });
    expect(complaintAbout(new CommanderError(0, 'x', '--help'), words)).toEqual({ code: 0, text: '' });
  });

  it('about a file that the machine refuses is usage', () => {
    const refused = Object.assign(new Error("EACCES: permission denied, mkdir '/out'"), { syscall: 'mkdir' });
    expect(complaintAbout(refused, words)).toEqual({
      code: 2,
      text: "lockstep-sim: EACCES: permission denied, mkdir '/out'\n",
    });
  });

  it.each([new TypeError('null has no x'), new LockstepError('Timeout', 'nobody answered')])(
    'about %s is the fault of the simulator: how to report it, and where it began',
    (cause) => {
      const { code, text } = complaintAbout(new SimulatorFault('calm, seed 3', cause), words);
      expect(code).toBe(70);
      expect(text).toContain(`lockstep-sim: the simulator itself failed at calm, seed 3: ${cause.message}\n`);
      expect(text).toContain('it says nothing about what Lockstep promises');
      expect(text).toContain('\n  lockstep-sim replay calm --seed 3\n');
      expect(text).toContain(`, Node.js ${process.version}, `);
      expect(text).toContain('complaints.test.ts:');
    },
  );

  it('about an error of no known kind is the fault of the simulator too', () => {
    expect(complaintAbout(new LockstepError('Timeout'), words).code).toBe(70);
    expect(complaintAbout('thrown bare', words)).toMatchObject({
      code: 70,
      text: expect.stringContaining('lockstep-sim: thrown bare\n') as string,
    });
  });
});

/** Runs the `lockstep` command within the test's process, and keeps what it prints. */
import { vi } from 'vitest';

import { runLockstep } from '../program.ts';

/** What one command did. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the command with these arguments; resolves with its exit code and what it printed. */
export async function lockstep(...words: readonly string[]): Promise<Ran> {
  let out = '';
  let err = '';
  const keepOut = (text: unknown): boolean => {
    out += String(text);
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(keepOut),
    vi.spyOn(console, 'log').mockImplementation((text: unknown) => void (out += `${String(text)}\n`)),
    vi.spyOn(console, 'error').mockImplementation((text: unknown) => void (err += `${String(text)}\n`)),
  ];
  try {
    return { code: await runLockstep(['node', 'lockstep', ...words]), out, err };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** `npm run bench clients`: what clients of the protocols and of MapReduce wait for, section by section. */
import { mapReduceSection } from './map-reduce.ts';

export interface ClientsBenchOptions {
  readonly rounds: number;
  /** Objects that jobs run over. */
  readonly objects: number;
  readonly json: boolean;
}

/** A section's figures, as text for people and as fields for programs. */
export interface Section {
  readonly name: string;
  readonly text: string;
  readonly results: readonly Readonly<Record<string, unknown>>[];
}

export async function run(options: ClientsBenchOptions): Promise<void> {
  const sections = [await mapReduceSection(options)];
  if (options.json) {
    const told = sections.map(({ name, results }) => ({ name, results }));
    process.stdout.write(`${JSON.stringify({ bench: 'clients', ...options, sections: told })}\n`);
    return;
  }
  process.stdout.write(`${sections.map(({ text }) => text).join('\n\n')}\n`);
}

/** `npm run bench clients`: what clients of the protocols and of MapReduce wait for, section by section. */
import type { ClientsBenchOptions } from './client-section.ts';
import { mapReduceSection } from './map-reduce.ts';
import { redisSection } from './redis-section.ts';

export async function run(options: ClientsBenchOptions): Promise<void> {
  const sections = [await redisSection(options), await mapReduceSection(options)];
  if (options.json) {
    const told = sections.map(({ name, results }) => ({ name, results }));
    process.stdout.write(`${JSON.stringify({ bench: 'clients', ...options, sections: told })}\n`);
    return;
  }
  process.stdout.write(`${sections.map(({ text }) => text).join('\n\n')}\n`);
}

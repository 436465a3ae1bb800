/** `npm run bench clients`: latency and throughput of the Redis protocol and of MapReduce, section by section. */
import type { ClientsBenchOptions, Section, SectionName } from './client-section.ts';
import { mapReduceSection } from './map-reduce.ts';
import { redisSection } from './redis-section.ts';

/** Runs all sections and prints their tables, or one line of JSON. */
export async function run(options: ClientsBenchOptions): Promise<void> {
  const wants = (name: SectionName): boolean => options.only === undefined || options.only === name;
  const sections: Section[] = [];
  if (wants('redis')) sections.push(await redisSection(options));
  if (wants('mapreduce')) sections.push(await mapReduceSection(options));
  if (options.json) {
    const told = sections.map(({ name, results }) => ({ name, results }));
    process.stdout.write(`${JSON.stringify({ bench: 'clients', ...options, sections: told })}\n`);
    return;
  }
  process.stdout.write(`${sections.map(({ text }) => text).join('\n\n')}\n`);
}

/**
 * Renders `/metrics` in the text exposition format 0.0.4, with prom-client and a registry of this node's own, without
 * default metrics. The registry keeps no numbers: its metrics return the samples of the snapshot being rendered.
 *
 * prom-client defines the text of a family. From one publication to the next usually only numbers change. The registry
 * therefore writes a family only when it is new or its set of samples changed; otherwise the text before each number is
 * reused. The test requires that both ways give the same text, byte for byte. Rendering takes microtasks only, no
 * timers and no I/O, so the simulated world can run it.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

import { assert, present } from '../base/assert.ts';
import type { CollectedFamily, Family, FamilyType, Labels, Sample } from './family.ts';
import { familiesOf } from './snapshot-families.ts';
import type { StatsSnapshot } from './snapshot.ts';

/** The form in which prom-client reads a metric. */
interface Written extends Pick<Family, 'name' | 'help' | 'type'> {
  readonly values: readonly {
    readonly metricName: string;
    readonly sharedLabels: Labels;
    readonly value: number;
  }[];
}

function written({ family: { name, help, type }, samples }: CollectedFamily): Written {
  return {
    name,
    help,
    type,
    values: samples.map(({ labels, value, suffix = '' }) => {
      return { metricName: `${name}${suffix}`, sharedLabels: labels, value };
    }),
  };
}

/** A gauge whose samples come from the snapshot. */
class SampledGauge extends Gauge {
  collected: CollectedFamily | undefined;

  /** Called by the registry when it writes, as for prom-client's own histograms. */
  async getForPromString(): Promise<Written> {
    return written(present(this.collected, 'what is to be written'));
  }
}

/** A counter whose samples come from the snapshot. */
class SampledCounter extends Counter {
  collected: CollectedFamily | undefined;

  async getForPromString(): Promise<Written> {
    return written(present(this.collected, 'what is to be written'));
  }
}

/** A histogram whose samples come from the snapshot. */
class SampledHistogram extends Histogram {
  collected: CollectedFamily | undefined;

  async getForPromString(): Promise<Written> {
    return written(present(this.collected, 'what is to be written'));
  }
}

type SampledMetric = SampledGauge | SampledCounter | SampledHistogram;

/** Value of the `Content-Type` header of `/metrics`. */
export const expositionContentType: string = Registry.PROMETHEUS_CONTENT_TYPE;

/** Lines before a family's samples: HELP and TYPE. */
const headLines = 2;

/** A family's last text. */
class KeptFamily {
  readonly metric: SampledMetric;
  /** Empty until the first rendering. */
  text = '';
  #samples: readonly Sample[] = [];
  /** The text before each sample's number: the end of the preceding line, the name, the labels, and a space. */
  #beginnings: readonly string[] = [];

  constructor(metric: SampledMetric) {
    this.metric = metric;
  }

  /** Stores the text that the registry wrote for these samples. */
  take(text: string, samples: readonly Sample[]): void {
    const lines = text.split('\n');
    assert(lines.length === headLines + samples.length, 'the registry writes a line for each sample');
    this.#beginnings = samples.map(({ value }, index) => {
      const line = lines[headLines + index] ?? '';
      const number = String(value);
      assert(line.endsWith(` ${number}`), 'the registry ends the line of a sample with its number');
      const before = index === 0 ? lines.slice(0, headLines).join('\n') : '';
      return `${before}\n${line.slice(0, -number.length)}`;
    });
    this.#samples = samples;
    this.text = text;
  }

  /** Replaces the numbers; false if the samples are not those of the stored text. */
  renew(samples: readonly Sample[]): boolean {
    if (this.text === '' || this.#samples.length !== samples.length) return false;
    let changed = false;
    for (let index = 0; index < samples.length; index++) {
      const old = this.#samples[index];
      const now = samples[index];
      if (old === undefined || now === undefined || old.suffix !== now.suffix) return false;
      if (!sameLabels(old.labels, now.labels)) return false;
      if (old.value !== now.value) changed = true;
    }
    if (changed) this.#write(samples);
    return true;
  }

  #write(samples: readonly Sample[]): void {
    let text = '';
    for (let index = 0; index < samples.length; index++) {
      text += `${this.#beginnings[index] ?? ''}${samples[index]?.value ?? 0}`;
    }
    this.#samples = samples;
    this.text = text;
  }
}

/** Renders snapshots of one node; keeps the text of each family between renderings. */
export class Exposition {
  readonly #registry = new Registry();
  readonly #kept = new Map<string, KeptFamily>();
  /** Settles when the preceding rendering is done. */
  #last: Promise<unknown> = Promise.resolve();

  /** The whole text. Renderings run one after another. */
  render(snapshot: StatsSnapshot): Promise<string> {
    const text = this.#last.then(() => this.#render(snapshot));
    this.#last = text.catch(() => undefined);
    return text;
  }

  async #render(snapshot: StatsSnapshot): Promise<string> {
    const families = familiesOf(snapshot);
    for (const collected of families) {
      const { family, samples } = collected;
      const kept = this.#kept.get(family.name) ?? this.#register(family);
      if (kept.renew(samples)) continue;
      kept.metric.collected = collected;
      kept.take(await this.#registry.getSingleMetricAsString(family.name), samples);
      kept.metric.collected = undefined;
    }
    // Families are never removed, so the counts differ only if two families share a name.
    assert(this.#kept.size === families.length, 'every family has a name of its own');
    return this.#whole();
  }

  #whole(): string {
    const texts: string[] = [];
    for (const { text } of this.#kept.values()) texts.push(text);
    return `${texts.join('\n\n')}\n`;
  }

  #register(family: Family): KeptFamily {
    const options = {
      name: family.name,
      help: family.help,
      labelNames: family.labels,
      registers: [this.#registry],
    };
    const kept = new KeptFamily(sampledMetric(family.type, options));
    this.#kept.set(family.name, kept);
    return kept;
  }
}

interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly registers: Registry[];
}

function sampledMetric(type: FamilyType, options: MetricOptions): SampledMetric {
  switch (type) {
    case 'counter':
      return new SampledCounter(options);
    case 'gauge':
      return new SampledGauge(options);
    case 'histogram':
      return new SampledHistogram(options);
  }
}

function sameLabels(old: Labels, now: Labels): boolean {
  if (old === now) return true;
  const before = Object.keys(old);
  const names = Object.keys(now);
  return (
    names.length === before.length &&
    names.every((name, at) => before[at] === name && old[name] === now[name])
  );
}

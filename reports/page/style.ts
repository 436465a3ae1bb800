/** Colours of the diagram, from the page's style sheet, so that both themes have their own. */

/** The families of messages. */
export const familyNames = ['object', 'transaction', 'repair', 'gossip', 'client', 'other'] as const;

/** A family of messages, by what they are for. */
export type Family = (typeof familyNames)[number];

/** The family of a kind of message. */
export function familyOf(kind: string): Family {
  if (kind.startsWith('client')) return 'client';
  if (/^(transact)/.test(kind)) return 'transaction';
  if (/^(readObject|object|mergeObject|mergeBatch|written|coordinate|keepHint|failed)/.test(kind))
    return 'object';
  if (/^(antiEntropy|transferRange|rangeTransferred|reap)/.test(kind)) return 'repair';
  return /^(gossip|ping|pong|greeting)/.test(kind) ? 'gossip' : 'other';
}

/** The colours of one theme. */
export interface Palette {
  readonly ink: string;
  readonly muted: string;
  readonly line: string;
  readonly surface: string;
  readonly band: string;
  readonly bad: string;
  readonly good: string;
  readonly warn: string;
  readonly accent: string;
  readonly families: Readonly<Record<Family, string>>;
}

/** Reads the palette that holds now. */
export function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: of('ink'),
    muted: of('muted'),
    line: of('line'),
    surface: of('surface'),
    band: of('band'),
    bad: of('bad'),
    good: of('good'),
    warn: of('warn'),
    accent: of('accent'),
    families: {
      object: of('m-object'),
      transaction: of('m-transaction'),
      repair: of('m-repair'),
      gossip: of('m-gossip'),
      client: of('m-client'),
      other: of('m-other'),
    },
  };
}

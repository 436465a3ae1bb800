/**
 * What the table of request fields consists of: for each request that the engine accepts, which of its fields clients
 * send, and why they send none of the others.
 */
import type { CoverageTable } from '../table.ts';

/** One request, or a part that several requests share. Fields are separated by spaces. */
export interface RequestEntry {
  /** The message, the method and path, or the command. */
  readonly request: string;
  /** The fields that clients send, by the module that sends them: a file of `sim/`, without its ending. */
  readonly sent: Readonly<Record<string, string>>;
  /** The fields that no client sends, by the reason. */
  readonly unsent?: Readonly<Record<string, string>>;
}

/** The field that stands for the request itself, with or without fields. */
export const itself = '(itself)';

/** The fields that clients send, and those that they do not. */
export function fieldsOf({ sent, unsent = {} }: RequestEntry): {
  readonly sent: readonly string[];
  readonly unsent: readonly string[];
} {
  return { sent: namesIn(Object.values(sent)), unsent: namesIn(Object.values(unsent)) };
}

/** The cells of these requests. */
export function requestCells(entries: readonly RequestEntry[]): CoverageTable['cells'] {
  return entries.flatMap((entry) => {
    const { sent, unsent } = fieldsOf(entry);
    return [...sent, ...unsent].map((field) => [entry.request, field]);
  });
}

/** An excuse for each reason not to send a field. */
export function requestExcuses(entries: readonly RequestEntry[]): CoverageTable['excuses'] {
  return entries.flatMap(({ request, unsent = {} }) =>
    Object.entries(unsent).map(([reason, fields]) => ({ where: [[request], namesIn([fields])], reason })),
  );
}

function namesIn(texts: readonly string[]): readonly string[] {
  return texts.flatMap((text) => text.split(/\s+/).filter((name) => name !== ''));
}

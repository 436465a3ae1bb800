/** Every request that the engine accepts, with its fields: the binary protocol, HTTP and Redis. */
import { commandEntries } from './command-entries.ts';
import type { RequestEntry } from './entry.ts';
import { httpEntries } from './http-entries.ts';
import { messageEntries } from './message-entries.ts';

/** The entries. */
export const requestEntries: readonly RequestEntry[] = [...messageEntries, ...httpEntries, ...commandEntries];

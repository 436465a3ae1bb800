/** The ports that a store needs; an `Io` has them all. */
import type { Io } from '../io/io.ts';

/** Neither network nor HTTP. */
export type StoreIo = Pick<Io, 'clock' | 'disk' | 'random' | 'log' | 'spawn' | 'checks'>;

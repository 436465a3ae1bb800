/** The doors that a store needs: no network, no HTTP. An `Io` has them all. */
import type { Io } from '../io/io.ts';

export type StoreIo = Pick<Io, 'clock' | 'disk' | 'random' | 'log' | 'spawn'>;

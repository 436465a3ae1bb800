/**
 * The table of fault kinds: the rows of all families. Plans, generation, validation, the list command and reports read
 * it; a row says all about its kind (`fault-row.ts`).
 */
import { clientFaults } from './client.ts';
import { clockFaults } from './clock.ts';
import { diskFaults } from './disk.ts';
import type { FaultRow } from './fault-row.ts';
import { membershipFaults } from './membership.ts';
import { networkFaults } from './network.ts';
import { operatorFaults } from './operator.ts';
import { processFaults } from './process.ts';
import { snapshotFaults } from './snapshot.ts';
import { wasmFaults } from './wasm.ts';

const families = {
  ...networkFaults,
  ...processFaults,
  ...membershipFaults,
  ...operatorFaults,
  ...clockFaults,
  ...diskFaults,
  ...snapshotFaults,
  ...wasmFaults,
  ...clientFaults,
};

/** One kind of fault, by its name. */
export type FaultKind = keyof typeof families;

/** The rows by name. */
export const faultKinds: Readonly<Record<FaultKind, FaultRow>> = families;

/** Their names, in the order of the list command. */
export const faultKindNames = Object.keys(families) as readonly FaultKind[];

/** The rows with their names, in the order of `faultKindNames`. */
export const faultRows: readonly (FaultRow & { readonly name: FaultKind })[] = faultKindNames.map((name) => ({
  name,
  ...faultKinds[name],
}));

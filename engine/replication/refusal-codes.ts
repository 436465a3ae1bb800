/** The errors of a request about one object that concern that object alone. */
import type { ErrorCode } from '../base/errors.ts';

/** The codes with which a node, or the link to it, refuses one object. Any other concerns the node as a whole. */
export const refusalCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'BadRequest',
  'TooLarge',
  'FrameInvalid',
  'Corrupted',
  'StaleEpoch',
  'Internal',
]);

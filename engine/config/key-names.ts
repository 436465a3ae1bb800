/** Converts field names to the names of configuration keys in the file and in the environment. */

/** The field's name in the file: `pb_listen` for `pbListen`. */
export function keyOf(field: string): string {
  return field.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

/** Prefix of all variables that override keys. */
export const environmentPrefix = 'LOCKSTEP_';

/** The variable with the token that commands show to a node. It has the prefix but is no key. */
export const tokenVariable = 'LOCKSTEP_TOKEN';

/** The field's name in the environment: `LOCKSTEP_PB_LISTEN` for `pbListen`. */
export function variableOf(field: string): string {
  return environmentPrefix + keyOf(field).toUpperCase();
}

/** The names of configuration keys in the file and in the environment. */

/** The field's name in the file: `pb_listen` of `pbListen`. */
export function keyOf(field: string): string {
  return field.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

export const environmentPrefix = 'LOCKSTEP_';

/** The token that commands show to a node: in the same family, and no key. */
export const tokenVariable = 'LOCKSTEP_TOKEN';

/** The field's name in the environment: `LOCKSTEP_PB_LISTEN` of `pbListen`. */
export function variableOf(field: string): string {
  return environmentPrefix + keyOf(field).toUpperCase();
}

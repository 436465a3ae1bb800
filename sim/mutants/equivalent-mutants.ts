/** Generated mutants that change nothing that Lockstep promises, by name, each with the reason. */
export const equivalentMutants: Readonly<Record<string, string>> = {
  'boundary-9ba45e3d': 'a deadline that is one microsecond later is no promise broken',
  'drop-await-03e36745':
    'the probe file is removed either way: its removal does not wait for the end of its closing on any system',
  'drop-await-ef741901':
    'the mark of a question under way only avoids a second question to the node, whose answer changes nothing more',
  'drop-error-e002d492': 'the decoder throws no other error than the one that is handled after',
  'drop-error-dfbf3304': 'the decoder throws no other error than the one that is handled after',
  'swap-check-and-await-53c56a7e':
    'an answer of another kind has no records, so taking them fails before the check does',
};

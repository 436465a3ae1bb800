/** Generated mutants that change nothing that Lockstep promises, by name, each with the reason. */
export const equivalentMutants: Readonly<Record<string, string>> = {
  'drop-await-03e36745':
    'the probe file is removed either way: its removal does not wait for the end of its closing on any system',
  'drop-await-ef741901':
    'the mark of a question under way only avoids a second question to the node, whose answer changes nothing more',
  'drop-error-e002d492': 'the decoder throws no other error than the one that is handled before',
  'swap-check-and-await-53c56a7e':
    'an answer of another kind has no records, so taking them fails before the check does',
};

/** Generated mutants that change nothing that Lockstep promises, by name, each with the reason. */
export const equivalentMutants: Readonly<Record<string, string>> = {};

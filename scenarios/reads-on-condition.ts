import type { Scenario } from '../sim/plan/scenario.ts';
import { conditionalPuts } from './conditional-puts.ts';

export const readsOnCondition: Scenario = {
  ...conditionalPuts,
  name: 'reads-on-condition',
  description:
    'clients read with an absence confirmed, or only what has changed, over HTTP and the binary protocol, while replicas miss writes that one of them has acknowledged',
  load: {
    ...conditionalPuts.load,
    // Half of the conditions are about keys that nothing has read yet.
    operations: [300, 400],
    keys: 24,
    siblingKeys: 12,
    needs: { quorum: 60, one: 40 },
    readings: { confirmedPercent: 40, ifChangedPercent: 40 },
  },
};

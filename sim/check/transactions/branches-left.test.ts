import { describe, expect, it } from 'vitest';

import { checkNothingLeft, sharedWith } from './branches-left.ts';

const atUs = 9;

describe('records of branches at the end (no-dangling-transactions)', () => {
  it('are on no disk', () => {
    expect(checkNothingLeft([{ node: 'n1', atUs, branches: [] }])).toMatchObject({ ok: true, checked: 1 });
    const branches = [{ xid: 'n2-0-1', state: 'applied' }];
    const report = checkNothingLeft([{ node: 'n1', atUs, branches }]);
    expect(report.ok).toBe(false);
    expect(report.reasons.join()).toContain('n1 keeps 1 records of branches: n2-0-1 applied');
  });

  it('are skipped where they cannot be read, and where a node that died for good has a part', () => {
    const steps = [
      { atUs: 1, node: 'n2', step: 'c.begin', xid: 'n2-0-1', fields: {} },
      { atUs: 1, node: 'n1', step: 'c.prepare.sent', xid: 'n1-0-1', fields: { to: 'n2' } },
      { atUs: 1, node: 'n1', step: 'c.prepare.sent', xid: 'n1-0-2', fields: { to: 'n3' } },
    ];
    const buried = sharedWith(['n2'], steps);
    const damaged = { xid: 'n1-0-9', state: 'damaged' };
    const dead = ['n2-0-1', 'n1-0-1'].map((xid) => ({ xid, state: 'applied' }));
    const left = [{ node: 'n1', atUs, branches: [damaged, ...dead] }];
    expect(checkNothingLeft(left, buried)).toMatchObject({ ok: true, checked: 1, skipped: 3 });
    const living = { xid: 'n1-0-2', state: 'applied' };
    expect(checkNothingLeft([{ node: 'n1', atUs, branches: [living] }], buried).ok).toBe(false);
  });
});

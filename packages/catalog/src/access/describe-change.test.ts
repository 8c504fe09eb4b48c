import { expect, it } from 'vitest';
import { describeBehind } from './describe-change.js';

it('says which catalogs may still have what is hidden now, and that it does not know', () => {
  expect(describeBehind({})).toContain(
    'does not know whether its catalogs follow yet: apply the same document again',
  );
  expect(describeBehind({ behind: [], behindCount: 0 })).toBeUndefined();
  expect(describeBehind({ behind: ['a'], behindCount: 1 })).toMatch(
    /^1 catalog may still have what is hidden now: a; /,
  );
  expect(describeBehind({ behind: ['a', 'b'], behindCount: 30 })).toMatch(
    /^30 catalogs .*: a, b, and 28 more; /,
  );
});

import { findPredecessor } from '@krmhub/catalog';
import { describe, expect, it } from 'vitest';
import { predecessors } from './release-rows.js';

const yanked = { at: '2026-01-01T00:00:00.000Z', by: 'ci', reason: 'broken' };

describe('the predecessors of many releases', () => {
  it('are the releases that publishing compares with', () => {
    const releases = [
      { release: '3.0.0' },
      { release: '3.0.0-rc.2' },
      { release: '3.0.0-rc.1', yanked },
      { release: '2.0.0', yanked },
      { release: '1.1.0' },
      { release: '1.0.0', yanked },
      { release: '1.0.0-beta.2', yanked },
      { release: '1.0.0-beta.1' },
      { release: '1.0.0-alpha' },
    ];
    const found = predecessors(releases);
    for (const { release } of releases) {
      expect([release, found.get(release)]).toEqual([release, findPredecessor({ releases }, release)]);
    }
    expect(found.get('3.0.0-rc.2')).toBe('1.1.0');
  });

  it('are found in one walk', () => {
    const seen = { count: 0 };
    const releases = Array.from({ length: 5_000 }, (_, at) => ({
      get release() {
        seen.count += 1;
        return `${5_000 - at}.0.0`;
      },
    }));
    expect(predecessors(releases).get('5000.0.0')).toBe('4999.0.0');
    expect(seen.count).toBe(5_000);
  });
});

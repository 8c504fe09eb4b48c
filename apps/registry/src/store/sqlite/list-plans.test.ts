import { afterEach, expect, it, vi } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { openConnection } from './connection.js';
import { Database } from './driver.js';

let registry: TestRegistry;
afterEach(async () => {
  vi.restoreAllMocks();
  await registry.close();
});

it('looks up the rows that a list names, and does not read the whole table', async () => {
  const prepare = vi.spyOn(Database.prototype, 'prepare');
  registry = await openTestRegistry();
  for (const release of ['1.0.0', '1.1.0']) {
    await registry.publish({ kind: 'First', release }, '');
    await registry.waitForCatalogs();
  }
  const queries = new Set(
    prepare.mock.calls.map(([query]) => query).filter((query) => query.includes('AS wanted')),
  );
  // A build reads functions, definitions, the rows of the last snapshot, and segments.
  for (const table of [
    'JOIN function ON',
    'JOIN release ON',
    'JOIN catalog_function',
    'JOIN catalog_segment',
  ]) {
    expect([...queries].join('\n')).toContain(table);
  }
  const { client, close } = openConnection(':memory:');
  try {
    for (const query of queries) {
      const values = Object.fromEntries([...query.matchAll(/:([a-z]+)/gi)].map(([, name]) => [name, '[]']));
      const plan = client.prepare(`EXPLAIN QUERY PLAN ${query}`).all(values) as { detail: string }[];
      for (const { detail } of plan) {
        // The columns in parentheses are compared in the index. That of the catalog alone has all its rows.
        if (/^(SCAN|SEARCH) (?!json_each)/.test(detail))
          expect(detail).toMatch(/\((?!catalog=\?\)).*=\?\)|\(rowid/);
      }
    }
  } finally {
    close();
  }
});

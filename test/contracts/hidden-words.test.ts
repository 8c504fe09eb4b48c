import { AccessRules, ANONYMOUS, NO_ACCESS, type SearchPage, searchAccess } from '@krmhub/catalog';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { openConnection } from '../../apps/registry/src/store/sqlite/connection.js';
import { createStore } from '../../apps/registry/src/store/sqlite/store.js';
import { changeOf } from './sample-records.js';

/** What a search asks the full-text index must not depend on functions that its reader may not see. */

const HIDDEN = 'hidden.example.com';
const rules = new AccessRules(
  { ...NO_ACCESS, groups: [{ pattern: HIDDEN, visibility: 'private', functions: [] }] },
  [],
  'one',
);

let store: RegistryStore;
/** Queries of the full-text index. */
let asked: number;
beforeEach(async () => {
  const connection = openConnection(':memory:');
  const { client } = connection;
  const prepare = client.prepare.bind(client);
  client.prepare = ((source: string) => {
    const statement = prepare(source);
    if (!source.includes(' MATCH ?')) return statement;
    const get = statement.get.bind(statement);
    return Object.assign(statement, {
      get: (...values: unknown[]) => {
        asked += 1;
        return get(...values);
      },
    });
  }) as typeof client.prepare;
  store = createStore(connection);
  for (const word of ['quantum', 'quarter', 'quality', 'queries'])
    await store.commitFunction(changeOf({ kind: `Shown${word}`, description: `About ${word}.` }));
  for (let count = 0; count < 20; count += 1) {
    await store.commitFunction(
      changeOf({
        group: HIDDEN,
        kind: `Fn${count}`,
        description: 'About quicksilver and quarries.',
        readme: 'It needs quicksilver.',
      }),
    );
  }
});
afterEach(() => store.close());

async function search(text: string): Promise<{ asked: number; page: SearchPage }> {
  asked = 0;
  const page = await store.search({ text, limit: 10, access: searchAccess({ rules, actor: ANONYMOUS }) });
  return { asked, page };
}

it.each(['quicksilver', 'quicksilver quantum', 'shown quicksilver'])(
  'asks as often for a word that only hidden functions have: %s',
  async (text) => {
    const absent = await search(text.replace('quicksilver', 'qzxywvutsrq'));
    const hidden = await search(text);
    expect(hidden).toEqual(absent);
  },
);

it('looks for a correction to a word that only hidden functions have once', async () => {
  expect((await search('quantun')).page.corrected).toBe('quantum');
  const absent = await search('qxxxxiex');
  // Of the first search, a reader cannot know whether the index was asked for it before.
  await search('quarriex');
  const hidden = await search('quarriex');
  expect(hidden.asked).toBe(absent.asked);
  expect(hidden.page.corrected).toBeUndefined();
});

it('stops after the words of a query were not found', async () => {
  const { asked: twice, page } = await search('qzxywvutsrq');
  expect(page.total).toBe(0);
  // Everywhere, and where words begin: with all words, and with some of them.
  expect(twice).toBeLessThanOrEqual(4);
});

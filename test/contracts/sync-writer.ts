import path from 'node:path';
import { readUpstreamCatalog, renderCatalog, renderEntry } from '@krmhub/catalog';
import { emptyRoot } from '@krmhub/signing';
import { openBlobFolder } from '../../apps/registry/src/store/blobs/folder.js';
import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
import { type RefreshDeps, refreshSource } from '../../apps/registry/src/upstreams/refresh-source.js';
import { RwLock } from '../../apps/registry/src/workers/locks/rw-lock.js';
import { functionDefinition } from '../../packages/catalog/src/testing/records.js';
import { AT } from './sample-records.js';

/**
 * Syncs a source in the folder of its last argument. Kills itself at the point that the argument before it names:
 * `begun` when the last entries and the result of the sync are on their way to the store, `entries` when the store has
 * acknowledged the first ones, and `result` when it has acknowledged the result. Without a point, it prints the number of entries and ends.
 */
const [point, folder] = process.argv.slice(-2) as [string, string];
const URL = 'https://upstream.example.com/catalog.yaml';
const RECIPE = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ours}
spec:
  sources:
  - name: theirs
    catalog: {url: '${URL}', refresh: 1h}
`;
const FUNCTIONS = 250;
/** Entries that are stored while the catalog is read, before the transaction of the sync. */
const EARLY = 200;

const store = await openSqliteStore(path.join(folder, 'registry.db'));
const copies = await openBlobFolder(path.join(folder, 'copies'));
if ((await store.catalog('ours')) === undefined) {
  await store.applyRecipe({
    name: 'ours',
    recipe: RECIPE,
    expectedRecipe: undefined,
    sources: [{ source: 'theirs', url: URL }],
    at: AT,
    by: 'admin',
    event: { type: 'catalog.applied', at: AT, by: 'admin', catalog: 'ours' },
  });
}

const round = await store.lastEvent();
const entries = Array.from({ length: FUNCTIONS }, (_, at) =>
  renderEntry(
    functionDefinition({
      group: 'up.example.com',
      names: { kind: `K${at}` },
      description: `of round ${round}`,
    }),
  ),
);
const bytes = Buffer.from([...renderCatalog('catalog.yaml', { name: 'theirs' }, entries)].join(''));
const kill = () => process.kill(process.pid, 'SIGKILL');
const watched: RefreshDeps['store'] = {
  ...store,
  storeEntries: async (batch) => {
    await store.storeEntries(batch);
    if (point === 'entries' && batch.length === EARLY) kill();
  },
  commitRefresh: async (refresh) => {
    const committed = store.commitRefresh(refresh);
    if (point === 'begun') kill();
    const event = await committed;
    if (point === 'result') kill();
    return event;
  },
};
await refreshSource(
  {
    store: watched,
    copies,
    copiesLock: new RwLock(),
    fetcher: { fetch: async () => ({ bytes, validators: {}, bundles: [] }) },
    reader: {
      warm: () => undefined,
      read: async ({ file, onRendered }) => {
        const read = readUpstreamCatalog(bytes, file);
        if ('problem' in read) throw new Error(read.problem);
        const { entries: found, ...rest } = read;
        const rendered = found.map((entry) => entry.rendered);
        await onRendered(rendered.slice(0, EARLY));
        return { ...rest, entries: found.map(({ facts }) => facts), rendered: rendered.slice(EARLY) };
      },
    },
    root: emptyRoot(),
    clock: () => new Date(AT),
    random: () => 0,
  },
  { catalog: 'ours', source: 'theirs' },
  new AbortController().signal,
);
await store.close();

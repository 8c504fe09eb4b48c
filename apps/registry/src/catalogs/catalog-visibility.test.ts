import type { SnapshotList } from '@krmhub/api/model';
import { type Actor, ANONYMOUS, type SourceRecord } from '@krmhub/catalog';
import type { SnapshotReport } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RegistryStore } from '../store/registry-store.js';
import { seenSource } from '../store/seen-records.js';
import { sightOf } from '../store/sight.js';
import { applyAccess, HIDDEN_SPEC, storeAccess, teamBearer } from '../testing/access.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { type DeriveDeps, deriveHere } from '../workers/derive/derivation.js';
import { documentReader, SNAPSHOT_REPORT } from './serve/snapshot-documents.js';

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
  for (const group of ['open.example.com', 'inside.example.com', 'secret.example.com']) {
    await registry.publish({ group, kind: 'SetLabels', release: '1.0.0' });
  }
  for (const name of ['inner', 'vault']) {
    const recipe = `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: ${name}}\nspec:\n  sources: [{name: ours, functions: {}}]\n`;
    expect((await registry.send('PUT', `/api/v1/catalogs/${name}`, recipe)).status).toBe(201);
  }
  await registry.waitForCatalogs();
});
afterEach(() => registry.close());

const get = async (path: string, authorization = '') =>
  registry.request(path, { headers: authorization === '' ? {} : { Authorization: authorization } });

async function groupsOf(catalog: string): Promise<string[]> {
  const response = await get(`/catalogs/${catalog}/catalog.yaml`, await registry.bearer());
  return [...(await response.text()).matchAll(/group: (\w+)\.example\.com/g)].map(([, group]) => group!);
}

async function refusals(catalog: string, authorization = ''): Promise<unknown[]> {
  const response = await get(`/api/v1/catalogs/${catalog}/report`, authorization);
  const { refused = [] } = (await response.json()) as SnapshotReport;
  return refused.map(({ group, kind, release, reasons }) => [
    `${group}/${kind}@${release}`,
    ...reasons.map(({ code, message }) => `${code}: ${message}`),
  ]);
}

describe('a catalog', () => {
  it('contains only what everybody may read who may read it, at once when the rules change', async () => {
    expect(await groupsOf('default')).toEqual(['inside', 'open', 'secret']);
    await applyAccess(registry, HIDDEN_SPEC);
    expect(await groupsOf('default')).toEqual(['open']);
    expect(await groupsOf('inner')).toEqual(['inside', 'open']);
    expect(await groupsOf('vault')).toEqual(['inside', 'open', 'secret']);
    await applyAccess(registry, HIDDEN_SPEC.replace('{team: ops}, may: [read]', '{team: apps}, may: [read]'));
    expect(await groupsOf('vault')).toEqual(['inside', 'open']);
    await applyAccess(registry, '');
    expect(await groupsOf('default')).toEqual(['inside', 'open', 'secret']);
  });

  it('names what it leaves out only to actors who may read it, and its rows name nothing', async () => {
    await applyAccess(registry, HIDDEN_SPEC);
    const inside = [
      'inside.example.com/SetLabels@1.0.0',
      'visibility: the function is internal, and the catalog is public; snapshots from 3 to 4 still contain it',
    ];
    const secret = [
      'secret.example.com/SetLabels@1.0.0',
      'visibility: the function is private, and the catalog is public; snapshot 4 still contains it',
    ];
    expect(await refusals('default')).toEqual([]);
    expect(await refusals('default', await teamBearer(registry, 'apps'))).toEqual([inside]);
    expect(await refusals('default', await teamBearer(registry, 'ops'))).toEqual([inside, secret]);
    expect(await refusals('vault', await teamBearer(registry, 'ops'))).toEqual([]);
    const rows = await registry.parts.store.latestEntryRows('default');
    const named = rows.filter(({ versions, refused = [], shadowed, yanked }) =>
      [versions, refused, shadowed, yanked].some((list) => list.length > 0),
    );
    expect(named.map(({ group }) => group)).toEqual(['open.example.com']);
    // The stored report of a snapshot is the same for everybody.
    const report = async (authorization?: string) =>
      (await get('/catalogs/default/snapshots/4/report.json', authorization)).text();
    expect(await report(await teamBearer(registry, 'ops'))).toBe(await report());
  });

  it('keeps old snapshots as they are', async () => {
    const old = await (await get('/catalogs/default/snapshots/3/catalog.yaml')).text();
    await applyAccess(registry, HIDDEN_SPEC);
    expect(await (await get('/catalogs/default/snapshots/3/catalog.yaml')).text()).toBe(old);
  });

  it('never contains what is published after it was hidden, also if it is being built then', async () => {
    await registry.close();
    let hide: (() => Promise<void>) | undefined;
    const wrapStore = (store: RegistryStore): RegistryStore => ({
      ...store,
      // After the build read the rules.
      async *allFunctions() {
        const now = hide;
        hide = undefined;
        await now?.();
        yield* store.allFunctions();
      },
    });
    registry = await openTestRegistry({ wrapStore });
    await registry.publish({ group: 'open.example.com', kind: 'SetLabels', release: '1.0.0' });
    hide = async () => {
      await storeAccess(registry, HIDDEN_SPEC);
      await registry.publish({ group: 'secret.example.com', kind: 'NewSecret', release: '1.0.0' }, '');
    };
    const recipe = 'spec: {sources: [{name: ours, functions: {}}]}';
    const text = `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: all}\n${recipe}\n`;
    expect((await registry.send('PUT', '/api/v1/catalogs/all', text)).status).toBe(201);
    await registry.waitForCatalogs();
    expect(hide).toBeUndefined();
    const { snapshots } = (await (await get('/catalogs/all/snapshots')).json()) as SnapshotList;
    expect(snapshots.length).toBeGreaterThan(0);
    for (const { serial } of snapshots) {
      const found = await (await get(`/catalogs/all/snapshots/${serial}/catalog.yaml`)).text();
      expect([found.includes('SetLabels'), found.includes('NewSecret')]).toEqual([true, false]);
    }
  });

  it('is built while teams claim groups and give them back all the time, and is not compared again', async () => {
    await registry.close();
    let claims = 0;
    let comparisons = 0;
    let isClaiming = false;
    const claim = { group: 'new.example.org', team: 'ops', proof: 'dns', claimedBy: 'ops' } as const;
    const wrapStore = (store: RegistryStore): RegistryStore => ({
      ...store,
      async *allFunctions() {
        comparisons += 1;
        yield* store.allFunctions();
      },
      async commitSnapshot(...build) {
        if (isClaiming) {
          claims += 1;
          const at = new Date().toISOString();
          const event = { type: 'access.applied', at, by: 'ops' } as const;
          const record = { ...claim, claimedAt: at, checkedAt: at };
          const [replaces] = await store.ownerClaims();
          if (replaces !== undefined) await store.deleteOwnerClaim(replaces, event);
          else await store.putOwnerClaim(record, { event });
        }
        await store.commitSnapshot(...build);
      },
    });
    registry = await openTestRegistry({ wrapStore });
    const { store } = registry.parts;
    await applyAccess(registry, HIDDEN_SPEC);
    await registry.publish({ group: 'open.example.com', kind: 'SetLabels', release: '1.0.0' });
    await registry.waitForCatalogs();
    comparisons = 0;
    isClaiming = true;
    for (const kind of ['One', 'Two', 'Three']) {
      await registry.publish({ group: 'open.example.com', kind, release: '1.0.0' });
      const text = await (await get('/catalogs/default/catalog.yaml')).text();
      expect(text).toContain(`kind: ${kind}`);
    }
    isClaiming = false;
    await registry.waitForCatalogs();
    expect(claims).toBeGreaterThanOrEqual(3);
    expect(comparisons).toBe(0);
    // Rules that decide otherwise are compared.
    await applyAccess(registry, HIDDEN_SPEC.replace('secret.example.com', 'open.example.com'));
    expect(comparisons).toBe(1);
    expect(await groupsOf('default')).toEqual([]);
    expect((await store.snapshots('default', 1))[0]?.functions).toBe(0);
  });

  it('does not tell which hidden function was taken down from an old snapshot', async () => {
    await applyAccess(registry, HIDDEN_SPEC);
    const target = '/api/v1/functions/secret.example.com/SetLabels/releases/1.0.0/takedown';
    const taken = await registry.send('POST', target, { reason: 'it has the key of secret.example.com' });
    expect(taken.status).toBe(200);
    await registry.waitForCatalogs();
    const listed = await (await get('/catalogs/default/snapshots')).text();
    expect(listed).toContain('the reason is told to those who may read the function');
    const { snapshots } = JSON.parse(listed) as { snapshots: { serial: number; withdrawn?: object }[] };
    const { serial } = snapshots.find(({ withdrawn }) => withdrawn !== undefined)!;
    const reads = [
      ...['/catalogs/default/snapshots', `/catalogs/default/snapshots/${serial}/catalog.yaml`],
      ...[
        '/api/v1/events?limit=1000',
        '/api/v1/revocations',
        '/api/v1/catalogs',
        `/v2/catalogs/default/manifests/${serial}`,
      ],
      ...['/catalogs/default/history', '/catalogs/default/snapshots.atom', '/events'],
      ...['snapshot.json', 'report.json'].map((file) => `/catalogs/default/snapshots/${serial}/${file}`),
    ];
    const [apps, ops] = [await teamBearer(registry, 'apps'), await teamBearer(registry, 'ops')];
    for (const path of reads) {
      for (const authorization of ['', apps]) {
        expect([path, await (await get(path, authorization)).text()]).toEqual([
          path,
          expect.not.stringContaining('secret.example.com'),
        ]);
      }
    }
    expect((await get(`/catalogs/default/snapshots/${serial}/catalog.yaml`)).status).toBe(410);
    expect(await (await get('/catalogs/default/snapshots', ops)).text()).toContain('secret.example.com');
    expect(await (await get('/api/v1/revocations', ops)).text()).toContain('it has the key');
    const description = await get(`/catalogs/default/snapshots/${serial}/snapshot.json`, ops);
    expect(await description.text()).toContain('secret.example.com');
  });

  it('has reports, also of its newest snapshot, that name nothing that was hidden after the build', async () => {
    const policy = '{deny: [{group: secret.example.com}, {group: inside.example.com}]}';
    const recipe = `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: strict}\nspec:\n  sources: [{name: ours, functions: {}}]\n  policy: ${policy}\n`;
    expect((await registry.send('PUT', '/api/v1/catalogs/strict', recipe)).status).toBe(201);
    await registry.waitForCatalogs();
    const paths = ['/catalogs/strict/snapshots/1/report.json', '/api/v1/catalogs/strict/report'];
    const named = async (path: string, authorization = '') => {
      const { refused = [] } = (await (await get(path, authorization)).json()) as SnapshotReport;
      return refused.map(({ group }) => group.split('.')[0]);
    };
    for (const path of paths) expect([path, await named(path)]).toEqual([path, ['inside', 'secret']]);
    await applyAccess(registry, HIDDEN_SPEC);
    // Nothing that it contains has changed.
    expect((await registry.parts.store.catalog('strict'))?.newest?.serial).toBe(1);
    const [apps, ops] = [await teamBearer(registry, 'apps'), await teamBearer(registry, 'ops')];
    for (const path of paths) expect([path, await named(path)]).toEqual([path, []]);
    expect(await named(paths[0]!, apps)).toEqual(['inside']);
    expect(await named(paths[0]!, ops)).toEqual(['inside', 'secret']);
    const response = await get(paths[0]!);
    expect(response.headers.get('cache-control')).toBe('no-cache');
  });

  it('has a report by the rules that its request followed, also if newer ones are stored meanwhile', async () => {
    const policy = '{deny: [{group: secret.example.com}]}';
    const recipe = `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: strict}\nspec:\n  sources: [{name: ours, functions: {}}]\n  policy: ${policy}\n`;
    await registry.send('PUT', '/api/v1/catalogs/strict', recipe);
    await registry.waitForCatalogs();
    const { store, access } = registry.parts;
    const snapshot = (await store.snapshot('strict', 1))!;
    await storeAccess(registry, HIDDEN_SPEC);
    const reader = documentReader(access)!;
    await storeAccess(registry, '');
    const derive = deriveHere({ store } as unknown as DeriveDeps);
    const report = async (input: Parameters<(typeof SNAPSHOT_REPORT)['derive']>[1]) =>
      Buffer.from(await derive(SNAPSHOT_REPORT, input)).toString();
    expect(await report({ snapshot })).toContain('secret.example.com');
    expect(await report({ snapshot, reader })).not.toContain('secret.example.com');
    expect(documentReader(access)).toBeUndefined();
  });

  it('names the groups that others of a source look like to those who may read both, in every report', async () => {
    const { access } = registry.parts;
    await storeAccess(registry, HIDDEN_SPEC);
    const warning = (group: string, like?: string) => ({
      code: 'look-alike-group',
      group,
      message: '',
      like,
    });
    const warnings = [
      warning('open.example.com', 'open.example.net'),
      warning('open.example.com', 'secret.example.com'),
      // Of an earlier version, which did not store what it names.
      warning('open.example.com'),
    ];
    const record = { catalog: 'default', copy: { invalid: [], invalidEntries: 0, warnings } };
    const seen = (actor: Actor) =>
      seenSource(record as unknown as SourceRecord, sightOf(access.rules, actor))[0]?.copy?.warnings;
    const rights = { groups: ['*'], repositories: ['*'], isInside: false };
    expect(seen(ANONYMOUS)).toEqual(warnings.slice(0, 1));
    expect(seen({ ...rights, name: 'ops', scopes: ['read'], teams: ['ops'] })).toEqual(warnings.slice(0, 2));
    expect(seen({ ...rights, name: 'admin', scopes: ['admin'] })).toEqual(warnings);
  });

  it('does not name a yanked release that not all its readers may read', async () => {
    await registry.send('POST', '/api/v1/functions/secret.example.com/SetLabels/releases/1.0.0/yank', {
      reason: 'broken',
    });
    await applyAccess(registry, HIDDEN_SPEC);
    const report = await (await get('/api/v1/catalogs/default/report')).text();
    expect(report).not.toContain('secret.example.com');
  });
});

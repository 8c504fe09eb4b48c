import { setTimeout as sleep } from 'node:timers/promises';
import type { BlobStore } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { RegistryStore } from '../store/registry-store.js';
import { openTestRegistry, type TestRegistry } from './test-registry.js';
import { catalogText, startUpstream, type TestUpstream } from './upstream-server.js';

/** Days in which the test registry can restore a deleted catalog. */
export const RESTORE_DAYS = 7;

/** Every kind of address of the catalog `team`. */
export const TEAM_ADDRESSES = [
  '/catalogs/team/catalog.yaml',
  '/catalogs/team/catalog.json',
  '/catalogs/team/catalog.yaml?kind=KRMFunctionCatalog',
  '/catalogs/team/catalog.yaml?profile=porch',
  '/catalogs/team/functions/example.com/SetLabels.yaml',
  '/catalogs/team/snapshot.sigstore.json',
  '/catalogs/team/snapshots',
  '/catalogs/team/snapshots/1/catalog.yaml',
  '/catalogs/team/snapshots/1/snapshot.json',
  '/catalogs/team/snapshots/1/report.json',
  '/catalogs/team/snapshots/1/snapshot.sigstore.json',
  '/api/v1/catalogs/team',
  '/api/v1/catalogs/team/report',
  '/api/v1/catalogs/team/functions/example.com/SetLabels',
  '/api/v1/sources?catalog=team',
  '/v2/catalogs/team/manifests/1',
  '/v2/catalogs/team/tags/list',
];

/**
 * A registry with `example.com/SetLabels@1.0.0`, and a catalog `team` of it and of the upstream
 * `up.example.com/Theirs`.
 */
export interface TeamCatalog {
  registry: TestRegistry;
  /** The value of an `Authorization` header. */
  bearer: string;
  apply(): Promise<Response>;
  post(action: 'delete' | 'restore' | 'cut', name?: string, body?: object): Promise<Response>;
  remove(): Promise<Response>;
  takeDown(release: string): Promise<Response>;
  json<Body>(target: string): Promise<Body>;
  /** Replaces `registry` with one that was opened again. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

export async function openTeamCatalog(
  wrap: {
    wrapStore?: (store: RegistryStore) => RegistryStore;
    wrapBlobs?: (blobs: BlobStore, folder: string) => BlobStore;
  } = {},
): Promise<TeamCatalog> {
  const upstream: TestUpstream = await startUpstream();
  upstream.files.set('/catalog.yaml', catalogText({ Theirs: 'from upstream' }));
  const registry = await openTestRegistry({
    sources: { sourceAddresses: ['127.0.0.1'] },
    config: { catalogRestoreDays: RESTORE_DAYS, publicUrl: 'http://registry.test' },
    ...wrap,
  });
  const adminToken = async (of: TestRegistry) => `Bearer ${(await of.token({})).secret}`;
  const send = (target: string, body: object | undefined) =>
    team.registry.request(target, {
      method: 'POST',
      headers: { Authorization: team.bearer, 'Content-Type': 'application/json' },
      ...defined({ body: body === undefined ? undefined : JSON.stringify(body) }),
    });
  const team: TeamCatalog = {
    registry,
    bearer: await adminToken(registry),
    apply: () =>
      team.registry.request('/api/v1/catalogs/team', {
        method: 'PUT',
        headers: { Authorization: team.bearer, 'Content-Type': 'application/yaml' },
        body: `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: team}
spec:
  sources:
  - {name: ours, functions: {}}
  - {name: theirs, catalog: {url: "${upstream.origin}/catalog.yaml"}}
`,
      }),
    post: (action, name = 'team', body = undefined) => send(`/api/v1/catalogs/${name}/${action}`, body),
    remove: () => team.post('delete', 'team', { reason: 'merged into default' }),
    takeDown: (release) =>
      send(`/api/v1/functions/example.com/SetLabels/releases/${release}/takedown`, { reason: 'leak' }),
    json: async <Body>(target: string) => (await (await team.registry.request(target)).json()) as Body,
    async reopen() {
      team.registry = await team.registry.reopen();
      team.bearer = await adminToken(team.registry);
    },
    async close() {
      await team.registry.close();
      await upstream.close();
    },
  };
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  const applied = await team.apply();
  if (applied.status !== 201) throw new Error(await applied.text());
  await send('/api/v1/catalogs/team/cut', undefined);
  // Longer than a request waits, on a busy machine.
  while ((await registry.parts.store.catalog('team'))?.newest === undefined) await sleep(20);
  await registry.waitForCatalogs();
  return team;
}

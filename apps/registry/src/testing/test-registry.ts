import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { PublishResult, TokenScope } from '@krmhub/api/model';
import type { SnapshotRecord } from '@krmhub/catalog';
import { pino } from 'pino';
import { createToken } from '../auth/tokens.js';
import { NewestSnapshots } from '../catalogs/newest-snapshots.js';
import { ProfileRenditions } from '../catalogs/renditions/profile-renditions.js';
import { SnapshotRenditions } from '../catalogs/renditions/snapshot-renditions.js';
import { SnapshotBuilder } from '../catalogs/snapshot-builder.js';
import { KeyedMutex } from '../isolation/keyed-mutex.js';
import { Planner } from '../isolation/planner.js';
import { RwLock } from '../isolation/rw-lock.js';
import type { Log } from '../log.js';
import { Collector } from '../oci/collector.js';
import { storeMissingArtifacts } from '../oci/store-artifacts.js';
import { Uploads } from '../oci/uploads.js';
import { SigningTrust } from '../publish/signing-trust.js';
import { ensureDefaultCatalog } from '../routes/catalogs.js';
import { createApp } from '../server/app.js';
import { dataPaths } from '../server/data-folder.js';
import type { RegistryApp, RegistryParts } from '../server/environment.js';
import { createMetrics } from '../server/metrics.js';
import { ensureRegistryKey, RegistryKeys } from '../signatures/registry-keys.js';
import { SignatureRenewal } from '../signatures/renewal.js';
import { openBlobFolder } from '../store/blobs/folder.js';
import type { RegistryStore } from '../store/registry-store.js';
import { openSqliteStore } from '../store/sqlite/store.js';
import { openTakedownRecord } from '../takedown/record.js';
import { finishPendingTakedowns } from '../takedown/takedown.js';
import { Refresher } from '../upstreams/refresher.js';
import { type FetchSettings, sourceFetcher } from '../upstreams/source-fetcher.js';
import { UpstreamReader } from '../upstreams/upstream-reader.js';

/** A registry with the real stores in a folder of its own, without a socket; for tests. */
export interface TestRegistry {
  app: RegistryApp;
  parts: RegistryParts;
  /** Renews nothing by itself. */
  renewal: SignatureRenewal;
  folder: string;
  /** Every log line. */
  logged: string[];
  /** Moves the registry's clock. */
  advance(milliseconds: number): void;
  request(pathAndQuery: string, init?: RequestInit): Promise<Response>;
  token(wanted: {
    scopes?: TokenScope[];
    groups?: string[];
    repositories?: string[];
    expiresInDays?: number;
  }): Promise<{ id: string; secret: string }>;
  publish(definition: TestDefinition, query?: string): Promise<{ status: number; body: PublishResult }>;
  /** Until the catalogs hold everything that has happened. */
  waitForCatalogs(): Promise<void>;
  /** Ends this registry and opens another on its folder. */
  reopen(): Promise<TestRegistry>;
  close(): Promise<void>;
}

export async function openTestRegistry(
  options: {
    wrapStore?: (store: RegistryStore) => RegistryStore;
    start?: boolean;
    folder?: string;
    config?: RegistryParts['config'];
    maxCacheBytes?: number;
    maxCompressedFirstBytes?: number;
    /** From where catalogs elsewhere may be fetched. */
    sources?: FetchSettings;
    maxBytesOfOld?: number;
    planner?: Planner;
  } = {},
): Promise<TestRegistry> {
  const folder = options.folder ?? (await makeDataFolder());
  const paths = dataPaths(folder);
  const opened = await openSqliteStore(paths.database);
  const store = options.wrapStore?.(opened) ?? opened;
  const blobs = await openBlobFolder(paths.blobs);
  const logged: string[] = [];
  const log: Log = pino({ level: 'debug' }, { write: (line: string) => logged.push(line) });
  let offset = 0;
  const clock = () => new Date(Date.now() + offset);
  const metrics = createMetrics({
    countFunctions: () => store.countFunctions(),
    sources: () => store.sources(),
    clock,
    process: false,
  });
  const formBlobs = await openBlobFolder(paths.forms);
  const forms = new SnapshotRenditions({ ...options, store, blobs: formBlobs });
  const newest = new NewestSnapshots(store);
  const onSnapshot = (snapshot: SnapshotRecord) => newest.put(snapshot);
  const gate = new RwLock();
  const trust = new SigningTrust();
  await trust.reload(store);
  const takedownRecord = openTakedownRecord(paths.takedowns);
  const artifacts = await openBlobFolder(paths.artifacts);
  const uploads = new Uploads({ blobs: artifacts, clock });
  const config = options.config ?? {};
  const collector = new Collector({ store, artifacts, uploads, bytesLock: gate, clock, log, config });
  const signed = await store.hasSignatures();
  await ensureRegistryKey(paths.keys, { now: clock(), signed }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const keys = await RegistryKeys.open({ folder: paths.keys, clock, log });
  const signing = { keys, clock, validDays: 30 };
  const renewal = new SignatureRenewal({ store, signing, metrics, log });
  await finishPendingTakedowns({
    store,
    blobs,
    artifacts,
    renditions: forms,
    newestSnapshots: newest,
    bytesLock: gate,
    takedownRecord,
    log,
  });
  const cutter = new SnapshotBuilder({ store, renditions: forms, signing, clock, log, metrics, onSnapshot });
  const copies = await openBlobFolder(paths.copies);
  const refresher = new Refresher({
    store,
    copies,
    gate: new RwLock(),
    fetcher: sourceFetcher(options.sources ?? {}, { temporaryFolder: paths.fetching, log }),
    reader: new UpstreamReader(),
    root: trust.root,
    clock,
    random: () => 0.5,
    log,
    metrics,
    onChange: () => cutter.wake(),
  });
  const parts: RegistryParts = {
    store,
    blobs,
    artifacts,
    uploads,
    collector,
    renditions: forms,
    profileRenditions: new ProfileRenditions({ ...options, store, blobs: formBlobs, forms, gate }),
    newestSnapshots: newest,
    snapshotBuilder: cutter,
    refresher,
    copies,
    planner: options.planner ?? new Planner(),
    functionLocks: new KeyedMutex(),
    bytesLock: gate,
    trust,
    keys,
    takedownRecord,
    clock,
    log,
    metrics,
    config,
  };
  await ensureDefaultCatalog(parts);
  await storeMissingArtifacts(parts);
  await renewal.renew({ thorough: true });
  const app = createApp(parts);
  if (options.start !== false) {
    cutter.start();
    refresher.start();
  }
  const request = async (pathAndQuery: string, init?: RequestInit) =>
    app.request(`http://registry.test${pathAndQuery}`, init);
  const token: TestRegistry['token'] = async ({ scopes, groups, repositories, expiresInDays }) => {
    const { token: record, secret } = await createToken(
      store,
      {
        name: 'tester',
        scopes: scopes ?? ['publish', 'yank', 'push', 'admin'],
        groups: groups ?? ['*'],
        repositories: repositories ?? ['*'],
        ...(expiresInDays === undefined ? {} : { expiresInDays }),
      },
      { now: clock(), by: 'test' },
    );
    return { id: record.id, secret };
  };
  let publisher: string | undefined;
  return {
    app,
    parts,
    renewal,
    folder,
    logged,
    advance: (milliseconds) => {
      offset += milliseconds;
    },
    request,
    token,
    async publish(definition, query = '?wait=true') {
      publisher ??= (await token({})).secret;
      const response = await request(releasePath(definition) + query, {
        method: 'PUT',
        body: definitionText(definition),
        headers: { 'Content-Type': 'application/yaml', Authorization: `Bearer ${publisher}` },
      });
      return { status: response.status, body: (await response.json()) as PublishResult };
    },
    async waitForCatalogs() {
      cutter.wake();
      await cutter.waitFor(await store.lastEvent());
    },
    async reopen() {
      await refresher.stop();
      await cutter.stop();
      await parts.planner.close();
      await store.close();
      return openTestRegistry({
        folder,
        ...(options.sources === undefined ? {} : { sources: options.sources }),
      });
    },
    async close() {
      await refresher.stop();
      await cutter.stop();
      await parts.planner.close();
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A data folder whose database is migrated: that is most of the work of opening a registry, and always the same. */
async function makeDataFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'krmhub-'));
  migrated ??= migratedDatabase();
  await writeFile(dataPaths(folder).database, await migrated);
  return folder;
}

let migrated: Promise<Uint8Array> | undefined;

async function migratedDatabase(): Promise<Uint8Array> {
  const folder = await mkdtemp(path.join(tmpdir(), 'krmhub-'));
  const { database } = dataPaths(folder);
  try {
    await (await openSqliteStore(database)).close();
    return await readFile(database);
  } finally {
    await rm(folder, { recursive: true });
  }
}

export interface TestDefinition {
  group?: string;
  kind: string;
  release: string;
  /** API versions. */
  versions?: string[];
  description?: string;
  tags?: string[];
}

export function releasePath({ group = 'example.com', kind, release }: TestDefinition): string {
  return `/api/v1/functions/${group}/${kind}/releases/${release}`;
}

/** A definition without errors and warnings. */
export function definitionText(definition: TestDefinition): string {
  const { group = 'example.com', kind, release, versions = ['v1'], tags = ['mutator'] } = definition;
  const version = (name: string) => `  - name: ${name}
    schema:
      openAPIV3Schema:
        type: object
        description: How ${kind} is configured.
        properties:
          labels:
            type: object
            description: Labels to set.
            additionalProperties: {type: string}
    idempotent: true
    runtime:
      container:
        image: registry.example.com/${kind.toLowerCase()}:v${release}
        sha256: ${'a'.repeat(64)}
    usage: https://example.com/${kind}/usage.md
    examples:
    - https://example.com/${kind}/example.yaml
    license: Apache-2.0
`;
  return `apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: ${group}
  names:
    kind: ${kind}
  description: ${definition.description ?? `${kind} does what its name says.`}
  publisher: Example Co
  home: https://example.com/${kind}
  maintainers: [team@example.com]
  tags: [${tags.join(', ')}]
  versions:
${versions.map(version).join('')}`;
}

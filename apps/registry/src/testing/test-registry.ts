/**
 * Registries, upstream servers, clients, and keys for tests. The server never imports it.
 *
 * A test registry has the real stores, and a clock that tests move.
 *
 * @module
 */

import { rmSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BundleList, Problem, PublishResult, TakedownResult } from '@krmhub/api/model';
import type { TokenScope } from '@krmhub/api/token-scopes';
import type { BlobStore } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { SignatureRenewal } from '../catalogs/sign/renewal.js';
import { createToken } from '../http/auth/tokens.js';
import type { RegistryApp } from '../http/context.js';
import { createLog } from '../log.js';
import type { Planner } from '../publish/planner.js';
import { createApp } from '../server/app.js';
import type { OpenConfig } from '../server/open-options.js';
import { type OpenRegistry, openRegistry } from '../server/open-registry.js';
import { dataPaths } from '../store/data-folder.js';
import type { RegistryStore } from '../store/registry-store.js';
import { Database } from '../store/sqlite/driver.js';
import { openSqliteStore } from '../store/sqlite/store.js';
import type { FetchFile } from '../upstreams/fetch-file.js';
import type { FetchSettings } from '../upstreams/source-fetcher.js';

/** A registry with the real stores in its own folder, without a socket; for tests. */
export interface TestRegistry {
  app: RegistryApp;
  /** The result of `openRegistry`. */
  parts: OpenRegistry;
  /** Renews signatures only when a test calls it. */
  renewal: SignatureRenewal;
  folder: string;
  /** Every log line. */
  logged: string[];
  /** Moves the registry's clock. */
  advance(milliseconds: number): void;
  request(pathAndQuery: string, init?: RequestInit): Promise<Response>;
  token(wanted: {
    /** Default: `tester`. */
    name?: string;
    scopes?: TokenScope[];
    groups?: string[];
    repositories?: string[];
    team?: string;
    expiresInDays?: number;
  }): Promise<{ id: string; secret: string }>;
  /** The value of an `Authorization` header: a token `tester` with every right. */
  bearer(): Promise<string>;
  /** Sends a request with that token, or another one: a text is YAML, bytes and objects are JSON. */
  send<Body = Partial<Problem>>(
    method: string,
    target: string,
    body?: string | Uint8Array | FormData | object,
    authorization?: string,
  ): Promise<TestResponse<Body>>;
  publish(
    definition: TestDefinition,
    query?: string,
    more?: ReleaseFiles,
  ): Promise<TestResponse<PublishResult & Partial<Problem>>>;
  /** Adds a bundle to a release. */
  attach(
    definition: TestDefinition,
    bundle: Uint8Array | string,
  ): Promise<TestResponse<BundleList & Partial<Problem>>>;
  takeDown(
    definition: TestDefinition,
    query?: string,
    authorization?: string,
  ): Promise<TestResponse<TakedownResult & Partial<Problem>>>;
  /** Resolves when the catalogs include all events. */
  waitForCatalogs(): Promise<void>;
  /** Closes this registry and opens another one on its folder. */
  reopen(): Promise<TestRegistry>;
  close(): Promise<void>;
}

/** The JSON of a response. */
export interface TestResponse<Body> {
  status: number;
  headers: Headers;
  body: Body;
}

/** What is published with a definition. */
export interface ReleaseFiles {
  /** Instead of the text of the definition. */
  text?: string;
  readme?: string;
  notes?: string;
  bundles?: readonly (Uint8Array | string)[];
}

/** Reason of the takedowns of tests. */
export const TAKEDOWN_REASON = 'holds a password';

/** Milliseconds for which tests wait on a busy machine. */
const PATIENCE_MS = 300_000;

export async function openTestRegistry(
  options: {
    wrapStore?: (store: RegistryStore) => RegistryStore;
    wrapBlobs?: (blobs: BlobStore, folder: string) => BlobStore;
    start?: boolean;
    folder?: string;
    config?: Partial<OpenConfig>;
    maxCacheBytes?: number;
    maxBrotliBytes?: number;
    /** Which upstream catalogs may be fetched. */
    sources?: FetchSettings;
    planner?: Planner;
    fetchIssuer?: FetchFile;
  } = {},
): Promise<TestRegistry> {
  const folder = options.folder ?? (await makeDataFolder());
  const logged: string[] = [];
  const log = createLog('debug', { write: (line: string) => void logged.push(line) });
  let offset = 0;
  const clock = () => new Date(Date.now() + offset);
  const {
    config,
    sources,
    wrapStore,
    wrapBlobs,
    start = true,
    planner,
    fetchIssuer,
    folder: _,
    ...cacheSizes
  } = options;
  const parts = await openRegistry(
    { dataFolder: folder, snapshotValidDays: 30, ...sources, ...config },
    {
      log,
      clock,
      inThread: { random: () => 0.5, start },
      cacheSizes,
      ...defined({ wrapStore, wrapBlobs, planner, fetchIssuer }),
    },
  );
  const { store, snapshotBuilder, renewal } = parts;
  const app = createApp(parts);
  const request = async (pathAndQuery: string, init?: RequestInit) =>
    app.request(`http://registry.test${pathAndQuery}`, init);
  const token: TestRegistry['token'] = async ({
    name = 'tester',
    scopes,
    groups,
    repositories,
    team,
    expiresInDays,
  }) => {
    const { token: record, secret } = await createToken(
      store,
      {
        name,
        scopes: scopes ?? ['publish', 'yank', 'push', 'admin'],
        groups: groups ?? ['*'],
        repositories: repositories ?? ['*'],
        ...defined({ team, expiresInDays }),
      },
      { now: clock(), by: 'test' },
    );
    return { id: record.id, secret };
  };
  let bearer: Promise<string> | undefined;
  const getBearer = () => (bearer ??= token({}).then(({ secret }) => `Bearer ${secret}`));
  const send: TestRegistry['send'] = async <Body>(
    method: string,
    target: string,
    body?: string | Uint8Array | FormData | object,
    authorization?: string,
  ) => {
    const response = await request(target, {
      method,
      headers: { Authorization: authorization ?? (await getBearer()), ...contentType(body) },
      ...defined({ body: encodeBody(body) }),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
  };
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
    bearer: getBearer,
    send,
    publish: (definition, query = '?wait=true', more = {}) =>
      send('PUT', releasePath(definition) + query, releaseBody(definition, more)),
    attach: (definition, bundle) => send('POST', `${releasePath(definition)}/bundles`, Buffer.from(bundle)),
    takeDown: (definition, query = '', authorization = undefined) =>
      send('POST', `${releasePath(definition)}/takedown${query}`, { reason: TAKEDOWN_REASON }, authorization),
    async waitForCatalogs() {
      snapshotBuilder.wake();
      await snapshotBuilder.waitFor({ event: await store.lastEvent(), milliseconds: PATIENCE_MS });
    },
    async reopen() {
      await parts.close();
      return openTestRegistry({
        folder,
        ...defined({ sources: options.sources }),
      });
    },
    async close() {
      await parts.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function contentType(body: unknown): Record<string, string> {
  if (body === undefined || body instanceof FormData) return {};
  return { 'Content-Type': typeof body === 'string' ? 'application/yaml' : 'application/json' };
}

function encodeBody(body: string | Uint8Array | FormData | object | undefined) {
  if (body === undefined || typeof body === 'string' || body instanceof FormData) return body;
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body);
}

function releaseBody(
  definition: TestDefinition,
  { text = definitionText(definition), readme, notes, bundles = [] }: ReleaseFiles,
): string | FormData {
  if (readme === undefined && notes === undefined && bundles.length === 0) return text;
  const form = new FormData();
  form.append('definition', new Blob([text], { type: 'application/yaml' }), 'definition.yaml');
  if (readme !== undefined) form.append('readme', new Blob([readme], { type: 'text/markdown' }), 'README.md');
  if (notes !== undefined) form.append('notes', new Blob([notes], { type: 'text/markdown' }), 'NOTES.md');
  for (const bundle of bundles) form.append('bundle', new Blob([Buffer.from(bundle)]), 'bundle.json');
  return form;
}

/** Makes a data folder with a migrated database: migrating is most of the work of opening a registry. */
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
    openAllGroups(database);
    return await readFile(database);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** As in a registry of an earlier version: every token with the scope may begin a group. */
function openAllGroups(database: string): void {
  const client = new Database(database);
  const text = [
    'apiVersion: krmhub.dev/v1alpha1',
    'kind: Access',
    'metadata: {name: registry}',
    'spec: {openGroups: ["*"]}',
  ].join('\n');
  client.prepare(`INSERT INTO access VALUES (1, 1, ?, '2030-01-01T00:00:00.000Z', 'test')`).run(text);
  client.close();
}

export interface TestDefinition {
  group?: string;
  kind: string;
  release: string;
  /** API versions. */
  versions?: string[];
  description?: string;
  tags?: string[];
  /** Reference of a Starlark script, instead of an image. */
  script?: string;
}

export function releasePath({ group = 'example.com', kind, release }: TestDefinition): string {
  return `/api/v1/functions/${group}/${kind}/releases/${release}`;
}

/** Returns a definition without errors and warnings. */
export function definitionText(definition: TestDefinition): string {
  const { group = 'example.com', kind, release, versions = ['v1'], tags = ['mutator'] } = definition;
  const runtime =
    definition.script === undefined
      ? `      container:
        image: registry.example.com/${kind.toLowerCase()}:v${release}
        sha256: ${'a'.repeat(64)}`
      : `      starlark: ${definition.script}`;
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
${runtime}
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

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CreatedToken } from '@krmhub/api/model';
import { computeDigest, EMPTY_CONFIG, MEDIA_TYPES } from '@krmhub/oci';
import { createLog, type RunningRegistry, readConfig, startRegistry } from '@krmhub/registry';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { HEADER_TRICKS, HOST_TRICKS, methodTricks, type Trick } from './path-tricks.js';
import { type RawRequest, sendRaw } from './raw-request.js';

/**
 * A client that may push to some repositories, and publish in one group, tries every operation that changes
 * other repositories, in path spellings that are known to fool servers, as raw bytes over a socket. Nothing
 * there may change.
 */

const OWN = 'mine/tools';
const OTHER = 'theirs/tools';
const BLOB = 'a blob of another team';
const DIGEST = computeDigest(Buffer.from(BLOB));
const MANIFEST = JSON.stringify({
  schemaVersion: 2,
  mediaType: MEDIA_TYPES.image,
  config: { mediaType: MEDIA_TYPES.empty, digest: computeDigest(EMPTY_CONFIG), size: 2 },
  layers: [{ mediaType: 'text/plain', digest: DIGEST, size: BLOB.length }],
});

let folder: string;
let registry: RunningRegistry;
let port: number;
let admin: string;
let attacker: string;

const ask = (method: string, target: string, body?: string, type = 'application/octet-stream') =>
  fetch(registry.url + target, {
    method,
    headers: { Authorization: `Bearer ${admin}`, 'Content-Type': type },
    ...(body === undefined ? {} : { body }),
  });

async function fill(repository: string): Promise<void> {
  const blob = await ask('POST', `/v2/${repository}/blobs/uploads/?digest=${DIGEST}`, BLOB);
  const manifest = await ask('PUT', `/v2/${repository}/manifests/v1`, MANIFEST, MEDIA_TYPES.image);
  expect([blob.status, manifest.status]).toEqual([201, 201]);
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-authorization-'));
  const unlimited = {
    KRMHUB_REQUESTS_PER_MINUTE: '0',
    KRMHUB_WRITES_PER_MINUTE: '0',
    KRMHUB_FAILED_LOGINS_PER_MINUTE: '0',
  };
  registry = await startRegistry({
    config: readConfig(unlimited, { port: '0', data: folder }),
    log: createLog('silent', { write: () => undefined }),
  });
  port = Number(new URL(registry.url).port);
  admin = (await readFile(registry.adminTokenFile, 'utf8')).trim();
  await fill(OTHER);
  await fill(OWN);
  // The first build adds a repository of its own.
  await vi.waitFor(async () => expect((await fetch(`${registry.url}/readyz`)).status).toBe(200), {
    timeout: 300_000,
  });
  const wanted = {
    name: 'trickster',
    scopes: ['push', 'publish'],
    groups: ['mine.com'],
    repositories: ['mine/*'],
  };
  const created = await ask('POST', '/api/v1/tokens', JSON.stringify(wanted), 'application/json');
  attacker = ((await created.json()) as CreatedToken).token;
});
afterAll(async () => {
  await registry.close();
  await rm(folder, { recursive: true, force: true });
});

/** All state outside of `mine/`. */
async function others(): Promise<unknown> {
  const { repositories } = (await (await ask('GET', '/v2/_catalog')).json()) as { repositories: string[] };
  const found: Record<string, unknown> = {};
  for (const name of repositories.filter((one) => !one.startsWith('mine/'))) {
    const { tags } = (await (await ask('GET', `/v2/${name}/tags/list`)).json()) as { tags: string[] };
    const digests = [];
    for (const tag of tags) {
      digests.push((await ask('HEAD', `/v2/${name}/manifests/${tag}`)).headers.get('docker-content-digest'));
    }
    found[name] = { tags, digests, blob: (await ask('HEAD', `/v2/${name}/blobs/${DIGEST}`)).status };
  }
  const functions = await (await ask('GET', '/api/v1/functions')).text();
  return { found, functions };
}

interface Operation {
  method: string;
  /** Path within the repository. */
  target: string;
  body?: string;
  type?: string;
}

const OPERATIONS: Record<string, Operation> = {
  'start an upload': { method: 'POST', target: 'blobs/uploads/' },
  'push a blob': { method: 'POST', target: `blobs/uploads/?digest=${DIGEST}`, body: BLOB },
  'mount a blob': { method: 'POST', target: `blobs/uploads/?mount=${DIGEST}&from=${OWN}` },
  'put a tag': { method: 'PUT', target: 'manifests/v2', body: MANIFEST, type: MEDIA_TYPES.image },
  'put a manifest': {
    method: 'PUT',
    target: `manifests/${computeDigest(Buffer.from(MANIFEST))}?tag=v3`,
    body: MANIFEST,
    type: MEDIA_TYPES.image,
  },
  'delete a tag': { method: 'DELETE', target: 'manifests/v1' },
  'delete a manifest': { method: 'DELETE', target: `manifests/${computeDigest(Buffer.from(MANIFEST))}` },
  'delete a blob': { method: 'DELETE', target: `blobs/${DIGEST}` },
};

/** Replaces the repository in the path. */
const REPOSITORIES = [
  OTHER,
  `mine/../${OTHER}`,
  `mine/x/../../${OTHER}`,
  `mine/%2e%2e/${OTHER}`,
  `mine/..%2f${OTHER}`,
  `mine%2F..%2F${OTHER}`,
  `mine/.%2e/${OTHER}`,
  `mine/..;/${OTHER}`,
  `mine\\..\\theirs\\tools`,
  `./${OTHER}`,
  `/${OTHER}`,
  'Theirs/tools',
  'theirs%2Ftools',
  'theirs/%74ools',
  'theirs/tools%00',
  'theirs/tools%00mine',
  'mine%00/../theirs/tools',
  'theirs/tools;mine',
  'theirs/tools%20',
  'theirs/tools%0d%0aX-Injected:%201',
  'mine,theirs/tools',
  'mines/tools',
  'mine',
  'theirs/mine/tools',
  'functions',
  'functions/theirs.com/setlabels',
  'functions/mine.com/../theirs.com/setlabels',
  'functions/mine.com%2f..%2ftheirs.com/setlabels',
  'functions/mine.com.theirs.com/setlabels',
  'functions/mine.com/setlabels/more',
  'Functions/mine.com/setlabels',
  'catalogs/default',
  'catalogs/mine',
  'catalogs/default/mine',
];

const TARGETS: ((target: string) => string)[] = [
  (target) => `/${target}`,
  (target) => `//mine${target}`,
  (target) => target.replace('/v2/', '/v2//'),
  (target) => target.replace('/v2/', '/v2/./'),
  (target) => target.replace('/v2/', '/v2/../v2/'),
  (target) => target.replace('/v2/', '/V2/'),
  (target) => target.replace('/v2/', '/v2%2f'),
  (target) => target.replace('/v2/', '/v2/mine/tools/manifests/../../../'),
  (target) => target.replace('/v2/', '/healthz/../v2/'),
  (target) => `${target}${target.includes('?') ? '&' : '?'}repository=mine/tools&access_token=x`,
  (target) => `${target}#mine`,
  (target) => `${target}%00`,
  (target) => `${target}/`,
  (target) => `http://mine${target}`,
  (target) => `http://admin:secret@localhost${target}`,
  (target) => target.slice(1),
];

function requestOf({ method, target, body, type }: Operation, repository: string): RawRequest {
  return {
    method,
    target: `/v2/${repository}/${target}`,
    headers: [
      ['Host', 'localhost'],
      ['Authorization', `Bearer ${attacker}`],
      ['Content-Type', type ?? 'application/octet-stream'],
    ],
    ...(body === undefined ? {} : { body }),
  };
}

const repositoryTricks: Trick[] = REPOSITORIES.map((name) => ({
  name: `repository ${JSON.stringify(name)}`,
  apply: (request) => ({ ...request, target: request.target.replace(OTHER, () => name) }),
}));
const targetTricks: Trick[] = TARGETS.map((change) => ({
  name: change('/v2/X'),
  apply: (request) => ({ ...request, target: change(request.target) }),
}));

describe.each(Object.entries(OPERATIONS))('%s of another repository', (_, operation) => {
  it('is refused in every spelling', async () => {
    const before = await others();
    const request = requestOf(operation, OTHER);
    const tricks = [...repositoryTricks, ...targetTricks, ...HEADER_TRICKS, ...HOST_TRICKS];
    const done: string[] = [];
    for (const { name, apply } of [...tricks, ...methodTricks(request)]) {
      const tried = apply(request);
      const { status } = await sendRaw(port, tried);
      const reads = ['GET', 'HEAD', 'OPTIONS'].includes(tried.method);
      if (status >= 200 && status < 300 && !reads) done.push(`${name}: ${status}`);
      if (status >= 500 && status !== 501) done.push(`${name}: ${status}`);
    }
    expect(done).toEqual([]);
    expect(await others()).toEqual(before);
  });

  it('is allowed in its own repository', async () => {
    await fill(OWN);
    const { status } = await sendRaw(port, requestOf(operation, OWN));
    // A blob that a manifest names cannot be deleted.
    expect([201, 202, ...(operation.target === `blobs/${DIGEST}` ? [405] : [])]).toContain(status);
  });
});

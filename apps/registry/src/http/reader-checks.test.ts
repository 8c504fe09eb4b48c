import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { hashSecret, newSecret } from './auth/tokens.js';
import { bytesResponse, uncompressed } from './bytes-response.js';
import type { RegistryContext } from './context.js';

const REPOSITORY = 'vault/a';
const BYTES = Buffer.alloc(4_000_000, 'secret ');
const DIGEST = `sha256:${createHash('sha256').update(BYTES).digest('hex')}` as const;
const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: readers, members: [{ssoGroup: readers}]}, {name: others}]
  repositories: [{pattern: vault/*, visibility: private}]
  grants: [{to: {team: readers}, may: [read], in: {repository: vault/*}}]
`;
const USER = { issuer: 'https://sso.example.com', subject: 'a', name: 'Ada', groups: ['readers'] };

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
  const target = `/v2/${REPOSITORY}/blobs/uploads/?digest=${DIGEST}`;
  const headers = { Authorization: await registry.bearer(), 'Content-Type': 'application/octet-stream' };
  expect((await registry.request(target, { method: 'POST', headers, body: BYTES })).status).toBe(201);
  await applyAccess(ACCESS);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await registry.close();
});

const applyAccess = async (text: string) =>
  expect((await registry.send('PUT', '/api/v1/access', text)).status).toBe(200);

const confirm = (groups: string[]) =>
  registry.parts.store.confirmUser({ ...USER, groups }, { at: new Date().toISOString(), isSignIn: true });

async function deleteBlob(): Promise<void> {
  const headers = { Authorization: await registry.bearer() };
  const target = `/v2/${REPOSITORY}/blobs/${DIGEST}`;
  expect((await registry.request(target, { method: 'DELETE', headers })).status).toBe(202);
}

/** A token of a user in the team, which reads everything that the user may. */
async function personalToken(): Promise<{ id: string; secret: string }> {
  const user = await confirm(USER.groups);
  const secret = newSecret();
  const limits = { scopes: ['read'], groups: ['*'], repositories: ['*'] };
  const record = { id: 'own', name: 'own', ...limits, createdAt: new Date().toISOString(), createdBy: 'Ada' };
  await registry.parts.store.createToken({ ...record, user }, hashSecret(secret));
  return { id: record.id, secret };
}

/** Reads the blob, and goes on a minute after `between`. */
async function readSlowly(secret: string, between: (id: string) => Promise<unknown>, id: string) {
  let later = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + later);
  const response = await registry.request(`/v2/${REPOSITORY}/blobs/${DIGEST}`, {
    headers: { Authorization: `Bearer ${secret}` },
  });
  expect(response.status).toBe(200);
  const reader = response.body!.getReader();
  let bytes = (await reader.read()).value!.byteLength;
  expect(bytes).toBeLessThan(BYTES.byteLength / 2);
  await between(id);
  later = SERVER_LIMITS.recheckReaderMilliseconds;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return bytes;
    bytes += value.byteLength;
  }
}

it.each([
  ['its token was revoked', (id: string) => registry.parts.store.revokeToken(id, new Date().toISOString())],
  ['the user left the group', () => confirm([])],
  [
    'the grant is of another team',
    () => applyAccess(ACCESS.replace('to: {team: readers', 'to: {team: others')),
  ],
])('a slow reader of a private blob gets no more of it after %s', async (_, between) => {
  const { id, secret } = await personalToken();
  await expect(readSlowly(secret, between, id)).rejects.toThrow(/revoked|was changed meanwhile/);
});

it('a slow reader of a private blob gets no more of it after it was deleted', async () => {
  const { id, secret } = await personalToken();
  await expect(readSlowly(secret, deleteBlob, id)).rejects.toThrow('was changed meanwhile');
});

it('a slow reader gets everything if nothing changed for it', async () => {
  const { id, secret } = await personalToken();
  expect(await readSlowly(secret, () => confirm(USER.groups), id)).toBe(BYTES.byteLength);
});

describe('a slow reader of a public blob', () => {
  const PUBLIC = ACCESS.replace('vault/*, visibility: private', 'other, visibility: private');

  it('gets no more of it after it was hidden, or deleted', async () => {
    for (const change of [() => applyAccess(ACCESS), deleteBlob]) {
      await applyAccess(PUBLIC);
      await expect(readSlowly('none', change, '')).rejects.toThrow('was changed meanwhile');
      vi.restoreAllMocks();
    }
  });

  it('gets everything if it stays public', async () => {
    await applyAccess(PUBLIC);
    const change = () => applyAccess(PUBLIC.replace('other', 'another'));
    expect(await readSlowly('none', change, '')).toBe(BYTES.byteLength);
  });
});

it('documents that are sent in pieces end too, unless everybody may read them', async () => {
  const pieces = async function* () {
    for (let at = 0; at < 4; at += 1) yield new Uint8Array(10);
  };
  const read = async (isPrivate: boolean) => {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const known: Record<string, unknown> = { isPrivate, recheckReader: async () => ({ isSame: false }) };
    const req = { method: 'GET', header: () => undefined };
    const c = { req, set: () => undefined, get: (name: string) => known[name] } as unknown as RegistryContext;
    const body = { size: 40, pieces: pieces() };
    const document = { digest: DIGEST, mediaType: 'text/plain', cacheControl: 'no-store' };
    const response = await bytesResponse(c, { ...document, find: async () => uncompressed(body) });
    const reader = response.body!.getReader();
    await reader.read();
    now += SERVER_LIMITS.recheckReaderMilliseconds;
    return reader.read();
  };
  await expect(read(true)).rejects.toThrow('was changed meanwhile');
  expect((await read(false)).done).toBe(false);
});

import { MEDIA_TYPES } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SERVER_LIMITS } from '../../apps/registry/src/limits.js';
import { Planner } from '../../apps/registry/src/publish/planner.js';
import { applyAccess } from '../../apps/registry/src/testing/access.js';
import { definitionArtifact, testClient } from '../../apps/registry/src/testing/oci.js';
import { TestBrowser } from '../../apps/registry/src/testing/operator-session.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../../apps/registry/src/testing/test-registry.js';
import { attestationOf } from './guarded-routes.js';

/**
 * A change can be stored long after its token was checked: one definition after the other is checked in a process, and
 * nothing is stored while a takedown deletes bytes.
 */

/** Runs something after each check. */
class SlowPlanner extends Planner {
  meanwhile: () => Promise<unknown> = async () => undefined;

  override async plan(...input: Parameters<Planner['plan']>) {
    const plan = await super.plan(...input);
    await this.meanwhile();
    return plan;
  }

  override async readRecipe(...input: Parameters<Planner['readRecipe']>) {
    const checked = await super.readRecipe(...input);
    await this.meanwhile();
    return checked;
  }
}

let planner: SlowPlanner;
let registry: TestRegistry;
/** Milliseconds. */
let later: number;
beforeEach(async () => {
  planner = new SlowPlanner();
  registry = await openTestRegistry({ planner });
  later = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + later);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await registry.close();
});

const first = { kind: 'SetLabels', release: '1.0.0' };
const next = { ...first, release: '1.1.0' };
const RECIPE =
  'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: platform}\nspec: {sources: [{name: ours, functions: {}}]}\n';
const LARGE = 'x'.repeat(SERVER_LIMITS.maxBlobRowBytes + 1);

async function revoke(id: string): Promise<void> {
  const headers = { Authorization: await registry.bearer() };
  const { status } = await registry.request(`/api/v1/tokens/${id}`, { method: 'DELETE', headers });
  expect(status).toBe(200);
  later += SERVER_LIMITS.recheckWriterMilliseconds;
}

async function sendAs(secret: string, [method, target, type, body]: readonly string[]): Promise<Response> {
  const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': type! };
  return registry.request(target!, { method: method!, headers, body: body! });
}

describe('a token that is revoked while its change is checked', () => {
  it.each([
    ['a release', ['PUT', releasePath(next), 'application/yaml', definitionText(next)]],
    [
      'a release by a push',
      [
        'PUT',
        '/v2/functions/example.com/setlabels/manifests/1.1.0',
        MEDIA_TYPES.image,
        JSON.stringify(definitionArtifact(definitionText(next))),
      ],
    ],
    ['a recipe', ['PUT', '/api/v1/catalogs/platform', 'application/yaml', RECIPE]],
  ])('does not store %s', async (_, request) => {
    const client = testClient(() => registry);
    for (const content of ['{}', definitionText(next)])
      await client.blob('functions/example.com/setlabels', content);
    const { id, secret } = await registry.token({});
    const { store } = registry.parts;
    let before: number | undefined;
    planner.meanwhile = async () => {
      await revoke(id);
      before = await store.lastEvent();
    };
    const refused = await sendAs(secret, request);
    expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining('is revoked')]);
    expect(await store.lastEvent()).toBe(before);
    expect(await store.function('example.com', 'setlabels')).toBeUndefined();
    expect(await store.catalog('platform')).toBeUndefined();
  });

  it('does not store a recipe of a form', async () => {
    const { id, secret } = await registry.token({});
    const browser = new TestBrowser(registry);
    await browser.signIn(secret);
    const formKey = await browser.formKey();
    planner.meanwhile = () => revoke(id);
    const refused = await registry.request('/operate/recipes/platform', {
      method: 'POST',
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded',
        Origin: 'http://registry.test',
        Cookie: browser.cookie,
      },
      body: new URLSearchParams({ formKey, text: RECIPE, expected: 'none', do: 'apply' }),
    });
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('is revoked')]);
    expect(await registry.parts.store.catalog('platform')).toBeUndefined();
  });
});

it('a team that loses a group while a release is checked does not publish it', async () => {
  const rules = (owner: string) =>
    `teams: [{name: apps}, {name: ops}]\ngroups: [{pattern: example.com, owner: ${owner}}]\n`;
  await applyAccess(registry, rules('apps'));
  const { secret } = await registry.token({ team: 'apps', scopes: ['publish'] });
  const request = ['PUT', releasePath(next), 'application/yaml', definitionText(next)];
  planner.meanwhile = async () => {
    planner.meanwhile = async () => undefined;
    await applyAccess(registry, rules('ops'));
    later += SERVER_LIMITS.recheckWriterMilliseconds;
  };
  expect((await sendAs(secret, request)).status).toBe(403);
  expect(await registry.parts.store.function('example.com', 'setlabels')).toBeUndefined();
  await applyAccess(registry, rules('apps'));
  expect((await sendAs(secret, request)).status).toBe(201);
});

describe('a token that is revoked while a takedown deletes bytes', () => {
  it.each([
    ['a release', 'PUT', releasePath(next), 'application/yaml', definitionText(next)],
    [
      'a bundle',
      'POST',
      `${releasePath(first)}/bundles`,
      'application/json',
      attestationOf(sha256(definitionText(first)), 1),
    ],
    ['a blob', 'POST', `/v2/team/app/blobs/uploads/?digest=${sha256(LARGE)}`, 'text/plain', LARGE],
  ])('does not store %s', async (_, ...request) => {
    expect((await registry.publish(first)).status).toBe(201);
    const { store, bytesLock } = registry.parts;
    const { id, secret } = await registry.token({});
    let waiting = 0;
    const read = bytesLock.read.bind(bytesLock);
    Object.assign(bytesLock, {
      read: (work: () => Promise<unknown>) => {
        waiting += 1;
        return read(work);
      },
    });
    let response: Promise<Response> | undefined;
    let before: number | undefined;
    await bytesLock.write(async () => {
      response = sendAs(secret, request);
      await vi.waitFor(() => expect(waiting).toBe(1), 10_000);
      await revoke(id);
      before = await store.lastEvent();
    });
    const refused = await response!;
    expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining('is revoked')]);
    expect(await store.lastEvent()).toBe(before);
    expect(await store.blob('team/app', sha256(LARGE))).toBeUndefined();
  });
});

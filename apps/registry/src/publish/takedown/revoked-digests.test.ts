import { copyFile, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RevocationPage, TakedownResult } from '@krmhub/api/model';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestDefinition,
  type TestRegistry,
} from '../../testing/test-registry.js';

/** The image of every test definition without a script. */
const IMAGE = `sha256:${'a'.repeat(64)}`;
const SCRIPT = `sha256:${'b'.repeat(64)}`;
const ONE: TestDefinition = { kind: 'One', release: '1.0.0' };
const TWO: TestDefinition = { kind: 'Two', release: '1.0.0' };

let registry: TestRegistry;
let authorization: string;

async function post(definition: TestDefinition, action: string, body: object): Promise<Response> {
  return registry.request(`${releasePath(definition)}/${action}`, {
    method: 'POST',
    body: JSON.stringify({ reason: 'malware', ...body }),
    headers: { 'Content-Type': 'application/json', Authorization: authorization },
  });
}
async function takeDown(
  definition: TestDefinition,
  body: { runtimes?: 'refuse' | 'allow' } = { runtimes: 'refuse' },
): Promise<TakedownResult> {
  const response = await post(definition, 'takedown', body);
  expect(response.status, await response.clone().text()).toBe(200);
  return (await response.json()) as TakedownResult;
}
async function publish(definition: TestDefinition): Promise<void> {
  expect((await registry.publish(definition)).status).toBe(201);
}
async function feed(query = ''): Promise<RevocationPage> {
  const response = await registry.request(`/api/v1/revocations${query}`);
  expect(response.status, await response.clone().text()).toBe(200);
  return (await response.json()) as RevocationPage;
}
/** Names of the takedowns that the registry says of digests, with the digests. */
const named = async (...digests: string[]) => {
  const { revocations } = await feed(`?${digests.map((one) => `digest=${one}`).join('&')}`);
  return revocations.map(({ kind, release, runtimeDigests }) => [`${kind}@${release}`, runtimeDigests]);
};
const record = () => path.join(registry.folder, 'takedowns.jsonl');
const recorded = async () => JSON.parse(await readFile(record(), 'utf8')).runtimeDigests;

beforeEach(async () => {
  registry = await openTestRegistry();
  authorization = `Bearer ${(await registry.token({})).secret}`;
});
afterEach(() => registry.close());

describe('a digest that the runtime of a release names', () => {
  it('is not refused by a takedown that does not ask for it: others can use the image', async () => {
    await publish(ONE);
    expect((await takeDown(ONE, {})).refused).toEqual([]);
    expect(await named(IMAGE)).toEqual([]);
    expect((await feed()).revocations.flatMap(({ runtimeDigests = [] }) => runtimeDigests)).toEqual([]);
    const later = await post(ONE, 'takedown', { runtimes: 'refuse' });
    expect([later.status, await later.text()]).toEqual([409, expect.stringContaining('--refuse-runtimes')]);
  });

  it('stays refused if a publisher names it again, until an administrator allows it', async () => {
    for (const one of [ONE, TWO]) await publish(one);
    expect((await takeDown(ONE)).refused).toEqual([IMAGE]);
    const refused = [['One@1.0.0', [IMAGE]]];
    expect(await named(IMAGE)).toEqual(refused);
    await publish({ ...ONE, release: '1.0.1', description: 'Without the password.' });
    expect(await named(IMAGE)).toEqual(refused);
    expect((await feed()).revocations.flatMap(({ runtimeDigests = [] }) => runtimeDigests)).toEqual([IMAGE]);
    expect(await takeDown(ONE, {})).toMatchObject({ outcome: 'unchanged', refused: [IMAGE] });
    const { secret } = await registry.token({ scopes: ['publish', 'yank'] });
    const body = { method: 'POST', body: JSON.stringify({ reason: 'mine', runtimes: 'allow' }) };
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${secret}` };
    const publisher = await registry.request(`${releasePath(ONE)}/takedown`, { ...body, headers });
    expect(publisher.status).toBe(403);
    expect(await named(IMAGE)).toEqual(refused);
    expect(await recorded()).toEqual([IMAGE]);
    expect(await takeDown(ONE, { runtimes: 'allow' })).toMatchObject({ outcome: 'allowed', refused: [] });
    expect(await named(IMAGE)).toEqual([]);
    expect(await recorded()).toBeUndefined();
    registry = await registry.reopen();
    expect(await named(IMAGE)).toEqual([]);
    expect(await takeDown(ONE, { runtimes: 'allow' })).toMatchObject({ outcome: 'unchanged', refused: [] });
  });

  it('is asked for with others, page by page', async () => {
    const script = `oci://registry.example.com/scripts/three@${SCRIPT}`;
    const three = { kind: 'Three', release: '1.0.0', script };
    for (const one of [ONE, TWO, three]) await publish(one);
    for (const one of [ONE, TWO, three]) await takeDown(one);
    expect(await named(SCRIPT)).toEqual([['Three@1.0.0', [SCRIPT]]]);
    const query = `digest=${IMAGE}&digest=${SCRIPT}`;
    const names: string[] = [];
    for (let after = 0; ; ) {
      const { revocations, next } = await feed(`?${query}&limit=1&after=${after}`);
      if (revocations.length === 0) break;
      names.push(...revocations.map(({ kind }) => kind!));
      after = next;
    }
    expect(names).toEqual(['One', 'Two', 'Three']);
    expect(await named(`sha256:${'c'.repeat(64)}`)).toEqual([]);
    const many = Array.from({ length: 21 }, () => `digest=${IMAGE}`).join('&');
    for (const wrong of [many, 'digest=sha256:short', `digest=${IMAGE.toUpperCase()}`])
      expect((await registry.request(`/api/v1/revocations?${wrong}`)).status, wrong).toBe(400);
  });

  it('does not change the answer if nothing is revoked meanwhile', async () => {
    await publish(ONE);
    await takeDown(ONE);
    const url = `/api/v1/revocations?digest=${IMAGE}`;
    const tag = (await registry.request(url)).headers.get('ETag')!;
    const again = () => registry.request(url, { headers: { 'If-None-Match': tag } });
    expect((await again()).status).toBe(304);
    await publish(TWO);
    expect((await again()).status).toBe(304);
    await takeDown(TWO);
    expect((await again()).status).toBe(200);
  });

  it('is known after a restore of a database from before the takedown, or before the release', async () => {
    await publish(ONE);
    await takeDown(ONE);
    expect(await recorded()).toEqual([IMAGE]);
    const kept = path.join(registry.folder, 'copy.jsonl');
    await copyFile(record(), kept);
    const lines = await readFile(kept, 'utf8');
    for (const releases of [[ONE], []]) {
      await registry.close();
      registry = await openTestRegistry();
      for (const one of releases) await publish(one);
      await writeFile(record(), lines);
      registry = await registry.reopen();
      expect(await named(IMAGE)).toEqual([['One@1.0.0', [IMAGE]]]);
    }
  });

  it('that an administrator allowed stays allowed, whatever the record of another process has', async () => {
    await publish(ONE);
    await takeDown(ONE);
    const lines = await readFile(record(), 'utf8');
    await takeDown(ONE, { runtimes: 'allow' });
    await writeFile(record(), lines);
    registry = await registry.reopen();
    expect(await named(IMAGE)).toEqual([]);
  });

  it('is allowed for all releases that were taken down together', async () => {
    await publish(ONE);
    const same = await registry.request(releasePath({ ...ONE, release: '1.0.1' }), {
      method: 'PUT',
      body: definitionText(ONE),
      headers: { 'Content-Type': 'application/yaml', Authorization: authorization },
    });
    expect(same.status, await same.text()).toBe(201);
    await takeDown(ONE);
    expect((await named(IMAGE)).map(([name]) => name)).toEqual(['One@1.0.0', 'One@1.0.1']);
    expect(await takeDown(ONE, { runtimes: 'allow' })).toMatchObject({ outcome: 'allowed' });
    expect(await named(IMAGE)).toEqual([]);
  });

  it('is allowed only after a takedown: a live release stays', async () => {
    await publish(ONE);
    expect((await post(ONE, 'takedown', { runtimes: 'allow' })).status).toBe(409);
    expect(await named(IMAGE)).toEqual([]);
    expect(await takeDown(ONE)).toMatchObject({ outcome: 'taken-down' });
  });
});

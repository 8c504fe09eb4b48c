import { copyFile, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RevocationPage } from '@krmhub/api/model';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
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

const takeDown = (definition: TestDefinition) => registry.takeDown(definition);
const publish = (definition: TestDefinition) => registry.publish(definition);
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

beforeEach(async () => {
  registry = await openTestRegistry();
});
afterEach(() => registry.close());

describe('a digest that the runtime of a release names', () => {
  it('is in the feed after the takedown of the last release with it, until another one has it', async () => {
    for (const one of [ONE, TWO]) await publish(one);
    await takeDown(ONE);
    expect(await named(IMAGE)).toEqual([]);
    expect((await feed()).revocations.flatMap(({ runtimeDigests = [] }) => runtimeDigests)).toEqual([]);
    await takeDown(TWO);
    expect(await named(IMAGE)).toEqual([
      ['One@1.0.0', [IMAGE]],
      ['Two@1.0.0', [IMAGE]],
    ]);
    const fixed = { ...ONE, release: '1.0.1', description: 'Without the password.' };
    await publish(fixed);
    expect(await named(IMAGE)).toEqual([]);
    await takeDown(fixed);
    expect((await named(IMAGE)).map(([name]) => name)).toEqual(['One@1.0.0', 'Two@1.0.0', 'One@1.0.1']);
  });

  it('of a yanked release is not in the feed', async () => {
    for (const one of [ONE, TWO]) await publish(one);
    const yanked = await registry.send('POST', `${releasePath(TWO)}/yank`, { reason: 'broken' });
    expect(yanked.status).toBe(200);
    await takeDown(ONE);
    expect(await named(IMAGE)).toEqual([]);
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
    expect((await again()).status).toBe(200);
  });

  it('is known after a restore of a database from before the takedown, or before the release', async () => {
    await publish(ONE);
    await takeDown(ONE);
    const file = (one: TestRegistry) => path.join(one.folder, 'takedowns.jsonl');
    expect(JSON.parse(await readFile(file(registry), 'utf8')).runtimeDigests).toEqual([IMAGE]);
    const kept = path.join(registry.folder, 'copy.jsonl');
    await copyFile(file(registry), kept);
    const record = await readFile(kept, 'utf8');
    for (const releases of [[ONE], []]) {
      await registry.close();
      registry = await openTestRegistry();
      for (const one of releases) await publish(one);
      await writeFile(file(registry), record);
      registry = await registry.reopen();
      expect(await named(IMAGE)).toEqual([['One@1.0.0', [IMAGE]]]);
    }
  });
});

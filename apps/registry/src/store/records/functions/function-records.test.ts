import { afterEach, beforeEach, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../../testing/test-registry.js';

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
});
afterEach(() => registry.close());

const read = () => registry.parts.store.function('example.com', 'setlabels');
const publish = (release: string) => registry.publish({ kind: 'SetLabels', release }, '');

async function change(path: string): Promise<void> {
  const response = await registry.send('POST', `/api/v1/functions/example.com/SetLabels/releases/${path}`, {
    reason: 'broken',
  });
  expect(response.status).toBe(200);
}

it('reads the releases of a function once until one changes', async () => {
  await publish('1.0.0');
  const first = await read();
  expect(await read()).toBe(first);
  await publish('1.1.0');
  expect((await read())?.releases.map(({ release }) => release)).toEqual(['1.1.0', '1.0.0']);
  await change('1.1.0/yank');
  expect((await read())?.releases[0]?.yanked).toMatchObject({ reason: 'broken' });
  await change('1.1.0/takedown');
  expect((await read())?.releases.map(({ release }) => release)).toEqual(['1.0.0']);
  await change('1.0.0/takedown');
  expect(await read()).toBeUndefined();
  await publish('2.0.0');
  expect((await read())?.releases.map(({ release }) => release)).toEqual(['2.0.0']);
  expect(first?.releases.map(({ release }) => release)).toEqual(['1.0.0']);
});

it('lets no caller change what others read', async () => {
  await publish('1.0.0');
  const record = (await read())!;
  expect(() => record.releases.push(record.releases[0]!)).toThrow(TypeError);
  expect(() => Object.assign(record.releases[0]!, { yanked: undefined })).toThrow(TypeError);
});

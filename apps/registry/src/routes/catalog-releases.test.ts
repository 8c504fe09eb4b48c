import type { CatalogReleases, Problem } from '@krmhub/api/model';
import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { definitionText, openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
  // The first snapshot is empty.
  await registry.waitForCatalogs();
});
afterEach(() => registry.close());

const SET_LABELS = { group: 'example.com', kind: 'SetLabels' };
const PATH = '/api/v1/catalogs/default/releases';

const history = async (...functions: { group: string; kind: string }[]) =>
  (await registry.send<CatalogReleases>('POST', PATH, { functions })).body;
const ask = (body: object, path = PATH) =>
  registry.request(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Request-Id': 'asked' },
    body: JSON.stringify(body),
  });
const publish = (release: string, more = {}) =>
  registry.publish({ ...SET_LABELS, release, ...more }, '?wait=true&allowBreaking=true');
const change = async (verb: string, release: string) => {
  const path = `/api/v1/functions/example.com/SetLabels/releases/${release}/${verb}`;
  expect((await registry.send('POST', path, { reason: 'as a test' })).status).toBe(200);
  await registry.waitForCatalogs();
};

/** Of each release: its name, and for each API version the first, the last, and the readable serial. */
const serials = ({ functions }: CatalogReleases) =>
  functions[0]?.releases.map(
    ({ release, served }) =>
      `${release} ${served.map(({ version, first, last = '', serial = 'none' }) => `${version}:${first}-${last}:${serial}`).join(' ')}`,
  );

describe('the releases of a catalog', () => {
  it('are listed newest first, with the snapshots that have them', async () => {
    await publish('1.2.0', { versions: ['v1', 'v1beta1'] });
    await publish('2.0.0-rc.1');
    await publish('2.0.0');
    // A catalog selects the newest release, so that no snapshot has it.
    await publish('1.10.0');
    const found = await history(SET_LABELS);
    expect(serials(found)).toEqual(['2.0.0 v1:3-:3', '1.2.0 v1:2-2:2 v1beta1:2-:3']);
    expect(found).toMatchObject({ catalog: 'default', serial: 3 });
    const [newest] = found.functions[0]!.releases;
    expect(newest).toEqual({
      release: '2.0.0',
      digest: sha256(definitionText({ ...SET_LABELS, release: '2.0.0' })),
      size: expect.any(Number),
      versions: ['v1'],
      publishedAt: expect.stringMatching(/Z$/),
      publishedBy: 'tester',
      signature: expect.objectContaining({ state: 'unsigned' }),
      images: [`registry.example.com/setlabels:v2.0.0@sha256:${'a'.repeat(64)}`],
      served: [{ version: 'v1', first: 3, serial: 3 }],
    });
    expect(found.functions[0]).not.toHaveProperty('partial');
    // The case of a kind does not matter, and one function is listed once.
    expect(await history({ ...SET_LABELS, kind: 'setlabels' }, SET_LABELS)).toEqual(found);
  });

  it('name what was yanked and deprecated, and what comes back', async () => {
    await publish('1.0.0');
    await publish('1.1.0');
    await change('yank', '1.1.0');
    await change('deprecate', '1.0.0');
    const found = await history(SET_LABELS);
    expect(serials(found)).toEqual(['1.1.0 v1:3-3:3', '1.0.0 v1:2-:4']);
    expect(found.functions[0]?.releases).toMatchObject([
      { yanked: { reason: 'as a test', by: 'tester' } },
      { deprecated: { reason: 'as a test' } },
    ]);
    await change('unyank', '1.1.0');
    expect(serials(await history(SET_LABELS))).toEqual(['1.1.0 v1:3-:5', '1.0.0 v1:2-4:4']);
  });

  it('have no serial of a withdrawn snapshot, and name what was taken down', async () => {
    await publish('1.0.0');
    await registry.publish({ group: 'example.com', kind: 'Peel', release: '1.0.0' });
    await publish('1.1.0');
    await registry.publish({ group: 'example.com', kind: 'Peel', release: '1.1.0' });
    await publish('1.2.0');
    await registry.takeDown({ ...SET_LABELS, release: '1.1.0' });
    await registry.waitForCatalogs();
    const found = await history(SET_LABELS, { group: 'example.com', kind: 'Peel' });
    expect(serials(found)).toEqual(['1.2.0 v1:6-:6', '1.0.0 v1:2-3:3']);
    expect(found.functions[0]?.takedowns).toMatchObject([{ release: '1.1.0' }]);
    // The snapshots 4 and 5 were withdrawn.
    expect(serials({ ...found, functions: found.functions.slice(1) })).toEqual([
      '1.1.0 v1:5-:6',
      '1.0.0 v1:3-4:3',
    ]);
    await registry.takeDown({ ...SET_LABELS, release: '1.2.0' });
    await registry.takeDown({ ...SET_LABELS, release: '1.0.0' });
    await registry.waitForCatalogs();
    const gone = (await history(SET_LABELS)).functions;
    expect(gone).toMatchObject([{ ...SET_LABELS, releases: [] }]);
    expect(gone[0]?.takedowns?.map(({ release }) => release)).toEqual(['1.1.0', '1.2.0', '1.0.0']);
  });

  it('are of functions and catalogs that the reader may see', async () => {
    await publish('1.0.0');
    await registry.publish({ group: 'hidden.example.com', kind: 'Secret', release: '1.0.0' });
    await registry.waitForCatalogs();
    const access = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec: {groups: [{pattern: hidden.example.com, visibility: private}]}
`;
    expect((await registry.send('PUT', '/api/v1/access', access)).status).toBe(200);
    const seen = async (kind: string) => {
      const response = await ask({ functions: [SET_LABELS, { group: 'hidden.example.com', kind }] });
      const headers = [...response.headers].filter(([name]) => name !== 'date');
      return { status: response.status, headers, body: await response.text() };
    };
    const hidden = await seen('Secret');
    expect(hidden).toEqual(await seen('Absent'));
    expect(hidden.body).not.toContain('hidden');
    const [, secret] = (await history(SET_LABELS, { group: 'hidden.example.com', kind: 'Secret' })).functions;
    expect(secret?.releases).toHaveLength(1);
  });

  it('have the images of definitions up to a size', async () => {
    const sized = async (release: string, bytes: number) => {
      const text = `${definitionText({ ...SET_LABELS, release })}# `;
      const { status } = await registry.publish({ ...SET_LABELS, release }, '?wait=true', {
        text: text.padEnd(bytes, 'x'),
      });
      expect(status).toBe(201);
    };
    await sized('1.0.0', SERVER_LIMITS.maxHistoryDefinitionBytes);
    await sized('1.1.0', SERVER_LIMITS.maxHistoryDefinitionBytes + 1);
    const [found] = (await history(SET_LABELS)).functions;
    expect(found?.releases.map(({ images }) => images)).toEqual([
      undefined,
      [`registry.example.com/setlabels:v1.0.0@sha256:${'a'.repeat(64)}`],
    ]);
  });

  it('are at most 50 of 100 functions', async () => {
    const functions = Array.from({ length: REQUEST_LIMITS.maxHistoryFunctions }, (_, at) => ({
      group: 'example.com',
      kind: `Fn${at}`,
    }));
    const refusal = async (body: object) => {
      const response = await ask(body);
      return [response.status, ((await response.json()) as Problem).detail];
    };
    expect((await ask({ functions })).status).toBe(200);
    expect(await refusal({ functions: [...functions, SET_LABELS] })).toEqual([
      400,
      'functions: has more than 100 functions',
    ]);
    expect(await refusal({ functions: [] })).toEqual([400, 'functions: is empty']);
    expect((await ask({ functions: [SET_LABELS] }, '/api/v1/catalogs/none/releases')).status).toBe(404);
    for (let at = 0; at < REQUEST_LIMITS.maxHistoryReleases; at += 1) await publish(`1.0.${at}`);
    const [all] = (await history(SET_LABELS)).functions;
    expect([all?.releases.length, all?.partial]).toEqual([50, undefined]);
    await publish('1.1.0');
    const [cut] = (await history(SET_LABELS)).functions;
    expect([cut?.releases.length, cut?.releases[0]?.release, cut?.partial]).toEqual([50, '1.1.0', true]);
  });
});

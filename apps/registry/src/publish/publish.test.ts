import type {
  CatalogFunction,
  EventPage,
  FunctionDetail,
  Problem,
  PublishResult,
  Release,
  SearchResult,
} from '@krmhub/api/model';
import { RevisionConflict } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { readBlobFolder } from '../store/blobs/reader.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../testing/test-registry.js';

let registry: TestRegistry;
let bearer: string;
beforeEach(async () => {
  registry = await openTestRegistry();
  bearer = `Bearer ${(await registry.token({})).secret}`;
});
afterEach(() => registry.close());

const set = { kind: 'SetLabels', release: '1.0.0' };

function put(path: string, body: string | FormData, headers: Record<string, string> = {}) {
  const isForm = body instanceof FormData;
  return registry.request(path, {
    method: 'PUT',
    body,
    headers: { Authorization: bearer, ...(isForm ? {} : { 'Content-Type': 'application/yaml' }), ...headers },
  });
}

async function readProblem(response: Response): Promise<Problem> {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const problem = (await response.json()) as Problem;
  expect(problem.status).toBe(response.status);
  expect(problem.requestId).toBe(response.headers.get('x-request-id'));
  return problem;
}

async function eventTypes(): Promise<string[]> {
  const page = (await (await registry.request('/api/v1/events')).json()) as EventPage;
  return page.events.map(({ type }) => type).filter((type) => type.startsWith('release.'));
}

describe('publishing', () => {
  it('stores exact bytes, and responds with the snapshots that contain them', async () => {
    const { status, body } = await registry.publish(set);
    expect(status).toBe(201);
    const digest = sha256(definitionText(set));
    expect(body).toMatchObject({
      outcome: 'created',
      dryRun: false,
      release: { ...set, group: 'example.com', digest },
    });
    expect(body.catalogs).toEqual([
      { catalog: 'default', serial: expect.any(Number), digest: expect.stringMatching(/^sha256:/) },
    ]);
    const response = await registry.request(`${releasePath(set)}/definition.yaml`);
    expect(await response.text()).toBe(definitionText(set));
    expect(response.headers.get('etag')).toBe(`"${digest}"`);
    expect(response.headers.get('content-type')).toBe('application/yaml');
    expect(response.headers.get('content-security-policy')).toContain('sandbox');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('changes nothing for the same bytes, and refuses other bytes', async () => {
    await registry.publish(set);
    const again = await registry.publish(set);
    expect([again.status, again.body.outcome, again.body.catalogs.length]).toEqual([200, 'unchanged', 1]);
    const other = await put(
      releasePath(set),
      definitionText({ ...set, description: 'Something else entirely.' }),
    );
    expect((await readProblem(other)).code).toBe('conflict');
    expect(other.status).toBe(409);
    expect(await eventTypes()).toEqual(['release.published']);
  });

  it('refuses a change that breaks files of the previous release, unless it is allowed', async () => {
    await registry.publish({ ...set, release: '1.0.0', versions: ['v1', 'v1beta1'] });
    await registry.publish({ ...set, release: '3.0.0', versions: ['v2'] }, '?allowBreaking=true');
    const next = { ...set, release: '2.0.0', versions: ['v1'] };
    for (const query of ['', '?dryRun=true', '?allowBreaking=false']) {
      const response = await put(releasePath(next) + query, definitionText(next));
      const problem = await readProblem(response);
      expect([response.status, problem.code]).toEqual([422, 'invalid-document']);
      expect(problem.hint).toContain('krmhub publish --allow-breaking');
      const errors = problem.diagnostics?.filter(({ severity }) => severity === 'error');
      // Later releases do not count: v2 is not missing.
      expect(errors).toMatchObject([
        { code: 'publish/breaking', path: 'spec.versions', message: expect.stringContaining('v1beta1') },
      ]);
      expect(errors?.[0]?.range?.start.line).toBeGreaterThan(1);
    }
    const { status, body } = await registry.publish(next, '?allowBreaking=true');
    expect(status).toBe(201);
    expect(body.diagnostics).toMatchObject([{ code: 'publish/breaking', severity: 'warning' }]);
  });

  it('reads v1.2 as 1.2.0 everywhere in a URL', async () => {
    const { body } = await registry.publish({ ...set, release: 'v1.2' });
    expect(body.release.release).toBe('1.2.0');
    const read = (await (await registry.request(releasePath({ ...set, release: 'v1.2' }))).json()) as Release;
    expect(read.release).toBe('1.2.0');
  });

  it('plans a dry run and stores nothing', async () => {
    const { status, body } = await registry.publish(set, '?dryRun=true&wait=true');
    expect([status, body.outcome, body.dryRun]).toEqual([200, 'created', true]);
    expect((await registry.request('/api/v1/functions/example.com/SetLabels')).status).toBe(404);
    expect(await eventTypes()).toEqual([]);
    expect(await registry.parts.blobs.get(sha256(definitionText(set)))).toBeUndefined();
  });

  it('accepts a form with a README', async () => {
    const form = new FormData();
    form.append('definition', new Blob([definitionText(set)], { type: 'application/yaml' }), 'definition');
    form.append('readme', new Blob(['\u{feff}# Set labels ü\n'], { type: 'text/markdown' }), 'README.md');
    expect((await put(releasePath(set), form)).status).toBe(201);
    const readme = await registry.request(`${releasePath(set)}/readme.md`);
    expect(Buffer.from(await readme.arrayBuffer()).toString()).toBe('\u{feff}# Set labels ü\n');
    expect(readme.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    expect(readme.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    const definition = await registry.request(`${releasePath(set)}/definition.yaml`);
    expect(await definition.text()).toBe(definitionText(set));
  });

  it.each([
    ['a row', 0, []],
    ['a file', 1, ['README']],
  ])('stores a README at the limit as %s with %i bytes more', async (_, more, files) => {
    const text = 'x'.repeat(SERVER_LIMITS.maxFileRowBytes + more);
    const form = new FormData();
    form.append('definition', new Blob([definitionText(set)], { type: 'application/yaml' }), 'definition');
    form.append('readme', new Blob([text], { type: 'text/markdown' }), 'README.md');
    expect((await put(releasePath(set), form)).status).toBe(201);
    const names = new Map([
      [sha256(definitionText(set)), 'definition'],
      [sha256(text), 'README'],
    ]);
    const stored: (string | undefined)[] = [];
    for await (const { digest } of readBlobFolder(registry.parts.paths.blobs).blobs()) {
      stored.push(names.get(digest));
    }
    expect(stored).toEqual(files);
    registry = await registry.reopen();
    expect(await (await registry.request(`${releasePath(set)}/readme.md`)).text()).toBe(text);
    expect(await (await registry.request(`${releasePath(set)}/definition.yaml`)).text()).toBe(
      definitionText(set),
    );
  });

  it('names everything that is wrong with a form', async () => {
    const form = new FormData();
    form.append('definition', definitionText(set));
    form.append('readme', new Blob(['a']), 'a.md');
    form.append('readme', new Blob(['b']), 'b.md');
    for (let at = 0; at < 5; at++) form.append('bundle', new Blob(['{}']), 'x.sigstore.json');
    form.append('extra', 'x');
    const problem = await readProblem(await put(releasePath(set), form));
    expect(problem.code).toBe('invalid-request');
    for (const part of [
      'no file name',
      '"readme" appears 2 times',
      'more than 4 parts "bundle"',
      '"extra" is unknown',
    ]) {
      expect(problem.detail).toContain(part);
    }
    const broken = await put(releasePath(set), 'no form', {
      'Content-Type': 'multipart/form-data; boundary=x',
    });
    expect((await readProblem(broken)).code).toBe('invalid-request');
  });

  it('refuses documents with diagnostics, and stores nothing', async () => {
    const bad = [
      '',
      '\0\u0001binary',
      'a: [',
      'kind: Deployment\n',
      definitionText({ ...set, kind: 'Other' }),
    ];
    for (const text of bad) {
      const response = await put(releasePath(set), text);
      expect(response.status, JSON.stringify(text.slice(0, 20))).toBe(422);
      const problem = await readProblem(response);
      expect(problem.diagnostics?.length).toBeGreaterThan(0);
    }
    const json = await put(releasePath(set), definitionText(set), { 'Content-Type': 'application/json' });
    expect(json.status).toBe(422);
    expect(await eventTypes()).toEqual([]);
  });

  it('refuses unsupported media types, codings, sizes and parameters', async () => {
    const status = async (path: string, body: string, headers: Record<string, string>) => {
      const response = await put(path, body, headers);
      return [response.status, (await readProblem(response)).code];
    };
    const text = definitionText(set);
    const path = releasePath(set);
    expect(await status(path, text, { 'Content-Type': 'text/html' })).toEqual([
      415,
      'unsupported-media-type',
    ]);
    expect(await status(path, text, { 'Content-Encoding': 'gzip' })).toEqual([415, 'unsupported-media-type']);
    expect(await status(path, 'x'.repeat(1_048_577), {})).toEqual([413, 'too-large']);
    expect(await status(`${path}?dryrun=true`, text, {})).toEqual([400, 'invalid-request']);
    expect(await status(`${path}?wait=yes`, text, {})).toEqual([400, 'invalid-request']);
    expect(await status(releasePath({ ...set, release: '1.0.0+build' }), text, {})).toEqual([
      400,
      'invalid-request',
    ]);
    const problem = await readProblem(await put(`${path}?dryrun=true`, text));
    expect(problem.detail).toContain('did you mean "dryRun"?');
  });

  it('accepts exactly one of many concurrent releases with different bytes, and all with the same bytes', async () => {
    const race = (text: (index: number) => string, release: string) =>
      Promise.all(
        Array.from({ length: 12 }, (_, index) => put(releasePath({ ...set, release }), text(index))),
      );
    const same = await race(() => definitionText(set), '2.0.0');
    expect(same.map(({ status }) => status).sort()).toEqual([...Array(11).fill(200), 201]);
    const different = await race(
      (index) => definitionText({ ...set, description: `Racer number ${index}.` }),
      '3.0.0',
    );
    expect(different.map(({ status }) => status).sort()).toEqual([201, ...Array(11).fill(409)]);
    const many = await Promise.all(
      Array.from({ length: 12 }, (_, index) => registry.publish({ ...set, release: `4.${index}.0` }, '')),
    );
    expect(many.map(({ status }) => status)).toEqual(Array(12).fill(201));
    expect((await eventTypes()).length).toBe(14);
  });

  it('plans again on a conflict, and responds 503 if the conflicts do not end', async () => {
    await registry.close();
    let conflicts = 3;
    registry = await openTestRegistry({
      wrapStore: (store) =>
        new Proxy(store, {
          get(target, name) {
            const value: unknown = Reflect.get(target, name);
            if (typeof value !== 'function') return value;
            return (...args: unknown[]) =>
              name === 'commitFunction' && conflicts-- > 0
                ? Promise.reject(new RevisionConflict())
                : value.apply(target, args);
          },
        }),
    });
    bearer = `Bearer ${(await registry.token({})).secret}`;
    expect((await put(releasePath(set), definitionText(set))).status).toBe(201);
    conflicts = Number.POSITIVE_INFINITY;
    const response = await put(releasePath({ ...set, release: '2.0.0' }), definitionText(set));
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  });
});

describe('lifecycle', () => {
  const act = (action: string, body?: object, release = '1.0.0') =>
    registry.request(`${releasePath({ ...set, release })}/${action}`, {
      method: 'POST',
      headers: {
        Authorization: bearer,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const catalogText = async () => {
    await registry.waitForCatalogs();
    return (await registry.request('/catalogs/default/catalog.yaml')).text();
  };

  it('yank removes a release from catalogs and unyank restores it; the bytes stay', async () => {
    await registry.publish(set);
    await registry.publish({ ...set, release: '1.1.0' });
    expect(await catalogText()).toContain(':v1.1.0');
    const yanked = await act('yank', { reason: 'deletes labels' }, '1.1.0');
    expect(((await yanked.json()) as Release).yanked).toMatchObject({
      reason: 'deletes labels',
      by: 'tester',
    });
    expect(await catalogText()).toContain(':v1.0.0');
    expect(
      (await registry.request(`${releasePath({ ...set, release: '1.1.0' })}/definition.yaml`)).status,
    ).toBe(200);
    const detail = (await (
      await registry.request('/api/v1/functions/example.com/setlabels')
    ).json()) as FunctionDetail;
    expect([detail.kind, detail.newest?.release, detail.releases.length]).toEqual(['SetLabels', '1.0.0', 2]);
    expect((await act('unyank', undefined, 'v1.1')).status).toBe(200);
    expect(await catalogText()).toContain(':v1.1.0');
    expect(await eventTypes()).toEqual([
      'release.published',
      'release.published',
      'release.yanked',
      'release.unyanked',
    ]);
  });

  it('deprecate leaves the release in catalogs; repeating it changes nothing', async () => {
    await registry.publish(set);
    for (let times = 0; times < 2; times++)
      expect((await act('deprecate', { reason: 'use SetAll' })).status).toBe(200);
    expect(await catalogText()).toContain(':v1.0.0');
    expect(await eventTypes()).toEqual(['release.published', 'release.deprecated']);
  });

  it('a deprecation names its replacement everywhere, until it is undone', async () => {
    await registry.publish(set);
    await registry.publish({ kind: 'SetAll', release: '2.1.0' });
    const wanted = { group: 'example.com', kind: 'setall', releases: '^2.0.0' };
    const replacement = { ...wanted, kind: 'SetAll' };
    const deprecated = (await (await act('deprecate', { replacement: wanted })).json()) as Release;
    expect(deprecated.deprecated).toMatchObject({ reason: 'use example.com/setall@^2.0.0', replacement });
    const json = async <T>(path: string) => (await (await registry.request(path)).json()) as T;
    const detail = await json<FunctionDetail>('/api/v1/functions/example.com/SetLabels');
    expect(detail.newest?.deprecated?.replacement).toEqual(replacement);
    expect(detail.releases[0]?.deprecated?.replacement).toEqual(replacement);
    const found = await json<SearchResult>('/api/v1/functions?kind=SetLabels');
    expect(found.items[0]).toMatchObject({ deprecated: true, replacement });
    const other = await json<SearchResult>('/api/v1/functions?kind=SetAll');
    expect(other.items[0]).not.toHaveProperty('replacement');
    await registry.waitForCatalogs();
    const entry = await json<CatalogFunction>('/api/v1/catalogs/default/functions/example.com/SetLabels');
    expect(entry.versions[0]?.deprecated?.replacement).toEqual(replacement);
    const [line] = (await (await registry.request('/api/v1/functions.jsonl')).text())
      .split('\n')
      .filter((text) => text.includes('"kind":"SetLabels"'));
    expect(JSON.parse(line!).releases[0].deprecated.replacement).toEqual(replacement);
    const events = await json<EventPage>('/api/v1/events');
    expect(events.events.find(({ type }) => type === 'release.deprecated')?.replacement).toEqual(replacement);
    expect(await catalogText()).not.toContain('^2.0.0');

    const restored = (await (await act('undeprecate')).json()) as Release;
    expect(restored).not.toHaveProperty('deprecated');
    expect((await act('undeprecate', { reason: 'again' })).status).toBe(200);
    expect((await eventTypes()).slice(-2)).toEqual(['release.deprecated', 'release.undeprecated']);
    const after = await json<SearchResult>('/api/v1/functions?kind=SetLabels');
    expect(after.items[0]).toMatchObject({ deprecated: false });
    expect(after.items[0]).not.toHaveProperty('replacement');
  });

  it.each([
    [{}, 'needs a reason or a replacement'],
    [{ replacement: { group: 'example.com', kind: 'Missing' } }, 'has no function example.com/Missing'],
    [{ replacement: { group: 'example.com', kind: 'SetLabels' } }, 'includes the deprecated release 1.0.0'],
    [
      { replacement: { group: 'example.com', kind: 'SetLabels', releases: '^9' } },
      'no release that is not yanked matches',
    ],
    [{ replacement: { group: 'example', kind: 'SetLabels' } }, 'is not a valid group'],
  ])('does not deprecate with %j', async (body, message) => {
    await registry.publish(set);
    const response = await act('deprecate', body);
    const problem = await readProblem(response);
    expect([response.status, problem.detail]).toEqual([400, expect.stringContaining(message)]);
    expect(await eventTypes()).toEqual(['release.published']);
  });

  it('requires a reason, a release and JSON', async () => {
    await registry.publish(set);
    expect((await act('yank')).status).toBe(415);
    expect((await act('yank', {})).status).toBe(400);
    expect((await act('yank', { reason: '' })).status).toBe(400);
    const missing = await act('yank', { reason: 'x' }, '9.9.9');
    expect((await readProblem(missing)).hint).toContain('1.0.0');
    expect(missing.status).toBe(404);
  });
});

it('responds to a publish with all fields of the release', async () => {
  const { body } = await registry.publish(set);
  const again = (await registry.publish(set)).body satisfies PublishResult;
  expect(again.release).toEqual(body.release);
});

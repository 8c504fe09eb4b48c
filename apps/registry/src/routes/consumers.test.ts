import type { ConsumerReport, ConsumerResult, FunctionConsumers } from '@krmhub/api/consumer-model';
import type { WorkflowRun } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hashSecret, newSecret, newToken } from '../http/auth/tokens.js';
import { SERVER_LIMITS } from '../limits.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

const group = 'example.com';
const kind = 'SetLabels';
const v1 = (release: string, fields?: string[]) => ({
  ...{ group, kind, version: 'v1', release },
  ...(fields === undefined ? {} : { fields }),
});

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
  for (const release of ['1.0.0', '1.1.0']) await registry.publish({ kind, release });
});
afterEach(() => registry.close());

const report = (body: ConsumerReport, authorization?: string) =>
  registry.send<ConsumerResult>('PUT', '/api/v1/consumers', body, authorization);
const counts = (authorization?: string, name = kind) =>
  registry.send<FunctionConsumers>(
    'GET',
    `/api/v1/functions/${group}/${name}/consumers`,
    undefined,
    authorization,
  );
const bearer = async (wanted: Parameters<TestRegistry['token']>[0]) =>
  `Bearer ${(await registry.token(wanted)).secret}`;

describe('reports of packages', () => {
  it('are counted by release, API version, and field, for 90 days', async () => {
    const reader = await bearer({ name: 'ci', scopes: ['read'] });
    const { status, body } = await report(
      {
        name: 'github.com/example/shop#apps/web',
        releases: [v1('1.0.0', ['labels.*', 'spec.items[*].name'])],
      },
      reader,
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({ outcome: 'changed', releases: 1 });
    const hash = `sha256:${'a'.repeat(64)}`;
    await report({ name: hash, releases: [v1('1.0.0', ['labels.*']), v1('1.1.0')] }, reader);
    expect((await counts()).body).toEqual({
      packages: 2,
      releases: [
        { version: 'v1', release: '1.0.0', packages: 2 },
        { version: 'v1', release: '1.1.0', packages: 1 },
      ],
      fields: [
        { version: 'v1', field: 'labels.*', packages: 2 },
        { version: 'v1', field: 'spec.items[*].name', packages: 1 },
      ],
      names: ['github.com/example/shop#apps/web'],
    });
    registry.advance(SERVER_LIMITS.consumerMilliseconds - 60_000);
    expect((await counts()).body.packages).toBe(2);
    expect((await report({ name: hash, releases: [v1('1.1.0')] }, reader)).body.outcome).toBe('changed');
    registry.advance(120_000);
    expect((await counts()).body).toMatchObject({ packages: 1, fields: [], names: [] });
  });

  it('count what the registry has and the client may read, each once', async () => {
    const { body } = await report({
      name: 'a',
      releases: [
        { ...v1('1.0.0', ['b']), kind: 'setlabels' },
        v1('1.0.0', ['a', 'b']),
        v1('9.0.0'),
        { ...v1('1.0.0'), version: 'v7' },
        { ...v1('1.0.0'), kind: 'Nothing' },
      ],
    });
    expect(body.releases).toBe(1);
    expect((await counts()).body.fields.map(({ field }) => field)).toEqual(['a', 'b']);
  });

  it('of workflows with one name and another issuer are others', async () => {
    const of = async (issuer: string | undefined) => {
      const run: WorkflowRun = { provider: 'gitlab', workflow: 'a/b', ...defined({ issuer }) };
      const secret = newSecret();
      const wanted = { name: 'a/b', scopes: ['publish'] as const, groups: [group], repositories: [] };
      const token = newToken(wanted, secret, { now: registry.parts.clock(), by: 'test' });
      await registry.parts.store.createToken({ ...token, run }, hashSecret(secret));
      return `Bearer ${secret}`;
    };
    await report({ name: 'shop', releases: [v1('1.0.0')] }, await of(undefined));
    expect(
      (await report({ name: 'shop', releases: [] }, await of('https://gitlab.example.com'))).body.outcome,
    ).toBe('unchanged');
    expect((await counts()).body.packages).toBe(1);
  });

  it('of tokens of one team replace each other', async () => {
    await registry.send(
      'PUT',
      '/api/v1/access',
      `apiVersion: krmhub.dev/v1alpha1\nkind: Access\nmetadata: {name: registry}\nspec: {teams: [{name: shop}, {name: other}]}\n`,
    );
    const [first, second, other] = [
      await bearer({ name: 'one', team: 'shop', scopes: ['read'] }),
      await bearer({ name: 'two', team: 'shop', scopes: ['read'] }),
      await bearer({ name: 'three', team: 'other', scopes: ['read'] }),
    ];
    await report({ name: 'a', releases: [v1('1.0.0')] }, first);
    await report({ name: 'a', releases: [v1('1.1.0')] }, second);
    expect((await counts()).body.releases).toEqual([{ version: 'v1', release: '1.1.0', packages: 1 }]);
    // Another reporter does not change it, and the package is still one.
    await report({ name: 'a', releases: [v1('1.0.0')] }, other);
    expect((await counts()).body).toMatchObject({ packages: 1, releases: [{}, {}] });
    await report({ name: 'a', releases: [] }, second);
    expect((await counts()).body.releases).toEqual([{ version: 'v1', release: '1.0.0', packages: 1 }]);
  });

  it('need a token, and are read by those who may publish', async () => {
    const body = JSON.stringify({ name: 'a', releases: [v1('1.0.0')] });
    const init = { method: 'PUT', body, headers: { 'Content-Type': 'application/json' } };
    expect((await registry.request('/api/v1/consumers', init)).status).toBe(401);
    const path = `/api/v1/functions/${group}/${kind}/consumers`;
    expect((await registry.request(path)).status).toBe(401);
    expect((await counts(await bearer({ name: 'r', scopes: ['read'] }))).status).toBe(403);
    expect((await counts(await bearer({ name: 'y', scopes: ['yank'] }))).status).toBe(403);
    expect(
      (await counts(await bearer({ name: 'o', scopes: ['publish'], groups: ['other.example'] }))).status,
    ).toBe(403);
    const publisher = await bearer({ name: 'p', scopes: ['publish'], groups: [group] });
    const { status, headers } = await counts(publisher);
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect((await counts(publisher, 'Nothing')).status).toBe(404);
  });

  it('are limited for each reporter, and names are too', async () => {
    for (let count = 0; count < SERVER_LIMITS.maxConsumers; count++) {
      const { status } = await report({ name: `package-${count}`, releases: [v1('1.0.0')] });
      if (status !== 200) expect([count, status]).toEqual([count, 200]);
    }
    expect((await report({ name: 'more', releases: [v1('1.0.0')] })).status).toBe(409);
    expect((await report({ name: 'package-7', releases: [v1('1.1.0')] })).status).toBe(200);
    const { packages, names } = (await counts()).body;
    expect([packages, names.length]).toEqual([SERVER_LIMITS.maxConsumers, SERVER_LIMITS.maxConsumerNames]);
  });

  it('have as many releases and fields as are allowed', async () => {
    const fields = Array.from({ length: 200 }, (_, at) => `a${at}`);
    const releases = Array.from({ length: 499 }, (_, at) => v1(`9.0.${at}`));
    const { status, body } = await report({ name: 'a', releases: [v1('1.0.0', fields), ...releases] });
    expect([status, body.releases]).toEqual([200, 1]);
  });

  it.each([
    ['a name with a space', { name: 'a b', releases: [] }],
    ['a field with a value', { name: 'a', releases: [v1('1.0.0', ['labels: x'])] }],
    ['a release that is none', { name: 'a', releases: [v1('newest')] }],
    ['too many releases', { name: 'a', releases: Array.from({ length: 501 }, (_, at) => v1(`1.0.${at}`)) }],
    [
      'too many fields',
      {
        name: 'a',
        releases: [
          v1(
            '1.0.0',
            Array.from({ length: 201 }, (_, at) => `a${at}`),
          ),
        ],
      },
    ],
  ])('are refused with %s', async (_, body) => {
    expect((await report(body)).status).toBe(400);
  });
});

import type { ExchangedToken, Problem, TrustedPublisher } from '@krmhub/api/model';
import { type Claims, provider, type TrustedPublisher as StoredPublisher } from '@krmhub/catalog';
import { CI_PROVIDERS, type CiProvider } from '@krmhub/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestIssuer } from '../../apps/registry/src/testing/test-issuer.js';
import { openTestRegistry, type TestRegistry } from '../../apps/registry/src/testing/test-registry.js';
import { REFUSED_RUNS, RUNS } from '../../packages/catalog/src/testing/ci-runs.js';
import { randomNumbers } from '../replicas/random.js';

/** Every rule of every provider, and random publishers, against the exchange with an issuer of each. */
const AUDIENCE = 'https://hub.example.net';
const issuers = new Map<string, TestIssuer>();
let registry: TestRegistry;

const issuerOf = (name: CiProvider) =>
  provider(name).issuer ?? RUNS[name].issuer ?? `https://${name}.issuer.example.com`;

beforeAll(async () => {
  for (const name of CI_PROVIDERS) issuers.set(issuerOf(name), await TestIssuer.create(issuerOf(name)));
  registry = await openTestRegistry({
    config: { publicUrl: AUDIENCE },
    fetchIssuer: async (url) => {
      const [, issuer] = [...issuers].find(([at]) => url.startsWith(`${at}/`)) ?? [];
      if (issuer === undefined) throw new Error(`${url} not found`);
      return issuer.fetch(url);
    },
  });
});
afterAll(async () => {
  await registry?.close();
});

async function add(wanted: Record<string, unknown>): Promise<TrustedPublisher> {
  const { status, body } = await registry.send<TrustedPublisher>(
    'POST',
    '/api/v1/trusted-publishers',
    wanted,
  );
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}

async function removeAll(): Promise<void> {
  const authorization = await registry.bearer();
  for (const { id } of await registry.parts.store.trustedPublishers()) {
    const removed = await registry.request(`/api/v1/trusted-publishers/${id}`, {
      method: 'DELETE',
      headers: { Authorization: authorization },
    });
    expect(removed.status).toBe(204);
  }
}

async function exchange(name: CiProvider, claims: Claims) {
  const issuer = issuers.get(issuerOf(name))!;
  const signed = { aud: AUDIENCE, ...claims, iss: issuer.issuer };
  const token = await issuer.sign(signed, { now: registry.parts.clock() });
  return registry.send<ExchangedToken & Problem>('POST', '/api/v1/oidc/token', { token });
}

const workflowTokens = async () =>
  (await registry.parts.store.tokens()).filter(({ run }) => run !== undefined);

describe.each(CI_PROVIDERS)('the exchange of a token of %s', (name) => {
  const { settings, claims } = RUNS[name];

  it('gives a token for a run as its provider describes it, and for none that a rule refuses', async () => {
    await removeAll();
    const { issuer } = await add({ group: 'example.com', provider: name, issuer: issuerOf(name), settings });
    const before = (await workflowTokens()).length;
    for (const [, changed] of REFUSED_RUNS.filter(([of]) => of === name)) {
      const { status, body } = await exchange(name, { ...claims, ...changed });
      expect([401, 403], JSON.stringify(changed)).toContain(status);
      expect(body.hint).toMatch(/krmhub|Request|owner|Run it as expected/);
    }
    expect(await workflowTokens()).toHaveLength(before);
    const { status, body } = await exchange(name, claims);
    expect([status, body.publishes]).toEqual([201, ['example.com']]);

    // Each ID is pinned now.
    const [publisher] = await registry.parts.store.trustedPublishers();
    expect(Object.keys(publisher!.pins)).toEqual(Object.keys(provider(name).pins));
    expect(publisher!.issuer).toBe(issuer);
    for (const { claim } of Object.values(provider(name).pins)) {
      const [first, ...inner] = typeof claim === 'string' ? [claim] : claim;
      const replace = (value: unknown, path: readonly string[]): unknown =>
        path.length === 0
          ? 'another'
          : { ...(value as object), [path[0]!]: replace((value as Claims)[path[0]!], path.slice(1)) };
      const taken = await exchange(name, { ...claims, [first!]: replace(claims[first!], inner) });
      expect([taken.status, taken.body.detail]).toEqual([403, expect.stringContaining('another')]);
    }
  });

  it('refuses a token for another audience, and for several', async () => {
    for (const aud of [
      'https://other.example.net',
      [AUDIENCE, 'https://other.example.net'],
      [],
      '',
      7,
      null,
    ]) {
      const { status, body } = await exchange(name, { ...claims, aud });
      expect([status, body.detail]).toEqual([401, expect.stringMatching(/audience|"aud"/)]);
    }
    const { status } = await exchange(name, { ...claims, aud: [AUDIENCE] });
    expect(status === 201).toBe(provider(name).listsAudience);
  });

  it('takes no claim of another type', async () => {
    const wrong: unknown[] = [null, true, 0, [], ['push'], {}, { toString: 'x' }];
    for (const { claim } of Object.values(provider(name).settings)) {
      if (typeof claim !== 'string') continue;
      for (const value of wrong) {
        const { status } = await exchange(name, { ...claims, [claim]: value });
        const hasSetting = Object.keys(settings).some((key) => provider(name).settings[key]?.claim === claim);
        if (hasSetting) expect([401, 403], `${claim} ${JSON.stringify(value)}`).toContain(status);
      }
    }
  });
});

/** The rules for GitHub, decided again. */
function isPublisher({ settings, pins }: StoredPublisher, run: Record<string, string>): boolean {
  const { repository = '', workflow, environment, ref = '' } = settings;
  const [path = '', file = ''] = run.workflow_ref!.split('@')[0]!.split('/.github/workflows/');
  return (
    repository.toLowerCase() === run.repository!.toLowerCase() &&
    [path.toLowerCase(), file].join() === [repository.toLowerCase(), workflow].join() &&
    (environment === undefined || environment === run.environment?.toLowerCase()) &&
    (ref.endsWith('*') ? run.ref!.startsWith(ref.slice(0, -1)) : ref === '' || ref === run.ref) &&
    (pins.repositoryId ?? run.repository_id) === run.repository_id &&
    (pins.ownerId ?? run.repository_owner_id) === run.repository_owner_id &&
    run.event_name === 'push'
  );
}

it('gives no token for a target whose publisher does not match, whatever is published and claimed', async () => {
  await removeAll();
  const random = randomNumbers(20261129);
  const any = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)]!;
  const repositories = ['a/one', 'A/One', 'a/two', 'b/one'];
  const workflows = ['release.yml', 'Release.yml', 'test.yaml'];
  const refs = ['refs/heads/main', 'refs/tags/v1', 'refs/tags/v1/x'];
  for (let count = 0; count < 40; count += 1) {
    await registry.send('POST', '/api/v1/trusted-publishers', {
      group: any(['x.example.com', 'y.example.com', 'z.example.com']),
      ...any([{}, { kind: 'SetLabels' }, { kind: 'SetName' }]),
      provider: 'github',
      settings: {
        repository: any(repositories),
        workflow: any(workflows),
        ...any([{}, { environment: 'release' }, { ref: 'refs/tags/*' }, { ref: 'refs/heads/main' }]),
      },
      ...any([{}, { pins: { repositoryId: '1' } }, { pins: { ownerId: '2' } }]),
    });
  }
  let granted = 0;
  for (let count = 0; count < 120; count += 1) {
    const repository = any(repositories);
    const claims = {
      repository,
      repository_id: any(['1', '2']),
      repository_owner_id: any(['2', '3']),
      workflow_ref: `${any([repository, repository, 'b/one'])}/.github/workflows/${any(workflows)}@${any(refs)}`,
      ref: any(refs),
      event_name: any(['push', 'push', 'push', 'workflow_run']),
      ...any([{}, { environment: 'Release' }]),
    };
    const publishers = await registry.parts.store.trustedPublishers();
    const matching = publishers.filter((one) => isPublisher(one, claims));
    const targets = matching.map(({ group, kind }) => (kind === undefined ? group : `${group}/${kind}`));
    const { status, body } = await exchange('github', claims);
    expect([403, 201]).toContain(status);
    expect([...(body.publishes ?? [])].sort()).toEqual([...new Set(targets)].sort());
    if (status === 201) granted += 1;
  }
  expect(granted).toBeGreaterThan(10);
});

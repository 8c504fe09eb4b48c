import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { searchDocument } from '@krmhub/catalog';
import type { SourceIdentity, SourceRequirements } from '@krmhub/schema';
import { PROVENANCE_PREDICATE, predicateStatement, TEST_RESULT_PREDICATE } from '@krmhub/signing';
import { TestFulcio } from '@krmhub/signing/testing/fulcio';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createStatement } from '../../testing/signing.js';
import { openTestRegistry, releasePath, type TestRegistry } from '../../testing/test-registry.js';

/** Policies that require a source, with certificates of a test instance. */

const ISSUER = 'https://token.actions.githubusercontent.com';
const REPOSITORY = 'https://github.com/example/functions';
const SUBJECT = `${REPOSITORY}/.github/workflows/release.yml@refs/tags/v1.0.0`;
const SOURCE: SourceIdentity = {
  buildConfigURI: SUBJECT,
  buildSignerURI: SUBJECT,
  sourceRepositoryURI: REPOSITORY,
  sourceRepositoryDigest: '1a2b3c4d5e6f708192a3b4c5d6e7f80910a1b2c3',
  sourceRepositoryRef: 'refs/tags/v1.0.0',
  sourceRepositoryIdentifier: '123',
};
const RELEASE = { kind: 'SetLabels', release: '1.0.0' };

let fulcio: TestFulcio;
let folder: string;
let registry: TestRegistry;

beforeAll(async () => {
  fulcio = await TestFulcio.start();
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-source-'));
  await writeFile(path.join(folder, 'root.json'), fulcio.rootText);
});
beforeEach(async () => {
  registry = await openTestRegistry({ config: { trustedRoot: path.join(folder, 'root.json') } });
});
afterEach(() => registry.close());
afterAll(() => rm(folder, { recursive: true }));

const signed = (source: SourceIdentity, subject = SUBJECT) =>
  fulcio.sign(createStatement(RELEASE), { subject, issuer: ISSUER, source });
async function applyPolicy(required: SourceRequirements, more: object = {}) {
  const spec = { groups: ['example.com'], signers: [{ issuer: ISSUER, ...required }], ...more };
  const policy = {
    apiVersion: 'krmhub.dev/v1alpha1',
    kind: 'SigningPolicy',
    metadata: { name: 'team' },
    spec,
  };
  const applied = await registry.send<{ changed: number }>('PUT', '/api/v1/policies', JSON.stringify(policy));
  expect(applied.status, JSON.stringify(applied.body)).toBe(200);
  return applied.body;
}
const publish = (...bundles: Uint8Array[]) => registry.publish(RELEASE, '', { bundles });
const signature = async () =>
  (await registry.send<{ signature: { state: string; text: string } }>('GET', releasePath(RELEASE))).body
    .signature;

describe('a policy that requires a source', () => {
  it('accepts it, and names every claim that is another one', async () => {
    await applyPolicy({ repositoryId: '123', ref: 'refs/tags/v*' });
    const other = { ...SOURCE, sourceRepositoryIdentifier: '456', sourceRepositoryRef: 'refs/heads/main' };
    const refused = await publish(await signed(other));
    expect(refused.status).toBe(422);
    expect(refused.body.detail).toContain(
      'requires another source: repositoryId is "456", expected 123; ref is "refs/heads/main", expected refs/tags/v*',
    );
    expect((await publish(await signed({}))).body.detail).toContain('repositoryId is missing, expected 123');
    expect((await publish(await signed(SOURCE))).status).toBe(201);
    expect((await signature()).state).toBe('verified');
  });

  it('judges bundles that an older version stored without a source', async () => {
    expect((await publish(await signed(SOURCE))).status).toBe(201);
    await forgetSource();
    expect((await applyPolicy({ repositoryId: '123', ref: 'refs/tags/v*' })).changed).toBe(1);
    expect((await signature()).state).toBe('verified');
    await applyPolicy({ repositoryId: '456', ref: 'refs/tags/v*' });
    expect((await signature()).text).toContain('repositoryId is "123", expected 456');
  });
});

describe('a policy that requires several signers', () => {
  const OTHER = `${REPOSITORY}/.github/workflows/review.yml@refs/heads/main`;
  const both = {
    signers: [SUBJECT, OTHER].map((subject) => ({ issuer: ISSUER, subject })),
    requireAll: true,
  };

  it('accepts a release that they signed together, and shows them', async () => {
    await applyPolicy({}, both);
    const [first, second] = [await signed(SOURCE), await signed(SOURCE, OTHER)];
    for (const bundles of [[first], [second], [first, first]]) {
      const refused = await publish(...bundles);
      expect([refused.status, refused.body.detail]).toEqual([
        422,
        expect.stringContaining('requires signatures by 2 of its signers, but the release has only 1'),
      ]);
    }
    expect((await publish(first, second)).status).toBe(201);
    expect((await signature()).text).toBe(
      `verified as ${SUBJECT} (${ISSUER}) and ${OTHER} (${ISSUER}) by the registry policy team`,
    );
  });

  it('can be satisfied by attaching the missing signature', async () => {
    expect((await publish(await signed(SOURCE))).status).toBe(201);
    await applyPolicy({}, both);
    expect((await signature()).state).toBe('not-trusted');
    const stranger = await registry.attach(RELEASE, await signed(SOURCE, `${OTHER}2`));
    expect(stranger.status).toBe(422);
    expect((await registry.attach(RELEASE, await signed(SOURCE, OTHER))).status).toBe(200);
    expect((await signature()).state).toBe('verified');
  });
});

describe('a repository that was registered again', () => {
  const again = { ...SOURCE, sourceRepositoryIdentifier: '456' };

  it('does not have the pinned signer of the former one, even after a takedown', async () => {
    expect((await publish(await signed(SOURCE))).status).toBe(201);
    const next = { kind: RELEASE.kind, release: '1.1.0' };
    const sign = (source: SourceIdentity) =>
      fulcio.sign(createStatement(next), { subject: SUBJECT, issuer: ISSUER, source });
    const refused = async () => registry.publish(next, '', { bundles: [await sign(again)] });
    const reason = 'another repository with the same name: its ID is 456, not 123';
    expect((await refused()).body.detail).toContain(reason);
    expect((await registry.attach(RELEASE, await signed(again))).body.detail).toContain(reason);
    expect((await registry.takeDown(RELEASE)).status).toBe(200);
    expect((await refused()).body.detail).toContain(reason);
    expect((await registry.publish(next, '', { bundles: [await sign(SOURCE)] })).status).toBe(201);
  });
});

describe('a policy that requires attestations', () => {
  const builder = 'https://github.com/actions/runner/github-hosted';
  const required = {
    signers: [{ issuer: ISSUER, subject: SUBJECT }],
    attestations: [{ type: 'provenance', builder, repository: REPOSITORY }, { type: 'sbom' }],
  };
  const attestation = (predicateType: string, predicate: Record<string, unknown> = {}) => {
    const [{ digest }] = createStatement(RELEASE).subject as [{ digest: { sha256: string } }];
    const statement = predicateStatement({ digest: `sha256:${digest.sha256}` }, predicateType, predicate);
    return fulcio.sign(statement, { subject: SUBJECT, issuer: ISSUER, source: SOURCE });
  };
  const provenance = (repository: string) =>
    attestation(PROVENANCE_PREDICATE, {
      buildDefinition: { externalParameters: { workflow: { repository } } },
      runDetails: { builder: { id: builder } },
    });
  const state = async () => {
    const { body } = await registry.send<{ items: { signature: { state: string } }[] }>(
      'GET',
      '/api/v1/functions',
    );
    return [(await signature()).state, body.items[0]!.signature.state];
  };

  it('refuses a release without them, and accepts one with all', async () => {
    await applyPolicy({}, required);
    const [own, sbom] = [await signed(SOURCE), await attestation('https://spdx.dev/Document')];
    expect((await publish(own, await provenance('https://github.com/evil/functions'))).body.detail).toContain(
      `repository is "https://github.com/evil/functions", expected ${REPOSITORY}; ` +
        'the policy team requires a bill of materials (SPDX or CycloneDX), but the release has none',
    );
    expect((await publish(own, sbom, await provenance(REPOSITORY))).status).toBe(201);
    expect(await state()).toEqual(['verified', 'verified']);
  });

  it('accepts a release before its tests ran, and trusts it when they passed', async () => {
    await applyPolicy({}, { ...required, attestations: [{ type: 'tests' }] });
    expect((await publish(await signed(SOURCE))).status).toBe(201);
    expect(await state()).toEqual(['not-trusted', 'not-trusted']);
    const report = (result: string, names: object) =>
      attestation(TEST_RESULT_PREDICATE, {
        result,
        configuration: [],
        passedTests: [],
        warnedTests: [],
        failedTests: [],
        ...names,
      });
    await registry.attach(RELEASE, await report('PASSED', { passedTests: ['a'] }));
    expect(await state()).toEqual(['verified', 'verified']);
    await registry.attach(RELEASE, await report('FAILED', { failedTests: ['a'] }));
    expect((await signature()).text).toContain('requires a test report: 1 test failed');
  });

  it('is satisfied by attaching them later, also for the search', async () => {
    expect((await publish(await signed(SOURCE), await provenance(REPOSITORY))).status).toBe(201);
    await forgetSource();
    await applyPolicy({}, required);
    expect(await state()).toEqual(['not-trusted', 'not-trusted']);
    expect((await signature()).text).not.toContain('SLSA provenance');
    expect((await registry.attach(RELEASE, await attestation('https://cyclonedx.org/bom'))).status).toBe(200);
    expect(await state()).toEqual(['verified', 'verified']);
  });
});

describe('the source of a release', () => {
  const read = async () =>
    (await registry.send<{ builtFrom?: string; bundles: object[] }>('GET', releasePath(RELEASE))).body;
  const page = async () =>
    (await registry.request('/functions/example.com/SetLabels/releases/1.0.0/signatures')).text();
  const TEXT = 'built from github.com/example/functions at 1a2b3c4 by release.yml on the tag v1.0.0';

  it('is shown while its signature is not rejected', async () => {
    expect((await publish(await signed(SOURCE))).status).toBe(201);
    expect(await read()).toMatchObject({ builtFrom: TEXT, bundles: [{ source: SOURCE }] });
    expect(await page()).toContain(TEXT);
    await applyPolicy({ repositoryId: '456', ref: 'refs/tags/v*' });
    expect(await read()).not.toHaveProperty('builtFrom');
    expect((await page()).toLowerCase()).not.toContain('built from');
  });

  it('is escaped on pages', async () => {
    const hostile = {
      ...SOURCE,
      sourceRepositoryURI: 'https://github.com/<script>alert(1)</script>/x\u202e',
      runInvocationURI: 'javascript:alert(1)',
      deploymentEnvironment: '"><img src=x>',
    };
    expect((await publish(await signed(hostile))).status).toBe(201);
    const html = await page();
    expect(html).toContain('&lt;script&gt;alert(1)');
    for (const text of ['<script>alert', '\u202e', 'href="javascript:', '<img src=x>'])
      expect(html).not.toContain(text);
  });
});

/** Removes the source from the records of the release, as an older version wrote them. */
async function forgetSource(): Promise<void> {
  const { store } = registry.parts;
  const name = { group: 'example.com', kind: RELEASE.kind };
  const fn = (await store.function(name.group, name.kind))!;
  const release = (await store.release(name.group, name.kind, RELEASE.release))!;
  const bundles = release.bundles!.map(({ signer, provenance: _, ...bundle }) => {
    if (signer?.type !== 'identity') return bundle;
    const { source: __, ...rest } = signer;
    return { ...bundle, signer: rest };
  });
  const changed = { ...release, bundles };
  await store.commitFunction({
    ...name,
    expectedRevision: fn.revision,
    action: 'update',
    release: changed,
    search: searchDocument(fn, [changed], changed),
    event: {
      type: 'release.attested',
      at: release.publishedAt,
      by: 'test',
      ...name,
      release: RELEASE.release,
      digest: release.digest,
      reason: 'test',
    },
  });
}

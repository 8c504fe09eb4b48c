import type { PolicySet } from '@krmhub/api/model';
import {
  encodeStatement,
  IN_TOTO_MEDIA_TYPE,
  predicateStatement,
  type Statement,
  TEST_RESULT_PREDICATE,
  type TestResult,
  testResultStatement,
} from '@krmhub/signing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createStatement,
  newKey,
  policy,
  releaseDigests,
  signedBy,
  type TestKey,
} from '../testing/signing.js';
import { openTestRegistry, releasePath, type TestRegistry } from '../testing/test-registry.js';

const KIND = 'SetLabels';
const key = newKey();
let registry: TestRegistry;

beforeEach(async () => {
  registry = await openTestRegistry();
});

afterEach(() => registry.close());

const PASSED: TestResult = {
  result: 'PASSED',
  configuration: [{ name: 'v1 container', digest: { sha256: 'c'.repeat(64) } }],
  passedTests: ['comments', 'example basic'],
  warnedTests: [],
  failedTests: [],
};
const FAILED: TestResult = { ...PASSED, result: 'FAILED', passedTests: [], failedTests: ['comments'] };

const createReport = (release: string, result = PASSED, kind = KIND) =>
  testResultStatement(releaseDigests({ kind, release }), result);

async function publish(release: string, kind = KIND): Promise<void> {
  expect((await registry.publish({ kind, release }, '')).status).toBe(201);
}

const attach = (release: string, bundle: Uint8Array | string, kind = KIND) =>
  registry.attach({ kind, release }, bundle);

async function attachTo(release: string, tester: TestKey, result = PASSED): Promise<void> {
  const { status, body } = await attach(release, await signedBy(tester, createReport(release, result)));
  expect(status, body.detail).toBe(200);
}

async function applyPolicies(text: string): Promise<void> {
  expect((await registry.send('PUT', '/api/v1/policies?remove=true', text)).status).toBe(200);
}

async function listTests(release: string, kind = KIND): Promise<Record<string, unknown>[]> {
  const response = await registry.request(releasePath({ kind, release }));
  return ((await response.json()) as { tests?: Record<string, unknown>[] }).tests ?? [];
}

async function readPage(tab = ''): Promise<string> {
  const response = await registry.request(`/functions/example.com/${KIND}${tab}`, {
    headers: { Accept: 'text/html' },
  });
  expect(response.status).toBe(200);
  // Without the elements, a page is what a reader sees.
  return (await response.text()).replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
}

describe('a test report of a release', () => {
  beforeEach(() => publish('1.0.0'));

  it('is shown with the result, the signer, and the time', async () => {
    expect(await listTests('1.0.0')).toEqual([]);
    expect(await readPage()).not.toContain('Tests passed');
    await attachTo('1.0.0', key, { ...PASSED, finishedAt: '2020-02-03T04:05:06Z' });
    const text = `passed: 2 tests, reported by the key ${key.fingerprint} on 2020-02-03; no registry policy covers the release`;
    expect(await listTests('1.0.0')).toEqual([
      {
        result: 'passed',
        passed: 2,
        warned: 0,
        failed: 0,
        state: 'signed',
        trusted: false,
        text,
        signer: `the key ${key.fingerprint}`,
        reportedAt: '2020-02-03T04:05:06.000Z',
        bundle: expect.stringMatching(/^sha256:/),
      },
    ]);
    const short = `the key ${key.fingerprint.slice(0, 19)}…`;
    expect(await readPage()).toContain(`Tests passed reported by ${short} , 2020-02-03`);
    const page = await readPage('/signatures');
    expect(page).toContain(text.slice(1));
    expect(page).not.toContain('attestation');
  });

  it('is verified if a policy trusts the signer, and not trusted if the policy names another', async () => {
    const other = newKey();
    await attachTo('1.0.0', key);
    await attachTo('1.0.0', other, FAILED);
    await applyPolicies(policy([key]));
    expect(await listTests('1.0.0')).toMatchObject([
      { result: 'passed', trusted: true, state: 'verified', policy: 'team' },
      { trusted: false, state: 'not-trusted', reason: expect.stringContaining('does not allow this signer') },
    ]);
    expect((await listTests('1.0.0'))[1]).not.toHaveProperty('result');
    expect(await readPage()).toMatch(
      /Tests passed reported by the key \S+ , [-\d]+ [:\d]+ UTC policy team and 1 more/,
    );
    await applyPolicies(policy([newKey()]));
    const page = await readPage();
    expect(page).toContain('Tests not trusted');
    expect(page).not.toContain('Tests passed');
  });

  it('is verified if a policy lets the signer report tests only, whose signature of a release is refused', async () => {
    const [owner, tester] = [newKey(), newKey()];
    await attachTo('1.0.0', tester);
    const own = policy([tester]);
    await applyPolicies(`${policy([owner])}  testers:\n${own.slice(own.indexOf('  - key'))}`);
    expect(await listTests('1.0.0')).toMatchObject([{ result: 'passed', trusted: true, policy: 'team' }]);
    expect(await readPage()).toMatch(/Tests passed reported by the key \S+ , [-\d]+ [:\d]+ UTC policy team/);
    const signature = await signedBy(tester, createStatement({ kind: KIND, release: '1.0.0' }));
    expect(await attach('1.0.0', signature)).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('does not allow this signer') },
    });
    const page = await (await registry.request('/policies/team')).text();
    expect(page).toContain('Signers of test reports only');
    expect(page).toContain(tester.fingerprint);
    const { policies } = (await (await registry.request('/api/v1/policies')).json()) as PolicySet;
    expect(policies).toMatchObject([{ testers: [{ fingerprint: tester.fingerprint }] }]);
  });

  it('with failures is shown as failed, with the names of the tests', async () => {
    const failedTests = ['a', '‮evil', '<b>x</b>', 'd', 'e', 'f'];
    await attachTo('1.0.0', key, { ...FAILED, failedTests });
    expect(await listTests('1.0.0')).toMatchObject([
      { result: 'failed', failed: 6, failedTests: failedTests.slice(0, 5) },
    ]);
    expect(await readPage()).toContain('Tests failed reported by');
    const raw = await (await registry.request(`/functions/example.com/${KIND}/signatures`)).text();
    expect(raw).toContain('6 of 6 tests (a, �evil, &lt;b&gt;x&lt;/b&gt;, d, e, …)');
    expect(raw).not.toContain('‮');
  });

  it('is replaced by a newer one of the same signer, and not by an older one that is added later', async () => {
    await attachTo('1.0.0', key, { ...PASSED, finishedAt: '2020-01-01T00:00:00Z' });
    await attachTo('1.0.0', key, { ...FAILED, finishedAt: '2020-01-03T00:00:00Z' });
    await attachTo('1.0.0', key, { ...PASSED, passedTests: ['a'], finishedAt: '2020-01-02T00:00:00Z' });
    expect(await listTests('1.0.0')).toMatchObject([{ result: 'failed' }]);
    await attachTo('1.0.0', key, { ...PASSED, finishedAt: '2020-01-04T00:00:00Z' });
    expect(await listTests('1.0.0')).toMatchObject([{ result: 'passed' }]);
  });

  it('is not stored again if the signer says the same', async () => {
    for (let at = 0; at < 40; at++) await attachTo('1.0.0', key);
    const { body } = await attach('1.0.0', await signedBy(key, createReport('1.0.0')));
    expect(body.bundles).toHaveLength(1);
  });

  it('makes no release trusted', async () => {
    await attachTo('1.0.0', key);
    await applyPolicies(policy([key]));
    const release = (await (
      await registry.request(releasePath({ kind: KIND, release: '1.0.0' }))
    ).json()) as {
      signature: unknown;
    };
    expect(release.signature).toMatchObject({ trusted: false, state: 'not-trusted' });
  });

  it('stays after a restart, and goes with a takedown', async () => {
    await attachTo('1.0.0', key);
    registry = await registry.reopen();
    expect(await listTests('1.0.0')).toMatchObject([{ result: 'passed' }]);
    expect((await registry.takeDown({ kind: KIND, release: '1.0.0' })).status).toBe(200);
    expect((await registry.request(releasePath({ kind: KIND, release: '1.0.0' }))).status).toBe(410);
    await publish('1.1.0');
    expect(await readPage()).not.toContain('Tests passed');
  });

  const hostile: [string, () => Promise<Uint8Array | string>, string][] = [
    ['other bytes', () => signedBy(key, createReport('2.0.0')), 'not for this artifact'],
    [
      'another function',
      () => signedBy(key, createReport('1.0.0', PASSED, 'Other')),
      'not for this artifact',
    ],
    [
      'the same definition as another release',
      () =>
        signedBy(
          key,
          testResultStatement(
            {
              definition: releaseDigests({ kind: KIND, release: '1.0.0' }).definition,
              manifest: releaseDigests({ kind: KIND, release: '2.0.0' }).manifest,
            },
            PASSED,
          ),
        ),
      'another manifest of example.com/SetLabels@1.0.0',
    ],
    [
      'no subject',
      () => signedBy(key, { ...createReport('1.0.0'), subject: [] }),
      'not an in-toto statement: subject',
    ],
    [
      'no result',
      () =>
        signedBy(
          key,
          predicateStatement(
            { digest: releaseDigests({ kind: KIND, release: '1.0.0' }).definition },
            TEST_RESULT_PREDICATE,
            {},
          ),
        ),
      'invalid test result: result',
    ],
    [
      'a result in lower case',
      () => signedBy(key, saying({ ...PASSED, result: 'passed' })),
      'invalid test result: result',
    ],
    [
      'a failed test in a result that passed',
      () => signedBy(key, saying({ ...PASSED, failedTests: ['comments'] })),
      'the result is PASSED, but failedTests is not empty',
    ],
    ['no test', () => signedBy(key, saying({ ...PASSED, passedTests: [] })), 'it names no test'],
    [
      'too many tests',
      () => signedBy(key, saying({ ...PASSED, passedTests: Array(1_001).fill('a') })),
      'passedTests has more than 1000 items',
    ],
    [
      'more bytes than a bundle may have',
      () => signedBy(key, saying({ ...PASSED, padding: 'a'.repeat(1_100_000) })),
      '1048576 bytes',
    ],
    [
      'a changed payload',
      async () => forged(await signedBy(key, createReport('1.0.0', FAILED))),
      'signature',
    ],
    [
      'a key that cannot be identified',
      async () => {
        const bundle = JSON.parse(Buffer.from(await signedBy(newKey(), createReport('1.0.0'))).toString());
        bundle.verificationMaterial.publicKey.hint = 'mine';
        return JSON.stringify(bundle);
      },
      'no signing policy contains the key',
    ],
    ['no signature', async () => unsigned(await signedBy(key, createReport('1.0.0'))), 'bundle'],
  ];
  it.each(hostile)('is refused with %s', async (_, bundle, reason) => {
    const { status, body } = await attach('1.0.0', await bundle());
    expect(body.detail).toContain(reason);
    expect([413, 422]).toContain(status);
    expect(await listTests('1.0.0')).toEqual([]);
  });

  it('of another predicate type is an attestation, not a report', async () => {
    const other = {
      ...createReport('1.0.0'),
      predicateType: 'https://in-toto.io/attestation/test-result/v0.2',
    };
    expect((await attach('1.0.0', await signedBy(key, other))).status).toBe(200);
    expect(await listTests('1.0.0')).toEqual([]);
    expect(await readPage('/signatures')).toContain(
      'attestation https://in-toto.io/attestation/test-result/v0.2',
    );
  });
});

const saying = (predicate: object): Statement => ({
  ...createReport('1.0.0'),
  predicate: predicate as Record<string, unknown>,
});

/** The envelope says that the tests passed; its signature is for another payload. */
function forged(bundle: Uint8Array): string {
  const json = JSON.parse(Buffer.from(bundle).toString());
  expect(json.dsseEnvelope.payloadType).toBe(IN_TOTO_MEDIA_TYPE);
  json.dsseEnvelope.payload = Buffer.from(encodeStatement(createReport('1.0.0'))).toString('base64');
  return JSON.stringify(json);
}

function unsigned(bundle: Uint8Array): string {
  const json = JSON.parse(Buffer.from(bundle).toString());
  json.dsseEnvelope.signatures = [];
  return JSON.stringify(json);
}

import type { TestSummary } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { ReleaseBundle, Signer } from '../ports/records.js';
import { isNamedSigner } from './evaluate-signatures.js';
import { judgeSignatures } from './signature-verdict.js';
import type { SigningPolicy, TrustedSigner } from './signing-policy.js';
import {
  describeTests,
  repeatsReport,
  testReportLabel,
  testReports,
  testReportText,
} from './test-reports.js';

const FINGERPRINT = `sha256:${'a'.repeat(64)}` as const;
const KEY: Signer = { type: 'key', fingerprint: FINGERPRINT };
const STRANGER: Signer = { type: 'identity', issuer: 'https://issuer.example', subject: 'eve@example.com' };
const NAME = { group: 'example.com', kind: 'SetLabels', release: '1.0.0' };
const PASSED: TestSummary = { result: 'passed', passed: 14, warned: 0, failed: 0 };
const FAILED: TestSummary = { result: 'failed', passed: 12, warned: 0, failed: 2, failedTests: ['comments'] };

const policy = (more: Partial<TrustedSigner> = {}, groups = ['example.com']): SigningPolicy => ({
  name: 'team',
  groups,
  signers: [{ key: 'PEM', fingerprint: FINGERPRINT, ...more } as TrustedSigner],
});

let count = 0;
function report(
  signer: Signer | undefined,
  tests: TestSummary,
  more: Partial<ReleaseBundle> = {},
): ReleaseBundle {
  count += 1;
  return {
    digest: `sha256:${String(count).padStart(64, '0')}`,
    size: 1,
    manifest: `sha256:${String(count).padStart(64, '0')}`,
    claim: 'attestation',
    predicateType: 'https://in-toto.io/attestation/test-result/v0.1',
    receivedAt: '2030-01-10T00:00:00.000Z',
    receivedBy: 'publisher',
    ...(signer === undefined ? {} : { signer }),
    tests,
    ...more,
  };
}

const shown = (policies: readonly SigningPolicy[], ...bundles: ReleaseBundle[]) =>
  testReports(policies, NAME, bundles).map((one) => [testReportLabel(one), testReportText(one)]);

describe('test reports', () => {
  const by = `reported by the key ${FINGERPRINT} on 2030-01-10`;
  it.each([
    [
      'no policy',
      [],
      KEY,
      PASSED,
      'passed',
      `passed: 14 tests, ${by}; no registry policy covers the release`,
    ],
    [
      'a policy',
      [policy()],
      KEY,
      PASSED,
      'passed',
      `passed: 14 tests, ${by}, verified by the registry policy team`,
    ],
    ['failures', [], KEY, FAILED, 'failed', `failed: 2 of 14 tests (comments, …), ${by}; no registry policy`],
    [
      'warnings',
      [],
      KEY,
      { ...PASSED, result: 'warned' as const, warned: 1 },
      'passed with warnings',
      `passed with warnings: 15 tests, 1 with warnings, ${by}`,
    ],
    [
      'a stranger',
      [policy()],
      STRANGER,
      PASSED,
      'not trusted',
      'not trusted: it is signed by eve@example.com',
    ],
    ['a failure of a stranger', [policy()], STRANGER, FAILED, 'not trusted', 'does not allow this signer'],
    [
      'a revoked signer of another group',
      [policy({ revoked: 'the laptop was stolen' }, ['other.example'])],
      KEY,
      PASSED,
      'not trusted',
      'the laptop was stolen',
    ],
  ])('with %s', (_, policies, signer, tests, label, text) => {
    expect(shown(policies, report(signer, tests))).toEqual([[label, expect.stringContaining(text)]]);
  });

  it('by testers are verified, but their signatures of releases are not', () => {
    const tester: Signer = { type: 'key', fingerprint: `sha256:${'b'.repeat(64)}` };
    const key = { key: 'PEM', fingerprint: tester.fingerprint };
    const trusting = { ...policy(), testers: [key] };
    expect(shown([trusting], report(tester, FAILED), report(KEY, PASSED))).toEqual([
      ['failed', expect.stringContaining('verified by the registry policy team')],
      ['passed', expect.stringContaining('verified by the registry policy team')],
    ]);
    const signatures = [{ signer: tester, receivedAt: '2030-01-10T00:00:00.000Z' }];
    expect(judgeSignatures([trusting], NAME, { signatures })).toMatchObject({ state: 'not-trusted' });
    expect(isNamedSigner([trusting], tester)).toBe(false);
    const revoking = { ...policy(), testers: [{ ...key, revoked: 'the runner was stolen' }] };
    expect(shown([revoking], report(tester, PASSED))).toEqual([
      ['not trusted', expect.stringContaining('the runner was stolen')],
    ]);
    expect(shown([policy()], report(tester, PASSED))).toEqual([['not trusted', expect.anything()]]);
  });

  it('are attestations by known signers that say something of tests', () => {
    const { tests: _, ...other } = report(KEY, PASSED);
    const unknown = report(undefined, PASSED);
    expect(shown([], other, unknown, { ...report(KEY, PASSED), claim: 'signature' })).toEqual([]);
    expect(testReports([], NAME)).toEqual([]);
  });

  it('are the newest of each signer, by the signing time, else by when the tests ended', () => {
    const dates = (...bundles: ReleaseBundle[]) => testReports([], NAME, bundles).map(({ at }) => at);
    const day = (number: number) => `2030-01-0${number}T00:00:00.000Z`;
    const ended = (number: number) => report(KEY, { ...PASSED, finishedAt: day(number) });
    // An old report that is added later does not replace a newer one.
    expect(dates(ended(5), ended(3))).toEqual([day(5)]);
    expect(dates(ended(3), ended(5))).toEqual([day(5)]);
    expect(dates(report(KEY, PASSED, { signedAt: day(4) }), ended(2))).toEqual([day(4)]);
    // A clock that is ahead does not make a report the newest forever.
    const ahead = report(KEY, { ...PASSED, finishedAt: '2050-01-01T00:00:00.000Z' });
    const after = report(KEY, FAILED, { receivedAt: '2030-01-11T00:00:00.000Z' });
    expect(shown([], ahead, after)).toEqual([['failed', expect.anything()]]);
    expect(dates(ahead)).toEqual(['2030-01-10T00:00:00.000Z']);
  });

  it('show trusted signers first, and failures before others', () => {
    const second: Signer = { type: 'key', fingerprint: `sha256:${'b'.repeat(64)}` };
    const trusting = policy();
    trusting.signers.push({ key: 'PEM', fingerprint: second.fingerprint });
    const all = [report(STRANGER, FAILED), report(KEY, PASSED), report(second, FAILED)];
    expect(shown([trusting], ...all).map(([label]) => label)).toEqual(['failed', 'passed', 'not trusted']);
  });

  it('repeat the newest report of the signer if they say the same of as much', () => {
    const [passed, failed] = [report(KEY, PASSED), report(KEY, FAILED)];
    expect(repeatsReport([passed], report(KEY, PASSED))).toBe(true);
    expect(repeatsReport([passed], report(KEY, PASSED, { isWhole: true }))).toBe(false);
    expect(repeatsReport([passed], failed)).toBe(false);
    expect(repeatsReport([passed], report(STRANGER, PASSED))).toBe(false);
    expect(repeatsReport([report(undefined, PASSED)], report(undefined, PASSED))).toBe(false);
    expect(repeatsReport([passed, failed], report(KEY, PASSED))).toBe(false);
    expect(repeatsReport([failed], report(KEY, { ...FAILED, failedTests: ['other'] }))).toBe(false);
  });

  it('are described by their numbers', () => {
    expect(describeTests({ ...PASSED, passed: 1 })).toBe('1 test');
    expect(describeTests({ result: 'failed', passed: 0, warned: 0, failed: 0 })).toBe('tests without names');
    const two = { ...FAILED, failedTests: ['comments', 'example a'] };
    expect(describeTests(two)).toBe('2 of 14 tests (comments, example a)');
  });
});

import type { FunctionName, TestSummary } from '@krmhub/schema';
import { compareText } from '@krmhub/schema/compare-text';
import { defined } from '@krmhub/schema/defined';
import type { ReleaseBundle, Signer, Time } from '../ports/records.js';
import { type NewestReport, newestReports, reportTime } from './newest-reports.js';
import { isSound, judgeSignatures, type SignatureVerdict } from './signature-verdict.js';
import { describeSigner, isSameSigner, type SigningPolicy, testReportPolicies } from './signing-policy.js';

/** Reports of test runs, which are attestations of a release. They make no release trusted. */

/** The newest report of one signer, under the current policies. */
export interface TestReport {
  /** Digest of the bundle. */
  bundle: ReleaseBundle['digest'];
  /** What the signer says. Only `testReportLabel` and `testReportText` know whether to believe it. */
  tests: TestSummary;
  /** When it was signed, else when the tests ended. */
  at: Time;
  signer: Signer;
  /** Whether the signer is trusted: `verified`, `signed`, or `not-trusted`. */
  verdict: SignatureVerdict;
}

type Report = NewestReport<ReleaseBundle>;

/** Returns the newest report of each signer: trusted signers first, and of those, failures first. */
export function testReports(
  policies: readonly SigningPolicy[],
  name: FunctionName & { release: string },
  bundles: readonly ReleaseBundle[] = [],
): TestReport[] {
  const trusting = testReportPolicies(policies);
  return newestReports(ownReports(bundles))
    .map((report) => judge(trusting, name, report))
    .sort(
      (a, b) =>
        rank(a) - rank(b) ||
        Number(b.tests.result === 'failed') - Number(a.tests.result === 'failed') ||
        compareText(b.at, a.at),
    );
}

/**
 * Reports whether a report adds nothing to the newest one of the same signer. Otherwise, a test that runs every day
 * would fill the release with equal reports.
 */
export function repeatsReport(bundles: readonly ReleaseBundle[], bundle: ReleaseBundle): boolean {
  const { signer, tests } = bundle;
  if (signer === undefined || tests === undefined) return false;
  const before = newestReports(ownReports(bundles)).find((one) => isSameSigner(one.signer, signer));
  if (before === undefined || (bundle.isWhole === true && before.isWhole !== true)) return false;
  return saysSame(before.tests, tests);
}

function rank({ verdict }: TestReport): number {
  return verdict.state === 'verified' ? 0 : isSound(verdict) ? 1 : 2;
}

/** A few words: the result, unless the signer is rejected. */
export function testReportLabel({ tests, verdict }: Pick<TestReport, 'tests' | 'verdict'>): string {
  return isSound(verdict) ? RESULTS[tests.result] : 'not trusted';
}

const RESULTS: Record<TestSummary['result'], string> = {
  passed: 'passed',
  warned: 'passed with warnings',
  failed: 'failed',
};

/**
 * Returns one line: the result with the signer, the day, and the policy, or why the report does not count. Has foreign
 * text.
 */
export function testReportText(report: Omit<TestReport, 'bundle'>): string {
  const { tests, at, signer, verdict } = report;
  const { policy, reason } = verdict;
  const label = testReportLabel(report);
  if (!isSound(verdict)) return `${label}: ${reason}`;
  const by = `${label}: ${describeTests(tests)}, reported by ${describeSigner(signer)} on ${at.slice(0, 10)}`;
  return policy === undefined
    ? `${by}; no registry policy covers the release`
    : `${by}, verified by the registry policy ${policy}`;
}

/** Returns the numbers of tests, and the names of failed ones. Has foreign text. */
export function describeTests({ passed, warned, failed, failedTests = [] }: TestSummary): string {
  const total = passed + warned + failed;
  const numbers =
    failed > 0
      ? `${failed} of ${count(total)}`
      : warned > 0
        ? `${count(total)}, ${warned} with warnings`
        : count(total);
  if (failedTests.length === 0) return numbers;
  const more = failed > failedTests.length ? ', …' : '';
  return `${numbers} (${failedTests.join(', ')}${more})`;
}

function count(tests: number): string {
  return tests === 0 ? 'tests without names' : `${tests} ${tests === 1 ? 'test' : 'tests'}`;
}

function ownReports(bundles: readonly ReleaseBundle[]): ReleaseBundle[] {
  return bundles.filter(({ claim }) => claim === 'attestation');
}

function judge(
  policies: readonly SigningPolicy[],
  name: FunctionName & { release: string },
  report: Report,
): TestReport {
  const { digest, tests, signer, signedAt, receivedAt } = report;
  const signature = { signer, receivedAt, ...defined({ signedAt }) };
  const verdict = judgeSignatures(policies, name, { signatures: [signature] });
  return { bundle: digest, tests, at: reportTime(report), signer, verdict };
}

function saysSame(a: TestSummary, b: TestSummary): boolean {
  return (
    a.result === b.result &&
    a.passed === b.passed &&
    a.warned === b.warned &&
    a.failed === b.failed &&
    (a.failedTests ?? []).join('\n') === (b.failedTests ?? []).join('\n')
  );
}

import type { Signer, TestSummary } from '@krmhub/schema';
import { compareText } from '@krmhub/schema/compare-text';
import type { Time } from '../ports/records.js';
import { isSameSigner } from './signing-policy.js';

/** What a report is by: an attestation or its bundle. */
interface ReportFields {
  tests?: TestSummary;
  signer?: Signer;
  signedAt?: Time;
  receivedAt: Time;
}

export type NewestReport<One> = One & { tests: TestSummary; signer: Signer };

/** Returns the newest test report of each signer: only those whose signer is known, so only verified ones. */
export function newestReports<One extends ReportFields>(reports: readonly One[]): NewestReport<One>[] {
  const newest: NewestReport<One>[] = [];
  for (const one of reports) {
    const { tests, signer } = one;
    if (tests === undefined || signer === undefined) continue;
    const report = { ...one, tests, signer };
    const at = newest.findIndex((other) => isSameSigner(other.signer, signer));
    if (at === -1) newest.push(report);
    else if (compareText(reportTime(newest[at]!), reportTime(report)) <= 0) newest[at] = report;
  }
  return newest;
}

/** A tester's clock may be wrong, but no report is from after it was received. */
export function reportTime({
  signedAt,
  receivedAt,
  tests: { finishedAt = receivedAt },
}: ReportFields & { tests: TestSummary }): Time {
  return signedAt ?? (finishedAt < receivedAt ? finishedAt : receivedAt);
}

import { isSound } from '@krmhub/catalog';
import type { OciDigest } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import type { TryItExample } from '@krmhub/schema/documents/try-it';
import { readBundle, readStatement, readTestResult } from '@krmhub/signing';
import { functionRepository } from '../../store/artifacts/repositories.js';
import type { DeriveDeps } from '../../workers/derive/derivation.js';
import type { FunctionReading, ReadFunctionDeps } from '../function/read-function.js';

/** The file of a test report that a page can show the examples of. */
export interface StoredReport {
  file: Digest;
}

/** Returns the first report whose signer is not rejected and whose tests passed: its files are what the function did. */
export async function findReport(
  { store }: ReadFunctionDeps,
  { name, known }: FunctionReading,
): Promise<StoredReport | undefined> {
  const shown = known?.tests.find(({ verdict, tests }) => isSound(verdict) && tests.result !== 'failed');
  const blob = shown && (await store.blob(functionRepository(name), shown.bundle as OciDigest));
  return blob && { file: blob.file };
}

/** Reads the examples of a report. The registry verified its signature when it was attached. */
export async function readRecordedExamples(
  { artifacts, blobs }: DeriveDeps,
  report: StoredReport | undefined,
): Promise<TryItExample[]> {
  const bytes = report && ((await artifacts.get(report.file)) ?? (await blobs.get(report.file)));
  const bundle = bytes && readBundle(bytes);
  if (bundle === undefined || typeof bundle === 'string' || bundle.content.$case !== 'dsseEnvelope')
    return [];
  const statement = readStatement(bundle.content.dsseEnvelope.payload);
  const result = typeof statement === 'string' ? statement : readTestResult(statement);
  return typeof result === 'string' ? [] : (result.examples ?? []);
}

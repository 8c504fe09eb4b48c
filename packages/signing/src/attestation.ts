import type { AttestationSummary, ProvenanceSummary, TestSummary } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { z } from 'zod';
import { SIGNING_LIMITS } from './limits.js';
import type { Statement } from './statement.js';
import { readTestResult, TEST_RESULT_PREDICATE } from './test-result.js';

/** Predicate: how an artifact was built (SLSA 1.0, "Provenance"). */
export const PROVENANCE_PREDICATE = 'https://slsa.dev/provenance/v1';

/** Failed tests to name; the bundle has all. */
const MAX_FAILED_TESTS = 5;

/** Returns what policies can require of an attestation, or why it is no valid test result. */
export function summarizeAttestation(statement: Statement): AttestationSummary | string {
  if (statement.predicateType === PROVENANCE_PREDICATE) return { provenance: readProvenance(statement) };
  if (statement.predicateType !== TEST_RESULT_PREDICATE) return {};
  const read = readTestResult(statement);
  if (typeof read === 'string') return read;
  const { result, passedTests, warnedTests, failedTests, finishedAt } = read;
  return {
    tests: {
      result: result.toLowerCase() as TestSummary['result'],
      passed: passedTests.length,
      warned: warnedTests.length,
      failed: failedTests.length,
      ...defined({
        failedTests: failedTests.length === 0 ? undefined : failedTests.slice(0, MAX_FAILED_TESTS),
        finishedAt: finishedAt === undefined ? undefined : new Date(finishedAt).toISOString(),
      }),
    },
  };
}

const Text = z
  .string()
  .min(1)
  .max(SIGNING_LIMITS.maxExtensionBytes)
  .regex(/^\P{Cc}+$/u);
const Builder = z.object({ runDetails: z.object({ builder: z.object({ id: Text }) }) });
/** Where build types name the source: GitHub workflows, and those of slsa-github-generator. */
const Workflow = z.object({ workflow: z.object({ repository: Text }) });
const Source = z.object({ source: z.union([Text, z.object({ uri: Text })]) });

/** Reads builder and repository. What is not in a known form is absent, so that it meets no requirement. */
function readProvenance({ predicate }: Statement): ProvenanceSummary {
  const builder = Builder.safeParse(predicate).data?.runDetails.builder.id;
  const { externalParameters } = (predicate.buildDefinition ?? {}) as { externalParameters?: unknown };
  const workflow = Workflow.safeParse(externalParameters).data?.workflow.repository;
  const source = Source.safeParse(externalParameters).data?.source;
  const uris = [workflow, typeof source === 'object' ? source.uri : source].flatMap((uri) =>
    uri === undefined ? [] : [repositoryUrl(uri)],
  );
  const [repository] = uris;
  // Two different sources are not one that a policy can name.
  const isOne = uris.every((uri) => uri === repository);
  return defined({ builder, repository: isOne ? repository : undefined });
}

/** `git+https://github.com/example/functions@refs/heads/main` is the repository without the rest (SPDX). */
function repositoryUrl(uri: string): string {
  return uri.replace(/^git\+/, '').replace(/@(?:refs\/.*|[^/@]+)$/s, '');
}

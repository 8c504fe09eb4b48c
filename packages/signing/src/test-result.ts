import type { Digest } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { TryItExample } from '@krmhub/schema/documents/try-it';
import { z } from 'zod';
import { SIGNING_LIMITS } from './limits.js';
import { isMapping, MANIFEST_SUBJECT, namedSubject, STATEMENT_TYPE, type Statement } from './statement.js';

/** Predicate: these tests ran on the subjects, with this result (in-toto attestation, "Test Result"). */
export const TEST_RESULT_PREDICATE = 'https://in-toto.io/attestation/test-result/v0.1';

/** Something that a test run used (in-toto attestation, "ResourceDescriptor"). It has a URI or a digest. */
export interface TestedResource {
  name?: string;
  uri?: string;
  /** Hexadecimal, by algorithm. */
  digest?: Record<string, string>;
}

/** The result of a test run. Names of tests are foreign text. */
export interface TestResult {
  result: 'PASSED' | 'WARNED' | 'FAILED';
  /** What ran, and with what. */
  configuration: TestedResource[];
  passedTests: string[];
  warnedTests: string[];
  failedTests: string[];
  /** RFC 3339: when the tests ended, by the clock of the tester. */
  finishedAt?: string;
  /** The first examples that passed, as far as they fit. */
  examples?: TryItExample[];
}

/** The predicate has no time and no files, and allows extension fields (in-toto attestation, "Parsing rules"). */
const FINISHED_AT = 'krmhub_finishedAt';
const EXAMPLES = 'krmhub_examples';

const Names = z.array(z.string().min(1).max(SIGNING_LIMITS.maxTestNameLength)).default([]);
const Files = z.record(z.string(), z.string());
const Example = z.object({
  name: z.string().max(SIGNING_LIMITS.maxTestNameLength),
  functionConfig: z.string().optional(),
  input: Files,
  output: Files.optional(),
  messages: z.array(z.string()),
});
const TestResultPredicate = z.object({
  result: z.enum(['PASSED', 'WARNED', 'FAILED']),
  // Their fields are not validated: nothing here reads them.
  configuration: z.array(z.custom<TestedResource>(isMapping, 'Invalid input: expected an object')),
  passedTests: Names,
  warnedTests: Names,
  failedTests: Names,
  [FINISHED_AT]: z.iso.datetime().optional(),
  [EXAMPLES]: z.array(Example).max(SIGNING_LIMITS.maxRecordedExamples).optional(),
});

/** Builds the statement of a test run on a release: on its definition, and the manifest that contains it. */
export function testResultStatement(
  { definition, manifest }: { definition: Digest; manifest: string },
  { finishedAt, examples, ...result }: TestResult,
): Statement {
  return {
    _type: STATEMENT_TYPE,
    // cosign verifies manifests and prints the first subject.
    subject: [namedSubject(MANIFEST_SUBJECT, manifest), namedSubject('definition', definition)],
    predicateType: TEST_RESULT_PREDICATE,
    predicate: { ...result, ...defined({ [FINISHED_AT]: finishedAt, [EXAMPLES]: examples }) },
  };
}

/**
 * Returns the test result of a statement, or the reason why it proves none: the statement has another predicate, its
 * form is invalid, it names no test that passed, or its parts contradict each other.
 */
export function readTestResult({ predicateType, predicate }: Statement): TestResult | string {
  if (predicateType !== TEST_RESULT_PREDICATE) {
    return `the predicate type is ${JSON.stringify(predicateType.slice(0, 100))}, not ${TEST_RESULT_PREDICATE}`;
  }
  // Checked before the schema, which would create an error for each item.
  const long = LISTS.find(([field, most]) => listLength(predicate[field]) > most);
  if (long !== undefined) return `invalid test result: ${long[0]} has more than ${long[1]} items`;
  const recorded = predicate[EXAMPLES];
  if (recorded !== undefined && JSON.stringify(recorded).length > SIGNING_LIMITS.maxRecordedLength)
    return `invalid test result: ${EXAMPLES} is larger than ${SIGNING_LIMITS.maxRecordedLength}`;
  const { data, error } = TestResultPredicate.safeParse(predicate);
  if (data === undefined) {
    const issue = error.issues[0]!;
    return `invalid test result: ${issue.path.join('.') || 'the predicate'}: ${issue.message}`;
  }
  const { [FINISHED_AT]: finishedAt, [EXAMPLES]: examples, ...result } = data;
  const problem = findContradiction(result);
  if (problem !== undefined) return `invalid test result: ${problem}`;
  return { ...result, ...defined({ finishedAt, examples: examples?.map(defined) }) };
}

const LISTS = [
  ['configuration', SIGNING_LIMITS.maxTestResources],
  ['passedTests', SIGNING_LIMITS.maxTests],
  ['warnedTests', SIGNING_LIMITS.maxTests],
  ['failedTests', SIGNING_LIMITS.maxTests],
] as const;

function listLength(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}

/** A result that is better than its tests, or has none, is a mistake or a trick. */
function findContradiction({
  result,
  passedTests,
  warnedTests,
  failedTests,
}: Omit<TestResult, 'finishedAt'>): string | undefined {
  if (result === 'FAILED') return undefined;
  if (failedTests.length > 0) return `the result is ${result}, but failedTests is not empty`;
  if (result === 'PASSED' && warnedTests.length > 0)
    return 'the result is PASSED, but warnedTests is not empty';
  if (passedTests.length + warnedTests.length === 0) return `the result is ${result}, but it names no test`;
  return undefined;
}

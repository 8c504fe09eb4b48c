import { describe, expect, it } from 'vitest';
import { SIGNING_LIMITS } from './limits.js';
import { encodeStatement, predicateStatement, readStatement, type Statement } from './statement.js';
import {
  readTestResult,
  TEST_RESULT_PREDICATE,
  type TestResult,
  testResultStatement,
} from './test-result.js';

const definition = `sha256:${'a'.repeat(64)}` as const;
const manifest = `sha256:${'b'.repeat(64)}`;
const passed: TestResult = {
  result: 'PASSED',
  configuration: [{ name: 'v1 container', digest: { sha256: 'c'.repeat(64) } }],
  passedTests: ['comments', 'example basic'],
  warnedTests: [],
  failedTests: [],
  finishedAt: '2030-01-02T03:04:05.000Z',
};
const saying = (predicate: Record<string, unknown>): Statement =>
  predicateStatement({ digest: definition }, TEST_RESULT_PREDICATE, predicate);
const least = { result: 'PASSED', configuration: [], passedTests: ['a'] };

describe('test results', () => {
  it('are statements of in-toto about the manifest and the definition', () => {
    expect(testResultStatement({ definition, manifest }, passed)).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [
        { name: 'manifest', digest: { sha256: 'b'.repeat(64) } },
        { name: 'definition', digest: { sha256: 'a'.repeat(64) } },
      ],
      predicateType: 'https://in-toto.io/attestation/test-result/v0.1',
      predicate: {
        result: 'PASSED',
        configuration: [{ name: 'v1 container', digest: { sha256: 'c'.repeat(64) } }],
        passedTests: ['comments', 'example basic'],
        warnedTests: [],
        failedTests: [],
        krmhub_finishedAt: '2030-01-02T03:04:05.000Z',
      },
    });
  });

  it('can be read after writing', () => {
    const statement = readStatement(encodeStatement(testResultStatement({ definition, manifest }, passed)));
    expect(readTestResult(statement as Statement)).toEqual(passed);
  });

  it('can have examples, with their files', () => {
    const example = {
      name: 'basic',
      input: { 'a.yaml': 'a: 1\n' },
      output: { 'a.yaml': 'a: 2\n' },
      messages: [],
    };
    const result = { ...passed, examples: [example, { ...example, functionConfig: 'b: 1\n' }] };
    const statement = readStatement(encodeStatement(testResultStatement({ definition, manifest }, result)));
    expect(readTestResult(statement as Statement)).toEqual(result);
  });

  it('of other programs can be read, with fields that are unknown here', () => {
    const { finishedAt: _, ...rest } = passed;
    const other = { ...rest, url: 'https://ci.example.com/1', vendor_field: 1, warnedTests: undefined };
    expect(readTestResult(saying(other))).toEqual(rest);
    expect(readTestResult(saying({ result: 'FAILED', configuration: [] }))).toMatchObject({
      result: 'FAILED',
      failedTests: [],
    });
  });

  const refused: [string, Record<string, unknown>, string][] = [
    ['an empty predicate', {}, 'result: Invalid'],
    ['no result', { ...least, result: undefined }, 'result: Invalid'],
    ['another spelling of the result', { ...least, result: 'passed' }, 'result: Invalid'],
    ['no configuration', { ...least, configuration: undefined }, 'configuration: Invalid'],
    ['a configuration of texts', { ...least, configuration: ['a'] }, 'configuration.0: Invalid'],
    ['a test without a name', { ...least, passedTests: [''] }, 'passedTests.0: '],
    ['a name that is not text', { ...least, passedTests: [{}] }, 'passedTests.0: '],
    ['a list that is not one', { ...least, failedTests: { length: 0 } }, 'failedTests: '],
    ['a long name', { ...least, passedTests: ['a'.repeat(SIGNING_LIMITS.maxTestNameLength + 1)] }, 'Too big'],
    [
      'too many tests',
      { ...least, passedTests: Array(SIGNING_LIMITS.maxTests + 1).fill('a') },
      'passedTests has more than 1000 items',
    ],
    [
      'too many things in the configuration',
      { ...least, configuration: Array(SIGNING_LIMITS.maxTestResources + 1).fill({}) },
      'configuration has more than 100 items',
    ],
    [
      'examples that are too large',
      { ...least, krmhub_examples: [{ name: 'a'.repeat(SIGNING_LIMITS.maxRecordedLength) }] },
      'krmhub_examples is larger than 65536',
    ],
    [
      'an example without files',
      { ...least, krmhub_examples: [{ name: 'a', messages: [] }] },
      'krmhub_examples.0.input: ',
    ],
    ['passed without a test', { ...least, passedTests: [] }, 'PASSED, but it names no test'],
    ['warned without a test', { result: 'WARNED', configuration: [] }, 'WARNED, but it names no test'],
    ['passed with a failed test', { ...least, failedTests: ['b'] }, 'PASSED, but failedTests is not empty'],
    ['passed with a warning', { ...least, warnedTests: ['b'] }, 'PASSED, but warnedTests is not empty'],
    [
      'warned with a failed test',
      { ...least, result: 'WARNED', failedTests: ['b'] },
      'WARNED, but failedTests is not empty',
    ],
    ['a time that is none', { ...least, krmhub_finishedAt: 'yesterday' }, 'krmhub_finishedAt: Invalid'],
  ];
  it.each(refused)('are invalid with %s', (_, predicate, reason) => {
    const read = readTestResult(saying(predicate));
    expect(read).toContain('invalid test result: ');
    expect(read).toContain(reason);
  });

  it('are not read from another predicate', () => {
    const statement = { ...saying(least), predicateType: 'https://in-toto.io/attestation/test-result/v0.2' };
    expect(readTestResult(statement)).toContain('v0.2", not https://in-toto.io/attestation/test-result/v0.1');
  });
});

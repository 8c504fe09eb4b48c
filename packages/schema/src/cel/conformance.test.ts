import { getConformanceSuite, type IncrementalTestSuite } from '@bufbuild/cel-spec/testdata/tests.js';
import { describe, expect, it } from 'vitest';
import { compileCel } from './expression.js';

/**
 * The tests of the language that yield a boolean without variables, messages of protobuf, or extensions that Kubernetes
 * does not have.
 */
const OTHER = [
  'proto2',
  'proto3',
  'dynamic',
  'enums',
  'wrappers',
  'proto2_ext',
  'unknowns',
  'type_deduction',
];
const EXTENSIONS = ['bindings_ext', 'block_ext', 'encoders_ext', 'math_ext', 'optionals'];
/** What the library does not do: names in backquotes, and two keys of a map that are equal numbers. */
const KNOWN = /\.`|^\{0: 1, 0u: 2\}/;
const SKIPPED = new Set([...OTHER, ...EXTENSIONS]);

function testsIn(suite: IncrementalTestSuite): IncrementalTestSuite['tests'] {
  return [...suite.tests, ...suite.suites.flatMap(testsIn)];
}

describe('the conformance tests of the language', () => {
  for (const suite of getConformanceSuite().suites.filter(({ name }) => !SKIPPED.has(name))) {
    const cases = testsIn(suite).flatMap(({ original }) => {
      const { expr, container, bindings, resultMatcher, checkOnly, disableCheck } = original;
      const isMessage = container !== '' || /TestAllTypes|google\.protobuf|_wrapper/.test(expr);
      if (isMessage || checkOnly || disableCheck || KNOWN.test(expr) || Object.keys(bindings).length > 0)
        return [];
      if (resultMatcher.case === undefined) return [{ expr, expected: true as boolean | 'error' }];
      if (resultMatcher.case === 'evalError') return [{ expr, expected: 'error' as const }];
      const isFlag = resultMatcher.case === 'value' && resultMatcher.value.kind.case === 'boolValue';
      return isFlag ? [{ expr, expected: resultMatcher.value.kind.value as boolean }] : [];
    });
    it.runIf(cases.length > 0)(`${suite.name}: ${cases.length} expressions`, () => {
      const failed = cases.filter(({ expr, expected }) => {
        const compiled = compileCel(expr, []);
        const outcome = 'problem' in compiled ? compiled : compiled.evaluate({});
        return 'problem' in outcome ? expected !== 'error' : outcome.value !== expected;
      });
      expect(failed).toEqual([]);
    });
  }
});

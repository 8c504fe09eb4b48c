import { readFileSync } from 'node:fs';
import { runFile, type SuiteResult } from './run-suite.js';

/**
 * `npm run starlark-conformance -- FILE…`: runs files of Starlark test suites, lists each chunk that fails, and counts.
 * Exit code 1 if a chunk failed, or if nothing passed; 2 for a file that cannot be read.
 */
const files = process.argv.slice(3).filter((one) => one !== '--');
if (files.length === 0) {
  console.error('Usage: npm run starlark-conformance -- FILE…');
  process.exit(2);
}
const total: SuiteResult = { passed: 0, failures: [] };
for (const file of files) {
  try {
    const { passed, failures } = runFile(file, readFileSync(file, 'utf8'));
    total.passed += passed;
    total.failures.push(...failures);
    for (const { failure } of failures) console.log(`${file}:${failure.line}: ${failure.message}`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(2);
  }
}
console.log(`${total.passed} passed, ${total.failures.length} failed`);
process.exitCode = total.failures.length > 0 || total.passed === 0 ? 1 : 0;

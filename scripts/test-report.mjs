// The report of a test run: a JSON line for each test and file that ends, so that a run that was stopped still says what
// passed. vitest writes it as a reporter; `node scripts/test-report.mjs FOLDER PARTS...` counts the reports that
// `.ci/run` has in a folder.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Writes the report of a run to a file. */
export class TestReporter {
  #file;

  constructor(file) {
    this.#file = file;
  }

  onTestRunStart(specifications) {
    writeFileSync(this.#file, '');
    this.#append({ planned: specifications.map(({ moduleId, project }) => nameFile(moduleId, project)) });
  }

  onTestCaseResult(test) {
    const { state, errors } = test.result();
    this.#append({
      file: nameFile(test.module.moduleId, test.project),
      test: test.fullName,
      state,
      messages: texts(errors),
    });
  }

  onTestModuleEnd(module) {
    const suites = [module, ...module.children.allSuites()];
    this.#append({
      file: nameFile(module.moduleId, module.project),
      state: module.state(),
      seconds: Math.round(module.diagnostic().duration / 100) / 10,
      messages: texts(suites.flatMap((suite) => suite.errors())),
    });
  }

  onTestRunEnd(_, errors, reason) {
    this.#append({ end: reason, messages: texts(errors) });
  }

  // At once: the next moment may be the last one.
  #append(line) {
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
  }
}

const nameFile = (file, project) => `${project.name}: ${path.relative(process.cwd(), file)}`;
const texts = (errors = []) => errors.map(({ stack, message }) => stack || message);

/**
 * Counts the tests of a report. A file that fails outside its tests, a run that fails outside its files, and a run that
 * was stopped count as one failed test each.
 */
export function countTests(report) {
  const lines = report
    .split('\n')
    // The last line of a run that was killed can be incomplete.
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line));
  if (lines.length === 0) return { passed: 0, skipped: 0, failures: ['no report'], slowest: [] };
  const tests = lines.filter((line) => line.test !== undefined);
  const files = lines.filter((line) => line.file !== undefined && line.test === undefined);
  const failures = tests
    .filter(({ state }) => state === 'failed')
    .map(({ file, test, messages }) => `${file}: ${test}\n${shorten(messages)}`);
  for (const { file, messages } of files.filter(({ state }) => state === 'failed')) {
    if (messages.length > 0 || !tests.some((one) => one.file === file && one.state === 'failed')) {
      failures.push(`${file}\n${shorten(messages)}`);
    }
  }
  const end = lines.find((line) => line.end !== undefined);
  if (end === undefined || end.end === 'interrupted') {
    const ended = new Set(files.map(({ file }) => file));
    const missing = lines[0].planned.filter((file) => !ended.has(file));
    failures.push(['stopped before these files ended:', ...missing].join('\n'));
  } else if (end.messages.length > 0 || (end.end === 'failed' && failures.length === 0)) {
    failures.push(`outside of tests\n${shorten(end.messages)}`);
  }
  return {
    passed: tests.filter(({ state }) => state === 'passed').length,
    skipped: tests.filter(({ state }) => state === 'skipped').length,
    failures,
    slowest: files.sort((a, b) => b.seconds - a.seconds).slice(0, 5),
  };
}

const shorten = (messages) => messages.join('\n').split('\n').slice(0, 20).join('\n');

function printCounts(folder, parts) {
  const sum = { passed: 0, failed: 0, skipped: 0 };
  for (const part of parts) {
    const { passed, skipped, failures, slowest } = countTests(readReport(`${folder}/${part}.jsonl`));
    sum.passed += passed;
    sum.failed += failures.length;
    sum.skipped += skipped;
    for (const failure of failures) console.error(`FAIL ${part}: ${failure}`);
    console.error(
      `${part} slowest: ${slowest.map(({ file, seconds }) => `${file} ${seconds} s`).join(', ')}`,
    );
  }
  console.log(`${sum.passed} ${sum.failed} ${sum.skipped}`);
}

function readReport(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) printCounts(process.argv[2], process.argv.slice(3));

// The report of a test run: a JSON line for each test and file that ends, so that a run that was stopped still says what
// passed. vitest writes it as a reporter; `node scripts/test-report.mjs FOLDER PARTS...` counts the reports that
// `.ci/run` has in a folder.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Writes the report of a run to a file. */
export class TestReporter {
  #file;
  #vitest;

  constructor(file) {
    this.#file = file;
  }

  onInit(vitest) {
    this.#vitest = vitest;
  }

  async onTestRunStart(specifications) {
    writeFileSync(this.#file, '');
    const { shard, sequence } = this.#vitest.config;
    // vitest names the files of all shards.
    const own = shard
      ? await new sequence.sequencer(this.#vitest).shard([...specifications])
      : specifications;
    this.#append({ planned: own.map(({ moduleId, project }) => nameFile(moduleId, project)) });
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
 * Counts the tests of a report. A file that fails outside its tests, a run that fails outside its files, a run that was
 * stopped or whose report is not whole, and a run without tests count as one failed test each.
 */
export function countTests(report) {
  const texts = report.split('\n').filter((text) => text !== '');
  if (texts.length === 0) return { passed: 0, skipped: 0, failures: ['no report'], slowest: [] };
  const lines = texts.map(readLine).filter((line) => line !== undefined);
  const tests = lines.filter((line) => line.test !== undefined);
  const files = lines.filter((line) => line.file !== undefined && line.test === undefined);
  const failures = tests
    .filter(({ state }) => state !== 'passed' && state !== 'skipped')
    .map(({ file, test, messages }) => `${file}: ${test}\n${shorten(messages)}`);
  for (const { file, messages } of files.filter(({ state }) => state === 'failed')) {
    if (messages?.length > 0 || !tests.some((one) => one.file === file && one.state === 'failed')) {
      failures.push(`${file}\n${shorten(messages)}`);
    }
  }
  const end = lines.find((line) => line.end !== undefined);
  if (end?.messages?.length > 0 || (end?.end === 'failed' && failures.length === 0)) {
    failures.push(`outside of tests\n${shorten(end.messages)}`);
  }
  const planned = lines.find((line) => Array.isArray(line.planned))?.planned;
  const ended = new Set(files.map(({ file }) => file));
  const missing = planned?.filter((file) => !ended.has(file)) ?? [];
  if (end === undefined || end.end === 'interrupted' || missing.length > 0) {
    failures.push(['stopped before these files ended:', ...missing].join('\n'));
  } else if (planned === undefined || lines.length < texts.length) {
    failures.push('the report is not whole');
  } else if (tests.length === 0 && failures.length === 0) {
    failures.push('no tests');
  }
  return {
    passed: tests.filter(({ state }) => state === 'passed').length,
    skipped: tests.filter(({ state }) => state === 'skipped').length,
    failures,
    slowest: files.sort((a, b) => b.seconds - a.seconds).slice(0, 5),
  };
}

/** Returns `undefined` for a line that was cut, as the last one of a run that was killed, or by a full disk. */
function readLine(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const shorten = (messages = []) => messages.join('\n').split('\n').slice(0, 20).join('\n');

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

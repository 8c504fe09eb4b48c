/**
 * Tests a function by the specification and by its examples.
 *
 * A report is signed only for a published release whose runtime has a digest: an image without a digest can change
 * after the test.
 *
 * @module
 */

import path from 'node:path';
import { type Check, failed, type Outcome, PASSED, skipped } from '@krmhub/functions/conformance/check';
import { type CheckName, checkConformance } from '@krmhub/functions/conformance/check-conformance';
import { observe, type RunFunction } from '@krmhub/functions/conformance/observe';
import type { FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, oneLine } from '@krmhub/schema/text';
import type { TestedResource } from '@krmhub/signing/test-result';
import { FINDINGS } from '../io/exit-code.js';
import { watchForStop } from '../io/interrupt.js';
import { type Io, write } from '../io/io.js';
import { type OutputFormat, printData } from '../io/print.js';
import type { RunPermissions } from '../run/permissions.js';
import type { AttestOptions, ReportSigner } from './attest.js';
import { checkExample } from './check-example.js';
import { type OpenedFunction, openFunction, type TestedProgram } from './open-function.js';
import { type Example, exampleConfig, listExamples, readExample } from './read-examples.js';
import { type AuthoredFunction, readFunction } from './read-function.js';
import type { ReleasedFunction } from './read-release.js';
import { Report } from './report.js';
import { rejectedConfig, testConfig } from './test-configs.js';

export interface TestOptions extends TestedProgram, AttestOptions {
  output: OutputFormat;
  /** Tests this published release, not the definition in the folder. */
  release?: string;
  permissions: RunPermissions;
  /** Names of the only examples to run, without the other checks. */
  examples?: readonly string[];
  /** Writes what examples expect. */
  update: boolean;
}

/** Tests the function in a folder: every API version by the specification, and all examples. */
export async function testFunction(io: Io, folder: string, options: TestOptions): Promise<void> {
  checkOptions(options);
  const local = await readFunction(io, folder);
  const released = await openRelease(io, local, options);
  const authored = released ?? local;
  const signer = await openSigner(io, options);
  const runtimes: TestedResource[] = [];
  const passed: Example[] = [];
  const report = new Report(io, options.output);
  const examples = await readExamples(io, folder, report, options.examples);
  const signal = watchForStop(io, 'the test was stopped');
  for (const at of authored.definition.versions.keys()) {
    const opened = await openFunction(io, authored, at, options, options.permissions, signal);
    try {
      if (opened.runtime !== undefined) runtimes.push(opened.runtime);
      else if (signer !== undefined) throw unpinned(opened);
      const { update, examples: only } = options;
      const onlyExamples = only !== undefined;
      passed.push(
        ...(await testVersion(io, { authored, at, opened, examples, report, onlyExamples, update, signal })),
      );
    } finally {
      await opened.close();
    }
  }
  await finish(io, authored, report, options.output);
  if (released !== undefined)
    await signer?.attest(released, folder, { checks: report.checks, runtimes, passed });
}

function functionName({ definition }: AuthoredFunction): FunctionName {
  return { group: definition.group, kind: definition.names.kind };
}

async function openRelease(
  io: Io,
  local: AuthoredFunction,
  options: TestOptions,
): Promise<ReleasedFunction | undefined> {
  if (options.release === undefined) return undefined;
  const { readRelease } = await import('./read-release.js');
  return readRelease(io, functionName(local), options.release, options);
}

async function openSigner(io: Io, options: TestOptions): Promise<ReportSigner | undefined> {
  if (options.key === undefined && options.keyless !== true) return undefined;
  const { ReportSigner } = await import('./attest.js');
  return ReportSigner.open(io, options);
}

/** The report of an image that can change would be of other bytes tomorrow. */
function unpinned({ name }: OpenedFunction): KrmhubError {
  return new KrmhubError('untrusted', escapeControls(`cannot sign a report of ${name}: it has no digest`), {
    hint: 'Publish a release whose image has a digest: IMAGE@sha256:…',
  });
}

interface VersionTest {
  authored: AuthoredFunction;
  at: number;
  opened: OpenedFunction;
  examples: readonly Example[];
  report: Report;
  onlyExamples: boolean;
  update: boolean;
  signal: AbortSignal;
}

/** Returns the examples that passed. */
async function testVersion(io: Io, test: VersionTest): Promise<Example[]> {
  const passed: Example[] = [];
  const { authored, at, opened, report, update, signal } = test;
  const { definition } = authored;
  const version = definition.versions[at]!;
  const label = definition.versions.length === 1 ? {} : { apiVersion: version.name };
  const own = test.examples.filter((example) => belongsTo(example, authored, at));
  if (!test.onlyExamples) await checkVersion(test, own, label);
  for (const example of own) {
    const found = await checkExample(io, example, opened, { update, signal });
    if (found.status === 'passed') passed.push(example);
    await report.add({ name: `example ${example.name}`, ...found, ...label });
  }
  return passed;
}

/** Checks what the specification requires of one API version. */
async function checkVersion(
  { authored, at, opened, report }: VersionTest,
  own: readonly Example[],
  label: { apiVersion?: string },
): Promise<void> {
  const { definition, file, idempotentLine } = authored;
  const version = definition.versions[at]!;
  const config = testConfig(definition, version.name, own.map(exampleConfig));
  const rejected = rejectedConfig(definition, version.name, config);
  let last: Uint8Array = new Uint8Array();
  const subject = {
    run: (input: Uint8Array) => {
      last = input;
      return opened.run(input);
    },
    functionConfig: config,
    hasFields: Object.keys(config).some((key) => !['apiVersion', 'kind', 'metadata'].includes(key)),
    ...defined({ rejectedConfig: rejected }),
    idempotent: version.idempotent,
    inputs: own.map(({ name, input }) => ({ name: `example ${name}`, resources: input.resources })),
  };
  await checkConformance(subject, async (check) => {
    const isClaim = (check.name as CheckName) === 'idempotent' && check.status === 'failed';
    const line = isClaim ? idempotentLine(at) : undefined;
    await report.add({
      ...check,
      ...label,
      ...defined({ at: isClaim ? { file, ...defined({ line }) } : undefined }),
    });
    if (check.name === 'resource-list') {
      await report.add({ name: 'unprivileged', ...(await unprivileged(opened, check, last)), ...label });
    }
  });
}

const AS_NOBODY =
  'it does not run with --user nobody, as kustomize and kpt run it: the file /etc/passwd of the image needs the line ' +
  'nobody:x:65534:65534:nobody:/:/sbin/nologin';

/**
 * It ran as nobody and without network access (KRM Functions Specification v1, "Containerization"). An image runs with
 * the number of that user, and once more with the name, which kustomize and kpt use.
 */
async function unprivileged(
  { isConfined, runAsNobody }: OpenedFunction,
  { status }: Check,
  input: Uint8Array,
): Promise<Outcome> {
  const isRunning = status === 'passed';
  const failure = isRunning && runAsNobody !== undefined ? await failureOf(runAsNobody, input) : undefined;
  if (failure !== undefined) return failed(`${AS_NOBODY}: ${failure}`);
  if (!isConfined) return skipped('only for containers without network access and mounts');
  return isRunning ? PASSED : failed('it fails as nobody without network access');
}

/** Returns why a run failed, also if it was the engine that failed. */
async function failureOf(run: RunFunction, input: Uint8Array): Promise<string | undefined> {
  try {
    return (await observe(run, Buffer.from(input).toString())).failure;
  } catch (error) {
    if (error instanceof KrmhubError) return error.message;
    throw error;
  }
}

/** Reads the examples; one that cannot be read is a failed check. */
async function readExamples(
  io: Io,
  folder: string,
  report: Report,
  only: readonly string[] | undefined,
): Promise<Example[]> {
  const all = await listExamples(io, folder);
  const missing = only?.find((name) => !all.includes(name));
  if (missing !== undefined) {
    throw new KrmhubError('not-found', escapeControls(`the function has no example ${missing}`), {
      hint: escapeControls(all.length === 0 ? 'It has none.' : `Its examples: ${all.join(', ')}`),
    });
  }
  const names = only === undefined ? all : all.filter((name) => only.includes(name));
  const examples: Example[] = [];
  for (const name of names) {
    try {
      examples.push(await readExample(io, folder, name));
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
      const at = { file: path.join(folder, 'examples', name) };
      await report.add({ name: `example ${name}`, status: 'failed', reason: oneLine(error.message), at });
    }
  }
  if (names.length === 0) {
    const reason = `there is no example: write ${path.join(folder, 'examples/NAME/input')}, then use --update`;
    await report.add({ name: 'examples', status: 'skipped', reason });
  }
  return examples;
}

/** An example is of the API version of its functionConfig; of the first one, if it is of none. */
function belongsTo(example: Example, { definition }: AuthoredFunction, at: number): boolean {
  const apiVersion = example.functionConfig?.resource.identity.apiVersion;
  const index = definition.versions.findIndex(({ name }) => `${definition.group}/${name}` === apiVersion);
  return at === Math.max(index, 0);
}

function checkOptions(options: TestOptions): void {
  const { exec, image, runtime, release, key, keyless = false, bundle, examples, update } = options;
  const wrong = (message: string, hint: string) => new KrmhubError('usage', message, { hint });
  const named = [exec, image, runtime].filter((one) => one !== undefined);
  if (named.length > 1) {
    throw new KrmhubError('usage', 'must not specify more than one of --exec, --image, and --runtime');
  }
  if (release !== undefined && (exec !== undefined || image !== undefined)) {
    throw wrong('--release cannot be combined with --exec or --image', 'The release names what runs.');
  }
  const signs = key !== undefined || keyless;
  if (key !== undefined && keyless)
    throw wrong('--key cannot be combined with --keyless', 'Use one of them.');
  if (bundle !== undefined && !signs) {
    throw wrong('--bundle requires --key or --keyless', 'Set the signer, for example: --key krmhub.key');
  }
  if (signs && release === undefined) {
    throw wrong('--key and --keyless require --release', 'A signed report is of a release: --release 1.0.0');
  }
  if (signs && (examples !== undefined || update)) {
    throw wrong(
      '--key and --keyless cannot be combined with --example or --update',
      'A signed report is of all checks and examples.',
    );
  }
}

async function finish(
  io: Io,
  authored: AuthoredFunction | ReleasedFunction,
  report: Report,
  format: OutputFormat,
): Promise<void> {
  const counts = {
    passed: report.count('passed'),
    failed: report.count('failed'),
    skipped: report.count('skipped'),
  };
  const { release, digest }: Partial<ReleasedFunction> = authored;
  const data = {
    ...functionName(authored),
    ...defined({ release, digest }),
    ...counts,
    checks: report.checks,
  };
  await printData(io, format, data, () =>
    write(io.stdout, `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`),
  );
  if (counts.failed > 0) io.exitCode = FINDINGS;
}

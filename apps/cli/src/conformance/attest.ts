import path from 'node:path';
import { writeFileAtomically } from '@krmhub/consume/files/write-file';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { SIGNING_LIMITS } from '@krmhub/signing/limits';
import {
  readTestResult,
  type TestedResource,
  type TestResult,
  testResultStatement,
} from '@krmhub/signing/test-result';
import type { Io } from '../io/io.js';
import { printLine } from '../io/print.js';
import { VERSION } from '../io/version.js';
import { connect } from '../registry/connection.js';
import { signInAsWorkflow } from '../registry/workflow-token.js';
import { type BundleSigner, type BundleSignerOptions, bundleSigner } from '../signatures/bundle-signer.js';
import { signAndVerify } from '../signatures/sign-artifact.js';
import { examplesResource } from './examples-resource.js';
import type { Example } from './read-examples.js';
import type { ReleasedFunction } from './read-release.js';
import { recordExamples } from './record-examples.js';
import type { ReportedCheck } from './report.js';

export interface AttestOptions extends BundleSignerOptions {
  /** File for the signed report, which is attached to the release otherwise. */
  bundle?: string;
  registry?: string;
}

/** Signs reports of tests, and attaches them to releases. */
export class ReportSigner {
  readonly #io: Io;
  readonly #options: AttestOptions;
  readonly #signer: BundleSigner | undefined;

  private constructor(io: Io, options: AttestOptions, signer: BundleSigner | undefined) {
    this.#io = io;
    this.#options = options;
    this.#signer = signer;
  }

  /** Opens a key now, so that a wrong password fails before the tests. An identity token could expire meanwhile. */
  static async open(io: Io, options: AttestOptions): Promise<ReportSigner> {
    return new ReportSigner(
      io,
      options,
      options.key === undefined ? undefined : await bundleSigner(io, options),
    );
  }

  /** Signs what the checks found, passed or failed, and attaches it, or writes it to a file. */
  async attest(
    released: ReleasedFunction,
    folder: string,
    {
      checks,
      runtimes,
      passed,
    }: {
      checks: readonly ReportedCheck[];
      runtimes: readonly TestedResource[];
      /** Examples to record. */
      passed: readonly Example[];
    },
  ): Promise<void> {
    const io = this.#io;
    const { group, kind, release, digest, manifest } = released;
    const name = `${group}/${kind}@${release}`;
    const examples = await recordExamples(io, passed);
    const result = testResult(checks, {
      configuration: [
        { name: 'krmhub', uri: `pkg:npm/krmhub@${VERSION}` },
        ...runtimes,
        ...(await examplesResource(io, folder)),
      ],
      finishedAt: io.now().toISOString(),
      ...defined({ examples: examples.length === 0 ? undefined : examples }),
    });
    const statement = testResultStatement({ definition: digest, manifest }, result);
    const read = readTestResult(statement);
    if (typeof read === 'string') {
      throw new KrmhubError('invalid-document', escapeControls(`cannot sign the report of ${name}: ${read}`));
    }
    const signer = this.#signer ?? (await bundleSigner(io, this.#options));
    const bundle = await signAndVerify(signer, statement, digest);
    const word = result.result === 'PASSED' ? 'passed' : 'failed';
    await printLine(io, escapeControls(`signed the report: ${name} ${word}`));
    const { bundle: file } = this.#options;
    if (file === undefined) return attach(io, { group, kind, release, name }, bundle, this.#options);
    const outcome = await writeFileAtomically(path.resolve(io.cwd, file), bundle, { overwrite: false });
    await printLine(io, escapeControls(`${outcome === 'written' ? 'wrote' : 'unchanged:'} ${file}`));
  }
}

async function attach(
  io: Io,
  { group, kind, release, name }: { group: string; kind: string; release: string; name: string },
  bundle: Uint8Array,
  { registry }: AttestOptions,
): Promise<void> {
  await signInAsWorkflow(io, registry, [group]);
  const client = await connect(io, registry);
  const before = await client.bundles(group, kind, release);
  const after = await client.attach(group, kind, release, bundle);
  const isNew = after.bundles.length > before.bundles.length;
  await printLine(
    io,
    escapeControls(isNew ? `added the report to ${name}` : `unchanged: ${name} already has this result`),
  );
}

/** Returns the result of all checks. A skipped check is in no list. */
function testResult(
  checks: readonly ReportedCheck[],
  known: Pick<TestResult, 'configuration' | 'examples'> & { finishedAt: string },
): TestResult {
  const named = (wanted: ReportedCheck['status']) =>
    checks.flatMap(({ name, status, apiVersion }) =>
      status === wanted
        ? [
            `${apiVersion === undefined ? '' : `${apiVersion} `}${name}`.slice(
              0,
              SIGNING_LIMITS.maxTestNameLength,
            ),
          ]
        : [],
    );
  const failedTests = named('failed');
  return {
    result: failedTests.length === 0 ? 'PASSED' : 'FAILED',
    ...known,
    passedTests: named('passed'),
    warnedTests: [],
    failedTests,
  };
}

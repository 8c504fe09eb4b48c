/**
 * Publishes releases to a registry, with their scripts and signatures.
 *
 * The registry plans all releases before it stores the first one, so that the command reports all refusals at once.
 * Scripts are pushed before releases.
 *
 * @module
 */

import { realpath } from 'node:fs/promises';
import path from 'node:path';
import type { RegistryClient } from '@krmhub/api/client';
import type { PublishResult } from '@krmhub/api/model';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { registryUrl } from '@krmhub/consume/references/registry-url';
import { hasErrors, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { escapeControls, plural, shellWord } from '@krmhub/schema/text';
import { OCI_SCHEME } from '../../documents/document-files.js';
import {
  assignReleases,
  readDefinitions,
  readRelease,
  type Submission,
} from '../../documents/read-definitions.js';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printData, printLine, printTable, printWarning } from '../../io/print.js';
import { Progress } from '../../io/progress.js';
import { STDIN_NAME } from '../../io/read-stdin.js';
import { printWarnings } from '../../io/warnings.js';
import { connect } from '../../registry/connection.js';
import { signInAsWorkflow } from '../../registry/workflow-token.js';
import type { ScriptArtifact } from '../../scripts/script-artifact.js';
import { type Planned, type Published, planAll } from './plan-all.js';
import { type BundleOptions, withBundles } from './submission-bundles.js';

export interface PublishOptions extends BundleOptions {
  release?: string;
  readme?: string;
  /** A file with the notes of the release, or a changelog. */
  notes?: string;
  dryRun?: boolean;
  allowBreaking?: boolean;
  /** HOST/REPOSITORY for the scripts beside definitions. */
  scriptRepository?: string;
  wait: boolean;
  output: OutputFormat;
  registry?: string;
}

/** Errors that `krmhub convert` can remove. */
const INCOMPLETE: ReadonlySet<string> = new Set(['shape/missing-field', 'image/no-host']);

/** Checks all releases locally, has the registry plan all of them, then publishes one after the other. */
export async function publish(io: Io, files: readonly string[], options: PublishOptions): Promise<void> {
  const { submissions, sources, scripts } = await readSubmissions(io, files, options);
  const read = await withNotes(io, submissions, options.notes);
  const readme = await readReadme(io, options.readme, read);
  await signInAsWorkflow(
    io,
    options.registry,
    submissions.map(({ group }) => group),
  );
  const client = await connect(io, options.registry);
  const progress = new Progress(io);
  const allowBreaking = options.allowBreaking === true;
  const published = await (async () => {
    const { submissions: bundled, signed } = await withBundles(io, client, read, readme, options, progress);
    const plan = () => planAll(client, bundled, readme, allowBreaking, progress);
    const counts = options.dryRun === true ? await import('../consumer-counts.js') : undefined;
    const plans = await (counts?.withConsumers(io, client, bundled, plan) ?? plan());
    await printChangeWarnings(io, plans, sources);
    if (options.dryRun === true) return plans;
    await pushLocalScripts(io, scripts, options, progress);
    const stored = await storeAll(io, client, bundled, readme, options, progress);
    await progress.clear();
    // Not before the registry has accepted the signatures.
    if (signed > 0) await printLine(io, `signed ${plural(signed, 'release')}`);
    return stored;
  })().catch(async (error: unknown) => {
    await progress.clear();
    throw await withoutDiagnostics(io, error, sources);
  });
  await progress.clear();
  await printPublished(io, published, options);
}

/** Prints the diagnostics of an error as lint does, and returns the error without them. */
async function withoutDiagnostics(
  io: Io,
  error: unknown,
  sources: ReadonlyMap<string, Uint8Array>,
): Promise<unknown> {
  if (!(error instanceof KrmhubError) || error.diagnostics.length === 0) return error;
  const { printDiagnostics } = await import('../../io/diagnostics.js');
  await printDiagnostics(io, io.stderr, error.diagnostics, sources);
  const { code, message, hint } = error;
  return new KrmhubError(code, message, { ...defined({ hint }), cause: error });
}

async function readSubmissions(
  io: Io,
  files: readonly string[],
  options: PublishOptions,
): Promise<{
  submissions: Submission[];
  sources: ReadonlyMap<string, Uint8Array>;
  scripts: readonly ScriptArtifact[];
}> {
  const scripts: ScriptArtifact[] = [];
  const { diagnostics, sources, definitions, skipped } = await readDefinitions(io, files, {
    release: options.release === undefined ? undefined : readRelease(options.release),
    prepare: async (source) => {
      if (source.name.startsWith(OCI_SCHEME) || source.name === STDIN_NAME) return source;
      const { publishedScripts } = await import('./published-scripts.js');
      const filled = await publishedScripts(io, source, options);
      scripts.push(...filled.scripts);
      return { ...source, bytes: filled.bytes };
    },
  });
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (hasErrors(diagnostics)) {
    const { printDiagnostics } = await import('../../io/diagnostics.js');
    await printDiagnostics(io, io.stderr, errors, sources);
    const where = plural(new Set(errors.map(({ file }) => file)).size, 'file');
    throw new KrmhubError(
      'invalid-document',
      `cannot publish: ${plural(errors.length, 'error')} in ${where}`,
      {
        hint: errors.every(({ code }) => INCOMPLETE.has(code))
          ? `Add the missing fields, or complete the files and review the result: krmhub convert ${files.map(shellWord).join(' ')} --out FOLDER`
          : `Fix the errors above, then check: krmhub lint ${files.map(shellWord).join(' ')}`,
      },
    );
  }
  if (definitions.length === 0) {
    throw new KrmhubError('not-found', `no definition in ${files.join(', ')}`, {
      hint: 'Create a definition with `krmhub init GROUP/KIND`, or convert other files with `krmhub convert`.',
    });
  }
  const submissions = assignReleases(definitions, options.release);
  for (const option of ['readme', 'notes'] as const) {
    if (options[option] === undefined || submissions.length === 1) continue;
    throw new KrmhubError('usage', `--${option} requires a single definition, got ${submissions.length}`, {
      hint: `Publish the definition with the ${option === 'readme' ? 'README' : 'notes'} in a separate command.`,
    });
  }
  await printWarnings(io, diagnostics, sources);
  if (skipped > 0) await printLine(io, `${plural(skipped, 'file')} of other kinds skipped`);
  await printRewritten(io, submissions);
  return { submissions, sources, scripts };
}

/** Scripts go first: a release must not name what no one can fetch. */
async function pushLocalScripts(
  io: Io,
  scripts: readonly ScriptArtifact[],
  { registry }: PublishOptions,
  progress: Progress,
): Promise<void> {
  if (scripts.length === 0) return;
  const { pushScripts } = await import('../../scripts/script-artifact.js');
  const { connectOci } = await import('../../registry/connect-oci.js');
  const client = connectOci(io, progress, { registry: registryUrl(io, registry) });
  await pushScripts(io, client, scripts, progress);
}

/** Prints changes from the previous release, and warnings about the name; lint has printed the other warnings. */
async function printChangeWarnings(
  io: Io,
  plans: readonly Planned[],
  sources: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  const changes = plans.flatMap((plan) => plan.changes);
  await printWarnings(io, changes, sources, 'list them with `krmhub diff`');
}

async function printRewritten(io: Io, submissions: readonly Submission[]): Promise<void> {
  const split = new Set(submissions.filter(({ exact }) => !exact).map(({ file }) => file));
  for (const file of split) {
    const count = submissions.filter((one) => one.file === file).length;
    await printLine(
      io,
      escapeControls(
        `${file}: publishing ${plural(count, 'definition')} as separate documents in normal form`,
      ),
    );
  }
}

async function readReadme(
  io: Io,
  name: string | undefined,
  [submission]: readonly Submission[],
): Promise<Uint8Array | undefined> {
  if (name === undefined || submission === undefined) return undefined;
  const { PUBLISH_LIMITS } = await import('@krmhub/catalog');
  await refuseLink(io, name, 'README', '--readme');
  const bytes = await readFileUpTo(io, name, PUBLISH_LIMITS.maxReadmeBytes);
  if (bytes.byteLength > PUBLISH_LIMITS.maxReadmeBytes) {
    throw new KrmhubError('too-large', `README ${name} exceeds ${PUBLISH_LIMITS.maxReadmeBytes} bytes`, {
      hint: 'Shorten the README, or replace content with links.',
    });
  }
  return bytes;
}

/** Adds the notes of the release, for a file with `--notes`. */
async function withNotes(
  io: Io,
  submissions: readonly Submission[],
  file: string | undefined,
): Promise<Submission[]> {
  const [submission, ...others] = submissions;
  if (file === undefined || submission === undefined) return [...submissions];
  await refuseLink(io, file, 'file', '--notes');
  const { readNotes } = await import('./release-notes.js');
  return [{ ...submission, notes: await readNotes(io, file, submission.release) }, ...others];
}

/** Refuses a link: in a pipeline, an attacker could publish a secret file through a README that links to it. */
async function refuseLink(io: Io, name: string, what: string, option: string): Promise<void> {
  const file = path.resolve(io.cwd, name);
  const below = path.relative(io.cwd, file);
  const outside = below.startsWith('..') || path.isAbsolute(below);
  // Links in the path of the folder itself are allowed.
  const [folder, rest] = outside ? [path.dirname(file), path.basename(file)] : [io.cwd, below];
  const missing = () => undefined;
  const real = await realpath(file).catch(missing);
  const expected = path.join((await realpath(folder).catch(missing)) ?? folder, rest);
  if (real === undefined || real === expected) return;
  throw new KrmhubError('usage', `${what} ${name} is a link to ${real}`, {
    hint: `Use the file itself: ${option} ${real}`,
  });
}

async function storeAll(
  io: Io,
  client: RegistryClient,
  submissions: readonly Submission[],
  readme: Uint8Array | undefined,
  options: PublishOptions,
  progress: Progress,
): Promise<Published[]> {
  const published: Published[] = [];
  const total = submissions.length;
  let interrupted = false;
  if (total > 1) {
    void io.waitForStop().then(() => {
      interrupted = true;
    });
  }
  for (const [index, submission] of submissions.entries()) {
    if (interrupted) {
      await progress.clear();
      throw interruptedError(
        new KrmhubError('unavailable', 'interrupted'),
        submission,
        published.length,
        total,
      );
    }
    const { group, kind, release, bundles = [] } = submission;
    await progress.show(`publishing ${index + 1}/${total} ${group}/${kind}@${release}`);
    const allowBreaking = options.allowBreaking === true;
    const request = { ...releaseRequest(submission, readme), bundles, allowBreaking };
    try {
      // A snapshot includes all earlier releases, so one wait after the last release is enough.
      const wait = options.wait && index === total - 1;
      published.push({ submission, result: await client.publish({ ...request, wait }) });
    } catch (error) {
      await progress.clear();
      throw interruptedError(error, submission, published.length, total);
    }
  }
  if (options.wait && options.output !== 'table') await fetchCatalogs(client, published.slice(0, -1), readme);
  return published;
}

/** Publishes the same bytes again, which changes nothing: the response lists the snapshots with the release. */
async function fetchCatalogs(
  client: RegistryClient,
  published: readonly Published[],
  readme: Uint8Array | undefined,
): Promise<void> {
  for (const { submission, result } of published) {
    const request = releaseRequest(submission, readme);
    result.catalogs = (await client.publish({ ...request, wait: true })).catalogs;
  }
}

function releaseRequest(
  { group, kind, release, bytes, mediaType, notes }: Submission,
  readme: Uint8Array | undefined,
) {
  return { group, kind, release, definition: bytes, mediaType, ...defined({ readme, notes }) };
}

function interruptedError(
  error: unknown,
  { group, kind, release }: Submission,
  done: number,
  total: number,
): unknown {
  if (!(error instanceof KrmhubError) || total === 1) return error;
  const progress = done === 0 ? 'Nothing was published yet' : `${done} of ${total} releases are published`;
  return new KrmhubError(error.code, `cannot publish ${group}/${kind}@${release}: ${error.message}`, {
    hint: `${progress}. Run the same command again. Published releases stay unchanged.${error.hint === undefined ? '' : ` ${error.hint}`}`,
    diagnostics: error.diagnostics,
    cause: error,
  });
}

/** Those of this version. A later registry can have others. */
const OUTCOMES = new Map<string, string>([
  ['created', 'created'],
  ['attached', 'signed'],
  ['unchanged', 'unchanged'],
] satisfies [PublishResult['outcome'], string][]);

async function printPublished(
  io: Io,
  published: readonly Published[],
  options: PublishOptions,
): Promise<void> {
  const dryRun = options.dryRun === true;
  const releases = published.map(({ result: { outcome, release, catalogs } }) => ({
    group: release.group,
    kind: release.kind,
    release: release.release,
    outcome,
    digest: release.digest,
    catalogs,
  }));
  const describe = ({ outcome }: Pick<PublishResult, 'outcome'>) => {
    const words = OUTCOMES.get(outcome) ?? escapeControls(outcome);
    return dryRun && outcome !== 'unchanged' ? `would be ${words}` : words;
  };
  await printData(io, options.output, { releases, dryRun }, () =>
    printTable(
      io,
      [{ header: 'FUNCTION', min: 30 }, { header: 'RELEASE' }, { header: 'OUTCOME' }, { header: 'DIGEST' }],
      releases,
      {
        terminal: (one) => [`${one.group}/${one.kind}`, one.release, describe(one), one.digest.slice(0, 19)],
        pipe: (one) => [`${one.group}/${one.kind}`, one.release, describe(one), one.digest],
      },
    ),
  );
  for (const { group, kind, release, outcome } of releases) {
    if (OUTCOMES.has(outcome)) continue;
    const name = `${group}/${kind}@${release}`;
    const what = dryRun ? 'would accept' : 'accepted';
    await printWarning(
      io,
      escapeControls(
        `the registry ${what} ${name} with the outcome "${outcome}", which this version of krmhub does not know; update krmhub, and check with: krmhub show ${name}`,
      ),
    );
  }
  await printLine(io, summary(releases, options));
}

function summary(
  releases: readonly { outcome: PublishResult['outcome']; catalogs: PublishResult['catalogs'] }[],
  { dryRun, wait }: PublishOptions,
): string {
  const created = releases.filter(({ outcome }) => outcome === 'created').length;
  const attached = releases.filter(({ outcome }) => outcome === 'attached').length;
  const unchanged = releases.filter(({ outcome }) => outcome === 'unchanged').length;
  const others = releases.length - created - attached - unchanged;
  const counts = [
    ...(created === 0
      ? []
      : [`${plural(created, 'release')} ${dryRun ? 'would be published' : 'published'}`]),
    ...(attached === 0
      ? []
      : [`bundles ${dryRun ? 'would be added' : 'added'} to ${plural(attached, 'existing release')}`]),
    ...(unchanged === 0 ? [] : [`${unchanged} unchanged`]),
    ...(others === 0 ? [] : [`${others} with an unknown outcome`]),
  ].join(', ');
  if (dryRun) return `${counts} (dry run, nothing was published)`;
  if (!wait) return `${counts}; catalogs will include ${releases.length === 1 ? 'it' : 'them'} shortly`;
  if (releases.length > 1) return `${counts}; all catalogs are up to date`;
  const catalogs = releases[0]!.catalogs.map(({ catalog, serial }) => `${catalog} (snapshot ${serial})`);
  return catalogs.length === 0
    ? `${counts}; no catalog that you can read includes it: see \`krmhub docs catalogs\``
    : escapeControls(`${counts}; in ${catalogs.join(', ')}`);
}

/**
 * Builds a catalog on this machine, from a recipe or from inputs that it exported from a registry.
 *
 * A build from a recipe contacts the registry only for the functions and the signing policies of that registry. A build
 * from an export uses no network, and writes nothing if it differs from the snapshot of the registry.
 *
 * @module
 */

import path from 'node:path';
import {
  type BuildInputs,
  type BuiltCatalog,
  buildCatalog,
  builtCatalogPieces,
  followsRegistryPolicies,
  type Recipe,
  renderReport,
  renderSnapshot,
  requiredSignatures,
  type SnapshotRecord,
} from '@krmhub/catalog';
import { writeFileAtomically } from '@krmhub/consume/files/write-file';
import { KrmhubError, type SnapshotRendition } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { plural, shellWord } from '@krmhub/schema/text';
import { checkOutput } from '../../io/check-output.js';
import { type Io, writeData } from '../../io/io.js';
import { type OutputFormat, printData, printLine, printWarning } from '../../io/print.js';
import { Progress } from '../../io/progress.js';
import { STDIN_NAME } from '../../io/read-stdin.js';
import { isComplete, warnEmpty } from '../catalog-report.js';
import { printRecipeDiagnostics } from '../recipes/print-recipe-diagnostics.js';
import { readRecipeFile } from '../recipes/read-recipe-file.js';
import { SourceProgress } from '../source-progress.js';
import { printSummary, reportSummary, summarize } from './build-summary.js';
import { fetchSources } from './fetch-sources.js';
import { readRegistry, readRegistryPolicies } from './read-registry.js';

export interface BuildOptions {
  out: string;
  report?: string;
  snapshotFile?: string;
  kind: 'Catalog' | 'KRMFunctionCatalog';
  format: 'yaml' | 'json';
  registry?: string;
  trustedRoot?: string;
  output: OutputFormat;
}

/** The serial of a build without a registry; serials of a registry start at 1. */
const NO_SERIAL = 0;

/** Builds a catalog from a recipe. Contacts the registry only for its own functions and for its signing policies. */
export async function runBuild(io: Io, file: string, options: BuildOptions): Promise<void> {
  checkOutput('catalog.yaml', options);
  const recipe = await loadRecipe(io, file);
  await printLimits(io, recipe);
  const now = io.now().toISOString();
  const folder = file === '-' ? io.cwd : path.dirname(path.resolve(io.cwd, file));
  const { trustedRoot } = options;
  const policies = followsRegistryPolicies(recipe)
    ? await readRegistryPolicies(io, options.registry)
    : undefined;
  const sources = await fetchSources(
    io,
    recipe,
    { recipe: file, folder, trustedRoot, now, policies: requiredSignatures(recipe, policies ?? []) },
    new SourceProgress(io, 'fetching'),
  );
  const needsRegistry = recipe.sources.some(({ catalog }) => catalog === undefined);
  const functions = needsRegistry ? await readRegistry(io, options.registry, new Progress(io)) : [];
  const inputs = { clock: now, functions, sources, ...defined({ policies }) };
  const built = buildFromInputs(recipe, inputs);
  await writeBuilt(io, built, { serial: NO_SERIAL, previous: null }, options);
  await reportBuilt(io, recipe, built, options);
}

async function loadRecipe(io: Io, file: string): Promise<Recipe> {
  const name = file === '-' ? STDIN_NAME : file;
  const { recipe, bytes, diagnostics } = await readRecipeFile(io, file);
  await printRecipeDiagnostics(io, diagnostics, name, bytes);
  if (recipe !== undefined) return recipe;
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  throw new KrmhubError('invalid-document', `cannot build ${name}: ${plural(errors, 'error')}`, {
    hint: `Fix the errors above, then check: krmhub lint ${shellWord(file)}`,
  });
}

/** Warns about what a build without a registry cannot do. */
async function printLimits(io: Io, { name, sources }: Recipe): Promise<void> {
  const upstreams = sources.filter(({ catalog }) => catalog !== undefined);
  const withMinimumAge = upstreams.filter(({ catalog }) => (catalog?.minimumAgeSeconds ?? 0) > 0);
  if (withMinimumAge.length > 0) {
    const names = withMinimumAge.map((source) => source.name).join(', ');
    await printWarning(
      io,
      `${names}: minimumAge rejects every entry, because only a registry knows the age of entries`,
    );
    await printLine(
      io,
      `  hint: Export the inputs from a registry: krmhub catalog inputs ${name} --out FOLDER. Then build with --inputs FOLDER.`,
    );
  }
  const proxied = Object.entries(io.env).some(([name, value]) => /^(https?|all)_proxy$/i.test(name) && value);
  if (proxied && upstreams.some(({ catalog }) => /^(?:https?:|git::)/i.test(catalog?.url ?? ''))) {
    await printWarning(io, 'krmhub fetches sources without the configured proxy');
  }
}

/** Builds the catalog. A damaged export is an error of the document, not of krmhub. */
export function buildFromInputs(recipe: Recipe, inputs: BuildInputs): BuiltCatalog {
  try {
    return buildCatalog(recipe, inputs);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new KrmhubError(
      'invalid-document',
      `cannot build catalog ${recipe.name}: invalid definition: ${error.message}`,
      {
        cause: error,
      },
    );
  }
}

export function renditionName({ kind, format }: BuildOptions): SnapshotRendition {
  return `${kind === 'Catalog' ? 'catalog' : 'krmfunctioncatalog'}.${format}`;
}

/** Writes the catalog, the report and the snapshot, each atomically. */
export async function writeBuilt(
  io: Io,
  built: BuiltCatalog,
  number: Pick<SnapshotRecord, 'serial' | 'previous'>,
  options: BuildOptions,
): Promise<void> {
  const { report, snapshotFile, out } = options;
  const record: SnapshotRecord = { ...built, ...number, functions: built.count, createdAt: '' };
  if (report !== undefined) await writeText(io, report, [renderReport(record, built.functions)]);
  if (snapshotFile !== undefined) {
    await writeText(io, snapshotFile, [renderSnapshot(record, built.functions)]);
  }
  const pieces = joinChunks(builtCatalogPieces(built, renditionName(options)));
  if (out !== '-') return writeText(io, out, pieces);
  for (const piece of pieces) {
    await writeData(io.stdout, piece);
  }
}

async function writeText(io: Io, file: string, pieces: Iterable<string>): Promise<void> {
  const bytes = Buffer.concat([...pieces].map((text) => Buffer.from(text)));
  await writeFileAtomically(path.resolve(io.cwd, file), bytes, { overwrite: true });
}

/** UTF-16 code units per write. */
const CHUNK_LENGTH = 262_144;

function* joinChunks(pieces: Iterable<string>): Generator<string, void, undefined> {
  let pending = '';
  for (const piece of pieces) {
    pending += piece;
    if (pending.length < CHUNK_LENGTH) continue;
    yield pending;
    pending = '';
  }
  if (pending !== '') yield pending;
}

/** Prints the counts: as data if the catalog went to a file, else only on stderr. */
export async function reportBuilt(
  io: Io,
  recipe: Recipe,
  built: BuiltCatalog,
  options: BuildOptions,
): Promise<void> {
  const summary = summarize(recipe, built);
  if (options.out !== '-') await printData(io, options.output, summary, () => printSummary(io, summary));
  const counts = await reportSummary(io, summary);
  if (built.count === 0) await warnEmpty(io, counts, built.sources);
  if (options.report === undefined && !isComplete(counts)) {
    await printLine(io, 'to list the excluded entries and the reasons, use --report FILE');
  }
  if (options.out !== '-')
    await printLine(io, `wrote ${options.out}, ${built.digests[renditionName(options)]}`);
}

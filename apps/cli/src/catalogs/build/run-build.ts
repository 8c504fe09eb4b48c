import path from 'node:path';
import {
  type BuildInputs,
  type BuiltCatalog,
  buildCatalog,
  builtCatalogPieces,
  type Recipe,
  renderReport,
  renderSnapshot,
  type SnapshotRecord,
} from '@krmhub/catalog';
import { KrmhubError, type SnapshotRendition } from '@krmhub/schema';
import { STDIN_NAME } from '../../files/read-file.js';
import { writeFileAtomically } from '../../files/write-file.js';
import { type Io, write } from '../../io/io.js';
import { type OutputFormat, printData, printLine, printWarning } from '../../io/print.js';
import { Progress } from '../../io/progress.js';
import { plural, visible } from '../../io/text.js';
import { isNothingLeftOut, whyEmpty } from '../catalog-report.js';
import { printRecipeDiagnostics } from '../recipes/print-recipe-diagnostics.js';
import { readRecipeFile } from '../recipes/read-recipe-file.js';
import { SourceProgress } from '../source-progress.js';
import { printSummary, saySummary, summaryOf } from './build-summary.js';
import { fetchSources } from './fetch-sources.js';
import { readRegistry } from './read-registry.js';

export interface BuildOptions {
  out: string;
  report?: string;
  snapshot?: string;
  kind: 'Catalog' | 'KRMFunctionCatalog';
  format: 'yaml' | 'json';
  registry?: string;
  trustedRoot?: string;
  output: OutputFormat;
}

/** A snapshot that no registry has cut: the numbers of those begin with 1. */
const NOT_CUT = 0;

/** Builds a catalog from a recipe, without a server but for the functions of a registry that it names. */
export async function runBuild(io: Io, file: string, options: BuildOptions): Promise<void> {
  checkOutputs(options);
  const recipe = await recipeOf(io, file);
  await tellLimits(io, recipe);
  const now = io.now().toISOString();
  const folder = file === '-' ? io.cwd : path.dirname(path.resolve(io.cwd, file));
  const { trustedRoot } = options;
  const sources = await fetchSources(
    io,
    recipe,
    { folder, trustedRoot, now },
    new SourceProgress(io, 'fetching'),
  );
  const needsRegistry = recipe.sources.some(({ catalog }) => catalog === undefined);
  const functions = needsRegistry ? await readRegistry(io, options.registry, new Progress(io)) : [];
  const built = builtFrom(recipe, { clock: now, functions, sources });
  await writeBuilt(io, built, { serial: NOT_CUT, previous: null }, options);
  await tellBuilt(io, recipe, built, options);
}

export function checkOutputs({ out, output }: Pick<BuildOptions, 'out' | 'output'>): void {
  if (out === '-' && output !== 'table') {
    throw new KrmhubError('usage', `the catalog goes to stdout, so that -o ${output} has no place there`, {
      hint: 'Name a file for the catalog with --out.',
    });
  }
}

async function recipeOf(io: Io, file: string): Promise<Recipe> {
  const name = file === '-' ? STDIN_NAME : file;
  const { recipe, bytes, diagnostics } = await readRecipeFile(io, file);
  await printRecipeDiagnostics(io, diagnostics, name, bytes);
  if (recipe !== undefined) return recipe;
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  throw new KrmhubError('invalid-document', `${plural(errors, 'error')} in ${name}; nothing is built`);
}

/** What a build of this machine cannot know, or does not do. */
async function tellLimits(io: Io, { name, sources }: Recipe): Promise<void> {
  const elsewhere = sources.filter(({ catalog }) => catalog !== undefined);
  const young = elsewhere.filter(({ catalog }) => (catalog?.minimumAgeSeconds ?? 0) > 0);
  if (young.length > 0) {
    const names = young.map((source) => source.name).join(', ');
    await printWarning(
      io,
      `${names}: since when an entry is there is known to a registry alone, so that with minimumAge all are too new`,
    );
    await printLine(
      io,
      `  hint: Where a registry has the catalog: krmhub catalog inputs ${name} --out DIR, then build with --inputs DIR.`,
    );
  }
  const proxied = Object.entries(io.env).some(([name, value]) => /^(https?|all)_proxy$/i.test(name) && value);
  if (proxied && elsewhere.some(({ catalog }) => /^(?:https?:|git::)/i.test(catalog?.url ?? ''))) {
    await printWarning(io, 'sources are fetched directly, not through the proxy that the environment names');
  }
}

/** What is damaged in an export is no fault of this program. */
export function builtFrom(recipe: Recipe, inputs: BuildInputs): BuiltCatalog {
  try {
    return buildCatalog(recipe, inputs);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new KrmhubError('invalid-document', `a definition cannot be written: ${error.message}`, {
      cause: error,
    });
  }
}

export function formOf({ kind, format }: Pick<BuildOptions, 'kind' | 'format'>): SnapshotRendition {
  return `${kind === 'Catalog' ? 'catalog' : 'krmfunctioncatalog'}.${format}`;
}

/** The catalog, and beside it what was asked for: each whole or not at all. */
export async function writeBuilt(
  io: Io,
  built: BuiltCatalog,
  number: Pick<SnapshotRecord, 'serial' | 'previous'>,
  options: Pick<BuildOptions, 'out' | 'report' | 'snapshot' | 'kind' | 'format'>,
): Promise<void> {
  const { report, snapshot, out } = options;
  const record: SnapshotRecord = { ...built, ...number, functions: built.count, createdAt: '' };
  if (report !== undefined) await writeText(io, report, [renderReport(record, built.functions)]);
  if (snapshot !== undefined) await writeText(io, snapshot, [renderSnapshot(record, built.functions)]);
  const pieces = joined(builtCatalogPieces(built, formOf(options)));
  if (out !== '-') return writeText(io, out, pieces);
  for (const piece of pieces) {
    await write(io.stdout, io.stdout.isTTY === true ? piece.split('\n').map(visible).join('\n') : piece);
  }
}

async function writeText(io: Io, file: string, pieces: Iterable<string>): Promise<void> {
  const bytes = Buffer.concat([...pieces].map((text) => Buffer.from(text)));
  await writeFileAtomically(path.resolve(io.cwd, file), bytes, { overwrite: true });
}

/** UTF-16 code units that are written at once. */
const WRITTEN_TOGETHER = 262_144;

function* joined(pieces: Iterable<string>): Generator<string, void, undefined> {
  let pending = '';
  for (const piece of pieces) {
    pending += piece;
    if (pending.length < WRITTEN_TOGETHER) continue;
    yield pending;
    pending = '';
  }
  if (pending !== '') yield pending;
}

/** Where the catalog went to a file, its numbers are data; else they are talk. */
export async function tellBuilt(
  io: Io,
  recipe: Recipe,
  built: BuiltCatalog,
  options: Pick<BuildOptions, 'out' | 'report' | 'kind' | 'format' | 'output'>,
): Promise<void> {
  const summary = summaryOf(recipe, built);
  if (options.out !== '-') await printData(io, options.output, summary, () => printSummary(io, summary));
  const counts = await saySummary(io, summary);
  if (built.count === 0) await printWarning(io, whyEmpty(counts));
  if (options.report === undefined && !isNothingLeftOut(counts)) {
    await printLine(io, '--report FILE says of each what is left out, and why');
  }
  if (options.out !== '-') await printLine(io, `Wrote ${options.out}, ${built.digests[formOf(options)]}`);
}

/**
 * Shows and changes the catalogs of a registry: apply, list, show, report, pull, and delete.
 *
 * @module
 */

import type { RegistryClient } from '@krmhub/api/client';
import type { ApplyResult, CatalogDetail } from '@krmhub/api/model';
import { hasUpstreams } from '@krmhub/catalog/recipe/recipe';
import { defined } from '@krmhub/schema/defined';
import type { Diagnostic } from '@krmhub/schema/diagnostic';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural, shellWord } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable, printWarning } from '../io/print.js';
import { STDIN_NAME } from '../io/read-stdin.js';
import { connect } from '../registry/connection.js';
import { catalogAddresses } from './catalog-addresses.js';
import { printRecipeDiagnostics } from './recipes/print-recipe-diagnostics.js';

export interface ApplyOptions {
  /** Name of a recipe of krmhub, in place of a file. */
  example?: string;
  registry?: string;
  output: OutputFormat;
}

/** Applies the recipe of a file, of stdin (`-`), or of krmhub, and waits for the snapshot. */
export async function applyRecipe(io: Io, file: string, options: ApplyOptions): Promise<void> {
  const { readRecipeBytes, readRecipeFile } = await import('./recipes/read-recipe-file.js');
  const name = file === '-' ? STDIN_NAME : file;
  const { recipe, bytes, text, diagnostics } =
    options.example === undefined
      ? await readRecipeFile(io, file)
      : await readRecipeBytes(await readExample(options.example), name, undefined);
  await printRecipeDiagnostics(io, diagnostics, name, bytes);
  if (recipe === undefined) {
    const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
    throw new KrmhubError('invalid-document', `cannot apply ${name}: ${plural(errors, 'error')}`, {
      hint: `Fix the errors above, then check: krmhub lint ${shellWord(file)}`,
    });
  }
  const client = await connect(io, options.registry);
  const before = await newestSnapshot(client, recipe.name);
  const applied = await client.applyCatalog(recipe.name, new TextEncoder().encode(text));
  await printRecipeDiagnostics(io, additionalDiagnostics(diagnostics, applied.diagnostics), name, bytes);
  if (hasUpstreams(recipe) && applied.outcome !== 'unchanged') await syncNewSources(io, client, recipe.name);
  const catalog = await client.cutCatalog(recipe.name).catch(async (error: unknown) => {
    await printLine(
      io,
      `applied the recipe of ${recipe.name} (${applied.outcome}), but could not confirm its snapshot`,
    );
    throw error;
  });
  await printData(io, options.output, { outcome: applied.outcome, catalog }, () =>
    printTable(io, COLUMNS, [catalog], { terminal: cells(applied), pipe: cells(applied) }),
  );
  const isEmpty = catalog.newest?.functions === 0;
  if (hasUpstreams(recipe)) await printReportCounts(io, client, recipe.name, isEmpty);
  else if (isEmpty)
    await printWarning(io, `catalog ${recipe.name} is empty: no release of this registry matches the recipe`);
  await printChange(io, recipe.name, before, catalog.newest);
  await printLine(io, `catalog URL: ${catalogAddresses(client.url, catalog).yaml}`);
  if (recipe.sources.every((source) => source.catalog !== undefined)) {
    await requireOneSource(client, catalog);
  }
}

async function readExample(name: string): Promise<Uint8Array> {
  const { readyRecipes } = await import('@krmhub/sources/ready-recipes');
  const recipes = readyRecipes();
  const found = recipes.find((one) => one.name === name);
  if (found !== undefined) return new TextEncoder().encode(found.text);
  throw new KrmhubError('not-found', escapeControls(`krmhub has no recipe ${name}`), {
    hint: `Use one of these: ${recipes.map((one) => one.name).join(', ')}`,
  });
}

/** Prints the recipes that krmhub brings with it. */
export async function listExamples(io: Io, output: OutputFormat): Promise<void> {
  const { readyRecipes } = await import('@krmhub/sources/ready-recipes');
  const recipes = readyRecipes();
  const cells = ({ name, summary }: (typeof recipes)[number]) => [name, summary];
  await printData(io, output, { recipes }, () =>
    printTable(io, [{ header: 'RECIPE' }, { header: 'WHAT IT HAS' }], recipes, {
      terminal: cells,
      pipe: cells,
    }),
  );
}

/** Throws `unavailable` if every source of a catalog failed: then the catalog has nothing, or only earlier copies. */
async function requireOneSource(client: RegistryClient, catalog: CatalogDetail): Promise<void> {
  const { name, newest } = catalog;
  const { sources } = await client.sources(name);
  if (sources.length === 0 || sources.some(({ state }) => state === 'current')) return;
  const reasons = sources.map(
    ({ source, message = 'not synced yet' }) => `  ${escapeControls(`${source}: ${message}`)}`,
  );
  const left = newest === undefined || newest.functions === 0 ? 'is empty' : 'has only earlier copies';
  throw new KrmhubError(
    'unavailable',
    [`applied the recipe, but catalog ${name} ${left}: every source failed`, ...reasons].join('\n'),
    { hint: `Fix the sources, then sync them: krmhub source refresh ${name}` },
  );
}

type Newest = CatalogDetail['newest'];

async function newestSnapshot(client: RegistryClient, name: string): Promise<Newest> {
  try {
    return (await client.catalog(name)).newest;
  } catch (error) {
    if (error instanceof KrmhubError && error.code === 'not-found') return undefined;
    throw error;
  }
}

/** Prints how the catalog changed. It warns if the catalog lost functions, because consumers get it at once. */
async function printChange(io: Io, name: string, before: Newest, now: Newest): Promise<void> {
  if (before === undefined || now === undefined || now.serial === before.serial) return;
  const diff = `krmhub catalog diff ${name} ${before.serial}`;
  if (now.functions < before.functions) {
    await printWarning(
      io,
      `catalog ${name} has ${plural(now.functions, 'function')}, snapshot ${before.serial} had ${before.functions}; see ${diff}`,
    );
  } else {
    await printLine(io, `to see what changed since snapshot ${before.serial}, run: ${diff}`);
  }
}

/** Syncs new sources and prints the result of each. A source that fails does not block the others. */
async function syncNewSources(io: Io, client: RegistryClient, name: string): Promise<void> {
  const { pollSources, reportPoll } = await import('./sources/poll-sources.js');
  const { SourceProgress } = await import('./source-progress.js');
  const { sources } = await client.sources(name);
  const progress = new SourceProgress(io, 'syncing');
  const fresh = sources.filter(({ checkedAt }) => checkedAt === undefined).map(({ source }) => source);
  // The registry may have synced some of them already.
  for (const source of sources) if (!fresh.includes(source.source)) await reportPoll(io, progress, source);
  if (fresh.length > 0) await pollSources(io, client, name, fresh);
}

async function printReportCounts(
  io: Io,
  client: RegistryClient,
  name: string,
  isEmpty: boolean,
): Promise<void> {
  const {
    countsLine,
    isComplete: isNothingLeftOut,
    reportCounts,
    warnEmpty,
  } = await import('./catalog-report.js');
  const report = await client.catalogReport(name);
  const counts = reportCounts(report);
  if (isEmpty) await warnEmpty(io, counts, report.sources);
  const why = isNothingLeftOut(counts) ? '' : `: krmhub catalog report ${name}`;
  await printLine(io, `${countsLine(counts)}${why}`);
}

const COLUMNS = [
  { header: 'CATALOG', min: 12 },
  { header: 'RECIPE' },
  { header: 'SNAPSHOT' },
  { header: 'FUNCTIONS' },
  { header: 'DIGEST', min: 20 },
];

function cells({ outcome }: ApplyResult): (catalog: CatalogDetail) => string[] {
  return ({ name, newest }) => [
    name,
    outcome,
    String(newest?.serial ?? ''),
    String(newest?.functions ?? ''),
    newest?.digest ?? '',
  ];
}

/** Returns the diagnostics that only the registry reports; it can have another version. */
function additionalDiagnostics(
  known: readonly Diagnostic[],
  reported: ApplyResult['diagnostics'],
): Diagnostic[] {
  return reported
    .filter(({ code, path }) => !known.some((one) => one.code === code && one.path === path))
    .map(({ range, hint, ...diagnostic }) => ({
      ...diagnostic,
      ...defined({ range, hint }),
    }));
}

import type { RegistryClient } from '@krmhub/api/client';
import type { ApplyResult, CatalogDetail } from '@krmhub/api/model';
import type { Diagnostic } from '@krmhub/schema/diagnostic';
import { KrmhubError } from '@krmhub/schema/error';
import { STDIN_NAME } from '../files/read-file.js';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable, printWarning } from '../io/print.js';
import { plural } from '../io/text.js';
import { connect } from '../registry/connection.js';
import { catalogAddresses } from './catalog-addresses.js';
import { printRecipeDiagnostics } from './recipes/print-recipe-diagnostics.js';

export async function applyRecipe(
  io: Io,
  file: string,
  options: { registry?: string; output: OutputFormat },
): Promise<void> {
  const { readRecipeFile } = await import('./recipes/read-recipe-file.js');
  const name = file === '-' ? STDIN_NAME : file;
  const { recipe, bytes, text, diagnostics } = await readRecipeFile(io, file);
  await printRecipeDiagnostics(io, diagnostics, name, bytes);
  if (recipe === undefined) {
    const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
    throw new KrmhubError('invalid-document', `${plural(errors, 'error')} in ${name}; nothing is applied`);
  }
  const client = await connect(io, options.registry);
  const before = await newestSnapshot(client, recipe.name);
  const applied = await client.applyCatalog(recipe.name, new TextEncoder().encode(text));
  await printRecipeDiagnostics(io, additionalDiagnostics(diagnostics, applied.diagnostics), name, bytes);
  const elsewhere = recipe.sources.some((source) => source.catalog !== undefined);
  if (elsewhere && applied.outcome !== 'unchanged') await syncNewSources(io, client, recipe.name);
  const catalog = await client.cutCatalog(recipe.name).catch(async (error: unknown) => {
    await printLine(
      io,
      `The recipe of ${recipe.name} is applied (${applied.outcome}), but its cut was not seen to its end.`,
    );
    throw error;
  });
  await printData(io, options.output, { outcome: applied.outcome, catalog }, () =>
    printTable(io, COLUMNS, [catalog], { terminal: cells(applied), pipe: cells(applied) }),
  );
  const isEmpty = catalog.newest?.functions === 0;
  if (elsewhere) await printReportCounts(io, client, recipe.name, isEmpty);
  else if (isEmpty) await printWarning(io, 'no release of this registry matches the recipe');
  await printChange(io, recipe.name, before, catalog.newest);
  await printLine(io, `Served at ${catalogAddresses(client.url, catalog).yaml}`);
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

/** A recipe that was there is served at once as it is now: what its consumers lose by that is not to be overlooked. */
async function printChange(io: Io, name: string, before: Newest, now: Newest): Promise<void> {
  if (before === undefined || now === undefined || now.serial === before.serial) return;
  const diff = `krmhub catalog diff ${name} ${before.serial}`;
  if (now.functions < before.functions) {
    await printWarning(
      io,
      `it has ${plural(now.functions, 'function')}, and had ${before.functions} in snapshot ${before.serial}: ${diff}`,
    );
  } else {
    await printLine(io, `What changed since snapshot ${before.serial}: ${diff}`);
  }
}

/** The registry asks those that are new by itself; who waits is told what comes of it. None that fails keeps the rest out. */
async function syncNewSources(io: Io, client: RegistryClient, name: string): Promise<void> {
  const { refreshSources, tellAsked } = await import('./sources/refresh-sources.js');
  const { SourceProgress } = await import('./source-progress.js');
  const { sources } = await client.sources(name);
  const progress = new SourceProgress(io, 'asking');
  const fresh = sources.filter(({ checkedAt }) => checkedAt === undefined).map(({ source }) => source);
  // It may have been quicker than we.
  for (const source of sources) if (!fresh.includes(source.source)) await tellAsked(io, progress, source);
  if (fresh.length > 0) await refreshSources(io, client, name, fresh);
}

async function printReportCounts(
  io: Io,
  client: RegistryClient,
  name: string,
  isEmpty: boolean,
): Promise<void> {
  const { countsLine, isNothingLeftOut, reportCounts, whyEmpty } = await import('./catalog-report.js');
  const counts = reportCounts(await client.catalogReport(name));
  if (isEmpty) await printWarning(io, whyEmpty(counts));
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

/** What a registry of another version finds besides. */
function additionalDiagnostics(known: readonly Diagnostic[], told: ApplyResult['diagnostics']): Diagnostic[] {
  return told
    .filter(({ code, path }) => !known.some((one) => one.code === code && one.path === path))
    .map(({ range, hint, ...diagnostic }) => ({
      ...diagnostic,
      ...(range === undefined ? {} : { range }),
      ...(hint === undefined ? {} : { hint }),
    }));
}

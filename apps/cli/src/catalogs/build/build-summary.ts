import type { BuiltCatalog, Recipe } from '@krmhub/catalog';
import type { Digest, RefusalCode, SnapshotRendition } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { plural } from '@krmhub/schema/text';
import type { Io } from '../../io/io.js';
import { printLine, printTable } from '../../io/print.js';
import { codeCounts, countsLine, type ReportCounts } from '../catalog-report.js';

/** The counts of a build. */
export interface BuildSummary {
  catalog: string;
  /** Number of catalog entries. */
  functions: number;
  digests: Record<SnapshotRendition, Digest>;
  sources: {
    source: string;
    url?: string;
    /** Functions and API versions that the source provides. */
    functions: number;
    versions: number;
    shadowed: number;
    refused: number;
    invalid: number;
  }[];
  shadowed: number;
  refused: Partial<Record<RefusalCode, number>>;
  yanked: number;
  invalid: number;
  /** Entries that defaults of the recipe completed. */
  completed: number;
  /** Groups of sources that look like groups of the registry, if the registry exported the inputs. */
  warnings: number;
  /** Sources whose last sync failed. */
  failing: number;
}

export function summarize(recipe: Recipe, built: BuiltCatalog): BuildSummary {
  const { functions } = built;
  const shadowed = functions.flatMap((fn) => fn.shadowed);
  const refused = functions.flatMap((fn) => fn.refused ?? []);
  const invalid = new Map(built.sources?.map((one) => [one.source, one.invalidEntries]));
  const counts = {
    functions: countBySource(
      functions.flatMap(({ versions }) =>
        [...new Set(versions.map(({ source }) => source))].map((source) => ({ source })),
      ),
    ),
    versions: countBySource(functions.flatMap(({ versions }) => versions)),
    shadowed: countBySource(shadowed),
    refused: countBySource(refused),
  };
  return {
    catalog: built.catalog,
    functions: built.count,
    digests: built.digests,
    sources: recipe.sources.map(({ name, catalog }) => ({
      source: name,
      ...defined({ url: catalog?.url }),
      functions: counts.functions.get(name) ?? 0,
      versions: counts.versions.get(name) ?? 0,
      shadowed: counts.shadowed.get(name) ?? 0,
      refused: counts.refused.get(name) ?? 0,
      invalid: invalid.get(name) ?? 0,
    })),
    shadowed: shadowed.length,
    refused: Object.fromEntries(codeCounts(refused)),
    yanked: functions.flatMap((fn) => fn.yanked).length,
    invalid: [...invalid.values()].reduce((sum, one) => sum + one, 0),
    completed: (built.sources ?? []).reduce((sum, { completedEntries = 0 }) => sum + completedEntries, 0),
    warnings: (built.sources ?? []).reduce((sum, { warnings = [] }) => sum + warnings.length, 0),
    failing: (built.sources ?? []).filter(({ state }) => state !== 'current').length,
  };
}

function countBySource(items: readonly { source: string }[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { source } of items) counts.set(source, (counts.get(source) ?? 0) + 1);
  return counts;
}

const COLUMNS = [
  { header: 'SOURCE', min: 12 },
  { header: 'FUNCTIONS' },
  { header: 'VERSIONS' },
  { header: 'SHADOWED' },
  { header: 'REFUSED' },
  { header: 'INVALID' },
];

export async function printSummary(io: Io, { sources }: BuildSummary): Promise<void> {
  const cells = (one: BuildSummary['sources'][number]) =>
    [one.source, one.functions, one.versions, one.shadowed, one.refused, one.invalid].map(String);
  await printTable(io, COLUMNS, sources, { terminal: cells, pipe: cells });
}

/** Prints, for example, `platform: 12 functions; 2 refused (1 claim, 1 signature), 1 shadowed` on stderr. */
export async function reportSummary(io: Io, summary: BuildSummary): Promise<ReportCounts> {
  const { catalog, functions, shadowed, yanked, invalid, completed, warnings, failing } = summary;
  const counts: ReportCounts = {
    sources: summary.sources.filter(({ url }) => url !== undefined).length,
    failing,
    refused: summary.sources.reduce((sum, { refused }) => sum + refused, 0),
    codes: new Map(Object.entries(summary.refused) as [RefusalCode, number][]),
    shadowed,
    yanked,
    invalid,
    completed,
    warnings,
  };
  await printLine(io, `${catalog}: ${plural(functions, 'function')}; ${countsLine(counts)}`);
  return counts;
}

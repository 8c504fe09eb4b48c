import type { BuiltCatalog, Recipe } from '@krmhub/catalog';
import type { Digest, RefusalCode, SnapshotForm } from '@krmhub/schema';
import type { Io } from '../io.js';
import { printTable, say } from '../output/print.js';
import { plural } from '../output/text.js';

/** What a build comes to, in numbers. */
export interface BuildSummary {
  catalog: string;
  /** Entries of the catalog. */
  functions: number;
  digests: Record<SnapshotForm, Digest>;
  sources: {
    source: string;
    url?: string;
    /** Functions of which it provides an API version, and all of these. */
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
}

export function summaryOf(recipe: Recipe, built: BuiltCatalog): BuildSummary {
  const { functions } = built;
  const shadowed = functions.flatMap((fn) => fn.shadowed);
  const refused = functions.flatMap((fn) => fn.refused ?? []);
  const yanked = functions.flatMap((fn) => fn.yanked);
  const invalid = new Map(built.sources?.map((one) => [one.source, one.invalidEntries]));
  const codes: BuildSummary['refused'] = {};
  for (const { code } of refused.flatMap(({ reasons }) => reasons)) codes[code] = (codes[code] ?? 0) + 1;
  return {
    catalog: built.catalog,
    functions: built.count,
    digests: built.digests,
    sources: recipe.sources.map(({ name, catalog }) => {
      const of = ({ source }: { source: string }) => source === name;
      return {
        source: name,
        ...(catalog === undefined ? {} : { url: catalog.url }),
        functions: functions.filter(({ versions }) => versions.some(of)).length,
        versions: functions.flatMap(({ versions }) => versions).filter(of).length,
        shadowed: shadowed.filter(of).length,
        refused: refused.filter(of).length,
        invalid: invalid.get(name) ?? 0,
      };
    }),
    shadowed: shadowed.length,
    refused: codes,
    yanked: yanked.length,
    invalid: [...invalid.values()].reduce((sum, one) => sum + one, 0),
  };
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

/** `platform: 12 functions; 1 shadowed, 2 refused (1 claim, 1 signature), 1 invalid`, on stderr. */
export async function saySummary(io: Io, summary: Omit<BuildSummary, 'sources' | 'digests'>): Promise<void> {
  const { catalog, functions, shadowed, yanked, invalid } = summary;
  const codes = Object.entries(summary.refused);
  const refused = codes.map(([code, count]) => `${count} ${code}`).join(', ');
  const left = [
    ...(shadowed === 0 ? [] : [`${shadowed} shadowed`]),
    ...(codes.length === 0 ? [] : [`refused: ${refused}`]),
    ...(yanked === 0 ? [] : [`${yanked} yanked`]),
    ...(invalid === 0 ? [] : [`${invalid} invalid`]),
  ];
  await say(
    io,
    `${catalog}: ${plural(functions, 'function')}${left.length === 0 ? '' : `; ${left.join('; ')}`}`,
  );
}

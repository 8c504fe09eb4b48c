import type { Snapshot, SnapshotEntry, SnapshotReport } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { compareFunctionNames } from '../ports/function-name.js';
import type { CatalogEntryRow, SnapshotRecord } from '../ports/records.js';
import { RECIPE_API_VERSION } from '../recipe/recipe.js';
import type { CatalogFrame } from '../render/render.js';

/** Renders `snapshot.json`. It contains no time, so equal snapshots in the same order have equal bytes. */
export function renderSnapshot(snapshot: SnapshotRecord, functions: readonly CatalogEntryRow[]): string {
  const { catalog, serial, previous, digests } = snapshot;
  const { entries, ...head }: Snapshot = {
    apiVersion: RECIPE_API_VERSION,
    kind: 'Snapshot',
    catalog,
    serial,
    previous,
    digests: {
      'catalog.yaml': digests['catalog.yaml'],
      'catalog.json': digests['catalog.json'],
      'krmfunctioncatalog.yaml': digests['krmfunctioncatalog.yaml'],
      'krmfunctioncatalog.json': digests['krmfunctioncatalog.json'],
    },
    entries: functions
      .filter(({ versions }) => versions.length > 0)
      .sort(compareFunctionNames)
      .map(snapshotEntry),
  };
  return renderLists(head, { entries });
}

function snapshotEntry({ group, kind, versions }: CatalogEntryRow): SnapshotEntry {
  return {
    group,
    kind,
    versions: versions.map(({ name, source, release, definition, signedBy, rewritten }) => ({
      name,
      source,
      ...defined({ release }),
      definition,
      ...defined({ signedBy, rewritten }),
    })),
  };
}

/** Renders the line of an entry of `snapshot.json`, without the text around it. */
export function renderSnapshotLine(row: CatalogEntryRow): string {
  return JSON.stringify(snapshotEntry(row));
}

/** Returns the text of `snapshot.json` around the lines of its entries. */
export function snapshotFrame(snapshot: SnapshotRecord): CatalogFrame {
  const empty = renderSnapshot(snapshot, []);
  const end = ']}\n';
  return { head: `${empty.slice(0, -end.length)}\n`, between: ',\n', end: `\n${end}`, empty };
}

/**
 * Renders `report.json`: the omitted entries with reasons. Fields for upstream sources or policies are absent
 * from others.
 */
export function renderReport(
  { catalog, serial, sources }: Pick<SnapshotRecord, 'catalog' | 'serial' | 'sources'>,
  functions: readonly CatalogEntryRow[],
): string {
  const ordered = [...functions].sort(compareFunctionNames);
  const refused = ordered.flatMap((fn) =>
    (fn.refused ?? []).map(({ version, source, release, reasons }) => ({
      group: fn.group,
      kind: fn.kind,
      version,
      source,
      ...releaseField(release),
      reasons: reasons.map(({ code, message }) => ({ code, message })),
    })),
  );
  const { shadowed, yanked, ...head }: Omit<SnapshotReport, 'sources' | 'refused'> = {
    apiVersion: RECIPE_API_VERSION,
    kind: 'SnapshotReport',
    catalog,
    serial,
    shadowed: ordered.flatMap((fn) =>
      fn.shadowed.map(({ version, source, release, by }) => ({
        group: fn.group,
        kind: fn.kind,
        version,
        source,
        ...releaseField(release),
        by: { source: by.source, ...releaseField(by.release) },
      })),
    ),
    yanked: ordered.flatMap((fn) =>
      fn.yanked.map(({ release, source }) => ({ group: fn.group, kind: fn.kind, release, source })),
    ),
  };
  return renderLists(head, {
    ...defined({ sources: sources?.map(({ copyUrl: _, ...reported }) => reported) }),
    shadowed,
    ...defined({ refused: refused.length === 0 ? undefined : refused }),
    yanked,
  });
}

function releaseField(release: string | undefined): { release?: string } {
  return release === undefined ? {} : { release };
}

/** Renders JSON with one list item per line, so that a diff of two files is readable (`snapshotFrame`). */
function renderLists(head: object, lists: Record<string, readonly object[]>): string {
  const fields = Object.entries(head).map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
  for (const [name, items] of Object.entries(lists)) {
    const lines = items.map((item) => `\n${JSON.stringify(item)}`).join(',');
    fields.push(`${JSON.stringify(name)}:[${lines}${items.length === 0 ? '' : '\n'}]`);
  }
  return `{${fields.join(',\n')}}\n`;
}

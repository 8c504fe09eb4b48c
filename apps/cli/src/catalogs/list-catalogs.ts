import type { RegistryClient } from '@krmhub/api/client';
import type { CatalogTombstone, SnapshotList } from '@krmhub/api/model';
import { snapshotPages } from '@krmhub/api/read-pages';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable } from '../io/print.js';
import { relativeTime, timeLeft } from '../io/time.js';
import { connect } from '../registry/connection.js';

interface ListOptions {
  registry?: string;
  output: OutputFormat;
}

export async function listCatalogs(io: Io, options: ListOptions): Promise<void> {
  const list = await (await connect(io, options.registry)).catalogs();
  await printData(io, options.output, list, () => {
    const now = io.now();
    const columns = [
      { header: 'NAME', min: 12 },
      { header: 'SNAPSHOT' },
      { header: 'FUNCTIONS' },
      { header: 'CREATED' },
      { header: 'DIGEST', min: 20 },
    ];
    return printTable(io, columns, list.catalogs, {
      terminal: ({ name, newest }) =>
        newest === undefined
          ? [name, 'none yet', '', '', '']
          : [
              name,
              String(newest.serial),
              String(newest.functions),
              relativeTime(newest.createdAt, now),
              newest.digest,
            ],
      pipe: ({ name, newest }) =>
        newest === undefined
          ? [name, '', '', '', '']
          : [name, String(newest.serial), String(newest.functions), newest.createdAt, newest.digest],
    });
  });
  for (const tombstone of list.deleted ?? []) {
    for (const line of tombstoneLines(tombstone, io.now())) await printLine(io, escapeControls(line));
  }
}

function tombstoneLines(
  { name, at, reason, restorableUntil, purgedAt }: CatalogTombstone,
  now: Date,
): string[] {
  const canRestore = purgedAt === undefined && now.toISOString() < restorableUntil;
  return [
    `deleted: ${name} (${relativeTime(at, now)}): ${reason}`,
    canRestore
      ? `  to restore it ${timeLeft(restorableUntil, now)}: krmhub catalog restore ${name}`
      : '  it cannot be restored any more; its name stays reserved',
  ];
}

export async function listSnapshots(
  io: Io,
  name: string,
  options: ListOptions & { limit: number; all?: boolean },
): Promise<void> {
  const client = await connect(io, options.registry);
  const list = await readSnapshots(client, name, options.all ? undefined : options.limit);
  await printData(io, options.output, list, () => {
    const now = io.now();
    const hasNotes = list.snapshots.some(({ withdrawn }) => withdrawn !== undefined);
    const note = ({ withdrawn }: (typeof list.snapshots)[number]) =>
      !hasNotes ? [] : [withdrawn === undefined ? '' : `withdrawn: ${withdrawn.reason}`];
    const columns = [
      { header: 'SNAPSHOT' },
      { header: 'FUNCTIONS' },
      { header: 'CREATED' },
      { header: 'DIGEST', min: 20 },
      ...(hasNotes ? [{ header: 'NOTE' }] : []),
    ];
    return printTable(io, columns, list.snapshots, {
      terminal: (snapshot) => [
        String(snapshot.serial),
        String(snapshot.functions),
        relativeTime(snapshot.createdAt, now),
        snapshot.digest,
        ...note(snapshot),
      ],
      pipe: (snapshot) => [
        String(snapshot.serial),
        String(snapshot.functions),
        snapshot.createdAt,
        snapshot.digest,
        ...note(snapshot),
      ],
    });
  });
  if (list.snapshots.length < list.total) {
    await printLine(
      io,
      `showing ${list.snapshots.length} of ${list.total}; use --limit or --all to show more`,
    );
  }
}

/** Reads the newest snapshots of a catalog, or all. */
async function readSnapshots(
  client: RegistryClient,
  name: string,
  limit: number | undefined,
): Promise<SnapshotList> {
  let list: SnapshotList | undefined;
  for await (const page of snapshotPages(client, name, Math.min(limit ?? PAGE_SIZE, PAGE_SIZE))) {
    list = list === undefined ? page : { ...page, snapshots: [...list.snapshots, ...page.snapshots] };
    if (limit !== undefined && list.snapshots.length >= limit) break;
  }
  return list!;
}

/** The largest page of the registry. */
const PAGE_SIZE = 1_000;

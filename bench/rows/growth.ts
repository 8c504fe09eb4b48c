import { statSync } from 'node:fs';
import path from 'node:path';
import { PATHS } from '@krmhub/api/paths';
import { sqlite } from '../built.js';
import { get } from '../catalog-resources.js';
import { addedBytes, bytes, number } from '../figures.js';
import { newFunctions, publishUntilVisible } from '../publishing.js';
import type { Line, Row } from '../row.js';
import { type Server, startServer, waitForBuild } from '../server.js';
import type { SyntheticRelease } from '../synthetic/definitions.js';

/** Publishes, each with a snapshot of its own, and reports of packages. */
const COUNTS = { publishes: 200, reports: 100, pages: 100 };
/** Releases that a package locks. */
const LOCKED = 10;

/** Which tables are what, by the beginning of their names; the first that matches counts. */
const PARTS: readonly [what: string, names: RegExp][] = [
  ['releases and their files', /^(?:function|release|release_\w+)$/],
  ['search', /^function_text/],
  ['artifacts', /^oci_/],
  ['entries of catalogs', /^(?:entry|unused_entry|catalog_function)$/],
  ['newest snapshot, compressed', /^(?:segment|catalog_segment)$/],
  ['snapshots', /^snapshot/],
  ['events', /^event$/],
  ['audit log', /^audit$/],
  ['reports of packages', /^consume/],
];

interface Size {
  bytes: number;
  rows: number;
}
type Sizes = Map<string, Size>;

export const growth: Row = {
  name: 'growth',
  title: 'what grows',
  async run({ tools, folders, effort, report }, functions) {
    const filled = await folders.filled(functions);
    const folder = await folders.copy(filled);
    const server = await startServer(tools, folder, { core: 'any', env: { KRMHUB_LOG_LEVEL: 'info' } });
    try {
      await waitForBuild(server, functions, 60);
      const before = [...(await sizes(folder)).values()];
      const all = { bytes: sum(before, 'bytes'), rows: sum(before, 'rows') };
      const lines: Omit<Line, 'functions' | 'row'>[] = [
        {
          what: 'the database',
          ours: bytes(all.bytes),
          beside: `${number(all.rows)} rows`,
          figures: { ...all },
        },
      ];
      const measure = async (what: string, count: number, work: () => Promise<unknown>) => {
        report(`growth: ${what}`);
        const [before, logged] = [await sizes(folder), logBytes(folder)];
        await work();
        const after = await sizes(folder);
        for (const [part, size] of after) {
          const earlier = before.get(part) ?? { bytes: 0, rows: 0 };
          const added = {
            bytes: (size.bytes - earlier.bytes) / count,
            rows: (size.rows - earlier.rows) / count,
          };
          if (added.rows === 0) continue;
          lines.push({
            what: `${what}: ${part}`,
            ours: addedBytes(added.bytes),
            beside: `${number(added.rows)} rows`,
            figures: added,
          });
        }
        const log = (logBytes(folder) - logged) / count;
        lines.push({ what: `${what}: log`, ours: addedBytes(log), figures: { bytes: log } });
      };
      const { publishes, reports, pages } = effort.quick ? { publishes: 2, reports: 2, pages: 2 } : COUNTS;
      const releases = Array.from({ length: publishes }, newFunctions());
      await measure('one publish and its snapshot', publishes, async () => {
        for (const release of releases) await publishUntilVisible(server, release, { waits: true });
      });
      const locked = releases.slice(0, LOCKED);
      await measure(`one report of a package with ${locked.length} functions`, reports, async () => {
        for (let turn = 0; turn < reports; turn++) await reportPackage(server, `package-${turn}`, locked);
      });
      await measure('one read of a page', pages, async () => {
        for (let turn = 0; turn < pages; turn++) await get(server.url);
      });
      return lines.map((line) => ({ ...line, row: 'growth', functions }));
    } finally {
      await server.stop();
    }
  },
};

function sum(all: readonly Size[], of: keyof Size): number {
  return all.reduce((total, size) => total + size[of], 0);
}

/** Bytes and rows of each part of the database, with its indexes. A reader sees what is not in the file yet. */
async function sizes(folder: string): Promise<Sizes> {
  const Database = await sqlite();
  const database = new Database(path.join(folder, 'registry.db'), { readonly: true });
  const found: Sizes = new Map();
  try {
    const tables = database
      .prepare<[], { table: string; bytes: number }>(
        `SELECT tbl_name AS "table", sum(pgsize) AS bytes FROM dbstat JOIN sqlite_schema USING (name) GROUP BY tbl_name`,
      )
      .all();
    for (const { table, bytes } of tables) {
      const part = PARTS.find(([, names]) => names.test(table))?.[0] ?? 'other';
      const rows = database.prepare<[], number>(`SELECT count(*) FROM "${table}"`).pluck().get()!;
      const size = found.get(part) ?? { bytes: 0, rows: 0 };
      found.set(part, { bytes: size.bytes + bytes, rows: size.rows + rows });
    }
    return found;
  } finally {
    database.close();
  }
}

function logBytes(folder: string): number {
  return statSync(path.join(folder, 'bench.log')).size;
}

async function reportPackage(
  { url, token }: Server,
  name: string,
  locked: readonly SyntheticRelease[],
): Promise<void> {
  const releases = locked.map(({ group, kind, release }) => ({ group, kind, release, version: 'v1' }));
  const response = await fetch(url + PATHS.reportConsumer, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name, releases }),
  });
  if (!response.ok) throw new Error(`the report of ${name}: ${response.status} ${await response.text()}`);
  await response.arrayBuffer();
}

import { cp } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { linkedCommand, postgresClient } from '../built.js';
import type { FilledFolder } from '../folders.js';
import { timed } from '../measure.js';
import { runProcess } from '../processes.js';
import type { Bench } from '../row.js';
import { type Server, startServer, waitUntilReady } from '../server.js';
import { ADMINISTRATOR, startPostgres } from './postgres.js';
import { startS3Server } from './s3-server.js';

/** A filled registry that was moved to PostgreSQL and S3, and its processes. */
export interface SharedRegistry {
  /** Of PostgreSQL. */
  databasePid: number;
  /** Of `krmhub move`. */
  moveMilliseconds: number;
  /** Returns this many running processes. The first one leads. */
  run(processes: number): Promise<readonly Server[]>;
  /** Returns the milliseconds until one more process is ready that starts with an empty data folder, as a pod does. */
  coldStart(): Promise<number>;
  /** Runs work, and returns what each running process did meanwhile. */
  countDuring(work: () => Promise<void>): Promise<Counts[]>;
  /** Returns what the registry stores, without what PostgreSQL keeps of deleted rows where it can use the space. */
  stored(): Promise<Stored>;
  /** Resolves when a newer snapshot than this one is stored, and returns its number. */
  snapshotAfter(number: number): Promise<number>;
  newestSnapshot(): Promise<number>;
  close(): Promise<void>;
}

export interface Counts {
  seconds: number;
  /** SQL statements, as PostgreSQL counts them. BEGIN and COMMIT are among them. */
  statements: number;
  /** SQL statements by the work that needs them, as the process counts them. */
  work: Numbers;
  /** Requests to S3 by operation. */
  requests: Numbers;
}

export type Numbers = Readonly<Record<string, number>>;

export interface Stored {
  databaseBytes: number;
  rows: number;
  objectBytes: number;
}

const DATABASE = 'registry';
/** Each process has a user of its own, so that the server counts its statements apart. */
const userOf = (process: number): string => `process_${process}`;
const MAX_PROCESSES = 3;
/** Files of the first process that the others get. */
const COMMON_FILES = ['keys', 'admin.token'];
const POLL_MILLISECONDS = 5;
/** After which a process has sent all statements of a response. */
const SENT_MILLISECONDS = 50;
const BUILD_MILLISECONDS = 600_000;

const STATEMENTS = `
  SELECT rolname AS "user", sum(calls) AS "statements"
  FROM pg_stat_statements JOIN pg_roles ON pg_roles.oid = userid GROUP BY rolname`;
const ROWS = `
  SELECT coalesce(sum((xpath('/row/count/text()', query_to_xml(format('SELECT count(*) FROM %I', tablename),
    false, true, '')))[1]::text::bigint), 0) AS "rows"
  FROM pg_tables WHERE schemaname = 'public'`;
const SNAPSHOT = `SELECT coalesce(max("sequence"), 0) AS "number" FROM "event" WHERE "type" = 'catalog.cut'`;

export async function moveToSharedRegistry(
  { tools, folders }: Bench,
  filled: FilledFolder,
): Promise<SharedRegistry> {
  const ends: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    const postgres = await startPostgres(tools.postgres!);
    ends.push(() => postgres.stop());
    const s3 = await startS3Server(await folders.scratch());
    ends.push(() => s3.stop());
    const { connect } = await postgresClient();
    const administration = await connect(postgres.urlOf('postgres', ADMINISTRATOR));
    await administration.query(`CREATE DATABASE ${DATABASE}`);
    // One more, for the process whose start is measured.
    for (let process = 0; process <= MAX_PROCESSES; process++)
      await administration.query(`CREATE ROLE ${userOf(process)} SUPERUSER LOGIN`);
    await administration.end();

    const first = path.join(await folders.scratch(), 'data');
    const moveMilliseconds = await move(await folders.copy(filled), first, {
      databaseUrl: postgres.urlOf(DATABASE, ADMINISTRATOR),
      blobUrl: s3.blobUrl,
      env: s3.env,
    });
    const database = await connect(postgres.urlOf(DATABASE, ADMINISTRATOR));
    ends.push(() => database.end());
    await database.query('CREATE EXTENSION pg_stat_statements');

    const read = async <Row>(text: string) => (await database.query(text)).rows as Row[];
    const statements = async (): Promise<Numbers> => {
      const users = await read<{ user: string; statements: number }>(STATEMENTS);
      return Object.fromEntries(users.map((one) => [one.user, one.statements]));
    };
    const newestSnapshot = async () => (await read<{ number: number }>(SNAPSHOT))[0]!.number;
    const running: Server[] = [];
    ends.push(async () => {
      for (const server of running.splice(0)) await server.stop();
    });
    const dataFolders = [first];
    const start = async (at: number, folder: string) => {
      const env = {
        ...s3.env,
        KRMHUB_BLOB_URL: s3.blobUrl,
        KRMHUB_DATABASE_URL: postgres.urlOf(DATABASE, userOf(at)),
      };
      const server = await startServer(tools, folder, { core: 'any', env });
      await waitUntilReady(server);
      return server;
    };
    return {
      databasePid: postgres.pid,
      moveMilliseconds,
      close,
      newestSnapshot,
      async run(processes) {
        for (const server of running.splice(processes)) await server.stop();
        while (running.length < processes) {
          const at = running.length;
          dataFolders[at] ??= await copyOfCommonFiles(first, await folders.scratch());
          running.push(await start(at, dataFolders[at]));
        }
        return [...running];
      },
      async coldStart() {
        const folder = await copyOfCommonFiles(first, await folders.scratch());
        let server: Server | undefined;
        const milliseconds = await timed(async () => {
          server = await start(running.length, folder);
        });
        await server?.stop();
        return milliseconds;
      },
      async countDuring(work) {
        const scrape = () => Promise.all(running.map(readMetrics));
        // Reading metrics takes statements too, which are not counted.
        const earlier = await scrape();
        const before = await scrape();
        await setTimeout(SENT_MILLISECONDS);
        const served = await statements();
        const milliseconds = await timed(work);
        const servedAfter = await statements();
        const after = await scrape();
        return running.map((_, at) => {
          const user = userOf(at);
          const of = ({ [at]: metrics }: readonly Metrics[]) => metrics!;
          const work = difference(of(after).work, of(before).work);
          const ofMetrics = difference(of(before).work, of(earlier).work);
          return {
            seconds: milliseconds / 1_000,
            statements: (servedAfter[user] ?? 0) - (served[user] ?? 0),
            work: difference(work, ofMetrics),
            requests: difference(of(after).requests, of(before).requests),
          };
        });
      },
      async stored() {
        await database.query('VACUUM');
        const [size] = await read<{ bytes: number }>('SELECT pg_database_size(current_database()) AS bytes');
        const [counted] = await read<{ rows: number }>(ROWS);
        return { databaseBytes: size!.bytes, rows: counted!.rows, objectBytes: await s3.objectBytes() };
      },
      async snapshotAfter(number) {
        const deadline = performance.now() + BUILD_MILLISECONDS;
        for (;;) {
          const newest = await newestSnapshot();
          if (newest > number) return newest;
          if (performance.now() > deadline) throw new Error('no snapshot was built');
          await setTimeout(POLL_MILLISECONDS);
        }
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns the milliseconds of `krmhub move`. */
async function move(
  from: string,
  to: string,
  { databaseUrl, blobUrl, env }: { databaseUrl: string; blobUrl: string; env: Record<string, string> },
): Promise<number> {
  const target = ['--to-data', to, '--to-database-url', databaseUrl, '--to-blob-url', blobUrl];
  const args = [linkedCommand, 'move', '--data', from, ...target];
  return timed(() => runProcess([process.execPath, args], { env: { ...process.env, ...env } }));
}

async function copyOfCommonFiles(from: string, folder: string): Promise<string> {
  for (const name of COMMON_FILES)
    await cp(path.join(from, name), path.join(folder, name), { recursive: true });
  return folder;
}

interface Metrics {
  requests: Numbers;
  work: Numbers;
}

async function readMetrics({ url }: Server): Promise<Metrics> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const summed = (name: string, label: string): Numbers => {
    const sums: Record<string, number> = {};
    const pattern = new RegExp(`^${name}\\{(?:.*,)?${label}="([^"]+)".*\\} (\\d+)$`, 'gm');
    for (const [, value, count] of text.matchAll(pattern)) sums[value!] = (sums[value!] ?? 0) + Number(count);
    return sums;
  };
  return {
    requests: summed('krmhub_blob_store_requests_total', 'operation'),
    work: summed('krmhub_database_statements_total', 'work'),
  };
}

function difference(after: Numbers, before: Numbers): Numbers {
  return Object.fromEntries(
    Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]),
  );
}

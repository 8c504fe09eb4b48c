import { chmodSync, chownSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import pg from 'pg';
import { killAtEnd, outputOf, spawn } from '../processes.js';
import { postgresMissing, postgresPrograms } from '../replicas/missing.js';

/** A PostgreSQL server of a test file, on a socket in a temporary folder. */
export interface PostgresServer {
  /** Folder of its socket. */
  folder: string;
  urlOf(database: string): string;
  /** Creates an empty database, and returns its URL; `options` are of CREATE DATABASE. */
  createDatabase(options?: string): Promise<string>;
  /** Ends all connections, as a server that crashes. */
  restart(): Promise<void>;
  /** Ends as its machine, without a restart. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export { postgresMissing };

/** The data of a server without databases, for all servers of the run: making it takes seconds. */
const EMPTY_DATA = path.join(tmpdir(), 'krmhub-empty-pg');

/**
 * Starts a server, which ends with this process, even if it is killed. A standby of another one follows that one, which
 * from then on commits nothing that the standby does not have.
 */
export async function startPostgres({
  standbyOf,
}: {
  standbyOf?: PostgresServer;
} = {}): Promise<PostgresServer> {
  const bin = postgresPrograms()!;
  const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-pg-'));
  const user = serverUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  chmodSync(folder, 0o700);
  const as = user === undefined ? [] : [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
  const data = path.join(folder, 'data');
  if (standbyOf === undefined && !existsSync(EMPTY_DATA)) {
    const initdb = ['-D', data, '-U', 'krmhub', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    outputOf('setpriv', [...as, `${bin}/initdb`, ...initdb], { cwd: folder });
    try {
      renameSync(data, EMPTY_DATA);
    } catch (error) {
      if (!existsSync(EMPTY_DATA)) throw error;
      // Another test file was faster.
      rmSync(data, { recursive: true });
    }
  }
  if (standbyOf === undefined) outputOf('cp', ['--archive', EMPTY_DATA, data]);
  else {
    const backup = ['-h', standbyOf.folder, '-U', 'krmhub', '-D', data, '-R', '-c', 'fast', '--no-sync'];
    outputOf('setpriv', [...as, `${bin}/pg_basebackup`, ...backup], { cwd: folder });
  }

  const start = async () => {
    const settings = {
      listen_addresses: '',
      unix_socket_directories: folder,
      fsync: 'off',
      // Several registries, each of which may open 27.
      max_connections: '200',
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    // SIGQUIT ends the server at once, and it removes its shared memory.
    const server = spawn('setpriv', ['--pdeathsig=QUIT', ...as, `${bin}/postgres`, '-D', data, ...options], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    });
    killAtEnd(server, () => server.kill('SIGQUIT'));
    const ended = new Promise<void>((resolve) => server.once('close', () => resolve()));
    let log = '';
    const ready = new Promise<void>((resolve) => {
      createInterface(server.stderr!).on('line', (line) => {
        log += `${line}\n`;
        if (/ready to accept (?:read-only )?connections/.test(line)) resolve();
      });
    });
    await Promise.race([
      ready,
      ended.then(() => {
        throw new Error(`the server ended:\n${log}`);
      }),
    ]);
    return async () => {
      server.kill('SIGQUIT');
      await ended;
    };
  };

  let end = await start();
  let databases = 0;
  const urlOf = (database: string) => `postgres://krmhub@/${database}?host=${encodeURIComponent(folder)}`;
  if (standbyOf !== undefined) {
    const primary = standbyOf.urlOf('postgres');
    await query(primary, `ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await query(primary, 'SELECT pg_reload_conf()');
  }
  return {
    folder,
    urlOf,
    async createDatabase(options = '') {
      databases += 1;
      const name = `krmhub${databases}`;
      await query(urlOf('postgres'), `CREATE DATABASE ${name} ${options}`);
      return urlOf(name);
    },
    async restart() {
      await end();
      end = await start();
    },
    kill: () => end(),
    async stop() {
      await end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs one statement on a connection of its own. */
export async function query<Row extends object>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

export const MIGRATIONS = fileURLToPath(new URL('../../migrations/postgres', import.meta.url));

/** Makes the tables of an older version: those after its number of migrations. */
export async function migrateThrough(url: string, migrations: number): Promise<void> {
  await query(url, 'CREATE TABLE migration (hash text PRIMARY KEY, applied_at timestamptz NOT NULL)');
  for (const { sql, hash } of readMigrationFiles({ migrationsFolder: MIGRATIONS }).slice(0, migrations)) {
    await query(url, sql.join(''));
    await query(url, `INSERT INTO migration VALUES ('${hash}', now())`);
  }
}

/** The server refuses to run as root; the package of Debian creates a user for it. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (option: string) => Number(outputOf('id', [option, 'postgres']));
  return { uid: id('-u'), gid: id('-g') };
}

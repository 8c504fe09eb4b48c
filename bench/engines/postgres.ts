import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runProcess, startProcess } from '../processes.js';

/** A PostgreSQL server for one row, on a socket in a temporary folder. */
export interface Postgres {
  pid: number;
  urlOf(database: string, user: string): string;
  stop(): Promise<void>;
}

/** The administrator of the server. */
export const ADMINISTRATOR = 'krmhub';

/** Otherwise the defaults: commits are synced, as by SQLite. */
const SETTINGS = {
  listen_addresses: '',
  // What docs/operate-replicas.md asks for with three processes.
  max_connections: '120',
  shared_preload_libraries: 'pg_stat_statements',
};

/** Starts the programs of a folder, with an empty cluster. */
export async function startPostgres(bin: string): Promise<Postgres> {
  // Another user runs it, which cannot read the folders of the bench; and the path of a socket must be short.
  const folder = await mkdtemp(path.join(tmpdir(), 'krmhub-bench-'));
  try {
    const as = await asServerUser(folder);
    const data = path.join(folder, 'data');
    const settings = Object.entries({ ...SETTINGS, unix_socket_directories: folder });
    const options = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const initdb = ['-D', data, '-U', ADMINISTRATOR, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    await runProcess(['setpriv', [...as, `${bin}/initdb`, ...initdb]], { cwd: folder });
    // It ends with the bench, also if that is killed.
    const started = await startProcess(
      ['setpriv', ['--pdeathsig=QUIT', ...as, `${bin}/postgres`, '-D', data, ...options]],
      {
        output: path.join(folder, 'server.log'),
        until: /ready to accept connections/,
        env: { PATH: process.env.PATH, LC_ALL: 'C' },
        cwd: folder,
      },
    );
    return {
      pid: started.pid,
      urlOf: (database, user) => `postgres://${user}@/${database}?host=${encodeURIComponent(folder)}`,
      async stop() {
        await started.stop();
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Returns options of setpriv: the server refuses to run as root, and the package of Debian has a user for it. */
async function asServerUser(folder: string): Promise<string[]> {
  await chmod(folder, 0o700);
  if (process.getuid?.() !== 0) return [];
  const id = async (option: string) => Number(await runProcess(['id', [option, 'postgres']]));
  const [user, group] = [await id('-u'), await id('-g')];
  await chown(folder, user, group);
  return [`--reuid=${user}`, `--regid=${group}`, '--clear-groups'];
}

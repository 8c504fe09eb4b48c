import { existsSync } from 'node:fs';
import { KrmhubError } from '@krmhub/schema';
import {
  clearPostgresMark,
  clearSqliteMark,
  type MoveMark,
  postgresMark,
  setPostgresMark,
  setSqliteMark,
  sqliteMark,
} from '../../store/copy/move-mark.js';
import type { DatabasePlace } from '../../store/database-place.js';
import { withClient } from '../../store/postgres/client.js';
import { BEGIN_WRITE } from '../../store/postgres/write-locks.js';
import { Database } from '../../store/sqlite/driver.js';
import { attempt } from '../../store/sqlite/errors.js';

/** Milliseconds to wait for a registry that writes: committing a large snapshot takes some seconds. */
const WRITER_MS = 60_000;
/** Milliseconds for which the end of a move waits for the reads of a table. */
const UNBLOCK_MS = 5_000;

/** What a move changes in its source, which a registry may be serving. */
export interface MoveSource {
  mark(): Promise<MoveMark | undefined>;
  /** Stops all changes; resolves when none is running. */
  block(other: string): Promise<void>;
  unblock(): Promise<void>;
}

export function moveSource(place: DatabasePlace): MoveSource {
  return 'file' in place ? sqliteSource(place.file) : postgresSource(place.url);
}

function sqliteSource(file: string): MoveSource {
  const write = (work: (client: InstanceType<typeof Database>) => void) =>
    attempt(() => {
      const client = new Database(file, { fileMustExist: true, timeout: WRITER_MS });
      try {
        client.transaction(() => work(client)).immediate();
      } finally {
        client.close();
      }
    });
  return {
    async mark() {
      if (!existsSync(file)) {
        throw new KrmhubError('unavailable', `no registry found: ${file} is missing`, {
          hint: 'Set the data folder of a registry with --data or KRMHUB_DATA.',
        });
      }
      return attempt(() => {
        const client = new Database(file, { readonly: true, fileMustExist: true, timeout: WRITER_MS });
        try {
          return sqliteMark(client);
        } finally {
          client.close();
        }
      });
    },
    block: (other) =>
      write((client) => {
        refuseOther(sqliteMark(client), other);
        setSqliteMark(client, { role: 'source', other });
      }),
    unblock: () => write(clearSqliteMark),
  };
}

function postgresSource(url: string): MoveSource {
  const write = (work: (client: Parameters<typeof clearPostgresMark>[0]) => Promise<void>) =>
    withClient(url, async (client) => {
      await client.query(BEGIN_WRITE);
      await work(client);
      await client.query('COMMIT');
    });
  return {
    mark: () => withClient(url, postgresMark),
    block: (other) =>
      write(async (client) => {
        refuseOther(await postgresMark(client), other);
        await setPostgresMark(client, { role: 'source', other });
      }),
    unblock: () =>
      write(async (client) => {
        // Reads wait for what removes triggers, so it must not wait long for a read.
        await client.query(`SET LOCAL lock_timeout = ${UNBLOCK_MS}`);
        await clearPostgresMark(client);
      }),
  };
}

/** Two moves may have begun at the same time. */
function refuseOther(mark: MoveMark | undefined, other: string): void {
  if (mark === undefined || (mark.role === 'source' && mark.other === other)) return;
  throw new KrmhubError('conflict', `another move began meanwhile, to ${mark.other}`, {
    hint: 'Nothing was moved. Run one `krmhub move` at a time.',
  });
}

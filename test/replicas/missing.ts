import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** Programs that a registry of several processes needs. The configuration of vitest reads it: it imports nothing else. */

const VERSIONS = '/usr/lib/postgresql';

/** The folder of the programs of the newest installed PostgreSQL server. */
export function postgresPrograms(): string | undefined {
  if (!existsSync(VERSIONS)) return undefined;
  const versions = readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a));
  return versions
    .map((version) => path.join(VERSIONS, version, 'bin'))
    .find((bin) => existsSync(`${bin}/initdb`));
}

/** Why tests with PostgreSQL cannot run here; undefined if they can. */
export const postgresMissing: string | undefined =
  postgresPrograms() === undefined ? `PostgreSQL is not installed in ${VERSIONS}` : undefined;

const onPath = (program: string) =>
  (process.env.PATH ?? '').split(path.delimiter).some((folder) => existsSync(path.join(folder, program)));

/** Why tests with several processes cannot run here; undefined if they can. */
export const replicasMissing: string | undefined =
  postgresMissing ?? (onPath('versitygw') ? undefined : 'versitygw is not installed');

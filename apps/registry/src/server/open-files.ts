import { readFile } from 'node:fs/promises';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { SERVER_LIMITS } from '../limits.js';

const { maxConnections, minOpenFiles } = SERVER_LIMITS;

/**
 * Returns the connections that a limit of open files allows: half of it, because a response can need a file besides
 * its connection, and the stores need some. Without a limit, or on a system that does not tell it, that is
 * `maxConnections`. Rejects with `usage` if the registry could not even start.
 */
export function connectionsFor(openFiles: number | undefined): number {
  if (openFiles === undefined) return maxConnections;
  if (openFiles < minOpenFiles)
    throw tooFew(`the limit is ${openFiles}, the registry requires ${minOpenFiles}`);
  return Math.min(maxConnections, Math.floor(openFiles / 2));
}

/** Returns how many files this process may open; undefined if there is no limit, or Linux does not run it. */
export async function openFileLimit(): Promise<number | undefined> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'EMFILE') throw tooFew(`the registry requires ${minOpenFiles}`, cause);
    return '';
  });
  const limit = /^Max open files +(\d+)/m.exec(limits)?.[1];
  return limit === undefined ? undefined : Number(limit);
}

function tooFew(why: string, cause?: Error): KrmhubError {
  return new KrmhubError('usage', `cannot start: the limit of open files is too low: ${why}`, {
    hint: 'Raise the limit with `ulimit -n 65536`, or with LimitNOFILE= in a systemd unit.',
    ...defined({ cause }),
  });
}

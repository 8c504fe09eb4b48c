import { createHash } from 'node:crypto';
import path from 'node:path';
import { openCache } from '@krmhub/consume/cache/cache';
import { cacheFolder } from '@krmhub/consume/cache/cache-folder';
import { FILE_MODE, FOLDER_MODE } from '@krmhub/consume/cache/write';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { writeFileAtomically } from '@krmhub/consume/files/write-file';
import { registryUrl } from '@krmhub/consume/references/registry-url';
import { isGroup, isKind } from '@krmhub/schema/gvk';
import { canonicalRelease } from '@krmhub/schema/release';
import { type Io, write } from '../io/io.js';
import { consumePorts } from '../registry/consume-ports.js';

export interface CompleteNamesOptions {
  of: 'functions' | 'releases';
  registry?: string;
}

/** The functions of a registry, as `GROUP/KIND` with the newest release. */
interface StoredNames {
  /** When to read them again, in milliseconds since 1970. */
  expires: number;
  functions: [name: string, release: string | null][];
}

const FRESH_MILLISECONDS = 300_000;
/** After a failure: a registry that does not respond must not delay each key. */
const RETRY_MILLISECONDS = 30_000;
/** For all pages; the user waits for the shell. */
const TIMEOUT_MILLISECONDS = 1_500;
/** More names help no user, and slow down the shell. */
const MAX_FUNCTIONS = 5_000;
const MAX_FILE_BYTES = 4_194_304;

/**
 * Prints the functions of the registry, or their newest releases, that begin with a word, or whose kind does. Sends no
 * token. Prints nothing if something fails: the output is shown while the user types.
 */
export async function completeNames(io: Io, word: string, options: CompleteNamesOptions): Promise<void> {
  const functions = await readNames(io, options.registry).catch(() => []);
  const names = functions.flatMap(([name, release]) => {
    if (options.of === 'functions') return [name];
    return release === null ? [] : [`${name}@${release}`];
  });
  const matching = names.filter(
    (name) => name.startsWith(word) || name.slice(name.indexOf('/') + 1).startsWith(word),
  );
  await write(io.stdout, matching.map((name) => `${name}\n`).join(''));
}

async function readNames(io: Io, option: string | undefined): Promise<StoredNames['functions']> {
  const url = registryUrl(io, option);
  // Refuses a cache that other users can write to.
  await openCache(consumePorts(io));
  const name = createHash('sha256').update(url).digest('hex');
  const file = path.join(cacheFolder(io), 'completion', `${name}.json`);
  const stored = await readStored(io, file);
  const now = io.now().getTime();
  if (stored !== undefined && stored.expires > now && stored.expires <= now + FRESH_MILLISECONDS)
    return stored.functions;
  const read = await fetchNames(io, option).catch(() => undefined);
  const kept: StoredNames = {
    expires: now + (read === undefined ? RETRY_MILLISECONDS : FRESH_MILLISECONDS),
    functions: read ?? stored?.functions ?? [],
  };
  const options = { overwrite: true, mode: FILE_MODE, folderMode: FOLDER_MODE };
  await writeFileAtomically(file, JSON.stringify(kept), options).catch(() => undefined);
  return kept.functions;
}

async function readStored(io: Io, file: string): Promise<StoredNames | undefined> {
  try {
    const stored = JSON.parse((await readFileUpTo(io, file, MAX_FILE_BYTES)).toString()) as StoredNames;
    return { expires: Number(stored.expires), functions: stored.functions.filter(([name]) => isName(name)) };
  } catch {
    return undefined;
  }
}

async function fetchNames(io: Io, option: string | undefined): Promise<StoredNames['functions']> {
  const [{ connectAnonymously }, { searchPages }] = await Promise.all([
    import('../registry/connection.js'),
    import('@krmhub/api/read-pages'),
  ]);
  const client = await connectAnonymously(io, option, TIMEOUT_MILLISECONDS);
  const deadline = performance.now() + TIMEOUT_MILLISECONDS;
  const functions: StoredNames['functions'] = [];
  for await (const { items } of searchPages(client, { sort: 'name', limit: 100 })) {
    for (const { group, kind, release } of items) {
      const name = `${group}/${kind}`;
      if (isName(name)) functions.push([name, (release && canonicalRelease(release)) ?? null]);
    }
    if (functions.length >= MAX_FUNCTIONS || performance.now() > deadline) break;
  }
  return functions;
}

/** A shell shows the names: they have no other characters. */
function isName(name: string): boolean {
  const [group = '', kind = '', ...more] = name.split('/');
  return isGroup(group) && isKind(kind) && more.length === 0;
}

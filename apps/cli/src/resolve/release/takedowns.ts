import { functionOf } from '@krmhub/catalog/resolve/plan-resolve';
import { parseReference } from '@krmhub/oci';
import type { FunctionName } from '@krmhub/schema/definition';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../../io/io.js';
import { escapeControls } from '../../io/text.js';
import { type Cache, openCache } from '../cache/cache.js';
import { parseCatalog } from '../references/parse-catalog.js';

/** Milliseconds for which code runs from the cache without a request to its registry. */
const FRESH_MS = 3_600_000;
/** Milliseconds to wait for the registry: a build must not fail or wait because it is away. */
const PATIENCE_MS = 2_000;

/** A release of a registry; without `release`, all releases of a function. */
export interface CatalogRelease extends FunctionName {
  /** URL of the registry, without a slash at its end. */
  registry: string;
  release?: string;
}

/** What a plugin, a Kptfile, or its argument names by digest. */
export interface PinnedCode {
  /** Of an image, an executable, or the manifest of a script. */
  sha256: Digest;
  /** Of a script: those in an OCI registry are deleted there. */
  reference?: string;
  /** Where it is from. Default: what `recordOrigin` says. */
  release?: CatalogRelease;
}

/**
 * Returns why a registry took down a script or the release of an image or executable; undefined if it did not, does not
 * answer, or the origin is not known. The answer is cached for an hour.
 */
export async function findTakedown(io: Io, cache: Cache, code: PinnedCode): Promise<string | undefined> {
  const { reference, sha256 } = code;
  if (reference !== undefined && isDeletable(code)) {
    return remembered(io, cache, sha256, () => askForScript(io, { reference, sha256 }));
  }
  const release = code.release ?? (await readOrigin(cache, sha256));
  return release === undefined ? undefined : findReleaseTakedown(io, cache, release);
}

/** Reports whether a takedown deletes this itself, so that it is gone only if no other release uses it. */
export function isDeletable({ reference }: PinnedCode): boolean {
  return reference?.startsWith('oci://') === true;
}

/** As `findTakedown`, for a release. */
export function findReleaseTakedown(
  io: Io,
  cache: Cache,
  release: CatalogRelease,
): Promise<string | undefined> {
  const { registry, group, kind, release: name = '' } = release;
  return remembered(io, cache, `${registry} ${group}/${kind}@${name}`, () => askForRelease(io, release));
}

async function remembered(
  io: Io,
  cache: Cache,
  name: string,
  ask: () => Promise<string | undefined>,
): Promise<string | undefined> {
  const record = await cache.readRecord('takedowns', name);
  if (typeof record?.takenDown === 'string') return record.takenDown;
  const now = io.now().getTime();
  if (typeof record?.checkedAt === 'number' && Math.abs(now - record.checkedAt) < FRESH_MS) return undefined;
  const takenDown = await ask().catch((error: unknown) => {
    if (error instanceof KrmhubError && error.code === 'gone') return error.message;
    return undefined;
  });
  await write(cache, name, { checkedAt: now, ...(takenDown === undefined ? {} : { takenDown }) });
  return takenDown;
}

/** Records that a registry has a script. */
export function recordScript(io: Pick<Io, 'now'>, cache: Cache, sha256: Digest): Promise<void> {
  return write(cache, sha256, { checkedAt: io.now().getTime() });
}

/** Records the release that an image or executable is from, which no line of a Kptfile says. */
export function recordOrigin(cache: Cache, sha256: Digest, release: CatalogRelease): Promise<void> {
  return write(cache, `origin ${sha256}`, { release });
}

async function readOrigin(cache: Cache, sha256: Digest): Promise<CatalogRelease | undefined> {
  const { release } = ((await cache.readRecord('takedowns', `origin ${sha256}`)) ?? {}) as {
    release?: CatalogRelease;
  };
  return typeof release === 'object' && typeof release.registry === 'string' ? release : undefined;
}

async function write(cache: Cache, name: string, record: object): Promise<void> {
  await cache.writeRecord('takedowns', name, record).catch(() => undefined);
}

async function askForScript(
  io: Io,
  { reference, sha256 }: { reference: string; sha256: Digest },
): Promise<undefined> {
  const { createOciClient } = await import('../../registry/connect-oci.js');
  const { registry, repository } = parseReference(reference.slice('oci://'.length));
  const client = createOciClient(io, { signal: AbortSignal.timeout(PATIENCE_MS) });
  await client.manifest({ registry, repository, digest: sha256 });
}

async function askForRelease(io: Io, { registry, group, kind, release }: CatalogRelease): Promise<undefined> {
  const { connect } = await import('../../registry/connection.js');
  const client = await connect(io, registry, { timeoutMilliseconds: PATIENCE_MS });
  await (release === undefined ? client.function(group, kind) : client.release(group, kind, release));
}

/** Returns the error for code that was taken down. */
export function takenDown(name: string, code: PinnedCode, reason: string): KrmhubError {
  const what = isDeletable(code) ? 'script' : 'release';
  return new KrmhubError(
    'gone',
    escapeControls(`cannot run ${name}: its ${what} was taken down: ${reason}`),
    {
      hint: 'Nothing was run. Use another release: krmhub plugins update, krmhub kpt sync, or krmhub lock --upgrade.',
    },
  );
}

/** Throws `gone` for code that was taken down. */
export async function refuseTakenDown(io: Io, cache: Cache, name: string, code: PinnedCode): Promise<void> {
  const reason = await findTakedown(io, cache, code);
  if (reason !== undefined) throw takenDown(name, code, reason);
}

/** Opens the cache for a command that checks what it lists. */
export async function withTakedowns<Result>(
  io: Io,
  work: (cache: Cache) => Promise<Result>,
): Promise<Result> {
  const cache = await openCache(io);
  try {
    return await work(cache);
  } finally {
    await cache.close();
  }
}

/** Returns the release that a catalog had a function from; undefined if it is not a catalog of a registry. */
export function catalogRelease(
  io: Pick<Io, 'env' | 'cwd'>,
  catalog: string,
  { apiVersion, kind, release }: { apiVersion: string; kind: string; release?: string | undefined },
): CatalogRelease | undefined {
  const { registry } = parseCatalog(io, { text: catalog, folder: io.cwd });
  if (registry === undefined) return undefined;
  const { group } = functionOf({ apiVersion, kind });
  return { registry: registry.url, group, kind, ...(release === undefined ? {} : { release }) };
}

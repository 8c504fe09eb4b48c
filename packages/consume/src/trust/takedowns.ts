import type { SourceAddress } from '@krmhub/catalog/recipe/source-address';
import { parseFunction } from '@krmhub/catalog/resolve/plan-resolve';
import { defined } from '@krmhub/schema/defined';
import type { FunctionName } from '@krmhub/schema/definition';
import { type Digest, sha256 as digestOf } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import type { SourceFetcher } from '@krmhub/sources';
import { type Cache, openCache } from '../cache/cache.js';
import type { Clock, Environment, Network, Program, Trace, WorkingFolder } from '../ports.js';
import { parseCatalog } from '../references/parse-catalog.js';
import { configuredRegistry } from '../references/registry-url.js';

/** Milliseconds for which code runs from the cache without a request to its registry. */
const FRESH_MS = 3_600_000;
/** Milliseconds to wait for the registry: a build must not fail or wait because it is away. */
const PATIENCE_MS = 2_000;
/** Digests of one question: a registry takes no more. */
const DIGESTS_TOGETHER = 20;
/** Registries that are asked for one function. */
const MAX_REGISTRIES = 10;

/** What asking a registry for takedowns needs. */
type TakedownPorts = Clock & Network;

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
}

/**
 * Returns why a registry took down a script, or all releases that name an image, executable, or script; undefined if it
 * did not, or does not answer. `registries` are asked by digest, and the one that `recordOrigin` says. An answer is
 * cached for an hour.
 *
 * What another machine recorded, as in a restored cache, can refuse, and name more registries to ask: it never permits.
 */
export async function findTakedown(
  io: TakedownPorts,
  cache: Cache,
  codes: readonly PinnedCode[],
  registries: readonly string[],
): Promise<string | undefined> {
  for (const { reference, sha256 } of codes) {
    if (reference === undefined || !isDeletable({ reference })) continue;
    const address = { type: 'oci' as const, reference: reference.slice('oci://'.length) };
    const what = { name: sha256, address, ask: askForScript(io, cache, { address, sha256 }) };
    const reason = await remembered(io, cache, what);
    if (reason !== undefined) return reason;
  }
  const origins = await Promise.all(codes.map(({ sha256 }) => readOrigin(cache, sha256)));
  const of = (isOwn: boolean) =>
    origins.flatMap((origin) => (origin?.isOwn === isOwn ? [origin.registry] : []));
  // What this machine recorded or trusts comes first: neither a package nor a restored cache must crowd it out.
  const asked = [...new Set([...of(true), ...registries, ...of(false)])].slice(0, MAX_REGISTRIES);
  const digests = codes.map(({ sha256 }) => sha256).sort();
  const reasons = await Promise.all(asked.map((registry) => askRegistry(io, cache, registry, digests)));
  return reasons.find((reason) => reason !== undefined);
}

async function askRegistry(
  io: TakedownPorts,
  cache: Cache,
  registry: string,
  digests: readonly Digest[],
): Promise<string | undefined> {
  for (let at = 0; at < digests.length; at += DIGESTS_TOGETHER) {
    const some = digests.slice(at, at + DIGESTS_TOGETHER);
    const name = `${registry} ${some.join(' ')}`;
    const ask = askForDigests(io, registry, some);
    const reason = await remembered(io, cache, { name, address: registryAddress(registry), ask });
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** Returns the registry of the user, and those of these catalogs and of those that commands use without options. */
export async function knownRegistries(
  io: Environment & WorkingFolder,
  catalogs: readonly string[],
): Promise<string[]> {
  const { readDefaultCatalogs } = await import('./default-catalogs.js');
  const { official, catalogs: listed } = await readDefaultCatalogs(io);
  return catalogRegistries(io, [official?.reference ?? [], listed, ...catalogs].flat());
}

/** Returns the registry of the user, and those of catalogs. Loads less than `knownRegistries`. */
export function catalogRegistries(io: Environment & WorkingFolder, catalogs: readonly string[]): string[] {
  const own = configuredRegistry(io) ?? io.defaultRegistry?.();
  const urls = catalogs.flatMap((text) => findRegistry(io, text) ?? []);
  return [...new Set([...(own === undefined ? [] : [own.replace(/\/+$/, '')]), ...urls])];
}

function findRegistry(io: Environment & WorkingFolder, text: string): string | undefined {
  try {
    return parseCatalog(io, { text, folder: io.cwd }).registry?.url;
  } catch (error) {
    // The command that reads the catalog says what is wrong.
    if (error instanceof KrmhubError) return undefined;
    throw error;
  }
}

/** Reports whether a takedown deletes this itself, so that it is gone only if no other release uses it. */
export function isDeletable({ reference }: Pick<PinnedCode, 'reference'>): boolean {
  return reference?.startsWith('oci://') === true;
}

/** As `findTakedown`, for a release. */
export function findReleaseTakedown(
  io: TakedownPorts,
  cache: Cache,
  release: CatalogRelease,
): Promise<string | undefined> {
  const { registry, group, kind, release: name = '' } = release;
  return remembered(io, cache, {
    name: `${registry} ${group}/${kind}@${name}`,
    address: registryAddress(registry),
    ask: askForRelease(io, release),
  });
}

/** Returns why something was taken down, or throws `gone`. With `anonymous`, as the server answers everyone. */
type Ask = (options?: { anonymous?: true }) => Promise<string | undefined>;

interface Question {
  /** Of its record. */
  name: string;
  /** Of the server. */
  address: SourceAddress;
  ask: Ask;
}

async function remembered(io: TakedownPorts, cache: Cache, question: Question): Promise<string | undefined> {
  const { record, isOwn } = await read(cache, question.name);
  const known = typeof record?.takenDown === 'string' ? record.takenDown : undefined;
  const now = io.now().getTime();
  if (isOwn && isFresh(record, now)) return knownReason(io, cache, question, known);
  const own = known === HIDDEN_REASON ? await readOwn(io, cache, question) : undefined;
  if (own?.reason === undefined && isFresh(own?.record, now)) return undefined;
  const answer = await reasonOf(question.ask()).then(
    (reason) => ({ reason }),
    () => undefined,
  );
  if (answer !== undefined) {
    // Another release can use it again. Who may not see a takedown hears of none, which is so for them alone.
    if (own !== undefined && own.reason === undefined && answer.reason === undefined)
      await write(own.cache, own.name, { checkedAt: now });
    else await remember(io, cache, question, now, answer.reason);
    return answer.reason;
  }
  // Without an answer, what is known counts. What only another machine knows is asked for again the next time.
  if (isOwn || known === undefined)
    await write(cache, question.name, { checkedAt: now, ...defined({ takenDown: known }) });
  return knownReason(io, cache, question, known);
}

function isFresh(record: Record<string, unknown> | undefined, now: number): boolean {
  return typeof record?.checkedAt === 'number' && Math.abs(now - record.checkedAt) < FRESH_MS;
}

/** Returns what who asks now was told of a takedown that not everyone may see, and where that is recorded. */
async function readOwn(io: TakedownPorts, shared: Cache, { name: of, address }: Question) {
  const [cache = shared] = await actorCaches(io, shared, address);
  const name = cache.isPart ? of : `anonymous ${of}`;
  // What another machine recorded never permits.
  const record = await cache.readRecord('takedowns', digestOf(name));
  const reason = typeof record?.takenDown === 'string' ? record.takenDown : undefined;
  return { cache, name, record, reason };
}

async function reasonOf(answer: Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof KrmhubError && error.code === 'gone') return error.message;
    throw error;
  }
}

/** Instead of a reason that a server gives only to some. It refuses for everyone. */
const HIDDEN_REASON =
  'the registry shows the reason only to users who may read the release; log in with `krmhub login` to see it';

/**
 * Records an answer for everyone. A reason, which names a function, is for the actor who got it, unless the server gives
 * it to everyone.
 */
async function remember(
  io: TakedownPorts,
  cache: Cache,
  { name, address, ask }: Question,
  checkedAt: number,
  takenDown: string | undefined,
): Promise<void> {
  const actor = takenDown === undefined ? undefined : await (await openSources(io, cache)).actor(address);
  const isForAll =
    actor === undefined || (await reasonOf(ask({ anonymous: true })).catch(() => undefined)) === takenDown;
  if (isForAll) return write(cache, name, { checkedAt, ...defined({ takenDown }) });
  const { cacheFor } = await import('../cache/actor-cache.js');
  await write(cacheFor(cache, address, actor), name, { checkedAt, takenDown });
  await write(cache, name, { checkedAt, takenDown: HIDDEN_REASON });
}

async function knownReason(
  io: TakedownPorts,
  cache: Cache,
  { name, address }: Question,
  known: string | undefined,
): Promise<string | undefined> {
  if (known !== HIDDEN_REASON) return known;
  for (const part of await actorCaches(io, cache, address)) {
    const own = part.isPart ? (await read(part, name)).record : undefined;
    if (typeof own?.takenDown === 'string') return own.takenDown;
  }
  return HIDDEN_REASON;
}

/** Returns the caches that may have what an address names, for who asks now. */
async function actorCaches(io: Network, cache: Cache, address: SourceAddress): Promise<Cache[]> {
  if (!(await cache.hasParts())) return [cache];
  const { readableCaches } = await import('../cache/actor-cache.js');
  return readableCaches(cache, address, () => openSources(io, cache));
}

function openSources({ fetch }: Network, { temporaryFolder }: Cache): Promise<SourceFetcher> {
  return fetch.openSources({ temporaryFolder });
}

function registryAddress(url: string): SourceAddress {
  return { type: 'http', url };
}

/** Records that a registry has a script. */
export function recordScript(io: Clock, cache: Cache, sha256: Digest): Promise<void> {
  return write(cache, sha256, { checkedAt: io.now().getTime() });
}

/** Records the registry that an image or executable is from, which no line of a Kptfile says. */
export function recordOrigin(cache: Cache, sha256: Digest, registry: string): Promise<void> {
  return write(cache, `origin ${sha256}`, { registry });
}

async function readOrigin(
  cache: Cache,
  sha256: Digest,
): Promise<{ registry: string; isOwn: boolean } | undefined> {
  const { record, isOwn } = await read(cache, `origin ${sha256}`);
  return typeof record?.registry === 'string' ? { registry: record.registry, isOwn } : undefined;
}

/** Returns the record of a name, and whether this user wrote it on this machine. */
async function read(
  cache: Cache,
  name: string,
): Promise<{ record: Record<string, unknown> | undefined; isOwn: boolean }> {
  const own = await cache.readRecord('takedowns', digestOf(name));
  const record = own ?? (await cache.readRecord('takedowns', digestOf(name), { ofAnyone: true }));
  return { record, isOwn: own !== undefined };
}

/** By a digest: the shared cache does not name a function that may be private. */
async function write(cache: Cache, name: string, record: object): Promise<void> {
  await cache.writeRecord('takedowns', digestOf(name), record).catch(() => undefined);
}

/** A script that its registry no longer gives to who asks is not left in their cache. */
function askForScript(
  io: TakedownPorts,
  cache: Cache,
  { address, sha256 }: { address: Extract<SourceAddress, { type: 'oci' }>; sha256: Digest },
): Ask {
  return async (options = {}) => {
    const { parseReference } = await import('@krmhub/oci');
    const { registry, repository } = parseReference(address.reference);
    const client = await io.fetch.openOci({ ...options, signal: AbortSignal.timeout(PATIENCE_MS) });
    try {
      await client.manifest({ registry, repository, digest: sha256 });
    } catch (error) {
      if (options.anonymous !== true) {
        const { forgetGiven } = await import('../cache/actor-cache.js');
        const has = async (part: Cache) => (await part.sizeOfBlob(sha256)) !== undefined;
        await forgetGiven(error, () => actorCaches(io, cache, address), has);
      }
      throw error;
    }
    return undefined;
  };
}

/** Registries of older versions refuse the question. */
function askForDigests(io: TakedownPorts, registry: string, digests: readonly Digest[]): Ask {
  return async (options) => {
    const client = await io.fetch.connect(registry, { ...options, timeoutMilliseconds: PATIENCE_MS });
    const { revocations } = await client.revocations(0, 1, digests);
    const found = revocations.find(({ runtimeDigests = [] }) =>
      runtimeDigests.some((one) => digests.includes(one)),
    );
    return found && `${found.group}/${found.kind}@${found.release} was taken down: ${found.reason}`;
  };
}

function askForRelease(io: TakedownPorts, { registry, group, kind, release }: CatalogRelease): Ask {
  return async (options) => {
    const client = await io.fetch.connect(registry, { ...options, timeoutMilliseconds: PATIENCE_MS });
    await (release === undefined ? client.function(group, kind) : client.release(group, kind, release));
    return undefined;
  };
}

/** Returns the error for code that was taken down. */
export function takenDown(name: string, codes: readonly PinnedCode[], reason: string): KrmhubError {
  const what = codes.some(isDeletable) ? 'script' : 'release';
  return new KrmhubError(
    'gone',
    escapeControls(`cannot run ${name}: its ${what} was taken down: ${reason}`),
    {
      hint: 'Nothing was run. Use another release: krmhub plugins update, krmhub kpt sync, or krmhub lock --upgrade.',
    },
  );
}

/** Throws `gone` for code that was taken down. */
export async function refuseTakenDown(
  io: TakedownPorts,
  cache: Cache,
  name: string,
  { codes, registries }: { codes: readonly PinnedCode[]; registries: readonly string[] },
): Promise<void> {
  const reason = await findTakedown(io, cache, codes, registries);
  if (reason !== undefined) throw takenDown(name, codes, reason);
}

/** Opens the cache for a command that checks what it lists. */
export async function withTakedowns<Result>(
  io: Clock & Environment & Program & Trace & WorkingFolder,
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
  io: Environment & WorkingFolder,
  catalog: string,
  { apiVersion, kind, release }: { apiVersion: string; kind: string; release?: string | undefined },
): CatalogRelease | undefined {
  const { registry } = parseCatalog(io, { text: catalog, folder: io.cwd });
  if (registry === undefined) return undefined;
  const { group } = parseFunction({ apiVersion, kind });
  return { registry: registry.url, group, kind, ...defined({ release }) };
}

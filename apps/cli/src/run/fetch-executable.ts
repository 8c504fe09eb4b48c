import path from 'node:path';
import type { PinnedPlatform, SourceAddress } from '@krmhub/catalog';
import { readSourceAddress } from '@krmhub/catalog';
import { cacheFor, forgetGiven, readableCaches } from '@krmhub/consume/cache/actor-cache';
import { type Cache, openCache } from '@krmhub/consume/cache/cache';
import type { Environment, WorkingFolder } from '@krmhub/consume/ports';
import { catalogHost, parseCatalog } from '@krmhub/consume/references/parse-catalog';
import { recordScript, refuseTakenDown } from '@krmhub/consume/trust/takedowns';
import { EXECUTABLE_LIMITS } from '@krmhub/functions';
import type { ProgramArtifact } from '@krmhub/oci';
import { defined } from '@krmhub/schema/defined';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { ociDigest } from '@krmhub/schema/image-reference';
import { escapeControls } from '@krmhub/schema/text';
import type { SourceFetcher } from '@krmhub/sources';
import type { Io } from '../io/io.js';
import { Progress } from '../io/progress.js';
import { sizeText } from '../io/size-text.js';
import { consumePorts } from '../registry/consume-ports.js';
import { sourceFetcher } from '../registry/source-fetcher.js';
import { cachedArtifact } from './cached-artifact.js';
import { FETCH_LIMITS } from './limits.js';

export interface ExecutableRequest {
  /** `APIVERSION KIND`, for messages. */
  name: string;
  platform: PinnedPlatform;
  /** Reference of the catalog: relative files are relative to its folder. */
  catalog?: string | undefined;
  /** Use the cache only. */
  offline: boolean;
  /** What an OCI reference names. Default: an executable. */
  artifact?: ProgramArtifact;
  /** Size of the file. Default: that of an executable or its archive. */
  maxBytes?: number;
}

/** An executable or its archive in the cache, and its digest. */
export interface FetchedExecutable {
  file: string;
  sha256: Digest;
}

/**
 * Returns an executable from the cache, or fetches it. What it returns has the digest of the catalog: that of the file,
 * or for an OCI reference with a digest that of the manifest that names the file. Throws `digest-mismatch` otherwise.
 */
export async function fetchExecutable(io: Io, request: ExecutableRequest): Promise<FetchedExecutable> {
  const { name, platform, offline, artifact } = request;
  const { uri, sha256 } = platform;
  const cache = await openCache(consumePorts(io));
  const isManifest = `sha256:${ociDigest(uri)}` === sha256;
  const cached = await findCached(io, cache, request, isManifest);
  const script =
    artifact !== undefined && artifact !== 'exec' && isManifest ? { reference: uri, sha256 } : undefined;
  if (cached !== undefined) {
    if (script === undefined || offline) return cached;
    await refuseTakenDown(consumePorts(io), cache, name, { codes: [script], registries: [] });
    // Its registry can have refused to give it to this user again.
    if ((await cached.cache.sizeOfBlob(cached.sha256)) !== undefined) return cached;
  }
  if (offline) {
    throw new KrmhubError('unavailable', escapeControls(`cannot run ${name}: ${uri} is not in the cache`), {
      hint: 'Run the command once without --frozen and --offline.',
    });
  }
  const progress = new Progress(io);
  try {
    const fetched = await download(io, cache, request, isManifest ? undefined : sha256, progress);
    if (script !== undefined) await recordScript(io, cache, sha256);
    return fetched;
  } catch (error) {
    const has = async (part: Cache) => (await part.sizeOfBlob(sha256)) !== undefined;
    await forgetGiven(error, () => cachesOf(io, cache, request), has);
    throw explain(error, request);
  } finally {
    await progress.clear();
    await cache.close();
  }
}

/** Finds a file in the caches that may have it for who asks now: another actor may have fetched it. */
async function findCached(
  io: Io,
  shared: Cache,
  request: ExecutableRequest,
  isManifest: boolean,
): Promise<(FetchedExecutable & { cache: Cache }) | undefined> {
  const { sha256, os, arch } = request.platform;
  const { artifact } = request;
  for (const cache of await cachesOf(io, shared, request)) {
    const target = { os, architecture: arch };
    const known = isManifest ? await cachedArtifact(cache, sha256, target, artifact) : sha256;
    const file = known === undefined ? undefined : await cache.blobFile(known);
    if (known !== undefined && file !== undefined) return { file, sha256: known, cache };
  }
  return undefined;
}

function cachesOf(
  io: Io,
  shared: Cache,
  { name, platform: { uri }, catalog }: ExecutableRequest,
): Promise<Cache[]> {
  const address = executableAddress(name, uri);
  return readableCaches(shared, address, async () => openFetcher(io, shared, catalog));
}

function openFetcher(io: Io, cache: Cache, catalog: string | undefined): SourceFetcher {
  return sourceFetcher(io, {
    temporaryFolder: cache.temporaryFolder,
    ...defined({ fileFolder: catalogFolder(io, catalog) }),
    limits: {
      totalMilliseconds: FETCH_LIMITS.fetchMilliseconds,
      maxCatalogBytes: FETCH_LIMITS.maxGitExecutableBytes,
    },
  });
}

/** Downloads an executable that has no digest yet, for `OS/ARCHITECTURE`, and returns its digest. */
export async function downloadDigest(io: Io, uri: string, platform: string): Promise<Digest> {
  const [os, arch] = platform.split('/') as [string, string];
  const name = `the executable for ${platform}`;
  const cache = await openCache(consumePorts(io));
  const progress = new Progress(io);
  try {
    return (await download(io, cache, { name, platform: { uri, os, arch } }, undefined, progress)).sha256;
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    const { code, message, hint } = error;
    throw new KrmhubError(code, escapeControls(`cannot fetch ${uri}: ${message}`), { ...defined({ hint }) });
  } finally {
    await progress.clear();
    await cache.close();
  }
}

async function download(
  io: Io,
  cache: Cache,
  {
    name,
    platform,
    catalog,
    artifact,
    maxBytes = EXECUTABLE_LIMITS.maxSourceBytes,
  }: Omit<ExecutableRequest, 'platform' | 'offline'> & {
    platform: Record<'uri' | 'os' | 'arch', string>;
  },
  expected: Digest | undefined,
  progress: Progress,
): Promise<FetchedExecutable> {
  const { uri, os, arch } = platform;
  const fetcher = openFetcher(io, cache, catalog);
  const address = executableAddress(name, uri);
  await progress.show(`fetching ${name}`);
  const written = await fetcher.download(
    {
      address,
      ...namedBy(io, catalog),
      maxBytes,
      platform: { os, architecture: arch },
      ...defined({ artifact }),
      onProgress: (bytes) => void progress.tick(() => `fetching ${name}: ${sizeText(bytes)}`),
      onManifest: async (bytes, actor) => void (await cacheFor(cache, address, actor).writeBlob(bytes)),
    },
    (body, actor) =>
      cacheFor(cache, address, actor).writeBlobStream(body, { maxBytes, ...defined({ expected }) }),
  );
  return { file: written.file, sha256: written.digest };
}

/** Catalogs also write what pip and npm take: `git+https://…` (KEP-2906 has no syntax for git). */
function executableAddress(name: string, uri: string): SourceAddress {
  const text = uri.replace(/^git\+(?=(?:https|ssh):\/\/)/i, 'git::').replace(/^ssh:\/\//i, 'git::ssh://');
  const read = readSourceAddress(text);
  if (read.ok) return read.address;
  throw new KrmhubError(
    'invalid-document',
    escapeControls(`cannot run ${name}: ${uri} is not supported: ${read.reason}`),
    {
      hint: 'Ask the publisher of the catalog for an https, oci, or git:: reference.',
    },
  );
}

/** A catalog of the Internet must not lead into the network of the user. A file is as good as what the user types. */
function namedBy(io: Environment & WorkingFolder, catalog: string | undefined): { namedBy?: string } {
  if (catalog === undefined) return {};
  const url = catalogHost(parseCatalog(io, { text: catalog, folder: io.cwd }).address);
  return url === undefined ? {} : { namedBy: url };
}

/** The folder of a catalog that is a file; undefined for others, which must not name files of this machine. */
function catalogFolder(io: WorkingFolder, catalog: string | undefined): string | undefined {
  if (catalog === undefined) return undefined;
  const read = path.isAbsolute(catalog) ? undefined : readSourceAddress(catalog);
  const file =
    read === undefined ? catalog : read.ok && read.address.type === 'file' ? read.address.path : undefined;
  return file === undefined ? undefined : path.dirname(path.resolve(io.cwd, file));
}

function explain(error: unknown, { name, platform: { uri, sha256 } }: ExecutableRequest): unknown {
  if (!(error instanceof KrmhubError)) return error;
  if (error.code === 'digest-mismatch') {
    return new KrmhubError(
      'digest-mismatch',
      escapeControls(
        `cannot run ${name}: ${uri} does not match the digest in its catalog (${sha256}): ${error.message}`,
      ),
      { hint: 'Nothing was run. Do not run it until its publisher explains the change.', cause: error },
    );
  }
  const message = escapeControls(`cannot run ${name}: cannot fetch ${uri}: ${error.message}`);
  const { code, hint } = error;
  return new KrmhubError(code, message, { ...defined({ hint }), cause: error });
}

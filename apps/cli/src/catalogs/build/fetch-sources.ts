import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  type BuildSource,
  evaluateCopy,
  folderReading,
  policyKeys,
  type Recipe,
  type RecipeSource,
  readUpstreamAddress,
  readUpstreamCatalog,
  type SigningPolicy,
  signedCatalogName,
  type Time,
  type UpstreamCatalog,
} from '@krmhub/catalog';
import { findSourcePin, verifyPinnedSource } from '@krmhub/consume/trust/pinned-source';
import { NOT_PINNED, type PinnedSnapshot } from '@krmhub/consume/trust/require-snapshot';
import { trustedRoot } from '@krmhub/consume/trust/trusted-root-file';
import { runInParallel } from '@krmhub/oci';
import { KrmhubError, sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { escapeControls, plural, shellWord } from '@krmhub/schema/text';
import { emptyRoot, type Trust, verifySource } from '@krmhub/signing';
import type { FetchedCatalog, SourceFetcher } from '@krmhub/sources';
import type { Io } from '../../io/io.js';
import { printLine } from '../../io/print.js';
import { sizeText } from '../../io/size-text.js';
import { consumePorts } from '../../registry/consume-ports.js';
import { sourceFetcher } from '../../registry/source-fetcher.js';
import type { SourceProgress } from '../source-progress.js';

/** Concurrent fetches. */
const PARALLEL = 6;

export interface FetchOptions {
  /** The recipe, as the user names it. */
  recipe: string;
  /** Its folder; `file:` sources must be below it. */
  folder: string;
  trustedRoot?: string | undefined;
  now: Time;
  /** Whose signatures the recipe requires. */
  policies: readonly SigningPolicy[];
}

type UpstreamSource = RecipeSource & { catalog: UpstreamCatalog };

/**
 * Fetches, verifies and reads every upstream catalog of a recipe. Prints every failure, then throws one error for all.
 */
export async function fetchSources(
  io: Io,
  recipe: Recipe,
  options: FetchOptions,
  progress: SourceProgress,
): Promise<Map<string, BuildSource>> {
  const wanted = recipe.sources.filter((source): source is UpstreamSource => source.catalog !== undefined);
  const found = new Map<string, BuildSource>();
  if (wanted.length === 0) return found;
  const { policies } = options;
  const trust: Trust = {
    keys: policyKeys(policies),
    root: policies.length === 0 ? emptyRoot() : await trustedRoot(io, options.trustedRoot),
  };
  const temporaryFolder = await mkdtemp(path.join(tmpdir(), 'krmhub-build-'));
  const failures: { source: string; error: KrmhubError }[] = [];
  const unpinned: string[] = [];
  try {
    const fetcher = sourceFetcher(io, { fileFolder: options.folder, temporaryFolder });
    await runInParallel(wanted, PARALLEL, async (source) => {
      const { name } = source;
      try {
        await progress.begin(name);
        const { fetched, verified } = await fetchPinned(io, fetcher, source, policies.length > 0, progress);
        const built = readSource(recipe, source, fetched, { trust, now: options.now, policies });
        found.set(name, built);
        const { invalidEntries, completedEntries = 0 } = built.reported;
        const invalid = invalidEntries === 0 ? '' : `, ${invalidEntries} invalid`;
        const completed = completedEntries === 0 ? '' : `, ${completedEntries} completed by defaults`;
        const size = sizeText(fetched.bytes!.byteLength);
        await progress.end(
          name,
          `read ${plural(built.entries.length, 'entry', 'entries')}${completed}${invalid}, ${size}`,
        );
        if (verified === undefined) unpinned.push(name);
      } catch (error) {
        if (!(error instanceof KrmhubError)) throw error;
        failures.push({ source: name, error });
        await progress.fail(name, error);
      }
    });
  } finally {
    await rm(temporaryFolder, { recursive: true, force: true });
  }
  if (failures.length > 0) throw failureError(failures, wanted.length, options.recipe);
  for (const name of unpinned.sort()) await printLine(io, `${name}: not verified: ${NOT_PINNED}`);
  return found;
}

/** Fetches a source, and verifies it if it is pinned. */
async function fetchPinned(
  io: Io,
  fetcher: SourceFetcher,
  { name, catalog }: UpstreamSource,
  bundles: boolean,
  progress: SourceProgress,
): Promise<{ fetched: FetchedCatalog; verified?: PinnedSnapshot }> {
  const read = readUpstreamAddress(catalog);
  if (!read.ok) throw new KrmhubError('invalid-document', `${catalog.url}: ${read.reason}`);
  const { address } = read;
  const pin = await findSourcePin(consumePorts(io), catalog.url, address);
  const fetch = () =>
    fetcher.fetch({
      address,
      bundles: bundles || pin !== undefined,
      ...folderReading(catalog),
      onProgress: (bytes) => void progress.bytes(name, bytes),
    });
  const fetched = await fetch();
  if (pin === undefined) return { fetched };
  const verify = async (one: FetchedCatalog) => {
    const { bytes, bundles, manifest } = one;
    if (bytes === undefined) throw new TypeError('a request without validators always returns a catalog');
    const source = { bytes, digest: sha256(bytes), bundles, ...defined({ manifest }) };
    const verified = await verifyPinnedSource(consumePorts(io), pin, source);
    return { fetched: one, ...defined({ verified }) };
  };
  try {
    return await verify(fetched);
  } catch (error) {
    // The registry may have built a snapshot between the catalog and its bundle.
    if (address.type !== 'http' || !(error instanceof KrmhubError) || error.code !== 'untrusted') throw error;
    return verify(await fetch());
  }
}

function readSource(
  recipe: Recipe,
  { name, catalog }: UpstreamSource,
  { bytes, bundles, manifest }: FetchedCatalog,
  { trust, now, policies }: { trust: Trust; now: Time; policies: readonly SigningPolicy[] },
): BuildSource {
  if (bytes === undefined) throw new TypeError('a request without validators always returns a catalog');
  const digest = sha256(bytes);
  const artifact = { bytes, digest, ...defined({ manifest }) };
  const judged = evaluateCopy({
    // A build has no record of earlier copies; only a registry has.
    record: { catalog: recipe.name, source: name, url: catalog.url, nextAt: now },
    name: signedCatalogName(catalog),
    policies,
    digest,
    found: verifySource(bundles, artifact, trust),
    now,
  });
  if ('refused' in judged)
    throw new KrmhubError('untrusted', judged.refused.message, signedAsHint(judged.refused));
  const read = readUpstreamCatalog(bytes, name, catalog);
  if ('problem' in read)
    throw new KrmhubError('invalid-document', `${catalog.url} is not a catalog: ${read.problem}`);
  const { signatures, snapshot } = judged.accepted;
  const { entries, ...found } = read;
  return {
    entries: entries.map(({ facts, rendered: { json } }) => ({ facts, json, firstSeen: now })),
    former: [],
    signatures,
    reported: {
      source: name,
      url: catalog.url,
      state: 'current',
      digest,
      ...defined({ serial: snapshot?.serial }),
      ...found,
    },
  };
}

/** Says how a recipe names a catalog whose address has another name. */
function signedAsHint({ signedAs }: { signedAs?: string }): { hint?: string } {
  return signedAs === undefined
    ? {}
    : {
        hint: `If this is the catalog that you want, add \`name: ${escapeControls(signedAs)}\` below its \`url\`.`,
      };
}

function failureError(
  failures: readonly { source: string; error: KrmhubError }[],
  count: number,
  recipe: string,
): KrmhubError {
  const names = failures.map(({ source }) => source).sort();
  // A retry can fix the other failures, so they must not hide an untrusted source.
  const untrusted = failures.some(({ error }) => error.code === 'untrusted');
  const what = `${failures.length} of ${plural(count, 'source')} failed: ${names.join(', ')}`;
  return new KrmhubError(untrusted ? 'untrusted' : 'unreachable', `cannot build the catalog: ${what}`, {
    hint: escapeControls(
      `Nothing was written. To use the last good copies, build in a registry: krmhub catalog apply ${shellWord(recipe)}`,
    ),
  });
}

import { fillPath } from '@krmhub/api/paths';
import type { SnapshotStore } from '@krmhub/catalog';
import {
  displayedRelease,
  findPredecessor,
  type ReleaseRecord,
  type ReleaseSummary,
  type ServedEntry,
} from '@krmhub/catalog';
import type { ManifestStore, OciDigest } from '@krmhub/oci';
import {
  compareApiVersions,
  type Digest,
  type EntryVersion,
  type FunctionDefinition,
  type FunctionName,
  KrmhubError,
  type Takedown,
} from '@krmhub/schema';
import { functionRepository } from '../../artifacts/repositories.js';
import type { PublicAddress } from '../../http/public-address.js';
import type { SigningTrust } from '../../publish/signing-trust.js';
import type { FindStore } from '../../store/find-record.js';
import { findFunction, findRelease, takenDownError } from '../../store/find-record.js';
import type { RenderedMarkdown } from '../markdown.js';
import type { CachedViews, VersionView } from './cached-views.js';
import { type SignatureState, signatureStates } from './signature-states.js';

/** A function with one of its releases, or as upstream catalogs have it. */
export interface FunctionView {
  name: FunctionName;
  /** Of the release; without one, as the first catalog serves it. */
  definition: FunctionDefinition;
  /** Absent for a function that only upstream catalogs have. */
  known?: KnownRelease;
  /** Newest first. */
  releases: ReleaseSummary[];
  takedowns: Takedown[];
  catalogs: CatalogMembership[];
  entries: ServedEntry[];
  /** The displayed API version. */
  version: VersionView;
  /** Names of all API versions, the preferred one first. */
  versions: string[];
}

export interface KnownRelease {
  release: ReleaseRecord;
  /** The displayed release. */
  shown: string;
  /** The release to compare with; absent for the first. */
  predecessor?: string;
  /** Digest of its manifest in the function's repository; absent if an older version of the program published it. */
  manifest?: string;
  signatures: SignatureState[];
  /** Absent if it has none. */
  readme?: RenderedMarkdown;
}

export interface CatalogMembership {
  catalog: string;
  versions: EntryVersion[];
}

/** Maximum number of listed catalogs and referrers; the API has the rest. */
const MAX_CATALOGS = 50;
const MAX_REFERRERS = 20;

export interface ReadFunctionDeps {
  store: FindStore &
    Pick<SnapshotStore, 'catalogsContaining' | 'latestEntryRows'> &
    Pick<ManifestStore, 'manifestDescriptor' | 'referrers'>;
  trust: Pick<SigningTrust, 'policies'>;
  config: PublicAddress;
}

/**
 * Reads a function. `release` is canonical; the default is the displayed one. Rejects with `not-found` and `gone`.
 */
export async function readFunction(
  deps: ReadFunctionDeps,
  views: CachedViews,
  wanted: FunctionName & { release?: string; version?: string },
): Promise<FunctionView> {
  const { store } = deps;
  const { group, kind } = wanted;
  const fn = await store.function(group, kind);
  const entries = await store.servedEntries(group, kind);
  const takedowns = await store.takedowns(group, kind);
  const [first] = entries;
  if (fn === undefined && (first === undefined || wanted.release !== undefined)) {
    const gonePart = takedowns.filter(({ release }) => release === wanted.release);
    if (gonePart.length > 0) throw takenDownError(gonePart);
    // The store reports what is known about a function that does not exist.
    await findFunction(store, wanted);
  }
  const name = fn ?? first!;
  const known =
    fn &&
    (await readRelease(deps, views, {
      name: fn,
      releases: fn.releases,
      release: wanted.release ?? displayedRelease(fn.releases).release,
    }));
  const definition = known?.release.definition ?? first!.definition;
  const digest = known?.release.digest ?? first!.versions[0]!.definition;
  return {
    name: { group: name.group, kind: name.kind },
    definition,
    ...(known === undefined ? {} : { known }),
    releases: fn?.releases ?? [],
    takedowns,
    catalogs: await readMemberships(deps, name),
    entries,
    ...readVersion(deps, views, { digest, definition, name, ...pickRelease(wanted.version) }),
  };
}

function pickRelease(version: string | undefined): { version?: string } {
  return version === undefined ? {} : { version };
}

async function readRelease(
  { store, trust }: ReadFunctionDeps,
  views: CachedViews,
  { name, releases, release: wanted }: { name: FunctionName; releases: ReleaseSummary[]; release: string },
): Promise<KnownRelease> {
  const { release } = await findRelease(store, { group: name.group, kind: name.kind, release: wanted });
  const predecessor = findPredecessor({ releases }, release.release);
  const repository = functionRepository(release);
  const manifest = await store.manifestDescriptor(repository, release.release);
  const others =
    manifest === undefined
      ? []
      : await store.referrers(repository, manifest.digest as OciDigest, {
          after: '',
          limit: MAX_REFERRERS + (release.bundles?.length ?? 0),
        });
  return {
    release,
    shown: displayedRelease(releases).release,
    ...(predecessor === undefined ? {} : { predecessor }),
    ...(manifest === undefined ? {} : { manifest: manifest.digest }),
    signatures: signatureStates(trust.policies, release, others),
    ...(release.readme === undefined ? {} : { readme: await views.readme(release.readme) }),
  };
}

async function readMemberships(
  { store }: ReadFunctionDeps,
  { group, kind }: FunctionName,
): Promise<CatalogMembership[]> {
  const names = (await store.catalogsContaining(group, kind)).slice(0, MAX_CATALOGS);
  const rows: CatalogMembership[] = [];
  for (const catalog of names) {
    const [row] = await store.latestEntryRows(catalog, [{ group, kind }]);
    rows.push({ catalog, versions: row?.versions ?? [] });
  }
  return rows;
}

function readVersion(
  { config }: ReadFunctionDeps,
  views: CachedViews,
  {
    digest,
    definition,
    name: { group, kind },
    version: wanted,
  }: { digest: Digest; definition: FunctionDefinition; name: FunctionName; version?: string },
): Pick<FunctionView, 'version' | 'versions'> {
  const versions = definition.versions.map(({ name }) => name).sort(compareApiVersions);
  const shown = wanted ?? versions[0];
  const version = definition.versions.find(({ name }) => name === shown);
  if (version === undefined) {
    throw new KrmhubError('not-found', `${group}/${kind} has no API version ${shown}`, {
      hint: `It has ${versions.join(', ')}.`,
    });
  }
  const schemaUrl =
    config.publicUrl === undefined
      ? undefined
      : config.publicUrl + fillPath('functionConfigSchema', { group, version: version.name, kind });
  return { version: views.version(digest, definition, version, schemaUrl), versions };
}

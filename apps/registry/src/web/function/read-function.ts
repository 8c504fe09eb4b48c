import type { CatalogReader, EntryReader } from '@krmhub/catalog';
import {
  displayedRelease,
  findPredecessor,
  type GroupOwner,
  type ReleaseHead,
  type ReleaseSummary,
  type ServedEntry,
  type SignatureVerdict,
  type TestReport,
  testReports,
  type Visibility,
  type WorkflowRun,
} from '@krmhub/catalog';
import { type ManifestReader, type OciDigest, README_IMAGES_TYPE } from '@krmhub/oci';
import {
  compareApiVersions,
  type EntryVersion,
  type FunctionDefinition,
  type FunctionName,
  KrmhubError,
  type Takedown,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { TryItExample } from '@krmhub/schema/documents/try-it';
import type { KnownAccess } from '../../http/auth/request-actor.js';
import type { SigningTrust } from '../../publish/trust/signing-trust.js';
import { functionRepository } from '../../store/artifacts/repositories.js';
import type { FindHeadStore } from '../../store/find-record.js';
import { findFunction, findReleaseHead, takenDownError } from '../../store/find-record.js';
import type { StoredDefinition } from '../../workers/derive/stored-definition.js';
import type { RenderedMarkdown } from '../markdown.js';
import type { DefinitionText, VersionView } from './cached-views.js';
import { type ReadOriginsStore, readOrigins, type UpstreamOriginView } from './read-origins.js';
import type { ReleaseRow } from './release-rows.js';
import { releaseVerdict, type SignatureState, signatureStates } from './signature-states.js';
import type { ScriptView } from './view-script.js';

/**
 * What is known about a function with one of its releases, or as upstream catalogs have it. It names definition and
 * README by their digests, so it is small, and the page depends on nothing else.
 */
export interface FunctionReading {
  name: FunctionName;
  visibility: Visibility;
  /** Of the group. */
  owner?: GroupOwner;
  /** Of the release; without one, as the first catalog serves it. */
  stored: StoredDefinition;
  /** Absent for a function that only upstream catalogs have. */
  known?: KnownRelease;
  /** Newest first. */
  releases: ReleaseSummary[];
  takedowns: Takedown[];
  catalogs: CatalogMembership[];
  entries: ServedEntry[];
  /** Of a function that only upstream catalogs have. */
  origins: UpstreamOriginView[];
  /** Name of the displayed API version. */
  version: string;
  /** Names of all API versions, the preferred one first. */
  versions: string[];
}

/** A reading with what is derived from the definition, the README, and the script. Components are functions of it. */
export interface FunctionView extends Omit<FunctionReading, 'known' | 'version'> {
  definition: FunctionDefinition;
  known?: KnownRelease & {
    readme?: RenderedMarkdown;
    /** The README shows images that no signature of the release covers. */
    hasAttachedImages?: boolean;
  };
  version: VersionView;
  /** The script of the version, if the registry has it. */
  script?: ScriptView;
  /** The registry has the script of the version, for the tab that can run it. */
  isScriptHere?: boolean;
  /** What a tester recorded. */
  examples?: readonly TryItExample[];
  /** The text of the definition, for the tab that shows it. */
  text?: DefinitionText;
  /** What the list of releases shows, by release. */
  rows?: ReadonlyMap<string, ReleaseRow>;
  /** The release that the address of the page names. */
  asked?: string;
}

export interface KnownRelease {
  release: ReleaseHead;
  /** The displayed release. */
  shown: string;
  /** The release to compare with; absent for the first. */
  predecessor?: string;
  /** Digest of its manifest in the function's repository; absent if an older version of the program published it. */
  manifest?: string;
  /** The verdict on the release, of all its signatures together. */
  verdict: SignatureVerdict;
  /** The run of a workflow that published it. */
  run?: WorkflowRun;
  signatures: SignatureState[];
  /** The newest report of each tester. */
  tests: TestReport[];
}

export interface CatalogMembership {
  catalog: string;
  versions: EntryVersion[];
}

/** Maximum number of listed catalogs and referrers; the API has the rest. */
const MAX_CATALOGS = 50;
const MAX_REFERRERS = 20;

export interface ReadFunctionDeps {
  store: FindHeadStore & CatalogReader & EntryReader & ManifestReader & ReadOriginsStore;
  trust: Pick<SigningTrust, 'policies'>;
  access: KnownAccess;
}

/**
 * Reads a function. `release` is canonical; the default is the displayed one. Rejects with `not-found` and `gone`.
 */
export async function readFunction(
  deps: ReadFunctionDeps,
  wanted: FunctionName & { release?: string; version?: string },
): Promise<FunctionReading> {
  const { store, access } = deps;
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
    (await readRelease(deps, {
      name: fn,
      releases: fn.releases,
      release: wanted.release ?? displayedRelease(fn.releases).release,
    }));
  const versions = known?.release.versions ?? first!.versions.map((version) => version.name);
  return {
    name: { group: name.group, kind: name.kind },
    visibility: access.rules.visibilityOf(name.group, name.kind),
    stored: known === undefined ? { entry: first!.entry } : storedDefinition(known.release),
    // What only upstream catalogs have is not from the owner.
    ...defined({ owner: known && access.rules.groupOwner(name.group), known }),
    releases: fn?.releases ?? [],
    takedowns,
    catalogs: await readMemberships(deps, name),
    entries,
    origins: known === undefined ? await readOrigins(store, entries) : [],
    ...pickVersion(name, versions, wanted.version),
  };
}

function storedDefinition({ group, kind, release, digest }: ReleaseHead): StoredDefinition {
  return { group, kind, release, digest };
}

async function readRelease(
  { store, trust }: ReadFunctionDeps,
  { name, releases, release: wanted }: { name: FunctionName; releases: ReleaseSummary[]; release: string },
): Promise<KnownRelease> {
  const { release } = await findReleaseHead(store, { group: name.group, kind: name.kind, release: wanted });
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
  const [more] = await store.notesAndRuns([release]);
  return {
    release,
    shown: displayedRelease(releases).release,
    ...defined({ predecessor, manifest: manifest?.digest, run: more?.run }),
    verdict: releaseVerdict(trust.policies, release),
    signatures: signatureStates(
      trust.policies,
      release,
      others.filter(({ artifactType }) => artifactType !== README_IMAGES_TYPE),
    ),
    tests: testReports(trust.policies, release, release.bundles),
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

function pickVersion(
  { group, kind }: FunctionName,
  names: readonly string[],
  wanted: string | undefined,
): Pick<FunctionReading, 'version' | 'versions'> {
  const versions = [...names].sort(compareApiVersions);
  const version = wanted ?? versions[0]!;
  if (versions.includes(version)) return { version, versions };
  throw new KrmhubError('not-found', `${group}/${kind} has no API version ${version}`, {
    hint: `Use one of ${versions.join(', ')}.`,
  });
}

import { type CatalogEntryRow, searchAccess } from '@krmhub/catalog';
import type { Takedown } from '@krmhub/schema';
import { currentActor, type KnownAccess } from '../http/auth/request-actor.js';
import {
  filtered,
  NO_NAME,
  nothing,
  ofCatalog,
  ofFunction,
  ofRepository,
  seenAllFunctions,
} from './hide-names.js';
import type { RegistryStore } from './registry-store.js';
import { seenCatalog, seenEvents, seenSnapshot, seenSource, withoutReasons } from './seen-records.js';
import { seenFunctions, seenMarks, seenReleases } from './seen-replacements.js';
import { SeenRepositories } from './seen-repositories.js';
import { type Sight, sightOf } from './sight.js';

type Methods = { [Name in keyof RegistryStore]: NonNullable<RegistryStore[Name]> };
type Guard<Method> =
  | 'unseen'
  | 'public'
  | ((call: Method, sight: () => Sight, store: RegistryStore) => Method);
type Guards = { [Name in keyof Methods]: Guard<Methods[Name]> };

/**
 * How each method of the store hides what the actor of a request may not read. A hidden thing is answered as one that
 * does not exist, after the same reads, so that neither the answer nor its time tells them apart.
 *
 * - `public`: the same for everybody.
 * - `unseen`: a change, which a handler authorizes, or a read whose result no answer contains, or of something whose
 *   name the handler has read with a guarded method.
 */
const GUARDS: Guards = {
  function: (call, sight, store) => async (group, kind) => {
    const see = sight();
    const found = await ofFunction(undefined)(call, () => see)(group, kind);
    return found && (await seenFunctions(store, [found], see))[0];
  },
  functions: (call, sight, store) => async (names) => {
    const see = sight();
    return seenFunctions(store, (await call(names)).filter(see.function), see);
  },
  allFunctions: (call, sight, store) => () => seenAllFunctions(call(), store, sight()),
  groups: 'unseen',
  kinds: (call, sight) => async (group) => {
    const found = await call(group);
    const see = sight();
    return found.filter((kind) => see.function({ group, kind }));
  },
  publishState: (call, sight, store) => async (group, kind) => {
    const see = sight();
    const found = await call(group, see.function({ group, kind }) ? kind : NO_NAME);
    const { current, kinds } = found;
    return {
      ...found,
      current: current && (await seenFunctions(store, [current], see))[0],
      kinds: kinds.filter((one) => see.function({ group, kind: one })),
    };
  },
  countFunctions: 'unseen',
  release: (call, sight, store) => async (group, kind, release) => {
    const see = sight();
    const found = await ofFunction(undefined)(call, () => see)(group, kind, release);
    return found && (await seenReleases(store, [found], see))[0];
  },
  releaseFiles: ofFunction(undefined),
  definitionsJson: (call, sight) => async (releases) => {
    const found = await call(releases);
    const see = sight();
    return found.map((one, at) => (see.function(releases[at]!) ? one : undefined));
  },
  notesAndRuns: (call, sight) => (releases) => {
    const see = sight();
    return call(releases).then((found) => found.map((one, at) => (see.function(releases[at]!) ? one : {})));
  },
  releasesWith: (call, sight) => async (digest) => (await call(digest)).filter(sight().function),
  takedowns: ofFunction([] as Takedown[]),
  allTakedowns: (call, sight) => async () => (await call()).filter(sight().function),
  takedownOfScript: (call, sight) => async (digest) => {
    const found = await call(digest);
    return found !== undefined && sight().function(found) ? found : undefined;
  },
  nearFunctions: (call, sight) => (name) => call({ ...name, access: searchAccess(sight()) }),
  search: (call, sight, store) => async (query) => {
    const see = sight();
    const page = await call({ ...query, access: searchAccess(see) });
    return { ...page, items: await seenMarks(store, page.items, see) };
  },
  servedEntries: (call, sight) => (group, kind) => {
    const see = sight();
    const found = call(group, see.function({ group, kind }) ? kind : NO_NAME);
    return found.then((entries) => entries.filter(({ catalog }) => see.catalog(catalog)));
  },
  // What replacements readers know is decided with it.
  servingCatalogs: 'unseen',
  descriptions: (call, sight) => async (name, serial, functions) => {
    const see = sight();
    const found = await call(see.catalog(name) ? name : NO_NAME, serial, functions);
    return found.map((one, at) => (see.function(functions[at]!) ? one : undefined));
  },
  events: (call, sight, store) => async (after, limit, before) => {
    const read = (from: number, count: number) => call(from, count, before);
    return withoutReasons(store, sight(), await seenEvents(store, read, sight(), after, limit));
  },
  revocations: (call, sight, store) => async (after, limit, digests) => {
    const read: typeof store.events = (from, count) => call(from, count, digests);
    return withoutReasons(store, sight(), await seenEvents(store, read, sight(), after, limit));
  },
  lastEvent: 'public',
  changedFunctions: 'unseen',
  catalogs: (call, sight) => async () => {
    const see = sight();
    return (await call()).flatMap((catalog) => seenCatalog(catalog, see));
  },
  catalog: (call, sight) => async (name) => {
    const see = sight();
    const found = await call(see.catalog(name) ? name : NO_NAME);
    return found && seenCatalog(found, see)[0];
  },
  deletedCatalogs: (call, sight) => async () => {
    const see = sight();
    return (await call()).filter(({ name }) => see.catalog(name));
  },
  deletedCatalog: ofCatalog(undefined),
  catalogsContaining: (call, sight) => (group, kind) => {
    const see = sight();
    const found = call(group, see.function({ group, kind }) ? kind : NO_NAME);
    return found.then((names) => names.filter(see.catalog));
  },
  catalogsNaming: 'unseen',
  includedFunctions: (call, sight) => async (name) => {
    const see = sight();
    return (await call(see.catalog(name) ? name : NO_NAME)).filter(see.function);
  },
  snapshots: (call, sight) => async (catalog, limit, before) => {
    const see = sight();
    const found = await call(see.catalog(catalog) ? catalog : NO_NAME, limit, before);
    return found.map((one) => seenSnapshot(one, see));
  },
  snapshot: (call, sight) => async (catalog, reference) => {
    const see = sight();
    const found = await call(see.catalog(catalog) ? catalog : NO_NAME, reference);
    return found && seenSnapshot(found, see);
  },
  snapshotSignature: ofCatalog(undefined),
  signatureBundle: ofCatalog(undefined),
  hasSignatures: 'unseen',
  signatureKeys: 'public',
  latestEntryRows: (call, sight) => async (name, names) => {
    const see = sight();
    return see.catalog(name) ? call(name, names?.filter(see.function)) : [];
  },
  latestEntryNames: (call, sight) => (name) => {
    const see = sight();
    return see.catalog(name) ? filtered(call(name), see.function) : nothing();
  },
  snapshotEntry: ofCatalog(undefined),
  snapshotEntryRows: (call, sight) => async (name, serial, names) => {
    const see = sight();
    return see.catalog(name) ? call(name, serial, names?.filter(see.function)) : [];
  },
  entryPage: (call, sight) => async (query) => {
    const see = sight();
    if (!see.catalog(query.catalog)) return { rows: [] };
    const rows: CatalogEntryRow[] = [];
    for (let page = await call(query); ; page = await call({ ...query, after: page.next! })) {
      rows.push(...page.rows.filter(see.function));
      if (page.next === undefined && rows.length <= query.limit) return { rows };
      if (rows.length <= query.limit) continue;
      const shown = rows.slice(0, query.limit);
      return { rows: shown, next: shown.at(-1)! };
    }
  },
  countEntries: (call, sight) => async (filter) => {
    const see = sight();
    const catalog = see.catalog(filter.catalog) ? filter.catalog : NO_NAME;
    return call({ ...filter, catalog }, see.everything() ? undefined : see.function);
  },
  servedReleases: (call, sight) => (name, functions, limit) => {
    const see = sight();
    const seen = functions.map((one) => (see.function(one) ? one : { ...one, kind: NO_NAME }));
    return call(see.catalog(name) ? name : NO_NAME, seen, limit);
  },
  changedEntries: ofCatalog({ changed: [], isAll: true }),
  entryTexts: (call, sight) => (name, serial, range) =>
    sight().catalog(name) ? call(name, serial, range) : nothing(),
  entryPages: (call, sight) => (name, serial, syntax, range) =>
    sight().catalog(name) ? call(name, serial, syntax, range) : nothing(),
  entryBytes: 'unseen',
  entries: 'unseen',
  entryTextsOf: 'unseen',
  segments: ofCatalog(undefined),
  segmentLines: (call, sight) => (name) => (sight().catalog(name) ? call(name) : nothing()),
  missingSegments: 'unseen',
  segmentBytes: 'unseen',
  segmentContents: 'unseen',
  sources: (call, sight) => async (catalog) => {
    const see = sight();
    return (await call(catalog)).flatMap((source) => seenSource(source, see));
  },
  source: (call, sight) => async (catalog, name) => {
    const found = await call(catalog, name);
    return found && seenSource(found, sight())[0];
  },
  sourceCopyDigests: 'unseen',
  // What decides whether a catalog would show more than it may.
  keptSources: 'unseen',
  sourceEntries: ofCatalog([]),
  upstreamCandidates: (call, sight) => async (name, functions) => {
    const see = sight();
    return see.catalog(name) ? (await call(name, functions)).filter(see.function) : [];
  },
  allUpstreamCandidates: (call, sight) => (name) => {
    const see = sight();
    return see.catalog(name) ? filtered(call(name), see.function) : nothing();
  },
  ownedGroups: 'unseen',
  // A new group must not look like one of them. Which one is told by publish/review-name.ts.
  upstreamGroups: 'unseen',
  upstreamFunctionNames: (call, sight) => async (name, group) => {
    const see = sight();
    return see.catalog(name) ? (await call(name, group)).filter(see.function) : [];
  },
  nextMinimumAgeAt: 'unseen',
  manifest: ofRepository(undefined),
  manifestDescriptor: ofRepository(undefined),
  listManifestTags: ofRepository([]),
  tags: ofRepository(undefined),
  referrers: ofRepository([]),
  pushers: ofRepository([]),
  repositories: (call, sight, store) => {
    const seen = new SeenRepositories(store);
    return async (after, limit) => {
      const see = sight();
      return see.everything() ? call(after, limit) : seen.page(see, after, limit);
    };
  },
  repositoriesVersion: 'unseen',
  blob: ofRepository(undefined),
  rowBytes: 'unseen',
  isReferenced: ofRepository(false),
  countBytes: 'unseen',
  findUnreferencedFiles: 'unseen',
  // Without a repository to mount from, the database would search all of them.
  mountBlob: (call, sight) => async (from, to, digest, change) => {
    if (from === undefined) return false;
    return call(sight().repository(from) ? from : NO_NAME, to, digest, change);
  },
  // What others may know of them is in seen-policies.ts.
  policies: (call, sight) => async () => {
    const found = await call();
    return sight().registry() ? found : undefined;
  },
  appliedPolicies: 'unseen',
  access: 'unseen',
  appliedAccess: 'unseen',
  // For administrators.
  catalogsBehindAccess: 'unseen',
  // Its answers are in owners/read-owners.ts.
  ownerClaims: 'unseen',
  // For those who may publish the function.
  countConsumers: 'unseen',
  trustedPublishers: 'unseen',
  publishersOfToken: 'unseen',
  endedPublishers: 'unseen',
  issuerTeams: 'unseen',
  auditRows: 'unseen',
  auditHead: 'unseen',
  ...unseen([
    ...[
      'applyAccess',
      'putOwnerClaim',
      'deleteOwnerClaim',
      'putConsumer',
      'deleteConsumers',
      'addTrustedPublisher',
      'removeTrustedPublisher',
      'exchangeToken',
      'applyPolicies',
      'fileBytes',
      'namesFile',
      'durable',
      'check',
      'close',
      'synchronizeSearch',
    ],
    ...['commitFunction', 'commitTakedown', 'completeTakedown', 'allowRuntimes', 'unfinishedTakedowns'],
    ...['finishTakedowns', 'deleteCatalog', 'restoreCatalog', 'catalogsToPurge', 'startPurge', 'purgeRows'],
    ...['collectEntries', 'applyRecipe', 'commitSnapshot', 'renewSignature', 'storeSegments', 'addSegments'],
    ...[
      'deleteUnusedSegments',
      'passOver',
      'storeEntries',
      'commitRefresh',
      'advanceCatalogClock',
      'profileBlob',
    ],
    ...['recordProfileBlobs', 'storedProfile', 'recordProfile', 'deleteProfiles', 'deleteWithdrawnProfiles'],
    ...[
      'createToken',
      'createFirstToken',
      'tokenByHash',
      'tokens',
      'revokeToken',
      'touchToken',
      'beginSession',
      'confirmUser',
      'user',
      'users',
      'suspendUser',
      ...[
        'directoryUser',
        'directoryUsers',
        'addDirectoryUser',
        'changeDirectoryUser',
        'removeDirectoryUser',
        'releaseUser',
      ],
      ...[
        'directoryGroup',
        'directoryGroups',
        'directoryMembers',
        'addDirectoryGroup',
        'changeDirectoryGroup',
      ],
      'removeDirectoryGroup',
      'tokensOfUser',
      'sessionsOfUser',
      'signIn',
      'replaceSignIn',
      'endSignIn',
      'endSessionsOfUser',
    ],
    ...[
      'session',
      'endSession',
      'addLoginRequest',
      'loginRequest',
      'answerLogin',
      'useLogin',
      'putSecret',
      'takeSecret',
      'addUpload',
      'upload',
      'takeUpload',
      'renewUpload',
    ],
    ...[
      'addUploadPiece',
      'reserveUploadBytes',
      'releaseUpload',
      'endUpload',
      'endIdleUploads',
      'openUploads',
    ],
    ...[
      'bytesOfOtherUploads',
      'setting',
      'changeSetting',
      'putManifest',
      'deleteManifest',
      'deleteTag',
      'addBlob',
    ],
    ...['touchBlob', 'deleteBlob', 'deleteUnreferencedBlobs', 'deleteUntaggedManifests'],
    ...['releasesWithoutArtifact', 'putArtifact', 'releasesWithoutWords', 'putReleaseWords'],
    ...['recordAct', 'pruneAudit', 'recordKeys'],
  ] as const),
};

/**
 * Returns the store as the actor of each request sees it. Only handlers of requests use it; builds and syncs read
 * everything.
 */
export function readableStore(store: RegistryStore, access: KnownAccess): RegistryStore {
  const sight = (): Sight => sightOf(access.rules, currentActor());
  const calls = store as unknown as Record<string, (...values: unknown[]) => unknown>;
  const guarded: Record<string, unknown> = {};
  for (const name of Object.keys(store)) {
    const guard = GUARDS[name as keyof Guards] as
      | string
      | ((call: unknown, sight: () => Sight, store: RegistryStore) => unknown);
    // Looked up at each call, as for everybody else who has the store.
    const call = (...values: unknown[]) => calls[name]!(...values);
    const hiding = typeof guard === 'function' ? (guard(call, sight, store) as typeof call) : call;
    guarded[name] = (...values: unknown[]) =>
      access.rules.hidesAnything ? hiding(...values) : call(...values);
  }
  return guarded as unknown as RegistryStore;
}

function unseen<Name extends keyof RegistryStore>(names: readonly Name[]): Record<Name, 'unseen'> {
  return Object.fromEntries(names.map((name) => [name, 'unseen'])) as Record<Name, 'unseen'>;
}

import type * as api from '@krmhub/api/model';
import type { TokenScope } from '@krmhub/api/token-scopes';
import {
  type AccessRules,
  builtFrom,
  type CatalogEntryRow,
  describeSigner,
  isSound,
  judgeSignatures,
  type NotesAndRun,
  type ReleaseBundle,
  type ReleaseHead,
  type ReleaseSummary,
  reportSource,
  type SearchResult,
  type ServedEntry,
  type SignatureVerdict,
  type SigningPolicy,
  type SnapshotRecord,
  type SourceRecord,
  signedParts,
  type TestReport,
  type TokenRecord,
  testReports,
  testReportText,
  type UserRecord,
  verdictText,
} from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';

/** Converts records to models of the HTTP API. */

export function releaseSummary(
  policies: readonly SigningPolicy[],
  { group, kind }: FunctionName,
  release: ReleaseSummary,
): api.ReleaseSummary {
  const { yanked, deprecated } = release;
  return {
    release: release.release,
    digest: release.digest,
    size: release.size,
    versions: release.versions,
    publishedAt: release.publishedAt,
    publishedBy: release.publishedBy,
    ...defined({ yanked, deprecated }),
    signature: releaseVerdict(policies, { group, kind, release: release.release }, release),
  };
}

/** Evaluates the signatures of a release under the current policies. */
export function releaseVerdict(
  policies: readonly SigningPolicy[],
  name: FunctionName & { release: string },
  release: ReleaseSummary,
): api.Verdict {
  return verdict(judgeSignatures(policies, name, signedParts(release)));
}

function verdict(judged: SignatureVerdict): api.Verdict {
  const { state, signer, policy, isReadmeSigned } = judged;
  const text = verdictText(judged);
  const trusted = state === 'verified';
  return {
    trusted,
    state,
    text,
    ...defined({
      signer: signer === undefined ? undefined : describeSigner(signer),
      policy,
      reason: trusted ? undefined : (judged.reason ?? text),
      readmeSigned: isReadmeSigned,
    }),
  };
}

export function bundleDetail({
  signer,
  isWhole = false,
  tests: _,
  provenance: __,
  ...bundle
}: ReleaseBundle): api.Bundle {
  return {
    ...bundle,
    whole: isWhole,
    ...defined({
      signer: signer === undefined ? undefined : describeSigner(signer),
      source: signer?.type === 'identity' ? signer.source : undefined,
    }),
  };
}

/** Without the result if the signer is rejected, so that no client takes it for one. */
export function testReport(report: TestReport): api.TestReport {
  const { bundle, tests, at, signer, verdict } = report;
  const { finishedAt: _, ...result } = tests;
  const reported: Partial<typeof result> = isSound(verdict) ? result : {};
  const { state, policy, reason } = verdict;
  return {
    ...reported,
    text: testReportText(report),
    trusted: state === 'verified',
    state: state as api.TestReport['state'],
    signer: describeSigner(signer),
    ...defined({ policy, reason }),
    reportedAt: at,
    bundle,
  };
}

export function bundleList(policies: readonly SigningPolicy[], release: ReleaseHead): api.BundleList {
  return {
    bundles: (release.bundles ?? []).map(bundleDetail),
    signature: releaseVerdict(policies, release, release),
  };
}

/** Judges signatures. */
export interface SignatureJudge {
  trust: { readonly policies: readonly SigningPolicy[] };
}

/** Knows who owns a group. */
export interface OwnerJudge {
  access: { readonly rules: AccessRules };
}

/** What the registry says about releases: whose signatures it trusts, and who owns groups. */
export interface Judges extends SignatureJudge, OwnerJudge {}

/** Without the definition: responses contain it as it is stored. */
export function releaseDetail(
  { trust: { policies }, access }: Judges,
  release: ReleaseHead,
  { notes, run }: NotesAndRun = {},
): Omit<api.Release, 'definition'> {
  const owner = access.rules.groupOwner(release.group);
  const tests = testReports(policies, release, release.bundles).map(testReport);
  return {
    ...releaseSummary(policies, release, release),
    group: release.group,
    kind: release.kind,
    readme: release.readme !== undefined,
    bundles: (release.bundles ?? []).map(bundleDetail),
    ...defined({ builtFrom: builtFrom(judgeSignatures(policies, release, signedParts(release))) }),
    ...defined({ owner, notes, run, tests: tests.length === 0 ? undefined : tests }),
  };
}

/** Names each field, so that one that a store adds is not shown without a decision. */
export function searchItem(policies: readonly SigningPolicy[], found: SearchResult): api.SearchItem {
  const { group, kind, description, publisher, versions, tags, licenses, runtimes } = found;
  const { network, storage, pinned, yanked, deprecated } = found;
  const { release, signatures, attestations, publishedAt, from, imageTag, owner, replacement } = found;
  const signature =
    release === undefined
      ? NO_RELEASE
      : verdict(judgeSignatures(policies, { group, kind, release }, { signatures, attestations }));
  const { trusted, signer, policy } = signature;
  return {
    ...{ group, kind, description, publisher, versions, tags, network, storage, pinned, yanked, deprecated },
    ...defined({ release, publishedAt, from, imageTag, owner, replacement }),
    runtimes: runtimes as api.SearchItem['runtimes'],
    license: licenses.join(', '),
    signedBy: trusted ? [`${signer} (policy ${policy})`] : [],
    signature,
  };
}

/** Policies apply to releases only. */
const NO_RELEASE_TEXT = 'this function exists only in upstream catalogs; this registry has no release of it';
const NO_RELEASE: api.Verdict = {
  trusted: false,
  state: 'unsigned',
  text: NO_RELEASE_TEXT,
  reason: NO_RELEASE_TEXT,
};

/** Without the newest release and the entries, which contain definitions. */
export function functionDetail(
  { trust: { policies }, access }: Judges,
  known: {
    name: FunctionName;
    releases: readonly ReleaseSummary[];
    takedowns: readonly api.Takedown[];
    catalogs: string[];
  },
): Omit<api.FunctionDetail, 'newest' | 'entries'> {
  const { name, releases, takedowns, catalogs } = known;
  return {
    group: name.group,
    kind: name.kind,
    releases: releases.map((one) => releaseSummary(policies, name, one)),
    ...defined({
      owner: releases.length === 0 ? undefined : access.rules.groupOwner(name.group),
      takedowns: takedowns.length === 0 ? undefined : [...takedowns],
    }),
    catalogs,
  };
}

/** Without the definition. */
export function servedEntry({ catalog, serial, versions }: ServedEntry): Omit<api.ServedEntry, 'definition'> {
  return { catalog, serial, versions };
}

/**
 * Without the definition. Only versions from a release of this registry have a state, and an entry is from the owner of
 * its group only if all its versions are.
 */
export function catalogFunction(
  { access }: OwnerJudge,
  { catalog, serial, digests }: SnapshotRecord,
  { group, versions }: CatalogEntryRow,
  releases: readonly ReleaseSummary[],
): Omit<api.CatalogFunction, 'definition'> {
  const isOurs = versions.every(({ release }) => release !== undefined);
  return {
    catalog,
    serial,
    digest: digests['catalog.yaml'],
    ...defined({ owner: isOurs ? access.rules.groupOwner(group) : undefined }),
    versions: versions.map((version) => {
      const same = releases.find(
        ({ release, digest }) => release === version.release && digest === version.definition,
      );
      return {
        ...version,
        ...defined({ yanked: same?.yanked, deprecated: same?.deprecated }),
      };
    }),
  };
}

export function snapshotSummary({
  serial,
  digests,
  functions,
  createdAt,
  withdrawn,
}: SnapshotRecord): api.SnapshotSummary {
  return {
    serial,
    digest: digests['catalog.yaml'],
    functions,
    createdAt,
    ...defined({ withdrawn }),
  };
}

export function tokenDetail({
  id,
  name,
  scopes,
  groups,
  repositories,
  team,
  user,
  createdAt,
  createdBy,
  ...times
}: TokenRecord): api.Token {
  const { expiresAt, lastUsedAt, revokedAt, revokedBy, revokedReason } = times;
  return {
    id,
    name,
    scopes: scopes as TokenScope[],
    groups,
    repositories,
    createdAt,
    createdBy,
    ...defined({
      team,
      user: user && userDetail(user),
      expiresAt,
      lastUsedAt,
      revokedAt,
      revokedBy,
      revokedReason,
    }),
  };
}

function userDetail({ id, issuer, subject, name, email }: UserRecord): NonNullable<api.Token['user']> {
  return { id, issuer, subject, name, ...defined({ email }) };
}

export function fullUser(rules: AccessRules, user: UserRecord): api.UserDetail {
  const { groups, createdAt, confirmedAt, signedInAt, suspendedAt, suspendedBy, directory } = user;
  return {
    ...userDetail(user),
    groups: [...groups],
    teams: rules.teamsOf(user),
    createdAt,
    confirmedAt,
    ...defined({
      signedInAt,
      suspendedAt,
      suspendedBy,
      directory: directory && { isActive: directory.isActive },
    }),
  };
}

export function sourceDetail(record: SourceRecord): api.Source {
  const { catalog, source, url, nextAt, checkedAt, failure, copy } = record;
  return {
    catalog,
    source,
    url,
    state: reportSource(record).state,
    nextAt,
    ...defined({
      checkedAt,
      problem: failure?.problem,
      message: failure?.message,
      failingSince: failure?.since,
      copy: copy === undefined ? undefined : sourceCopy(copy),
    }),
  };
}

function sourceCopy(copy: NonNullable<SourceRecord['copy']>): NonNullable<api.Source['copy']> {
  const { digest, size, fetchedAt, formerUrl, entries, invalid, invalidEntries } = copy;
  const { completed, completedEntries, snapshot, signatures } = copy;
  return {
    digest,
    size,
    fetchedAt,
    ...defined({ formerUrl }),
    entries,
    invalid,
    invalidEntries,
    ...defined({
      completed,
      completedEntries: completed === undefined ? undefined : (completedEntries ?? completed.length),
      serial: snapshot?.serial,
      expires: snapshot?.expires,
    }),
    signedBy: signatures.map(({ signer }) => describeSigner(signer)),
  };
}

import type { AccessResult } from '@krmhub/api/model';
import {
  type AccessDocument,
  AccessRules,
  type AccessStore,
  type CatalogReader,
  COMPARISON_LIMITS,
  compareAccess,
  type DecidedThrough,
  type EventReader,
  type KnownNames,
  type OwnerClaimReader,
  publisherTarget,
  readAccess,
  type SourceReader,
  type TeamEnd,
  type TokenReader,
  type TokenRecord,
  type TrustedPublisherReader,
  type UserReader,
  type UserRecord,
} from '@krmhub/catalog';
import type { ManifestReader } from '@krmhub/oci';
import { type Diagnostic, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type {
  AwaitableBuilder,
  ObservableBuilder,
  WakeableBuilder,
} from '../catalogs/build/catalog-builder.js';
import { exposedFunctions } from '../catalogs/exposed-functions.js';
import type { RecheckToken } from '../http/auth/authorize.js';
import type { Caller } from '../http/auth/caller.js';
import { tokenProblem, withOwnGroups } from '../http/auth/tokens.js';
import type { UserSettings } from '../http/auth/user-session.js';
import type { Log } from '../log.js';
import { repositoryObject } from '../store/sight.js';
import type { RegistryAccess } from '../store/stored-access.js';
import type { FunctionLocks } from './function-locks.js';
import { refuseOtherText, replaceDocument } from './replace-document.js';

export interface ApplyAccessDeps {
  store: AccessStore &
    OwnerClaimReader &
    TokenReader &
    UserReader &
    TrustedPublisherReader &
    CatalogReader &
    EventReader &
    SourceReader &
    ManifestReader;
  access: RegistryAccess;
  /** Serializes the changes of the document. */
  functionLocks: FunctionLocks;
  snapshotBuilder: WakeableBuilder & AwaitableBuilder & ObservableBuilder;
  clock: () => Date;
  log: Log;
  config: UserSettings;
  /** Rejects rules that would show to others what only this registry may fetch. */
  refuseExposingRules(before: AccessRules, after: AccessRules): Promise<DecidedThrough | undefined>;
}

const WORDS = { what: 'the Access document', show: 'krmhub access show' };

/** Repositories or users that a comparison reads at a time. */
const PAGE = 1_000;

/** Reads an Access document. Throws `invalid-document` with its diagnostics. */
export function readAccessBytes(bytes: Uint8Array): {
  text: string;
  document: AccessDocument;
  diagnostics: Diagnostic[];
} {
  const { access: document, diagnostics } = readAccess(bytes, 'access.yaml');
  if (document === undefined) {
    throw new KrmhubError('invalid-document', 'invalid Access document', { diagnostics });
  }
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  return { text, document, diagnostics };
}

/**
 * Replaces the Access document, and reports who gains and loses what; `dryRun` only reports. `replaces` is the digest of
 * the text that the caller knows: another one is a `conflict`. Then waits for the catalogs, for a limited time, and names
 * those that are behind: until they are built, they have what is hidden now.
 */
export async function applyAccess(
  deps: ApplyAccessDeps,
  document: { text: string; document: AccessDocument },
  { recheck, ...options }: AccessOptions & { recheck: RecheckToken },
): Promise<Omit<AccessResult, 'diagnostics'>> {
  const result = await deps.functionLocks.run('access', recheck, () =>
    replaceAccess(deps, document, options),
  );
  if (options.dryRun) return result;
  // What fails from here on must not look as if nothing was applied.
  await waitForCatalogs(deps).catch((error) => deps.log.warn({ err: error }, 'cannot wait for the catalogs'));
  return { ...result, ...(await catalogsBehind(deps)) };
}

/** Waits until the catalogs are built, for a limited time. A publish, which changes few of them, does not wait for all. */
async function waitForCatalogs({ store, snapshotBuilder: builder }: ApplyAccessDeps): Promise<void> {
  const failing = new Set(builder.status().failing.map(({ catalog }) => catalog));
  const catalogs = (await store.catalogs()).flatMap(({ name }) => (failing.has(name) ? [] : name));
  await builder.waitFor({ event: await store.lastEvent(), catalogs, inTurn: true });
}

/** Returns the catalogs that may still have what the document hides; nothing if that cannot be found out. */
export async function catalogsBehind({
  store,
  log,
}: Pick<ApplyAccessDeps, 'store' | 'log'>): Promise<Pick<AccessResult, 'behind' | 'behindCount'>> {
  try {
    const behind = await store.catalogsBehindAccess();
    return { behind: behind.slice(0, COMPARISON_LIMITS.maxBehind), behindCount: behind.length };
  } catch (error) {
    log.warn({ err: error }, 'cannot read which catalogs follow the Access document');
    return {};
  }
}

interface AccessOptions extends Caller {
  dryRun: boolean;
  replaces?: string | undefined;
}

async function replaceAccess(
  deps: ApplyAccessDeps,
  { text, document }: { text: string; document: AccessDocument },
  { by, origin, dryRun, replaces }: AccessOptions,
): Promise<Omit<AccessResult, 'diagnostics'>> {
  const { store, access, clock } = deps;
  const stored = await store.access();
  refuseOtherText(WORDS, stored, replaces);
  if (stored?.text === text) {
    const nothing = { exposed: [], exposedCount: 0, ended: [], endedCount: 0 };
    return { outcome: 'unchanged', dryRun, changes: [], count: 0, ...nothing };
  }
  // Another process can have changed it.
  await access.reload(store);
  const before = access.rules;
  const now = clock();
  const usable = (await store.tokens()).filter(
    (token) => tokenProblem(token, now, deps.config) === undefined,
  );
  // A team that comes back is another one.
  const teams = document.teams.flatMap(({ name }) => (before.team(name) === undefined ? [] : name));
  const ended = await endedWithTeams(store, usable, teams);
  const after = new AccessRules(
    document,
    before.claims.filter(({ team }) => teams.includes(team)),
  );
  const decided = await deps.refuseExposingRules(before, after);
  const compared = compareAccess(before, after, {
    // A personal token is never more than its user, who makes any number of them with any limits.
    tokens: usable.filter(
      ({ team, user }) => user === undefined && (team === undefined || before.team(team) !== undefined),
    ),
    // Groups that do not count now count again after a sign-in.
    users: (await allUsers(store)).map((user) => withOwnGroups(user, deps.config)),
    names: await existingNames(store),
  });
  const exposed = await exposedFunctions(store, before, after);
  if (!dryRun) {
    const reason = `${document.teams.length} teams, ${document.groups.length} group rules`;
    const change = {
      text,
      at: now.toISOString(),
      by,
      origin,
      event: { type: 'access.applied', reason },
    } as const;
    await replaceDocument(WORDS, stored, change, (applied) =>
      store.applyAccess({ ...applied, teams, decided }),
    );
    // If this fails, the process reads the document again when it reads the event.
    await access
      .reload(store)
      .catch((error) => deps.log.error({ err: error }, 'cannot read the new Access document'));
    // Catalogs contain only what their readers may read.
    deps.snapshotBuilder.wake();
  }
  return {
    outcome: 'changed',
    dryRun,
    ...compared,
    exposed: exposed.slice(0, COMPARISON_LIMITS.maxExposed),
    exposedCount: exposed.length,
    ended: ended.slice(0, COMPARISON_LIMITS.maxEnded),
    endedCount: ended.length,
  };
}

/** Returns what belongs to other teams than these. */
async function endedWithTeams(
  store: ApplyAccessDeps['store'],
  tokens: readonly TokenRecord[],
  teams: readonly string[],
): Promise<TeamEnd[]> {
  const ends = ({ team }: { team?: string }) => team !== undefined && !teams.includes(team);
  const publishers = await store.trustedPublishers();
  const claims = await store.ownerClaims();
  return [
    ...tokens.filter(ends).map(({ id, name, team }) => ({ is: 'token' as const, id, name, team: team! })),
    ...publishers.filter(ends).map((publisher) => {
      const { id, team } = publisher;
      return { is: 'trusted-publisher' as const, id, name: publisherTarget(publisher), team: team! };
    }),
    ...claims.filter(ends).map(({ group, team }) => ({ is: 'claim' as const, name: group, team })),
  ];
}

async function allUsers(store: ApplyAccessDeps['store']): Promise<UserRecord[]> {
  const found: UserRecord[] = [];
  for (;;) {
    const page = await store.users({ ...defined({ after: found.at(-1)?.id }), limit: PAGE });
    found.push(...page);
    if (page.length < PAGE) return found.filter(({ suspendedAt }) => suspendedAt === undefined);
  }
}

async function existingNames(store: ApplyAccessDeps['store']): Promise<KnownNames> {
  const repositories: string[] = [];
  for (let after = ''; ; ) {
    const page = await store.repositories(after, PAGE);
    repositories.push(...page);
    if (page.length < PAGE) break;
    after = page.at(-1)!;
  }
  // Others follow a function or a catalog.
  const isOwn = (name: string) => 'repository' in repositoryObject(name);
  return {
    groups: [...(await store.ownedGroups())],
    catalogs: (await store.catalogs()).map(({ name }) => name),
    repositories: repositories.filter(isOwn),
  };
}

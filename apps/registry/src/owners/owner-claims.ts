import {
  type AccessRules,
  actorName,
  can,
  checkedClaim,
  type NewEvent,
  type Owner,
  type OwnerClaim,
  type OwnerClaimRecord,
  type OwnerClaimStore,
  PROOF_PATH,
  proofRecord,
  proofText,
  type TokenRecord,
  tokenActor,
} from '@krmhub/catalog';
import { KrmhubError, matchesGlob, type RequestOrigin } from '@krmhub/schema';
import type { WakeableBuilder } from '../catalogs/build/catalog-builder.js';
import { isAdministrator, refuseLacking } from '../http/auth/authorize.js';
import { type Caller, REGISTRY } from '../http/auth/caller.js';
import { unknownTeam } from '../http/auth/issue-token.js';
import type { DecidingStore } from '../http/auth/request-actor.js';
import { retryOnConflict } from '../store/retry-on-conflict.js';
import type { RegistryAccess } from '../store/stored-access.js';
import type { FindProof, FoundProof } from './find-proof.js';

/** Claims of one team: a domain can name a team for any number of names below it, and every process reads all claims. */
const MAX_OF_TEAM = 1_000;

export interface OwnerClaimDeps {
  store: OwnerClaimStore & DecidingStore;
  access: RegistryAccess;
  findProof: FindProof;
  /** Catalogs contain only what their readers may read, and owners read. */
  snapshotBuilder: WakeableBuilder;
  clock: () => Date;
  config: { publicUrl?: string };
}

/**
 * Claims a group for a team, or gives it to another team: looks for the proof, and stores the claim if it is there.
 * Rejects with `forbidden` without the right or the proof, which the hint describes.
 */
export function claimGroup(
  deps: OwnerClaimDeps,
  claim: OwnerClaim,
  token: TokenRecord,
  { origin, recheck }: { origin: RequestOrigin; recheck: () => Promise<TokenRecord> },
): Promise<OwnerClaimRecord> {
  return untilUnchanged(claim.group, async () => {
    const claims = await deps.store.ownerClaims();
    const replaces = claims.find(({ group }) => group === claim.group);
    // Another process can have changed it.
    await deps.access.reload(deps.store);
    const { rules } = deps.access;
    const owner = rules.ownerOf(claim.group);
    const seesOwner = can(rules, tokenActor(rules, token), 'read', { group: claim.group }).allowed;
    refuseClaim(rules, claim, token, seesOwner ? owner : undefined);
    refuseUnknownTeam(rules, claim.team);
    refuseMore(claims, claim);
    const registry = publicUrl(deps);
    const outcome = await findNow(deps, claim, registry);
    if (!outcome.found) {
      throw new KrmhubError('forbidden', `${claim.group} has no proof: ${outcome.problem}`, {
        hint: howToProve(claim, registry),
      });
    }
    // What it may do can have ended meanwhile, and the team can have been removed.
    const decided = await deps.access.reloadToDecide(deps.store);
    const again = await recheck();
    const { rules: current } = deps.access;
    // An owner that the token may not know is told only to those who control the domain.
    refuseClaim(current, claim, again, current.ownerOf(claim.group));
    refuseUnknownTeam(current, claim.team);
    const now = deps.clock();
    // A repeated claim only checks the proof: builds of catalogs follow each change of what teams own.
    if (replaces !== undefined && isSameClaim(replaces, claim)) {
      const checked = checkedClaim(replaces, outcome, now)!;
      await putChecked(deps, checked, replaces);
      return checked;
    }
    const at = now.toISOString();
    const by = actorName(token);
    const record = { ...claim, claimedAt: at, claimedBy: by, checkedAt: at };
    const event = claimEvent(record, by, at);
    await deps.store.putOwnerClaim(record, { replaces, event, origin, decided });
    await followOwners(deps);
    return record;
  });
}

/** Looks for a proof. Requests share a look, and the one that this request joined can have begun before the proof was there. */
async function findNow(
  { findProof, clock }: Pick<OwnerClaimDeps, 'findProof' | 'clock'>,
  claim: OwnerClaim,
  registry: string,
): Promise<FoundProof> {
  const asked = clock();
  const found = await findProof(claim, registry);
  return found.found || found.at >= asked ? found : findProof(claim, registry);
}

/** Looks for the proof of a claim now. Returns undefined if that ended the claim. Rejects with `not-found`. */
export function verifyClaim(deps: OwnerClaimDeps, group: string): Promise<OwnerClaimRecord | undefined> {
  let looked: (OwnerClaim & { at: Date }) | undefined;
  return untilUnchanged(group, async () => {
    const claim = await requireClaim(deps, group);
    // Another request looked for the same proof meanwhile, and stored what it found.
    if (looked !== undefined && isSameClaim(claim, looked) && claim.checkedAt >= looked.at.toISOString())
      return claim;
    const found = await deps.findProof(claim, publicUrl(deps));
    looked = { ...claim, at: found.at };
    const checked = checkedClaim(claim, found, found.at);
    if (checked !== undefined) await putChecked(deps, checked, claim);
    else await endClaim(deps, claim, REGISTRY, 'the claim ended: the proof was missing for two weeks');
    return checked;
  });
}

/** Stores a claim after a check. What shows owners says whether the proof is missing, so that all processes follow that. */
async function putChecked(
  deps: OwnerClaimDeps,
  checked: OwnerClaimRecord,
  replaces: OwnerClaimRecord,
): Promise<void> {
  const isMissing = checked.missingSince !== undefined;
  if (isMissing === (replaces.missingSince !== undefined))
    return deps.store.putOwnerClaim(checked, { replaces });
  const { type, at, by, reason } = claimEvent(checked, REGISTRY.by, checked.checkedAt);
  const event = {
    type,
    at,
    by,
    reason: `${reason}: the proof ${isMissing ? 'is missing' : 'was found again'}`,
  };
  await deps.store.putOwnerClaim(checked, { replaces, event, action: 'owner.check' });
  await followOwners(deps);
}

/** Ends the claim to a group. Rejects with `forbidden`, and with `not-found` without a claim. */
export function releaseGroup(
  deps: OwnerClaimDeps,
  group: string,
  token: TokenRecord,
  origin: RequestOrigin,
): Promise<void> {
  return untilUnchanged(group, async () => {
    const claim = await findClaim(deps, group);
    await deps.access.reload(deps.store);
    refuseLacking(deps.access.rules, token, 'own', { group });
    if (claim === undefined) throw noClaim(group);
    await endClaim(deps, claim, { by: actorName(token), origin }, 'released');
  });
}

/** Whether two claims to a group have the same proof. */
function isSameClaim(one: OwnerClaim, other: OwnerClaim): boolean {
  return one.team === other.team && one.proof === other.proof;
}

async function findClaim({ store }: OwnerClaimDeps, group: string): Promise<OwnerClaimRecord | undefined> {
  return (await store.ownerClaims()).find((one) => one.group === group);
}

/** Returns the claim to a group. Rejects with `not-found` if no team has claimed it. */
export async function requireClaim(deps: OwnerClaimDeps, group: string): Promise<OwnerClaimRecord> {
  const claim = await findClaim(deps, group);
  if (claim === undefined) throw noClaim(group);
  return claim;
}

/** Repeats work on a claim if another request changed it meanwhile. */
function untilUnchanged<Result>(group: string, work: () => Promise<Result>): Promise<Result> {
  return retryOnConflict(work, {
    exhausted() {
      throw new KrmhubError('unavailable', `the owner of ${group} is being changed`, {
        hint: 'Nothing was stored. Try again.',
      });
    },
  });
}

/** Returns what proves a claim, as a sentence for the person who controls the domain. */
export function howToProve({ group, team, proof }: OwnerClaim, registry: string): string {
  const text = proofText(registry, team);
  return proof === 'dns'
    ? `Add a TXT record to ${proofRecord(group)}: "${text}". Name servers can take some minutes to show it.`
    : `Serve this line at https://${group}${PROOF_PATH}, without a redirect: ${text}`;
}

async function endClaim(
  deps: OwnerClaimDeps,
  claim: OwnerClaimRecord,
  { by, origin }: Caller,
  why: string,
): Promise<void> {
  const at = deps.clock().toISOString();
  const { type, reason } = claimEvent(claim, by, at);
  await deps.store.deleteOwnerClaim(claim, { type, at, by, reason: `${reason}: ${why}` }, origin);
  await followOwners(deps);
}

async function followOwners({ access, store, snapshotBuilder }: OwnerClaimDeps): Promise<void> {
  await access.reload(store);
  snapshotBuilder.wake();
}

function claimEvent({ group, team, proof }: OwnerClaim, by: string, at: string): NewEvent {
  return { type: 'access.applied', at, by, reason: `owner of ${group}: ${team} (${proof})` };
}

function refuseClaim(
  rules: AccessRules,
  { group, team }: OwnerClaim,
  token: TokenRecord,
  owner: Owner | undefined,
): void {
  const actor = tokenActor(rules, token);
  if (owner?.proof === 'administrator') {
    throw new KrmhubError('conflict', `the Access document gives ${group} to the team "${owner.team}"`, {
      hint: `An administrator can change the owner of "${owner.by}" with \`krmhub access apply\`.`,
    });
  }
  if (owner !== undefined && !can(rules, actor, 'own', { group }).allowed)
    throw notOwned(group, owner.team, token);
  if (owner !== undefined || isAdministrator(rules, token)) return;
  const covers = token.groups.some((glob) => matchesGlob(glob, group));
  if (
    actor.isWorkflow ||
    actor.teams?.includes(team) !== true ||
    !token.scopes.includes('publish') ||
    !covers
  ) {
    throw new KrmhubError(
      'forbidden',
      `the token "${token.name}" is not a token of the team "${team}" that may publish`,
      {
        hint: `An administrator creates one with \`krmhub token create NAME --team ${team} --scope publish\`.`,
      },
    );
  }
}

function refuseUnknownTeam(rules: AccessRules, team: string): void {
  const unknown = unknownTeam(rules, team);
  if (unknown !== undefined)
    throw new KrmhubError('invalid-request', unknown.message, { hint: unknown.hint });
}

function refuseMore(claims: readonly OwnerClaim[], { group, team }: OwnerClaim): void {
  const others = claims.filter((one) => one.team === team && one.group !== group);
  if (others.length < MAX_OF_TEAM) return;
  throw new KrmhubError('conflict', `the team "${team}" has claimed ${others.length} groups, the limit`, {
    hint: 'Release those that it does not use, or ask an administrator to give it a pattern of groups.',
  });
}

function publicUrl({ config }: OwnerClaimDeps): string {
  if (config.publicUrl !== undefined) return config.publicUrl.replace(/\/$/, '');
  throw new KrmhubError('conflict', 'the registry does not know its own URL, which a proof names', {
    hint: 'Start it with `--public-url https://HOST`, or set KRMHUB_PUBLIC_URL.',
  });
}

function noClaim(group: string): KrmhubError {
  return new KrmhubError('not-found', `no team has claimed ${group}`, {
    hint: 'Claim it with `krmhub owner claim GROUP --team TEAM`.',
  });
}

function notOwned(group: string, team: string, { name }: TokenRecord): KrmhubError {
  return new KrmhubError(
    'forbidden',
    `${group} belongs to the team "${team}", and not to the token "${name}"`,
    {
      hint: `Use a token of the team "${team}", or of an administrator.`,
    },
  );
}

import {
  type AuditReader,
  type FunctionReader,
  isPublisherExpired,
  MISSING_MILLISECONDS,
  type OwnerClaimReader,
  type OwnerClaimRecord,
  type TrustedPublisherReader,
} from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { howToProve } from '../../owners/owner-claims.js';
import { isNameReview } from '../../publish/review-name.js';
import { CHANGES, mayOpen, type Operator } from './operator.js';

/** What waits for a signed-in user, each with its next step. */
export interface Waiting {
  /** Claims of the teams of the user whose proof is missing. */
  claims: readonly { group: string; team: string; problem?: string; endsAt: string; proof?: string }[];
  /** Trusted publishers in the groups of these teams that no workflow has used yet. */
  publishers: readonly { id: string; group: string; kind?: string; endsAt: string; isOver: boolean }[];
  /** For administrators: groups that others could not begin lately, because the names look like others. */
  names: readonly { group: string; reason: string; by: string; at: string }[];
}

export interface WaitingDeps {
  store: OwnerClaimReader & TrustedPublisherReader & AuditReader & FunctionReader;
  clock: () => Date;
  config: { publicUrl?: string };
}

/** Refused names that are older no longer wait. */
const NAMES_MILLISECONDS = 14 * 86_400_000;
/** Rows of the audit log that the page reads. */
const MAX_ROWS = 200;
const MAX_EXAMINED_ROWS = 5_000;

/** Finds what waits for the user of a session. Others are not told. */
export async function findWaiting(deps: WaitingDeps, operator: Operator): Promise<Waiting> {
  const { rules, token } = operator;
  const teams = token.user === undefined ? [] : rules.teamsOf(token.user);
  const now = deps.clock();
  const claims = teams.length === 0 ? [] : await deps.store.ownerClaims();
  const publishers = teams.length === 0 ? [] : await deps.store.trustedPublishers();
  const isOwn = (group: string) => teams.includes(rules.ownerOf(group)?.team ?? '');
  return {
    claims: claims.filter(({ team }) => teams.includes(team)).flatMap((claim) => missingProof(deps, claim)),
    publishers: publishers.flatMap((publisher) => {
      const { id, group, kind, pendingUntil: endsAt } = publisher;
      if (endsAt === undefined || !isOwn(group)) return [];
      return [{ id, group, ...defined({ kind }), endsAt, isOver: isPublisherExpired(publisher, now) }];
    }),
    names: mayOpen(operator, CHANGES) ? await refusedNames(deps) : [],
  };
}

function missingProof({ config }: WaitingDeps, claim: OwnerClaimRecord): Waiting['claims'][number][] {
  const { group, team, missingSince, problem } = claim;
  if (missingSince === undefined) return [];
  const endsAt = new Date(Date.parse(missingSince) + MISSING_MILLISECONDS).toISOString();
  const proof = config.publicUrl === undefined ? undefined : howToProve(claim, config.publicUrl);
  return [{ group, team, endsAt, ...defined({ problem, proof }) }];
}

/** Returns the groups whose names are refused until an administrator publishes there, the last refusal of each. */
async function refusedNames({ store, clock }: WaitingDeps): Promise<Waiting['names'][number][]> {
  const since = new Date(clock().getTime() - NAMES_MILLISECONDS).toISOString();
  const query = { limit: MAX_ROWS, maxExamined: MAX_EXAMINED_ROWS };
  const { rows } = await store.auditRows({ action: 'release.publish', outcome: 'refused', since }, query);
  const found = new Map<string, Waiting['names'][number]>();
  for (const { object, detail, actor, at } of rows) {
    const [, group = ''] = /^release\/([^/]+)\//.exec(object) ?? [];
    const reason = String(detail?.reason ?? '');
    if (group === '' || found.has(group) || !isNameReview(reason, group)) continue;
    found.set(group, { group, reason, by: actor, at });
  }
  const kinds = await Promise.all([...found.keys()].map((group) => store.kinds(group)));
  return [...found.values()].filter((_, index) => kinds[index]!.length === 0);
}

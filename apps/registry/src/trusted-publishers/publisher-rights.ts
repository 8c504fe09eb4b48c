import {
  type ClaimProblem,
  type Claims,
  can,
  checkClaims,
  type Decision,
  describeRun,
  probableProvider,
  publisherTarget,
  type SourceReader,
  type TrustedPublisher,
  tokenActor,
} from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { KnownAccess } from '../http/auth/request-actor.js';

/** A publisher beside a run: what is not as it wants, and whether its team may still publish what it is for. */
export interface ComparedPublisher {
  publisher: TrustedPublisher;
  problems: readonly ClaimProblem[];
  decision: Decision;
}

/** Compares publishers with the claims of a run. */
export type ComparePublishers = (
  publishers: readonly TrustedPublisher[],
  claims: Claims,
) => Promise<ComparedPublisher[]>;

/** Returns what compares each publisher once with the claims of one token. */
export function publisherComparison(deps: Parameters<typeof comparePublishers>[0]): ComparePublishers {
  const known = new Map<string, ComparedPublisher>();
  return async (publishers, claims) => {
    const others = publishers.filter(({ id }) => !known.has(id));
    for (const one of await comparePublishers(deps, others, claims)) known.set(one.publisher.id, one);
    return publishers.map(({ id }) => known.get(id)!);
  };
}

/** Compares publishers with the claims of a run, which may publish as each of them: a publisher has the rights of its team. */
export async function comparePublishers(
  { store, access: { rules } }: { store: SourceReader; access: KnownAccess },
  publishers: readonly TrustedPublisher[],
  claims: Claims,
): Promise<ComparedPublisher[]> {
  if (publishers.length === 0) return [];
  const known = await store.ownedGroups([...new Set(publishers.map(({ group }) => group))]);
  return publishers.map((publisher) => {
    const { group, kind, team } = publisher;
    const run = describeRun(publisher, claims);
    const limits = { scopes: ['publish'], groups: [publisherTarget(publisher)], repositories: [] };
    const actor = tokenActor(rules, { name: '', ...limits, run, ...defined({ team }) });
    const isNew = !known.has(group);
    const decision = can(rules, actor, 'publish', { group, ...defined({ kind }), isNew });
    return { publisher, problems: checkClaims(publisher, claims), decision };
  });
}

/** Returns why a team may not publish; undefined if it may. */
export function describeRefusal({ publisher, decision }: ComparedPublisher): string | undefined {
  if (decision.allowed) return undefined;
  return `the trusted publisher of ${publisherTarget(publisher)} lacks ${decision.lacks.join(' and ')}`;
}

/** Returns who runs by its claims, not as publishers describe it: one of the same name can be of another issuer. */
export function describeClaimedWorkflow(issuer: string, claims: Claims): string {
  const run = describeRun({ provider: probableProvider(issuer, claims), issuer }, claims);
  return JSON.stringify(run.workflow) + (run.issuer === undefined ? '' : ` of the issuer ${run.issuer}`);
}

import {
  type Claims,
  can,
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

/** A publisher, and whether its team may still publish what it is for. */
export interface DecidedPublisher {
  publisher: TrustedPublisher;
  decision: Decision;
}

/** Decides what the run with these claims may publish as each of some publishers: a publisher has the rights of its team. */
export async function decidePublishers(
  { store, access: { rules } }: { store: SourceReader; access: KnownAccess },
  publishers: readonly TrustedPublisher[],
  claims: Claims,
): Promise<DecidedPublisher[]> {
  if (publishers.length === 0) return [];
  const known = await store.ownedGroups([...new Set(publishers.map(({ group }) => group))]);
  return publishers.map((publisher) => {
    const { group, kind, team } = publisher;
    const run = describeRun(publisher, claims);
    const limits = { scopes: ['publish'], groups: [publisherTarget(publisher)], repositories: [] };
    const actor = tokenActor(rules, { name: '', ...limits, run, ...defined({ team }) });
    const isNew = !known.has(group);
    return { publisher, decision: can(rules, actor, 'publish', { group, ...defined({ kind }), isNew }) };
  });
}

/** Returns why a team may not publish; undefined if it may. */
export function describeRefusal({ publisher, decision }: DecidedPublisher): string | undefined {
  if (decision.allowed) return undefined;
  return `the trusted publisher of ${publisherTarget(publisher)} lacks ${decision.lacks.join(' and ')}`;
}

/** Returns who runs by its claims, not as publishers describe it: one of the same name can be of another issuer. */
export function describeClaimedWorkflow(issuer: string, claims: Claims): string {
  const run = describeRun({ provider: probableProvider(issuer, claims), issuer }, claims);
  return JSON.stringify(run.workflow) + (run.issuer === undefined ? '' : ` of the issuer ${run.issuer}`);
}

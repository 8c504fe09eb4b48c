import { readablePolicies, type SigningPolicy } from '@krmhub/catalog';
import { currentActor, type KnownAccess } from '../../http/auth/request-actor.js';
import { sightOf } from '../../store/sight.js';

/** What the actor of a request may know of the signing policies. Verdicts on releases come from all of them. */
export interface SeenPolicyDeps {
  trust: { readonly policies: readonly SigningPolicy[] };
  access: KnownAccess;
}

export function seenPolicies({ trust, access: { rules } }: SeenPolicyDeps): readonly SigningPolicy[] {
  return rules.hidesAnything ? readablePolicies(rules, currentActor(), trust.policies) : trust.policies;
}

/** Depends on the actor alone, not on the policies: otherwise it would tell that there are hidden ones. */
export function seesEveryPolicy({ access: { rules } }: SeenPolicyDeps): boolean {
  return !rules.hidesAnything || sightOf(rules, currentActor()).registry();
}

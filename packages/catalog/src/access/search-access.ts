import { defined } from '@krmhub/schema/defined';
import type { AccessDocument } from './access-document.js';
import { AccessRules, type OwnerClaim } from './access-rules.js';
import type { Actor } from './can.js';

/** Who owns which group, and what an actor may read, as a thread can receive it. */
export interface SearchAccess {
  /** Changes with the rules. */
  revision: string;
  /** As text: copying the many objects of large rules for each search takes several times as long as searching. */
  rules: string;
  /** Absent if everything exists for the search. */
  actor?: Actor;
}

const texts = new WeakMap<AccessRules, string>();

/** Returns the rules as a search receives them, and who searches. Without an actor, everything exists for it. */
export function searchAccess({ rules, actor }: { rules: AccessRules; actor?: Actor }): SearchAccess {
  const text = texts.get(rules) ?? JSON.stringify([rules.document, rules.claims]);
  texts.set(rules, text);
  return { revision: rules.revision, rules: text, ...defined({ actor }) };
}

export function readSearchAccess({ revision, rules }: SearchAccess): AccessRules {
  const [document, claims] = JSON.parse(rules) as [AccessDocument, OwnerClaim[]];
  return new AccessRules(document, claims, revision);
}

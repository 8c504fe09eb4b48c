import { defined } from '@krmhub/schema/defined';
import type { SearchAccess } from '../ports/search-records.js';
import type { AccessDocument } from './access-document.js';
import { AccessRules, type OwnerClaim } from './access-rules.js';
import type { Actor } from './can.js';

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

import { hasUnseen, isVisibleText, shownName, USER_LIMITS } from '@krmhub/catalog';
import type { JsonObject, JsonValue } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { field, objectField, textField } from '@krmhub/schema/json/access';
import { refused } from './explain-failure.js';
import type { ProviderSettings } from './provider-settings.js';

/** A user as a provider confirmed them. */
export interface ConfirmedUser {
  issuer: string;
  /** Identifies the user at the issuer for ever; the name and the e-mail address do not. */
  subject: string;
  /** To show. */
  name: string;
  /** To show. */
  email?: string;
  groups: string[];
}

const { maxSubjectLength, maxNameLength, maxEmailLength, maxGroupLength } = USER_LIMITS;
const MAX_GROUPS = 1_000;

type Wanted = Pick<ProviderSettings, 'name' | 'issuer' | 'groupsClaim' | 'subjectClaim'>;

/** Returns who a user is. Throws `unauthorized` for claims that are missing or that nobody can use. */
export function readUserClaims(claims: JsonObject, provider: Wanted): ConfirmedUser {
  const { issuer, subjectClaim } = provider;
  const subject = field(claims, subjectClaim);
  if (!isVisibleText(subject, maxSubjectLength)) {
    throw refused(
      provider,
      `the claim "${subjectClaim}", which identifies the user, ${describe(subject)}`,
      'The operator sets KRMHUB_OIDC_SUBJECT_CLAIM to a claim that never changes, such as sub.',
    );
  }
  const email = textField(claims, 'email');
  const names = ['name', 'preferred_username', 'email'].flatMap((claim) => textField(claims, claim) ?? []);
  return {
    issuer,
    subject,
    name: shownName(names) ?? subject.slice(0, maxNameLength),
    groups: readGroups(claims, provider),
    ...defined({ email: isVisibleText(email, maxEmailLength) ? email : undefined }),
  };
}

/** Reports whether an ID token has all that a provider may also have at its userinfo endpoint. */
export function isComplete(claims: JsonObject, groupsClaim: string): boolean {
  return ['name', 'email', groupsClaim].every((name) => Object.hasOwn(claims, name));
}

function readGroups(claims: JsonObject, provider: Wanted): string[] {
  const { groupsClaim: claim } = provider;
  const found = field(claims, claim);
  // Microsoft Entra ID leaves out groups if a user has more than fit into a token.
  const isLeftOut =
    field(objectField(claims, '_claim_names'), claim) !== undefined || claims.hasgroups === true;
  if (found === undefined && isLeftOut) {
    throw refused(
      provider,
      `the user has so many groups that it left out the claim "${claim}"`,
      'Its administrator limits the claim to the groups that are assigned to this application, or the operator sets KRMHUB_OIDC_GROUPS_CLAIM to roles, and teams name the roles of the application.',
    );
  }
  if (found === undefined || found === null) return [];
  const groups = typeof found === 'string' ? [found] : found;
  if (!Array.isArray(groups))
    throw wrongGroups(provider, `${describe(found)}, not a string or a list of strings`);
  if (groups.length > MAX_GROUPS)
    throw wrongGroups(provider, `has ${groups.length} groups; the limit is ${MAX_GROUPS}`);
  const wrong = groups.findIndex((group) => !isVisibleText(group, maxGroupLength));
  if (wrong !== -1) throw wrongGroups(provider, `has a value ${wrong + 1} that ${describe(groups[wrong])}`);
  return [...new Set(groups as string[])].sort();
}

function wrongGroups(provider: Wanted, why: string): Error {
  return refused(
    provider,
    `the claim "${provider.groupsClaim}", which has the groups of the user, ${why}`,
    'Its administrator adds the names or IDs of groups to the claim, or the operator sets KRMHUB_OIDC_GROUPS_CLAIM to another claim.',
  );
}

function describe(value: JsonValue | undefined): string {
  if (value === undefined) return 'is missing';
  if (typeof value !== 'string')
    return `is ${Array.isArray(value) ? 'a list' : value === null ? 'null' : `of the type ${typeof value}`}`;
  if (value === '') return 'is empty';
  return hasUnseen(value) ? 'has control characters' : `has ${value.length} characters, which is too long`;
}

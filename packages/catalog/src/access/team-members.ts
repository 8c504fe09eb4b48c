import type { TeamMember } from './access-document.js';

/** A user as an identity provider knows them. */
export interface UserIdentity {
  /** URL of the provider (`iss`). */
  issuer: string;
  /** ID of the user there: nobody else gets it. */
  subject: string;
  /** The groups of the user there, as `ssoGroups` writes them. */
  groups: readonly string[];
}

/**
 * Returns groups as an Access document has them: a group of the first provider by its name, and one of another provider
 * after the issuer, because each provider names groups as it likes.
 */
export function ssoGroups(
  { issuer, isFirst }: { issuer: string; isFirst: boolean },
  names: readonly string[],
): string[] {
  const isPlain = (name: string) => isFirst && !/^https?:/i.test(name);
  return [...new Set(names.map((name) => (isPlain(name) ? name : `${issuer} ${name}`)))].sort();
}

/**
 * Returns groups of a provider that is not the first one, but may have been when they were stored: a name without an
 * issuer would now be that of a group of the provider that is the first one since.
 */
export function groupsOfOther(issuer: string, groups: readonly string[]): string[] {
  const name = (group: string) => (/^https?:/i.test(group) ? group : `${issuer} ${group}`);
  return [...new Set(groups.map(name))].sort();
}

/** Returns the members of teams that a user is, as `memberKey` returns them. */
export function memberSpellings({ issuer, subject, groups }: UserIdentity): string[] {
  return [memberKey({ user: `${issuer} ${subject}` }), ...groups.map((ssoGroup) => memberKey({ ssoGroup }))];
}

/** Returns a text that is the same for equal members. */
export function memberKey(member: TeamMember): string {
  return 'user' in member ? `user ${member.user}` : `group ${member.ssoGroup}`;
}

/**
 * Returns the name of an actor for records: of a person, what no other person has. Names and addresses of people can
 * change hands, and a person can choose the name of a token.
 */
export function actorName({ name, user }: { name: string; user?: NamedUser | undefined }): string {
  return user === undefined ? name : userLabel(user);
}

type NamedUser = Pick<UserIdentity, 'issuer' | 'subject'> & { name: string };

/** For example `Alice (00u1 at sso.example.com)`. */
export function userLabel({ name, subject, issuer }: NamedUser): string {
  // Else a provider could give a user a subject that reads as another user.
  const own = subject.replaceAll(/[()%]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
  return `${name.replaceAll(/[()]/g, '')} (${own} at ${issuer.replace(/^https?:\/\//, '')})`;
}

import { type Act, shownName, type Time } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';

/** What a directory says about a user, besides the names that identify the user. */
export interface UserAttributes {
  displayName?: string;
  name?: { formatted?: string; givenName?: string; familyName?: string };
  emails?: { value: string; type?: string; display?: string; primary?: boolean }[];
}

/** What a directory can change of a user. */
export interface DirectoryUserFields {
  userName: string;
  externalId?: string;
  isActive: boolean;
  attributes: UserAttributes;
}

/** Returns what identifies a user at the provider. */
export function subjectOf({ externalId, userName }: DirectoryUserFields): string {
  return externalId ?? userName;
}

/** Returns what is shown of a user. */
export function shownUser({ userName, attributes }: DirectoryUserFields): { name: string; email?: string } {
  const { displayName = '', name = {}, emails = [] } = attributes;
  const { formatted = '', givenName = '', familyName = '' } = name;
  const names = [displayName, formatted, `${givenName} ${familyName}`, userName];
  const email = (emails.find(({ primary }) => primary === true) ?? emails[0])?.value;
  return {
    name: shownName(names)!,
    ...defined({ email: email === undefined ? undefined : shownName([email]) }),
  };
}

/** A user of a directory. The ID in the directory's protocol is not that of the user. */
export interface DirectoryUser extends DirectoryUserFields {
  id: string;
  /** ID of the user whom the directory manages. */
  user: string;
  createdAt: Time;
  changedAt: Time;
}

export interface DirectoryGroupFields {
  name: string;
  externalId?: string;
}

export interface DirectoryGroup extends DirectoryGroupFields {
  id: string;
  createdAt: Time;
  changedAt: Time;
}

export interface DirectoryMember {
  group: string;
  /** ID in the directory's protocol. */
  id: string;
  /** ID of the user. */
  user: string;
  userName: string;
}

/** The first entries that a list leaves out, and the largest number that it has. */
export interface Slice {
  offset: number;
  limit: number;
}

/** Entries with this value; text without a difference of case in names. */
export interface DirectoryFilter {
  by: 'id' | 'name' | 'externalId';
  value: string;
}

/** Sizes from which the store rejects with `too-large`. */
export interface DirectoryLimits {
  maxUsers: number;
  maxGroups: number;
  maxMembers: number;
  maxGroupsOfUser: number;
}

/** Ends what a directory says that cannot say anything else any more. */
export interface DirectoryEnder {
  /**
   * Ends that a directory manages a user whom it suspended, as if it had removed the user. Does nothing for another user.
   */
  releaseUser(user: string, act: Act): Promise<void>;
}

/** Stores the users of directories. */
export interface DirectoryUserStore extends DirectoryEnder {
  directoryUser(issuer: string, id: string): Promise<DirectoryUser | undefined>;
  /** Returns users by ID, and how many match. */
  directoryUsers(
    issuer: string,
    filter: DirectoryFilter | undefined,
    slice: Slice,
  ): Promise<{ total: number; users: DirectoryUser[] }>;
  /** Adds a user, or begins to manage one who signed in. */
  addDirectoryUser(
    issuer: string,
    fields: DirectoryUserFields,
    limits: DirectoryLimits,
    act: Act,
  ): Promise<DirectoryUser>;
  /**
   * Changes a user, in a transaction with the decision. A user who is not active is suspended at once. Another subject
   * is another user: the former one is removed. Returns undefined for an unknown ID.
   */
  changeDirectoryUser(
    issuer: string,
    id: string,
    change: (current: DirectoryUser) => DirectoryUserFields,
    act: Act,
  ): Promise<DirectoryUser | undefined>;
  /**
   * Suspends a user, who is not managed any more, and revokes the tokens of the user: they stay so if the user is added
   * again. Returns false for an unknown ID.
   */
  removeDirectoryUser(issuer: string, id: string, act: Act): Promise<boolean>;
}

/**
 * Users and groups of the directory (SCIM) behind one identity provider, which is named by its issuer. The external ID
 * of a user, or else the user name, is the subject at the provider. All changes are audited. A change rejects with
 * `conflict` if another entry has the name or the subject.
 */
export interface DirectoryStore extends DirectoryUserStore {
  directoryGroup(issuer: string, id: string): Promise<DirectoryGroup | undefined>;
  /** Returns groups by ID with the numbers of members, and how many match. */
  directoryGroups(
    issuer: string,
    filter: DirectoryFilter | undefined,
    slice: Slice,
  ): Promise<{ total: number; groups: (DirectoryGroup & { size: number })[] }>;
  /** Returns the members of groups, by group and ID. */
  directoryMembers(groups: readonly string[]): Promise<DirectoryMember[]>;
  addDirectoryGroup(
    issuer: string,
    group: DirectoryGroupFields & { members: ReadonlySet<string> },
    limits: DirectoryLimits,
    act: Act,
  ): Promise<DirectoryGroup>;
  /**
   * Changes a group, in a transaction with the decision. Who is not a member any more loses its rights at once. Rejects
   * with `invalid-request` for a member whom the directory did not announce. Returns undefined for an unknown ID.
   */
  changeDirectoryGroup(
    issuer: string,
    id: string,
    change: (
      current: DirectoryGroup & { members: ReadonlySet<string> },
    ) => DirectoryGroupFields & { members: ReadonlySet<string> },
    limits: DirectoryLimits,
    act: Act,
  ): Promise<DirectoryGroup | undefined>;
  removeDirectoryGroup(issuer: string, id: string, act: Act): Promise<boolean>;
}

/**
 * Who may see and do what: the Access document of a registry, and the decision about one request.
 *
 * The document declares teams, owners of groups, visibility, and grants (read-access.ts). `AccessRules` finds what
 * applies to a name, and `can` decides.
 *
 * @module
 */

export const ACCESS_API_VERSION = 'krmhub.dev/v1alpha1';
export const ACCESS_KIND = 'Access';

/** Limits on an Access document, with their units. */
export const ACCESS_LIMITS = {
  /** Size of the document. */
  maxBytes: 262_144,
  /** Items of a list. */
  maxItems: 2_000,
  /** Length of a text, in UTF-16 code units. */
  maxTextLength: 512,
} as const;

/** Who can see something, the widest first. Internal is for everybody with a token, private for those with a grant. */
export const VISIBILITIES = ['public', 'internal', 'private'] as const;
export type Visibility = (typeof VISIBILITIES)[number];

/** Returns whether everybody who sees what has the visibility `inner` also sees what has `outer`. */
export function isAtMostAsWide(inner: Visibility, outer: Visibility): boolean {
  return VISIBILITIES.indexOf(inner) >= VISIBILITIES.indexOf(outer);
}

/** What a grant can permit. */
export const GRANTED_ACTIONS = ['read', 'publish', 'yank', 'own'] as const;
export type GrantedAction = (typeof GRANTED_ACTIONS)[number];

/** What a grant in the group `*` can make of the users of a team. */
export const ROLES = ['audit', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export interface Team {
  /** A DNS label. */
  name: string;
  /** Shown as the name of an owner. */
  displayName?: string;
  /** URL or e-mail address for questions. */
  contact?: string;
  members: readonly TeamMember[];
}

/** A user, or a group of an identity provider, both as team-members.ts writes them. */
export type TeamMember = { user: string } | { ssoGroup: string };

export interface GroupRule {
  /** A group, or a pattern of groups. */
  pattern: string;
  /** A team. */
  owner?: string;
  visibility?: Visibility;
  /** Whether only workflows may publish, which the registry knows by their provider. */
  trustedPublishingOnly?: boolean;
  /** Functions that fewer actors see than the group. */
  functions: readonly { kind: string; visibility: Visibility }[];
}

/** The visibility of catalogs or of repositories of artifacts. */
export interface VisibilityRule {
  pattern: string;
  visibility: Visibility;
}

/** What a grant is in: patterns. */
export type GrantObject = { group: string } | { catalog: string } | { repository: string };

export interface Grant {
  team: string;
  may: readonly (GrantedAction | Role)[];
  in: GrantObject;
}

export interface AccessDocument {
  /** Patterns of groups in which everybody with a token to publish there may publish the first function. */
  openGroups: readonly string[];
  teams: readonly Team[];
  groups: readonly GroupRule[];
  catalogs: readonly VisibilityRule[];
  repositories: readonly VisibilityRule[];
  grants: readonly Grant[];
  /** Whether this version of the program rejects it: see `UNREADABLE_ACCESS`. */
  isUnreadable?: true;
}

/** A registry without an Access document: public, and only administrators begin groups. */
export const NO_ACCESS: AccessDocument = {
  openGroups: [],
  teams: [],
  groups: [],
  catalogs: [],
  repositories: [],
  grants: [],
};

const HIDDEN = { pattern: '*', visibility: 'private' } as const;
/** In place of a document that this version of the program rejects: only administrators read and change anything. */
export const UNREADABLE_ACCESS: AccessDocument = {
  ...NO_ACCESS,
  groups: [{ ...HIDDEN, functions: [] }],
  catalogs: [HIDDEN],
  repositories: [HIDDEN],
  isUnreadable: true,
};

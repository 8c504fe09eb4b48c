import { matchesGlob } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import {
  type AccessDocument,
  type Grant,
  type GrantedAction,
  type GroupRule,
  isAtMostAsWide,
  NO_ACCESS,
  ROLES,
  type Team,
  VISIBILITIES,
  type Visibility,
  type VisibilityRule,
} from './access-document.js';
import { type Scope, USER_SCOPES } from './scopes.js';
import { memberKey, memberSpellings, type UserIdentity } from './team-members.js';

/** How it was shown to whom a group belongs: the word of an administrator, or a proof by DNS or HTTPS. */
export type OwnerProof = 'administrator' | 'dns' | 'https';

/** The team to which a group belongs. */
export interface Owner {
  team: string;
  proof: OwnerProof;
  /** What says so: a pattern of the Access document, or the group itself. */
  by: string;
  /** Since when the proof is missing. Absent while it is there. */
  missingSince?: string;
}

/** The owner of a group as people know it. */
export interface GroupOwner extends Pick<Owner, 'team' | 'proof' | 'missingSince'> {
  /** Of the team; without one, its name. */
  displayName: string;
}

/** A group whose owner proved it. */
export interface OwnerClaim {
  group: string;
  team: string;
  proof: Exclude<OwnerProof, 'administrator'>;
  /** Since when the proof is missing. Absent while it is there. */
  missingSince?: string;
}

/** What a pattern of a grant is matched with. */
export type GrantTarget = { group: string } | { catalog: string } | { repository: string };

interface GroupAccess {
  visibility: Visibility;
  owner: Owner | undefined;
  isTrustedOnly: boolean;
  /** By folded kind. */
  functions: ReadonlyMap<string, Visibility>;
}

function ownerBy({ group, team, proof, missingSince }: OwnerClaim): Owner {
  return { team, proof, by: group, ...defined({ missingSince }) };
}

/** Groups whose rules are remembered. */
const MAX_REMEMBERED = 10_000;

/** What an Access document and proofs of owners say about names. Nothing in it changes. */
export class AccessRules {
  /** Changes with the rules. */
  readonly revision: string;
  readonly document: AccessDocument;
  readonly claims: readonly OwnerClaim[];
  /** Whether anything is not public. */
  readonly hidesAnything: boolean;
  readonly #groups: readonly GroupRule[];
  readonly #catalogs: readonly VisibilityRule[];
  readonly #repositories: readonly VisibilityRule[];
  readonly #claims: ReadonlyMap<string, OwnerClaim>;
  readonly #teams: ReadonlyMap<string, Team>;
  /** By team. */
  readonly #grants = new Map<string, Grant[]>();
  /** Patterns of groups whose rules name a kind, by folded kind. */
  readonly #patternsOfKinds = new Map<string, string[]>();
  /** By `memberKey`. */
  readonly #teamsOfMembers = new Map<string, string[]>();
  readonly #known = new Map<string, GroupAccess>();

  constructor(document: AccessDocument = NO_ACCESS, claims: readonly OwnerClaim[] = [], revision = '') {
    this.revision = revision;
    this.document = document;
    this.claims = claims;
    this.#groups = [...document.groups].sort(bySpecificity);
    this.#catalogs = [...document.catalogs].sort(bySpecificity);
    this.#repositories = [...document.repositories].sort(bySpecificity);
    this.#claims = new Map(claims.map((claim) => [claim.group, claim]));
    this.#teams = new Map(document.teams.map((team) => [team.name, team]));
    for (const { name, members } of document.teams) {
      for (const key of members.map(memberKey))
        this.#teamsOfMembers.set(key, [...(this.#teamsOfMembers.get(key) ?? []), name]);
    }
    for (const { pattern, functions } of document.groups) {
      for (const kind of new Set(functions.map((one) => folded(one.kind))))
        this.#patternsOfKinds.set(kind, [...(this.#patternsOfKinds.get(kind) ?? []), pattern]);
    }
    for (const grant of document.grants) {
      const own = this.#grants.get(grant.team);
      if (own === undefined) this.#grants.set(grant.team, [grant]);
      else own.push(grant);
    }
    const { groups, catalogs, repositories } = document;
    this.hidesAnything =
      [...catalogs, ...repositories].some(({ visibility }) => visibility !== 'public') ||
      groups.some((rule) =>
        [rule, ...rule.functions].some(({ visibility = 'public' }) => visibility !== 'public'),
      );
  }

  team(name: string): Team | undefined {
    return this.#teams.get(name);
  }

  /** Whether nobody knows what they say, so that only administrators read and change anything. */
  get isUnreadable(): boolean {
    return this.document.isUnreadable === true;
  }

  /** Whether everybody with a token to publish there may begin every group, as before access rules existed. */
  get opensEveryGroup(): boolean {
    return this.document.openGroups.includes('*');
  }

  /** Returns the teams of a user, by name. */
  teamsOf(user: UserIdentity): string[] {
    const teams = memberSpellings(user).flatMap((member) => this.#teamsOfMembers.get(member) ?? []);
    return [...new Set(teams)].sort();
  }

  /** Returns the scopes that users of these teams have. */
  scopesOf(teams: readonly string[]): Scope[] {
    const roles = ROLES.filter((role) =>
      this.document.grants.some(({ team, may }) => teams.includes(team) && may.includes(role)),
    );
    return [...USER_SCOPES, ...roles];
  }

  /** Returns what a team owns, as groups and patterns of groups, and its grants. */
  rightsOf(team: string): { owns: string[]; grants: Omit<Grant, 'team'>[] } {
    const { groups, grants } = this.document;
    const owned = groups.flatMap(({ owner, pattern }) => (owner === team ? pattern : []));
    const proved = this.claims.flatMap(({ group }) => (this.ownerOf(group)?.team === team ? group : []));
    return {
      owns: [...new Set([...owned, ...proved])],
      grants: grants.flatMap(({ team: to, ...grant }) => (to === team ? grant : [])),
    };
  }

  /** Returns the owner of a group: by the most specific pattern that names one, or else by a proof. */
  ownerOf(group: string): Owner | undefined {
    return this.#of(group).owner;
  }

  /** Returns the owner of a group as people know it. */
  groupOwner(group: string): GroupOwner | undefined {
    const owner = this.ownerOf(group);
    if (owner === undefined) return undefined;
    const { team, proof, missingSince } = owner;
    const displayName = this.team(team)?.displayName || team;
    return { team, displayName, proof, ...defined({ missingSince }) };
  }

  /** Whether only the tokens of trusted publishers may publish in a group. */
  isTrustedOnly(group: string): boolean {
    return this.#of(group).isTrustedOnly;
  }

  /** Returns the visibility of a function, or of a group without a kind; case and hyphens of the kind are ignored. */
  visibilityOf(group: string, kind?: string): Visibility {
    const { visibility, functions } = this.#of(group);
    const own = kind === undefined || functions.size === 0 ? undefined : functions.get(folded(kind));
    return own === undefined || isAtMostAsWide(visibility, own) ? visibility : own;
  }

  /** Returns the patterns of groups with a rule for this kind; case and hyphens are ignored, as in `visibilityOf`. */
  patternsNaming(kind: string): readonly string[] {
    return this.#patternsOfKinds.get(folded(kind)) ?? [];
  }

  /** Whether the group, or a function of it, is private. */
  hasPrivate(group: string): boolean {
    const { visibility, functions } = this.#of(group);
    return visibility === 'private' || [...functions.values()].includes('private');
  }

  catalogVisibility(name: string): Visibility {
    return this.#catalogs.find(({ pattern }) => matchesGlob(pattern, name))?.visibility ?? 'public';
  }

  /** Whether the document says who may read the catalog. */
  namesCatalog(name: string): boolean {
    return this.#catalogs.some(({ pattern }) => matchesGlob(pattern, name));
  }

  /** Only for repositories that follow neither a function nor a catalog. */
  repositoryVisibility(name: string): Visibility {
    return this.#repositories.find(({ pattern }) => matchesGlob(pattern, name))?.visibility ?? 'public';
  }

  isOpenGroup(group: string): boolean {
    return this.document.openGroups.some((pattern) => matchesGlob(pattern, group));
  }

  /** Returns the pattern of a grant to a team that permits one of the actions on the target. */
  grantOf(team: string, actions: readonly GrantedAction[], target: GrantTarget): string | undefined {
    const permitting: readonly string[] = ['own', ...actions];
    for (const grant of this.#grants.get(team) ?? []) {
      if (!grant.may.some((action) => permitting.includes(action))) continue;
      const pattern = matchedPattern(grant.in, target);
      if (pattern !== undefined) return pattern;
    }
    return undefined;
  }

  /** Returns the teams that own what is named, or have a grant on it. All others may do the same there. */
  teamsWithRights(target: GrantTarget | 'registry'): ReadonlySet<string> {
    if (target === 'registry') return new Set();
    const owner = 'group' in target ? this.ownerOf(target.group)?.team : undefined;
    const granted = this.document.grants.filter((grant) => matchedPattern(grant.in, target) !== undefined);
    return new Set([...(owner === undefined ? [] : [owner]), ...granted.map(({ team }) => team)]);
  }

  #of(group: string): GroupAccess {
    const known = this.#known.get(group);
    if (known !== undefined) return known;
    const matching = this.#groups.filter(({ pattern }) => matchesGlob(pattern, group));
    const owned = matching.find(({ owner }) => owner !== undefined);
    const claim = this.#claims.get(group);
    const found: GroupAccess = {
      visibility: matching.find(({ visibility }) => visibility !== undefined)?.visibility ?? 'public',
      owner:
        owned?.owner !== undefined
          ? { team: owned.owner, proof: 'administrator', by: owned.pattern }
          : claim && ownerBy(claim),
      isTrustedOnly:
        matching.find((rule) => rule.trustedPublishingOnly !== undefined)?.trustedPublishingOnly ?? false,
      functions: new Map(
        // The most specific pattern is last, so that it wins; of a kind that it has twice, also in another case, the narrowest.
        matching
          .reverse()
          .flatMap(({ functions }) =>
            [...functions]
              .sort((a, b) => VISIBILITIES.indexOf(a.visibility) - VISIBILITIES.indexOf(b.visibility))
              .map(({ kind, visibility }) => [folded(kind), visibility] as const),
          ),
      ),
    };
    if (this.#known.size >= MAX_REMEMBERED) this.#known.clear();
    this.#known.set(group, found);
    return found;
  }
}

/** The script of the kind `SetLabels` is in a repository with the name `set-labels`. */
function folded(kind: string): string {
  return kind.toLowerCase().replaceAll('-', '');
}

function matchedPattern(granted: GrantTarget, target: GrantTarget): string | undefined {
  for (const name of ['group', 'catalog', 'repository'] as const) {
    const pattern = (granted as Partial<Record<typeof name, string>>)[name];
    const text = (target as Partial<Record<typeof name, string>>)[name];
    if (pattern !== undefined && text !== undefined && matchesGlob(pattern, text)) return pattern;
  }
  return undefined;
}

/** A name before patterns, then the pattern with more characters that are no wildcards. */
function bySpecificity(a: { pattern: string }, b: { pattern: string }): number {
  const literal = ({ pattern }: { pattern: string }) =>
    pattern.includes('*') ? pattern.replaceAll('*', '').length : Number.POSITIVE_INFINITY;
  const difference = literal(b) - literal(a);
  if (difference !== 0 && !Number.isNaN(difference)) return difference;
  return a.pattern < b.pattern ? -1 : a.pattern > b.pattern ? 1 : 0;
}

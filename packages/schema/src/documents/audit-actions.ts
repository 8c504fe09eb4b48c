/** What the audit log records, each with what it means. The API, the command line, and the documents have these names. */
const ACTIONS = {
  'release.publish': 'published a release',
  'release.attach': 'attached a signature or an attestation to a release',
  'release.yank': 'yanked a release',
  'release.unyank': 'unyanked a release',
  'release.deprecate': 'deprecated a release',
  'release.undeprecate': 'undeprecated a release',
  'release.take-down': 'took a release down',
  'release.allow-runtimes': 'allowed the digests of a release that was taken down',
  'catalog.apply': 'applied a recipe',
  'catalog.build': 'requested a build of a catalog',
  'catalog.delete': 'deleted a catalog',
  'catalog.restore': 'restored a catalog',
  'catalog.purge': 'began to delete the data of a deleted catalog, which cannot be restored any more',
  'source.sync': 'requested a sync of a source',
  'policy.apply': 'applied the signing policies',
  'access.apply': 'applied the Access document',
  'owner.claim': 'claimed a group for a team',
  'owner.verify': 'requested a check of the proof of an owner',
  'owner.check': 'found that the proof of an owner is missing, or is back',
  'owner.release': 'ended the claim of a team to a group',
  'publisher.add': 'let a workflow publish',
  'publisher.remove': 'ended that a workflow may publish',
  'consumer.report': 'reported what a package locks',
  'artifact.push': 'moved a tag of a repository to a manifest, or added a manifest without a tag',
  'artifact.untag': 'deleted a tag of a repository',
  'artifact.delete': 'deleted a manifest of a repository with its tags',
  'artifact.delete-blob': 'deleted a blob of a repository',
  'token.create': 'created a token',
  'token.revoke': 'revoked a token',
  'token.use': 'used a token for the first time on a day (UTC)',
  'user.add': 'announced a user of the directory',
  'user.change': 'changed a user of the directory',
  'user.remove': 'ended that the directory manages a user, who is suspended',
  'user.suspend': 'suspended a user',
  'user.restore': 'ended the suspension of a user',
  'login.approve': 'allowed a program to sign in',
  'login.deny': 'denied that a program signs in',
  'directory-group.add': 'announced a group of the directory',
  'directory-group.change': 'changed a group of the directory, or its members',
  'directory-group.remove': 'removed a group of the directory',
  'operator.sign-in': 'signed in to the operator pages',
  'operator.sign-out': 'signed out of the operator pages',
  'session.end': 'ended sessions of a user',
  'key.add': 'added a registry key to the folder of keys',
  'registry.restore': 'restored the registry from a backup',
  'registry.move': 'moved the registry here from another place',
  'audit.prune': 'deleted old rows of the audit log',
  'request.refuse': 'sent requests that the registry refused',
} as const satisfies Record<string, string>;

export type AuditAction = keyof typeof ACTIONS;
export const AUDIT_ACTIONS = Object.keys(ACTIONS) as readonly AuditAction[];

/** Returns what the actor did, as the end of a sentence. */
export function describeAction(action: AuditAction): string {
  return ACTIONS[action];
}

/** From where a change was requested. Parts that are not known are absent; the registry itself has none. */
export interface RequestOrigin {
  /** ID of the token. */
  credential?: string;
  /** Address of the client. */
  address?: string;
  requestId?: string;
}

import type { TokenStore } from '@krmhub/catalog';
import { hashSecret, newSecret } from '../http/auth/tokens.js';
import type { TestRegistry } from './test-registry.js';

const HEAD = 'apiVersion: krmhub.dev/v1alpha1\nkind: Access\nmetadata: {name: registry}\nspec:\n';

/** A group and a catalog of each visibility that is not public, and a team that reads the private ones. */
export const HIDDEN_SPEC = `teams: [{name: ops}, {name: apps}]
groups:
- {pattern: inside.example.com, visibility: internal}
- {pattern: secret.example.com, owner: ops, visibility: private}
catalogs:
- {pattern: inner, visibility: internal}
- {pattern: vault, visibility: private}
grants:
- {to: {team: ops}, may: [read], in: {catalog: vault}}
`;

/** Returns an Access document with this `spec`; all groups are open, or these. */
export function accessText(spec: string, openGroups: readonly string[] = ['*']): string {
  return `${HEAD}  openGroups: ${JSON.stringify(openGroups)}\n${spec.replaceAll(/^/gm, '  ')}`;
}

/** Replaces the Access document by one with this `spec`; all groups stay open. Waits until all catalogs follow it. */
export async function applyAccess(registry: TestRegistry, spec: string): Promise<void> {
  await storeAccess(registry, spec);
  await registry.waitForCatalogs();
}

/** As `applyAccess`, and does not wait. Instead of all groups, these can be open. */
export async function storeAccess(
  { parts }: TestRegistry,
  spec: string,
  openGroups?: readonly string[],
): Promise<void> {
  const { store, access, snapshotBuilder } = parts;
  const at = new Date().toISOString();
  await store.applyAccess({
    text: accessText(spec, openGroups),
    expectedRevision: (await store.access())?.revision ?? 0,
    appliedAt: at,
    appliedBy: 'tester',
    event: { type: 'access.applied', at, by: 'tester' },
  });
  await access.reload(store);
  snapshotBuilder.wake();
}

/** Stores a token of a team. Returns its secret. */
export async function storeTeamToken(store: Pick<TokenStore, 'createToken'>, team: string): Promise<string> {
  const secret = newSecret();
  const token = {
    id: crypto.randomUUID(),
    name: `token of ${team}`,
    scopes: ['read', 'publish', 'push'],
    groups: ['*'],
    repositories: ['*'],
    team,
    createdAt: new Date().toISOString(),
    createdBy: 'tester',
  };
  await store.createToken(token, hashSecret(secret));
  return secret;
}

/** Returns the header `Authorization` of a new token of a team. */
export async function teamBearer({ parts }: TestRegistry, team: string): Promise<string> {
  return `Bearer ${await storeTeamToken(parts.store, team)}`;
}

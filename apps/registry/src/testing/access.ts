import { hashSecret, newSecret } from '../http/auth/tokens.js';
import type { TestRegistry } from './test-registry.js';

const HEAD = 'apiVersion: krmhub.dev/v1alpha1\nkind: Access\nmetadata: {name: registry}\nspec:\n';

/** Replaces the Access document by one with this `spec`; all groups stay open. Waits until all catalogs follow it. */
export async function applyAccess({ parts, waitForCatalogs }: TestRegistry, spec: string): Promise<void> {
  const { store, access, snapshotBuilder } = parts;
  const at = new Date().toISOString();
  await store.applyAccess({
    text: `${HEAD}  openGroups: ["*"]\n${spec.replaceAll(/^/gm, '  ')}`,
    expectedRevision: (await store.access())?.revision ?? 0,
    appliedAt: at,
    appliedBy: 'tester',
    event: { type: 'access.applied', at, by: 'tester' },
  });
  await access.reload(store);
  snapshotBuilder.wake();
  await waitForCatalogs();
}

/** Returns the header `Authorization` of a new token of a team. */
export async function teamBearer({ parts }: TestRegistry, team: string): Promise<string> {
  const secret = newSecret();
  await parts.store.createToken(
    {
      id: crypto.randomUUID(),
      name: `token of ${team}`,
      scopes: ['read', 'publish', 'push'],
      groups: ['*'],
      repositories: ['*'],
      team,
      createdAt: new Date().toISOString(),
      createdBy: 'tester',
    },
    hashSecret(secret),
  );
  return `Bearer ${secret}`;
}

import type { Owner, OwnerList } from '@krmhub/api/owner-model';
import { proofText } from '@krmhub/catalog';
import { afterEach, beforeEach } from 'vitest';
import { hashSecret, newSecret } from '../http/auth/tokens.js';
import type { OwnerClaimDeps } from '../owners/owner-claims.js';
import { type NameServer, startNameServer } from './name-server.js';
import { definitionText, openTestRegistry, releasePath, type TestRegistry } from './test-registry.js';

/** The group that tests of owners claim, unless they name another one. */
export const CLAIMED = 'new.example.com';
const PUBLIC_URL = 'https://hub.example.net';

/** An Access document with two teams, one of which owns a group by the word of an administrator. */
export const accessWith = (groups: string, openGroups = '["*"]') => `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  openGroups: ${openGroups}
  teams:
  - {name: platform, displayName: Platform team, contact: "https://example.com/chat"}
  - {name: rivals, members: [{ssoGroup: rivals}]}
  groups: [{pattern: ours.example.com, owner: platform}${groups}]
`;

/** A registry whose teams claim groups, and the name server that it asks, new for each test of a file. */
export function useClaims() {
  let registry: TestRegistry;
  let names: NameServer;
  beforeEach(async () => {
    names = await startNameServer();
    const config = { publicUrl: `${PUBLIC_URL}/`, dnsServers: [names.address] };
    registry = await openTestRegistry({ config });
    await apply(accessWith(''));
  });
  afterEach(async () => {
    await registry.close();
    await names.close();
  });

  async function apply(text: string): Promise<void> {
    const { store, access } = registry.parts;
    const event = { type: 'access.applied', at: new Date().toISOString(), by: 'test' } as const;
    const { revision } = (await store.access())!;
    const applied = { text, appliedAt: event.at, appliedBy: 'test', expectedRevision: revision, event };
    await store.applyAccess(applied);
    await access.reload(store);
  }

  return {
    get registry() {
      return registry;
    },
    get names() {
      return names;
    },
    apply,
    proofOf: (team: string) => proofText(PUBLIC_URL, team),
    /** Has the domain name a team, and no other one. */
    prove: (team: string, group = CLAIMED) =>
      names.records.set(`_krmhub.${group}`, ['v=spf1 -all', proofText(PUBLIC_URL, team)]),
    /** The header of a token of a team. */
    async tokenOf(team: string, { scopes = ['publish'], groups = ['*'] } = {}): Promise<string> {
      const secret = newSecret();
      const made = { createdAt: new Date().toISOString(), createdBy: 'test' };
      await registry.parts.store.createToken(
        { id: `${team} ${secret}`, name: team, team, scopes, groups, repositories: ['*'], ...made },
        hashSecret(secret),
      );
      return `Bearer ${secret}`;
    },
    claim: (token: string, team: string, group = CLAIMED) =>
      registry.send<Owner & { detail?: string; hint?: string }>(
        'POST',
        `/api/v1/owners/${group}/claim`,
        { team },
        token,
      ),
    release: (token: string, group = CLAIMED) =>
      registry.request(`/api/v1/owners/${group}`, { method: 'DELETE', headers: { Authorization: token } }),
    async owners(authorization?: string) {
      const headers = authorization === undefined ? {} : { Authorization: authorization };
      const list = (await (await registry.request('/api/v1/owners', { headers })).json()) as OwnerList;
      return list.owners.map(({ group, team, proof }) => `${group} ${team} ${proof}`);
    },
    async publish(token: string, release: string) {
      const name = { group: CLAIMED, kind: 'Fn', release };
      return (await registry.send('PUT', releasePath(name), definitionText(name), token)).status;
    },
    /** Dependencies with which something happens once while the next proof is looked for, before its result is used. */
    withSlowProof(): { deps: OwnerClaimDeps; meanwhile(next: () => Promise<void>): void } {
      const { findProof } = registry.parts;
      let work = async () => {};
      const slow: typeof findProof = async (...given) => {
        const found = await findProof(...given);
        const now = work;
        work = async () => {};
        await now();
        return found;
      };
      return {
        deps: { ...registry.parts, findProof: slow },
        meanwhile(next) {
          work = next;
        },
      };
    },
  };
}

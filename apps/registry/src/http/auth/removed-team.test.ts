import type { CreatedToken } from '@krmhub/api/model';
import type { TokenRecord } from '@krmhub/catalog';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { addPublisher } from '../../trusted-publishers/manage-publishers.js';
import { issueToken } from './issue-token.js';

const access = (teams: string, owner: string) => `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [${teams}]
  groups: [{pattern: ours.example.com, owner: ${owner}}]
`;
const BOTH = access('{name: kept}, {name: gone}', 'gone');
const WORKFLOW = {
  group: 'ours.example.com',
  provider: 'github',
  settings: { repository: 'example-org/functions', workflow: 'publish.yaml' },
} as const;
const TOKEN = {
  name: 'robot',
  scopes: ['publish'],
  groups: ['*'],
  repositories: ['*'],
  team: 'gone',
} as const;

let registry: TestRegistry;
let admin: TokenRecord;
beforeEach(async () => {
  registry = await openTestRegistry();
  await registry.bearer();
  admin = (await registry.parts.store.tokens())[0]!;
  await apply(BOTH, ['kept', 'gone']);
  await registry.parts.access.reload(registry.parts.store);
});
afterEach(() => registry.close());

/** Applies an Access document as another process does, of which this one does not know yet. */
async function apply(text: string, teams: string[]): Promise<void> {
  const { store } = registry.parts;
  const event = { type: 'access.applied', at: new Date().toISOString(), by: 'test' } as const;
  const expectedRevision = (await store.access())?.revision ?? 0;
  const by = { appliedAt: event.at, appliedBy: event.by };
  await store.applyAccess({ text, ...by, expectedRevision, teams, event });
}

const removeTeam = () => apply(access('{name: kept}', 'kept'), ['kept']);

/** The parts of the registry, in which another process removes the team right before something is stored. */
function withRemoval(method: 'createToken' | 'addTrustedPublisher') {
  const { store } = registry.parts;
  let isFirst = true;
  const removing = new Proxy(store, {
    get: (target, name) =>
      name !== method || !isFirst
        ? Reflect.get(target, name)
        : async (...given: unknown[]) => {
            isFirst = false;
            await removeTeam();
            return (target[method] as (...args: unknown[]) => Promise<void>)(...given);
          },
  });
  return { ...registry.parts, store: removing };
}

const tokensOfTeam = async () => (await registry.parts.store.tokens()).filter(({ team }) => team === 'gone');

/** A later team with the same name is another one. */
describe('a team that another process removed', () => {
  it('gets no token', async () => {
    await removeTeam();
    const { status, body } = await registry.send<CreatedToken & { detail?: string }>(
      'POST',
      '/api/v1/tokens',
      TOKEN,
      await registry.bearer(),
    );
    expect([status, body.detail]).toEqual([400, 'team "gone" is not in the Access document']);
    expect(await tokensOfTeam()).toEqual([]);
  });

  it('gets no token if that happens right before it is stored', async () => {
    const wanted = { ...TOKEN, scopes: [...TOKEN.scopes], groups: ['*'], repositories: ['*'] };
    const caller = { by: 'test', origin: {}, signIn: undefined };
    const deps = { ...withRemoval('createToken'), config: {} };
    await expect(issueToken(deps, wanted as never, admin, caller)).rejects.toThrow('not in the Access');
    expect(await tokensOfTeam()).toEqual([]);
  });

  it.each(['before', 'right before it is stored'])('gets no trusted publisher: %s', async (when) => {
    if (when === 'before') await removeTeam();
    const deps = when === 'before' ? registry.parts : withRemoval('addTrustedPublisher');
    expect((await addPublisher(deps, WORKFLOW, admin, {})).team).toBe('kept');
    const stored = await registry.parts.store.trustedPublishers();
    expect(stored.map(({ team }) => team)).toEqual(['kept']);
  });
});

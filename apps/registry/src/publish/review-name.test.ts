import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { hashSecret, newSecret } from '../http/auth/tokens.js';
import { applyAccess, teamBearer } from '../testing/access.js';
import { definitionArtifact, readError, testClient } from '../testing/oci.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestDefinition,
  type TestRegistry,
} from '../testing/test-registry.js';
import { userSignedIn } from '../testing/user-session.js';
import { isNameReview } from './review-name.js';

let registry: TestRegistry;
let publisher: string;
beforeEach(async () => {
  registry = await openTestRegistry();
  await registry.publish({ group: 'example.com', kind: 'SetLabels', release: '1.0.0' });
  publisher = `Bearer ${(await registry.token({ name: 'ci', scopes: ['publish'] })).secret}`;
});
afterEach(() => registry.close());
const client = testClient(
  () => registry,
  () => publisher,
);

const put = (definition: TestDefinition, { query = '', authorization = publisher } = {}) =>
  registry.send<{
    code?: string;
    detail?: string;
    hint?: string;
    diagnostics?: { code: string; message: string }[];
  }>('PUT', `${releasePath(definition)}${query}`, definitionText(definition), authorization);

describe('the first release of a group that looks like another one', () => {
  const alike = { group: 'examp1e.com', kind: 'SetLabels', release: '1.0.0' };

  it('is refused by HTTP, in a dry run, and by push, with the name that it looks like and the way out', async () => {
    for (const query of ['', '?dryRun=true']) {
      const { status, body } = await put(alike, { query });
      expect([status, body]).toEqual([
        403,
        expect.objectContaining({
          code: 'forbidden',
          detail: 'the group "examp1e.com" looks like the group "example.com": both look the same',
          hint: expect.stringContaining('ask an administrator to publish its first release'),
        }),
      ]);
    }
    const repository = 'functions/examp1e.com/setlabels';
    const text = definitionText(alike);
    await client.blob(repository, '{}');
    await client.blob(repository, text);
    const pushed = await client.put(repository, '1.0.0', definitionArtifact(text));
    expect(await readError(pushed)).toMatchObject({
      status: 403,
      code: 'DENIED',
      message: expect.stringContaining('looks like the group "example.com"'),
    });
    expect(await registry.parts.store.groups()).toEqual(['example.com']);
  });

  it('is refused without the name of a group that the publisher cannot read', async () => {
    const { store, access } = registry.parts;
    await registry.publish({ group: 'hidden-team.dev', kind: 'A', release: '1.0.0' });
    const at = '2030-01-01T00:00:00.000Z';
    await store.applyAccess({
      text: `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec: {openGroups: ["*"], groups: [{pattern: hidden-team.dev, visibility: private}]}`,
      appliedAt: at,
      appliedBy: 'admin',
      expectedRevision: 1,
      event: { type: 'access.applied', at, by: 'admin' },
    });
    await access.reload(store);
    const { secret } = await registry.token({
      name: 'others',
      scopes: ['publish'],
      groups: ['hidden-teem.dev'],
    });
    const definition = { group: 'hidden-teem.dev', kind: 'A', release: '1.0.0' };
    const refused = async () => {
      const { status, body } = await put(definition, { authorization: `Bearer ${secret}` });
      return [status, body.detail];
    };
    const expected = [403, 'the group "hidden-teem.dev" looks like another group'];
    expect(await refused()).toEqual(expected);
    const claim = { group: 'hidden-team.dev', team: 'hidden', proof: 'dns' } as const;
    await store.putOwnerClaim({ ...claim, claimedAt: at, claimedBy: 'ci', checkedAt: at });
    expect(await refused()).toEqual(expected);
  });

  it('is refused if it looks like a group that an owner proved, without functions', async () => {
    const read = vi.spyOn(registry.parts.store, 'ownerClaims');
    await registry.parts.store.putOwnerClaim({
      group: 'proved.org',
      team: 'platform',
      proof: 'dns',
      claimedAt: '2030-01-01T00:00:00.000Z',
      claimedBy: 'ci',
      checkedAt: '2030-01-01T00:00:00.000Z',
    });
    const { status, body } = await put({ group: 'prooved.org', kind: 'A', release: '1.0.0' });
    expect([status, body.detail]).toEqual([
      403,
      expect.stringContaining('looks like the group "proved.org"'),
    ]);
    expect(read).toHaveBeenCalledTimes(1);
  });

  it('is refused if it looks like a group that the Access document gives to a team, without its name', async () => {
    await applyAccess(
      registry,
      `teams: [{name: platform}]
groups:
- {pattern: exact.dev, owner: platform}
- {pattern: "*.wide-zone.org", owner: platform}
- {pattern: "team-*.below-it.net", owner: platform}
- {pattern: "*.unowned-zone.org", visibility: internal}`,
    );
    const outcome = async (group: string, authorization = publisher) => {
      const { status, body } = await put({ group, kind: 'A', release: '1.0.0' }, { authorization });
      return [status, body.detail];
    };
    for (const group of ['exacct.dev', 'a.wide-zome.org', 'wide-z0ne.org', 'a.be1ow-it.net']) {
      expect(await outcome(group)).toEqual([403, `the group "${group}" looks like another group`]);
    }
    expect(await outcome('a.unowned-z0ne.org')).toEqual([201, undefined]);
    // The team itself may name its groups as it likes.
    const ours = await teamBearer(registry, 'platform');
    expect(await outcome('widezone.wide-zone.org', ours)).toEqual([201, undefined]);
  });

  it('is refused if it looks like a group of an upstream catalog, whose name is told to those who may read it', async () => {
    await offer(['shown', 'kpt-functions.dev'], ['vault', 'hidden-vendor.dev']);
    await applyAccess(registry, 'catalogs: [{pattern: vault, visibility: private}]');
    const outcome = async (group: string) =>
      (await put({ group, kind: 'A', release: '1.0.0' })).body.detail?.replace(/:.*/, '');
    expect(await outcome('kptfunctions.dev')).toBe(
      'the group "kptfunctions.dev" looks like the group "kpt-functions.dev"',
    );
    const teams = 'teams: [{name: ops}]\ncatalogs: [{pattern: vault, visibility: private}]';
    await applyAccess(registry, teams);
    publisher = await teamBearer(registry, 'ops');
    expect(await outcome('hidden-vemdor.dev')).toBe('the group "hidden-vemdor.dev" looks like another group');
  });

  it('is published by an administrator, and the next ones by every token for the group', async () => {
    expect((await put(alike, { authorization: await registry.bearer() })).status).toBe(201);
    expect((await put({ ...alike, release: '2.0.0' })).status).toBe(201);
    expect((await put({ ...alike, kind: 'Other' })).status).toBe(201);
  });

  it('is refused with the look-alike after any number of other groups', async () => {
    await registry.publish({ group: 'zz.last-one.dev', kind: 'A', release: '1.0.0' });
    const others = Array.from({ length: 4_050 }, (_, at) => `group${at}.zone${at}.net`);
    registry.parts.store.groups = async () => [...others, 'zz.last-one.dev'];
    const { status, body } = await put({ group: 'lost-one.dev', kind: 'A', release: '1.0.0' });
    expect([status, body.detail]).toEqual([
      403,
      expect.stringContaining('looks like the group "zz.last-one.dev"'),
    ]);
  });
});

/** Has upstream catalogs with groups. */
async function offer(...catalogs: [catalog: string, group: string][]): Promise<void> {
  registry.parts.store.upstreamGroups = async function* () {
    for (const [catalog, group] of catalogs) yield { catalog, group };
  };
}

describe('the first release of a group of an upstream catalog, whose entries it would replace', () => {
  const theirs = { group: 'fn.vendor.dev', kind: 'SetLabels', release: '1.0.0' };
  beforeEach(() => offer(['shown', theirs.group], ['vault', 'fn.hidden.dev']));

  it('is refused, and waits for an administrator', async () => {
    const { status, body } = await put(theirs);
    expect([status, body.detail]).toEqual([
      403,
      'the group "fn.vendor.dev" already exists in an upstream catalog',
    ]);
    expect(isNameReview(body.detail!, theirs.group)).toBe(true);
    expect((await put(theirs, { authorization: await registry.bearer() })).status).toBe(201);
    expect((await put({ ...theirs, release: '2.0.0' })).status).toBe(201);
  });

  it('is refused as one that looks like another group if the publisher may not read the catalog', async () => {
    await applyAccess(registry, 'teams: [{name: apps}]\ncatalogs: [{pattern: vault, visibility: private}]');
    const authorization = await teamBearer(registry, 'apps');
    const { status, body } = await put({ ...theirs, group: 'fn.hidden.dev' }, { authorization });
    expect([status, body.detail]).toEqual([403, 'the group "fn.hidden.dev" looks like another group']);
  });

  it('is published by the owner of the group, and with a token that names it', async () => {
    await applyAccess(
      registry,
      `teams: [{name: vendor}]\ngroups: [{pattern: ${theirs.group}, owner: vendor}]`,
    );
    const ours = await teamBearer(registry, 'vendor');
    expect((await put(theirs, { authorization: ours })).status).toBe(201);
    const named = { name: 'named', scopes: ['publish'] as const, groups: ['fn.hidden.dev'] };
    const { secret } = await registry.token({ ...named, scopes: [...named.scopes] });
    const hidden = { ...theirs, group: 'fn.hidden.dev' };
    const { status, body } = await put(hidden, { authorization: `Bearer ${secret}` });
    expect([status, body.detail]).toEqual([201, undefined]);
  });

  it('is refused with a token of a user, who chose its groups', async () => {
    const teams = 'teams: [{name: apps, members: [{ssoGroup: apps}]}]';
    const grants = 'grants: [{to: {team: apps}, may: [publish], in: {group: "*.vendor.dev"}}]';
    await applyAccess(registry, `${teams}\n${grants}`);
    const { user } = await userSignedIn(registry, { groups: ['apps'] });
    const secret = newSecret();
    const token = { id: 'of-a-user', name: 'laptop', scopes: ['publish'], groups: [theirs.group], user };
    const at = registry.parts.clock().toISOString();
    const limits = { repositories: [], createdAt: at, createdBy: 'Ada' };
    await registry.parts.store.createToken({ ...token, ...limits } as never, hashSecret(secret));
    const { status, body } = await put(theirs, { authorization: `Bearer ${secret}` });
    expect([status, body.detail]).toEqual([403, expect.stringContaining('already exists in an upstream')]);
  });
});

it('the first release of a group with an encoded label is refused in an empty registry too', async () => {
  const empty = await openTestRegistry({ start: false });
  try {
    const { secret } = await empty.token({ scopes: ['publish'] });
    const definition = { group: 'xn--exmple-cua.com', kind: 'A', release: '1.0.0' };
    const { status, body } = await empty.send(
      'PUT',
      releasePath(definition),
      definitionText(definition),
      `Bearer ${secret}`,
    );
    expect([status, body.detail]).toEqual([403, expect.stringContaining('has the label "xn--exmple-cua"')]);
  } finally {
    await empty.close();
  }
});

describe('other releases', () => {
  it.each(['other.org', 'fn.example.com', 'example.net'])(
    'of the new group %s are published',
    async (group) => {
      expect((await put({ group, kind: 'SetLabels', release: '1.0.0' })).status).toBe(201);
    },
  );

  it('of a similar kind in another group have no warning, and in the same group one', async () => {
    const other = await put({ group: 'other.org', kind: 'SetLabel', release: '1.0.0' });
    expect([other.status, other.body.diagnostics?.map(({ code }) => code)]).toEqual([
      201,
      expect.not.arrayContaining(['publish/similar-kind']),
    ]);
    const same = { group: 'example.com', kind: 'SetLabel', release: '1.0.0' };
    for (const query of ['?dryRun=true', '']) {
      expect((await put(same, { query })).body.diagnostics).toContainEqual(
        expect.objectContaining({
          code: 'publish/similar-kind',
          severity: 'warning',
          message: 'the group example.com has the similar kind SetLabels',
        }),
      );
    }
    const next = await put({ ...same, release: '2.0.0' });
    expect(next.body.diagnostics?.map(({ code }) => code)).not.toContain('publish/similar-kind');
  });

  it('read the groups only for a new group', async () => {
    const { store } = registry.parts;
    const read: string[] = [];
    const groups = store.groups.bind(store);
    store.groups = () => {
      read.push('groups');
      return groups();
    };
    await put({ group: 'example.com', kind: 'SetLabels', release: '1.1.0' });
    await put({ group: 'example.com', kind: 'Other', release: '1.0.0' });
    expect(read).toEqual([]);
    await put({ group: 'new.org', kind: 'Other', release: '1.0.0' });
    expect(read).toEqual(['groups']);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ScimClient } from '../testing/scim-client.js';

/** Requests as Okta sends them ("SCIM 2.0 protocol reference"). */

let directory: ScimClient;
beforeAll(async () => {
  directory = await ScimClient.open();
});
afterAll(() => directory.registry.close());

const NEW_USER = {
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
  userName: 'test.user@okta.local',
  name: { givenName: 'Test', familyName: 'User' },
  emails: [{ primary: true, value: 'test.user@okta.local', type: 'work' }],
  displayName: 'Test User',
  locale: 'en-US',
  externalId: '00ujl29u0le5T6Aj10h7',
  groups: [],
  password: '1mz050nq',
  active: true,
};

describe('Okta', () => {
  let id: string;

  it('imports users page by page', async () => {
    for (const userName of ['a', 'b', 'c']) await directory.addUser(userName);
    const pages = [];
    for (let startIndex = 1; startIndex <= 5; startIndex += 2) {
      const { body } = await directory.send('GET', `/Users?startIndex=${startIndex}&count=2`);
      expect([body.totalResults, body.startIndex, body.itemsPerPage]).toEqual([
        ...[3, startIndex],
        body.Resources.length,
      ]);
      pages.push(body.Resources.map((user: { userName: string }) => user.userName));
    }
    expect(pages.map((page) => page.length)).toEqual([2, 1, 0]);
    expect(pages.flat().sort()).toEqual(['a', 'b', 'c']);
  });

  it('creates a user without storing the password', async () => {
    const { status, body } = await directory.send('POST', '/Users', NEW_USER);
    expect(status).toBe(201);
    ({ id } = body);
    expect(JSON.stringify(body)).not.toContain(NEW_USER.password);
    expect(await directory.user(NEW_USER.externalId)).toMatchObject({ name: 'Test User' });
  });

  it('replaces a user', async () => {
    const { body: current } = await directory.send('GET', `/Users/${id}`);
    const { status, body } = await directory.send('PUT', `/Users/${id}`, {
      ...current,
      name: { givenName: 'Another', familyName: 'User' },
      displayName: 'Another User',
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ id, externalId: NEW_USER.externalId, name: { givenName: 'Another' } });
    const { active: _, externalId: __, ...partly } = current;
    const without = await directory.send('PUT', `/Users/${id}`, partly);
    expect(without.body).toMatchObject({ active: true, externalId: NEW_USER.externalId });
  });

  it('suspends and restores a user with an object', async () => {
    for (const active of [false, true]) {
      const { status, body } = await directory.patch(`/Users/${id}`, { op: 'replace', value: { active } });
      expect([status, body.active]).toEqual([200, active]);
      expect((await directory.user(NEW_USER.externalId))?.suspendedAt === undefined).toBe(active);
    }
  });

  it('pushes a group, renames it, and changes its members', async () => {
    const created = await directory.send('POST', '/Groups', {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
      displayName: 'Test SCIMv2',
      members: [],
    });
    expect(created.status).toBe(201);
    const group = `/Groups/${created.body.id}`;
    const groups = async () => (await directory.user(NEW_USER.externalId))?.groups;
    await directory.patch(group, {
      op: 'replace',
      value: { id: created.body.id, displayName: 'Test SCIMv2 renamed' },
    });
    await directory.patch(group, {
      op: 'add',
      path: 'members',
      value: [{ value: id, display: 'test.user' }],
    });
    expect(await groups()).toEqual(['Test SCIMv2 renamed']);
    await directory.patch(group, { op: 'remove', path: `members[value eq "${id}"]` });
    expect(await groups()).toEqual([]);
    const replaced = await directory.patch(group, { op: 'replace', path: 'members', value: [{ value: id }] });
    expect(replaced.status).toBe(204);
    expect(await groups()).toEqual(['Test SCIMv2 renamed']);
    const put = await directory.send('PUT', group, {
      displayName: 'put',
      members: [{ value: id, display: 'x' }],
    });
    expect([put.status, put.body.members.length]).toEqual([200, 1]);
    expect(await groups()).toEqual(['put']);
    expect((await directory.send('PUT', group, { displayName: 'put' })).body.members).toEqual([]);
    expect(await groups()).toEqual([]);
  });
});

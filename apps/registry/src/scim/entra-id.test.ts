import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ScimClient } from '../testing/scim-client.js';

/**
 * Requests as Microsoft Entra ID sends them ("Develop and plan provisioning for a SCIM endpoint", and the known issues of
 * "SCIM 2.0 protocol compliance"), with and without the flag `aadOptscim062020`.
 */

let directory: ScimClient;
beforeAll(async () => {
  directory = await ScimClient.open();
});
afterAll(() => directory.registry.close());

const OBJECT_ID = '6d1b9c3e-2f44-4a52-9a5b-0b8f3f1f7d10';
const NEW_USER = {
  schemas: [
    'urn:ietf:params:scim:schemas:core:2.0:User',
    'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
  ],
  externalId: OBJECT_ID,
  userName: 'Test_User_ab6490ee@testuser.com',
  active: true,
  displayName: 'Test User',
  emails: [{ primary: true, type: 'work', value: 'test.user@example.com' }],
  meta: { resourceType: 'User' },
  name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
  addresses: [{ type: 'work', formatted: 'Somewhere 1', primary: true }],
  phoneNumbers: [{ type: 'work', value: '+1' }],
  roles: [],
  title: 'Engineer',
  'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: 'Platform', manager: null },
};

describe('Microsoft Entra ID', () => {
  let id: string;

  it('tests the connection with a user who does not exist', async () => {
    const filter = encodeURIComponent('userName eq "8d3c1a3c-9c5f-4f57-8f0f-2a6e9b8e3d11"');
    const { status, body, headers } = await directory.send('GET', `/Users?filter=${filter}`);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/scim+json']);
    expect(body).toEqual({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
      ...{ totalResults: 0, itemsPerPage: 0, startIndex: 1, Resources: [] },
    });
  });

  it('creates a user, who is found by the user name and by the external ID', async () => {
    const { status, body, headers } = await directory.send('POST', '/Users', NEW_USER);
    expect(status).toBe(201);
    ({ id } = body);
    const { schemas: _, addresses: __, phoneNumbers: ___, roles: ____, title: _____, ...rest } = NEW_USER;
    const { meta, 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': ______, ...stored } = rest;
    expect(body).toMatchObject({ ...stored, id, meta });
    expect(headers.get('location')).toBe(body.meta.location);
    expect(body.meta.location).toMatch(new RegExp(`/scim/v2/Users/${id}$`));
    for (const filter of [
      'userName eq "test_user_AB6490EE@testuser.com"',
      `externalId eq "${OBJECT_ID}"`,
      `id eq "${id}"`,
    ]) {
      const found = await directory.send('GET', `/Users?filter=${encodeURIComponent(filter)}`);
      expect([filter, found.body.totalResults, found.body.Resources]).toEqual([filter, 1, [body]]);
    }
    expect((await directory.send('GET', `/Users/${id}`)).body).toEqual(body);
    const again = await directory.send('POST', '/Users', { ...NEW_USER, externalId: 'other' });
    expect([again.status, again.body.scimType]).toEqual([409, 'uniqueness']);
    const sameSubject = await directory.send('POST', '/Users', { ...NEW_USER, userName: 'other' });
    expect([sameSubject.status, sameSubject.body.scimType]).toEqual([409, 'uniqueness']);
    expect(await directory.user(OBJECT_ID)).toMatchObject({
      ...{ name: 'Test User', email: 'test.user@example.com', directory: { isActive: true }, groups: [] },
    });
  });

  it('changes attributes one by one, also with dotted names and addresses that do not exist', async () => {
    const { status, body } = await directory.patch(
      `/Users/${id}`,
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updated@example.com' },
      { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
      { op: 'Add', path: 'emails[type eq "home"].value', value: 'home@example.com' },
      {
        op: 'Add',
        path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department',
        value: 'IT',
      },
      { op: 'Add', path: 'addresses[type eq "work"].formatted', value: 'Elsewhere' },
      { op: 'Remove', path: 'phoneNumbers[type eq "work"].value' },
      { op: 'replace', value: { 'name.givenName': 'Updated', displayName: 'Updated User', title: 'x' } },
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({
      displayName: 'Updated User',
      name: { familyName: 'updatedFamilyName', givenName: 'Updated', formatted: 'givenName familyName' },
      emails: [
        { value: 'updated@example.com', type: 'work', primary: true },
        { value: 'home@example.com', type: 'home' },
      ],
    });
    expect(await directory.user(OBJECT_ID)).toMatchObject({
      name: 'Updated User',
      email: 'updated@example.com',
    });
  });

  it('suspends a user with "False", and restores the user', async () => {
    for (const [value, isActive] of [
      ['False', false],
      ['True', true],
      ['false', false],
      [true, true],
    ] as const) {
      const { status, body } = await directory.patch(`/Users/${id}`, {
        op: 'Replace',
        path: 'active',
        value,
      });
      expect([status, body.active]).toEqual([200, isActive]);
      const user = await directory.user(OBJECT_ID);
      expect([user?.directory, user?.suspendedBy]).toEqual([
        { isActive, groups: [] },
        isActive ? undefined : 'the directory',
      ]);
    }
  });

  it('adds and removes members of a group, which it reads without members', async () => {
    const created = await directory.send('POST', '/Groups', {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
      externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
      displayName: 'platform',
      meta: { resourceType: 'Group' },
    });
    expect([created.status, created.body.members]).toEqual([201, []]);
    const group = `/Groups/${created.body.id}`;
    const member = [{ $ref: null, value: id }];
    const add = await directory.patch(group, { op: 'Add', path: 'members', value: member });
    expect([add.status, add.body]).toEqual([204, undefined]);
    expect((await directory.user(OBJECT_ID))?.groups).toEqual(['platform']);
    const filter = encodeURIComponent('displayName eq "Platform"');
    const found = await directory.send('GET', `/Groups?excludedAttributes=members&filter=${filter}`);
    expect([found.body.totalResults, found.body.Resources[0].members]).toEqual([1, undefined]);
    const whole = await directory.send('GET', group);
    expect(whole.body.members).toEqual([{ value: id, display: NEW_USER.userName, type: 'User' }]);
    const remove = await directory.patch(group, { op: 'Remove', path: 'members', value: member });
    expect(remove.status).toBe(204);
    expect((await directory.user(OBJECT_ID))?.groups).toEqual([]);
    expect((await directory.patch(group, { op: 'Replace', path: 'displayName', value: 'ops' })).status).toBe(
      204,
    );
    expect((await directory.send('DELETE', group)).status).toBe(204);
    expect((await directory.send('GET', group)).body).toEqual({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: '404',
      detail: expect.stringContaining('not found'),
    });
  });

  it('deletes a user, who is suspended, and can be announced again', async () => {
    expect((await directory.send('DELETE', `/Users/${id}`)).status).toBe(204);
    expect((await directory.send('GET', `/Users/${id}`)).status).toBe(404);
    expect((await directory.send('DELETE', `/Users/${id}`)).status).toBe(404);
    const removed = await directory.user(OBJECT_ID);
    expect([removed?.suspendedBy, removed?.directory]).toEqual(['the directory', undefined]);
    const again = await directory.send('POST', '/Users', NEW_USER);
    expect(again.status).toBe(201);
    const user = await directory.user(OBJECT_ID);
    expect([user?.id, user?.suspendedAt]).toEqual([removed?.id, undefined]);
  });
});

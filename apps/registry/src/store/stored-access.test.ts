import { type Actor, ANONYMOUS, can, INSIDER } from '@krmhub/catalog';
import { expect, it } from 'vitest';
import { RegistryAccess, type StoredAccess } from './stored-access.js';

const TEAM: Actor = {
  ...INSIDER,
  scopes: ['read', 'publish'],
  groups: ['*'],
  repositories: ['*'],
  teams: ['a'],
};
const ADMINISTRATOR: Actor = { ...INSIDER, scopes: ['admin'], groups: ['*'] };
const OBJECTS = [{ group: 'a.example.com', kind: 'One' }, { catalog: 'all' }, { repository: 'team/a' }];

it('a document that only another version reads hides everything, until one comes that this version reads', async () => {
  const access = new RegistryAccess();
  const apply = (revision: number, spec: string) => {
    const text = `apiVersion: krmhub.dev/v1alpha1\nkind: Access\nmetadata: {name: registry}\nspec: ${spec}\n`;
    const record = { revision, text, appliedAt: '', appliedBy: '' };
    const store: StoredAccess = { access: async () => record, ownerClaims: async () => [] };
    return access.reload(store);
  };
  const reads = (actor: Actor) => OBJECTS.map((object) => can(access.rules, actor, 'read', object).allowed);
  const known = '{teams: [{name: a}], groups: [{pattern: a.example.com, owner: a, visibility: internal}]}';
  await apply(1, known);
  expect([reads(ANONYMOUS), reads(TEAM)]).toEqual([
    [false, true, true],
    [true, true, true],
  ]);
  await expect(apply(2, '{rooms: [{name: a}]}')).rejects.toThrow('cannot read the stored Access document');
  const nothing = [false, false, false];
  expect([ANONYMOUS, INSIDER, TEAM].map(reads)).toEqual([nothing, nothing, nothing]);
  expect([reads(ADMINISTRATOR), access.rules.hidesAnything]).toEqual([[true, true, true], true]);
  await apply(3, known);
  expect(reads(ANONYMOUS)).toEqual([false, true, true]);
});

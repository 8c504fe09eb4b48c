import {
  type Actor,
  ANONYMOUS,
  can,
  INSIDER,
  isAsAbsent,
  readSearchAccess,
  searchAccess,
} from '@krmhub/catalog';
import { expect, it } from 'vitest';
import { RegistryAccess, type StoredAccess } from './stored-access.js';

const TEAM: Actor = {
  ...INSIDER,
  scopes: ['read', 'publish'],
  groups: ['*'],
  repositories: ['*'],
  teams: ['a'],
};
/** A token without a team: its scopes are grants. */
const ROBOT: Actor = {
  ...{ ...INSIDER, scopes: ['read', 'publish', 'yank', 'push'] },
  ...{ groups: ['*', 'a.example.com', 'new.example.com'], repositories: ['*', 'catalogs/*'] },
};
const WORKFLOW: Actor = { ...ROBOT, scopes: ['publish'], isWorkflow: true };
const ADMINISTRATOR: Actor = { ...INSIDER, scopes: ['admin'], groups: ['*'] };
const OBJECTS = [
  { group: 'a.example.com', kind: 'One' },
  { catalog: 'all' },
  { repository: 'team/a' },
] as const;

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
  const others = [ANONYMOUS, INSIDER, TEAM, ROBOT, WORKFLOW];
  expect(others.map(reads)).toEqual(others.map(() => nothing));
  expect([reads(ADMINISTRATOR), access.rules.hidesAnything]).toEqual([[true, true, true], true]);
  const changes = (actor: Actor) =>
    [{ group: 'a.example.com' }, { group: 'new.example.com', isNew: true }, ...OBJECTS].flatMap((object) =>
      (['publish', 'yank', 'own', 'push'] as const).filter(
        (action) => can(access.rules, actor, action, object).allowed,
      ),
    );
  expect(others.map(changes)).toEqual(others.map(() => []));
  expect(others.map((actor) => isAsAbsent(access.rules, actor, 'yank', OBJECTS[0]!))).toEqual(
    others.map(() => false),
  );
  const all: Actor = { ...ADMINISTRATOR, scopes: ['admin', 'publish', 'yank', 'push'], repositories: ['*'] };
  expect(new Set(changes(all))).toEqual(new Set(['publish', 'yank', 'own', 'push']));
  // Searches decide in another thread.
  const searched = readSearchAccess(JSON.parse(JSON.stringify(searchAccess({ rules: access.rules }))));
  expect(can(searched, ROBOT, 'read', OBJECTS[0]!).allowed).toBe(false);
  await apply(3, known);
  expect(changes(ROBOT)).toContain('publish');
  expect(reads(ANONYMOUS)).toEqual([false, true, true]);
});

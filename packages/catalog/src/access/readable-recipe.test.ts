import { expect, it } from 'vitest';
import { readRecipe } from '../recipe/read-recipe.js';
import { NO_ACCESS } from './access-document.js';
import { AccessRules } from './access-rules.js';
import { type Actor, ANONYMOUS, INSIDER } from './can.js';
import { readsRecipe } from './readable-recipe.js';

const rules = new AccessRules({
  ...NO_ACCESS,
  groups: [
    { pattern: 'secret.x', visibility: 'private', functions: [] },
    { pattern: 'inside.x', visibility: 'internal', functions: [] },
    {
      pattern: 'open.x',
      functions: [
        { kind: 'Hidden', visibility: 'private' },
        { kind: 'Rotate-Keys', visibility: 'private' },
      ],
    },
  ],
});
const ADMINISTRATOR: Actor = { ...INSIDER, scopes: ['admin'], groups: ['*'] };
const UPSTREAM = 'catalog: {url: "https://example.com/functions", format: kpt-metadata';

function reads(actor: Actor, source: string, policy = '{}'): boolean {
  const text = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: one}
spec:
  sources: [{name: a, ${source}}]
  policy: ${policy}
`;
  const { recipe, diagnostics } = readRecipe(new TextEncoder().encode(text), 'recipe.yaml');
  expect(recipe, JSON.stringify(diagnostics)).toBeDefined();
  return readsRecipe(rules, actor, recipe!);
}

const signed = (groups: string) =>
  `{requireSignature: [{groups: [${groups}], signers: [{issuer: "https://issuer.example.com", subject: ci}]}]}`;

it.each([
  ['functions: {}, match: [{group: NAMED}]'],
  ['functions: {}, exclude: [{group: other.x}, {group: NAMED, kind: Any}]'],
  ['functions: {}', '{deny: [{group: NAMED, reason: old}]}'],
  ['functions: {}', signed('"*", NAMED')],
  [`${UPSTREAM}, group: NAMED}`],
  [`${UPSTREAM}, groups: {a.example.com: NAMED}}`],
])('who reads a recipe may read what it names: %s %s', (...[source, policy]: string[]) => {
  const named = (actor: Actor, group: string) =>
    reads(actor, source!.replace('NAMED', group), policy?.replace('NAMED', group));
  expect(['secret.x', 'inside.x', 'open.x', 'new.x'].map((group) => named(ANONYMOUS, group))).toEqual([
    ...[false, false, true, true],
  ]);
  expect(['secret.x', 'inside.x'].map((group) => named(INSIDER, group))).toEqual([false, true]);
  expect(named(ADMINISTRATOR, 'secret.x')).toBe(true);
});

it('a function that its group does not hide is hidden too', () => {
  const named = (kind: string) =>
    reads(ANONYMOUS, `functions: {}, exclude: [{group: open.x, kind: ${kind}}]`);
  expect([named('Hidden'), named('Shown')]).toEqual([false, true]);
});

it('a kind of a hidden function is hidden without its group too', () => {
  const named = (actor: Actor, kind: string) => reads(actor, `functions: {}, exclude: [{kind: ${kind}}]`);
  expect(['Hidden', 'HIDDEN', 'Shown'].map((kind) => named(ANONYMOUS, kind))).toEqual([false, false, true]);
  expect(named(ADMINISTRATOR, 'Hidden')).toBe(true);
});

it('a kind is hidden in each spelling that the rule hides', () => {
  const named = (kind: string) => reads(ANONYMOUS, `functions: {}, exclude: [{kind: ${kind}}]`);
  const kinds = ['Rotate-Keys', 'RotateKeys', 'rotatekeys', 'Hid-den', 'RotateKey'];
  expect(kinds.map((kind) => [kind, rules.visibilityOf('open.x', kind)])).toEqual(
    kinds.map((kind) => [kind, kind === 'RotateKey' ? 'public' : 'private']),
  );
  expect(kinds.filter(named)).toEqual(['RotateKey']);
});

it('a kind alone names nothing of a hidden group, with the group it does', () => {
  const named = (what: string) => reads(ANONYMOUS, `functions: {}, exclude: [{${what}}]`);
  expect([named('kind: OnlyInSecret'), named('group: secret.x, kind: OnlyInSecret')]).toEqual([true, false]);
});

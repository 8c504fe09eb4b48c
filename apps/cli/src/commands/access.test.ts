import { mkdtempSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { RegistryClient } from '@krmhub/api/client';
import { beforeEach, describe, expect, it } from 'vitest';
import { definitionText } from '../testing/catalog-build.js';
import { expectEnd, fileRegistry, runTest, type TestIo, temporaryFolder } from '../testing/command-line.js';

const root = temporaryFolder();
const registry = fileRegistry();
let folder: string;
const OPEN = document('{openGroups: ["*"]}');

function document(spec: string): string {
  return `apiVersion: krmhub.dev/v1alpha1\nkind: Access\nmetadata: {name: registry}\nspec: ${spec}\n`;
}

const OWNED = document(`
  teams: [{name: red}, {name: green}]
  groups: [{pattern: "*.example.com", owner: red, visibility: private}]
  grants: [{to: {team: green}, may: [read], in: {group: a.example.com}}]`);

const run = (args: string[], options: { tty?: boolean; stdin?: string; token?: string } = {}) => {
  const { token, ...io } = options;
  const env = { ...registry.env, ...(token === undefined ? {} : { KRMHUB_TOKEN: token }) };
  return runTest(args, { ...io, env, cwd: folder });
};

function put(text: string): string {
  writeFileSync(path.join(folder, 'access.yaml'), text);
  return 'access.yaml';
}

const apply = async (text: string): Promise<TestIo> => run(['access', 'apply', put(text), '--yes']);

beforeEach(async () => {
  folder = mkdtempSync(path.join(root, 'test-'));
  expectEnd(await apply(OPEN), 0);
});

describe('access apply', () => {
  it('prints who gains and loses what, and the document is the one that show prints', async () => {
    await run(['token', 'create', 'ci', '--scope', 'publish']);
    const planned = await run(['access', 'diff', put(OWNED)]);
    expectEnd(planned, 0, '(dry run, nothing was changed)');
    expect(planned.err()).toContain('no longer: publish on *.example.com');
    expect(planned.err()).toMatch(/ {2}token ci \([a-f0-9]{8}\): the team red now owns (?:it|them)\n/);
    expect(planned.err()).toContain('no longer: read on ');
    expect(planned.err()).toContain('  anonymous clients, clients of internal networks');
    expect((await run(['access', 'show'])).out()).toBe(OPEN);
    const applied = await apply(OWNED);
    expectEnd(applied, 0, 'applied the Access document');
    expect(applied.err().replace('applied the Access document', '')).toBe(
      planned.err().replace('the document is valid (dry run, nothing was changed)', ''),
    );
    const shown = await run(['access', 'show']);
    expect(shown.out()).toBe(OWNED);
    expectEnd(shown, 0, 'by admin');
    expectEnd(await apply(OWNED), 0, 'unchanged');
  });

  it('names the old snapshots that show what becomes hidden', async () => {
    const fn = { group: 'a.example.com', kind: 'SetLabels', release: '1.0.0' };
    writeFileSync(path.join(folder, 'fn.yaml'), definitionText(fn));
    expectEnd(await run(['publish', 'fn.yaml']), 0);
    await new RegistryClient({ url: registry.url, token: registry.token }).cutCatalog('default');
    const io = await run(['access', 'diff', put(OWNED)]);
    expect(io.err()).toMatch(/^catalog default: snapshots? \S.* contains? a\.example\.com\/SetLabels$/m);
    expect(io.err()).toContain('only a takedown removes a release from them');
  });

  it('asks at a terminal, and changes nothing without a yes', async () => {
    const args = ['access', 'apply', put(OWNED)];
    expectEnd(await run(args), 2, '--yes');
    const refused = await run(args, { tty: true, stdin: 'n\n' });
    expectEnd(refused, 2, 'not confirmed');
    expect(refused.err()).toContain('no longer: read on ');
    expect((await run(['access', 'show'])).out()).toBe(OPEN);
    expectEnd(await run(args, { tty: true, stdin: 'y\n' }), 0, 'applied');
    expect((await run(['access', 'show'])).out()).toBe(OWNED);
  });

  it('reports every error of a file with its position, and sends nothing', async () => {
    const io = await run([
      'access',
      'apply',
      put(document('{teams: [{name: A_}], groups: [{pattern: a, owner: b}]}')),
    ]);
    expectEnd(io, 1, 'access.yaml:4:');
    expect(io.err()).toContain('access/name');
    expect(io.err()).toContain('access/unknown-team');
  });

  it('says how to close a registry in which every group is open', async () => {
    expect((await run(['access', 'show'])).err()).toContain('remove "*" from openGroups');
    await apply(document('{}'));
    expect((await run(['access', 'show'])).err()).not.toContain('openGroups');
  });
});

describe('access check', () => {
  it('prints the decision and its reason, with exit code 1 for no', async () => {
    await apply(OWNED);
    const yes = await run(['access', 'check', 'team:red', 'publish', 'a.example.com']);
    expect([yes.exitCode, yes.out()]).toEqual([0, 'yes: the team "red" owns the group "a.example.com"\n']);
    const no = await run(['access', 'check', 'anonymous', 'read', 'a.example.com/SetLabels']);
    expect([no.exitCode, no.out()]).toEqual([
      1,
      'no: missing: the right to read a.example.com/SetLabels, which is private\n',
    ]);
    const json = await run(['access', 'check', 'team:green', 'read', 'a.example.com', '-o', 'json']);
    expect(JSON.parse(json.out())).toMatchObject({ allowed: true, teams: ['green'] });
    expectEnd(await run(['access', 'check', 'team:gren', 'read', 'a.example.com']), 3, 'Did you mean green?');
    expectEnd(await run(['access', 'check', 'nobody', 'read', 'a.example.com']), 3, 'krmhub token list');
    expectEnd(await run(['access', 'check', 'anonymous', 'fly', 'a.example.com']), 2, 'publish');
  });
});

describe('a token of a team', () => {
  it('says its team and what the team owns', async () => {
    await apply(OWNED);
    const created = await run(['token', 'create', 'red-ci', '--team', 'red', '--scope', 'publish']);
    expectEnd(created, 0, 'can publish in all groups as team red');
    const me = await run(['whoami'], { token: created.out().trim() });
    expect(me.err()).toBe('team red, within the limits of this token:\n  owns *.example.com\n');
    const reader = await run(['token', 'create', 'green-ci', '--team', 'green', '--scope', 'read']);
    const green = await run(['whoami'], { token: reader.out().trim() });
    expect(green.err()).toBe(
      'team green, within the limits of this token:\n  may read in group a.example.com\n',
    );
    const other = ['token', 'create', 'other', '--team', 'red', '--scope', 'publish', '--group', 'b.test'];
    const none = await run(['whoami'], { token: (await run(other)).out().trim() });
    expect(none.err()).toBe('team red gives this token no rights\n');
    const list = await run(['token', 'list'], { tty: true });
    expect(list.out()).toContain('LAST USED  TEAM');
    for (const line of list.out().trimEnd().split('\n')) {
      expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(80);
    }
    expectEnd(
      await run(['token', 'create', 'x', '--team', 'gren', '--scope', 'publish']),
      2,
      'Did you mean green?',
    );
  });
});

describe('a policy of a private group', () => {
  const issuer = ['--issuer', 'https://issuer.example.com', '--identity', 'ci'];

  it('is listed only for those who may read the group, and its text only for administrators', async () => {
    expectEnd(await run(['policy', 'add', 'hidden', '--group', 'b.example.com', ...issuer, '--yes']), 0);
    await run([
      'policy',
      'add',
      'mixed',
      '--group',
      'a.example.com',
      '--group',
      'x.example.net',
      ...issuer,
      '--yes',
    ]);
    await apply(OWNED);
    const text = await run(['policy', 'list', '--text']);
    expectEnd(text, 0);
    expect(text.out()).toContain('b.example.com');
    const green = await run(['token', 'create', 'reader', '--team', 'green', '--scope', 'read']);
    const options = { token: green.out().trim() };
    const listed = await run(['policy', 'list'], options);
    expect(listed.out()).toBe(
      'mixed\ta.example.com, x.example.net\tall\tci (https://issuer.example.com)\talways\n',
    );
    expect((await run(['policy', 'list'], { token: '' })).out()).toContain('mixed\tx.example.net\t');
    const change = ['policy', 'add', 'new', '--group', 'c.example.com', ...issuer, '--yes'];
    for (const args of [['policy', 'list', '--text'], change])
      expectEnd(await run(args, options), 6, 'you may not read all signing policies');
    expectEnd(await run(['policy', 'remove', 'hidden', '--yes']), 0);
    expectEnd(await run(['policy', 'remove', 'mixed', '--yes']), 0);
    expect((await run(['policy', 'list'], options)).err()).toBe(
      'no signing policies for groups that you may read\n',
    );
  });
});

describe('a team that is removed', () => {
  it('is printed, with what ends', async () => {
    await apply(OWNED);
    await run(['token', 'create', 'last-ci', '--team', 'red', '--scope', 'publish']);
    const diff = await run(['access', 'diff', put(OPEN)]);
    expect(diff.err()).toMatch(/^revokes the token last-ci \([0-9a-f]{8}\) of the former team red$/m);
    expect((await apply(OPEN)).err()).toMatch(/^revokes the token last-ci /m);
    const list = JSON.parse((await run(['token', 'list', '-o', 'json'])).out());
    const revoked = list.tokens.filter(({ name }: { name: string }) => name === 'last-ci');
    expect(revoked).toEqual([expect.objectContaining({ revokedReason: 'the team was removed' })]);
  });
});

describe('a reader', () => {
  it('whose token counts as none is warned once, if the registry hides anything', async () => {
    const made = await run(['token', 'create', 'leaver', '--scope', 'read']);
    const options = { token: made.out().trim() };
    await run(['token', 'revoke', 'leaver']);
    expect((await run(['search'], options)).err()).not.toContain('only what is public');
    await apply(OWNED);
    const warning = "warning: the token 'leaver' is revoked: only what is public was read";
    for (const args of [['search'], ['search', '-o', 'json'], ['catalog', 'list'], ['policy', 'list']]) {
      const io = await run(args, options);
      expect([args, io.exitCode, io.err().split(warning).length]).toEqual([args, 0, 2]);
    }
    const unknown = await run(['search'], { token: `krmhub_${'x'.repeat(43)}` });
    expectEnd(unknown, 0, 'warning: the token is not known here: only what is public was read');
    for (const token of [registry.token, ''])
      expect((await run(['search'], { token })).err()).not.toContain('only what is public');
  });

  it('without a token is told to sign in, also for what does not exist', async () => {
    await apply(OWNED);
    const hints = await Promise.all(
      ['a.example.com/SetLabels', 'b.example.net/SetLabels'].map(async (name) => {
        const io = await run(['show', name], { token: '' });
        expectEnd(io, 3, 'If it is not public, sign in: krmhub login ');
        return io.err().replaceAll(name, 'NAME');
      }),
    );
    expect(new Set(hints).size).toBe(1);
    await apply(OPEN);
    expect((await run(['show', 'a.example.com/SetLabels'], { token: '' })).err()).not.toContain('sign in');
  });
});

describe('a fresh registry', () => {
  const fresh = fileRegistry();

  it('says how to write its Access document', async () => {
    const io = await runTest(['access', 'show'], { env: fresh.env, cwd: folder });
    expect(io.err()).toContain('then run: krmhub access apply access.yaml');
  });
});

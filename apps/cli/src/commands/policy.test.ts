import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { RegistryClient } from '@krmhub/api/client';
import type { PolicySet } from '@krmhub/api/model';
import { sha256 } from '@krmhub/schema';
import { beforeEach, describe, expect, it } from 'vitest';
import { expectEnd, fileRegistry, runTest, temporaryFolder } from '../testing/command-line.js';
import { writeKeyFiles } from '../testing/key-files.js';

const functions = fileURLToPath(new URL('../../../../test/fixtures/functions/set-labels', import.meta.url));

const root = temporaryFolder();
const registry = fileRegistry();
/** Of the running test: its folder, and the domain of its group, from which no other test publishes. */
let folder: string;
let domain: string;
let NAME: string;
let number = 0;

beforeEach(async () => {
  folder = await mkdtemp(path.join(root, 'test-'));
  domain = `test-${number++}.example.com`;
  NAME = `functions.${domain}/SetLabels@2.0.0`;
  await writeKeyFiles(folder, 'team', 'other');
  for (const release of ['1.0.0', '2.0.0']) {
    const text = await readFile(path.join(functions, `${release}.yaml`), 'utf8');
    await put(`${release}.yaml`, text.replaceAll('functions.example.com', `functions.${domain}`));
  }
  expectEnd(await run(['policy', 'apply', await put('none.yaml', '# nothing\n'), '--remove']), 0);
});

const run = (args: readonly string[], env: Record<string, string> = {}) =>
  runTest(/^(?:apply|add|remove)$/.test(args[1] ?? '') ? [...args, '--yes'] : args, {
    cwd: folder,
    env: { ...registry.env, KRMHUB_KEY_PASSWORD: 'secret', ...env },
  });

async function put(name: string, text: string): Promise<string> {
  await writeFile(path.join(folder, name), text);
  return name;
}

async function policyFor(key: string, more = ''): Promise<string> {
  const pem = await readFile(path.join(folder, `${key}.pub`), 'utf8');
  return put(
    'policies.yaml',
    `apiVersion: krmhub.dev/v1alpha1
kind: SigningPolicy
metadata: {name: team}
spec:
  groups: ["*.${domain}"]
  signers:
  - key: |
${pem.trimEnd().replace(/^/gm, '      ')}
${more}`,
  );
}

/** Answers a question at a terminal. */
const answer = (stdin: string, args: readonly string[]) =>
  runTest(args, { cwd: folder, env: registry.env, tty: true, stdin, columns: 200 });

const publish = (...args: string[]) => run(['publish', '2.0.0.yaml', '--release', '2.0.0', ...args]);

describe('policy apply and publish', () => {
  it('accepts the right key, and rejects another or no signature with exit code 4', async () => {
    const applied = await run(['policy', 'apply', await policyFor('team')]);
    expect(applied.err()).toContain('applied 1 policy');
    for (const [args, message] of [
      [[], `cannot publish ${NAME}: it is not signed`],
      [['--key', 'other.key'], `cannot publish ${NAME}: bundle verification failed`],
      [['--dry-run'], `cannot publish ${NAME}: it is not signed`],
    ] as const) {
      const io = await publish(...args);
      expect({ args, exitCode: io.exitCode }).toEqual({ args, exitCode: 4 });
      expect(io.err()).toContain(message);
      expect(io.err()).not.toContain('signed 1 release');
    }
    expect((await publish('--key', 'team.key', '--dry-run')).err()).not.toContain('signed 1 release');
    expectEnd(await publish('--key', 'team.key'), 0, 'signed 1 release');
    const shown = await run(['show', NAME]);
    expect(shown.out()).toMatch(/^signature +verified as the key sha256:\w{64} by the registry policy team/m);
    expect(
      JSON.parse((await run(['search', '-o', 'json', '--group', `functions.${domain}`])).out()).items[0]
        .signedBy[0],
    ).toContain('(policy team)');
  });

  it('shows who signed a release, and whether that covers the README, without any policy', async () => {
    await put('README.md', '# Labels');
    await publish('--key', 'team.key', '--readme', 'README.md');
    const signed = (await run(['show', NAME])).out();
    expect(signed).toMatch(
      /^signature +signed by the key sha256:\w{64}; no registry policy covers the release$/m,
    );
    expect(signed).toMatch(/^readme +\S+readme\.md$/m);
    const unsigned = [
      'publish',
      '1.0.0.yaml',
      '--release',
      '1.0.0',
      '--allow-breaking',
      '--readme',
      'README.md',
    ];
    expectEnd(await run(unsigned), 4, 'previous releases are signed by the key');
    expect((await run([...unsigned, '--key', 'other.key'])).exitCode).toBe(4);
  });

  it('warns of a release whose images have the tag of another one', async () => {
    const other = await run(['publish', '2.0.0.yaml', '--release', '2.1.0', '--dry-run']);
    expectEnd(other, 0, 'is of the release 2.0.0, not of 2.1.0');
    expect(other.err()).toContain('image/other-release');
    expect((await publish('--dry-run')).err()).not.toContain('other-release');
  });

  it('has exit code 4 in every command that pushes what the registry does not trust', async () => {
    await publish();
    await run(['policy', 'apply', await policyFor('team')]);
    const repository = `${new URL(registry.url).host}/functions/functions.${domain}/setlabels`;
    for (const args of [
      ['publish', '1.0.0.yaml', '--release', '1.0.0', '--allow-breaking'],
      ['push', '1.0.0.yaml', `${repository}:1.0.0`],
      ['sign', NAME, '--key', 'other.key'],
      ['sign', `${repository}:2.0.0`, '--key', 'other.key'],
    ]) {
      const io = await run(args);
      expect([args[0], io.exitCode, io.err()]).toEqual([args[0], 4, expect.any(String)]);
    }
  });

  it('shows that no signature covers the README of an unsigned release', async () => {
    await put('README.md', '# Labels');
    await publish('--readme', 'README.md');
    const shown = (await run(['show', NAME])).out();
    expect(shown).toMatch(/^signature +not signed; no registry policy requires a signature$/m);
    expect(shown).toMatch(/^readme +\S+readme\.md \(no signature covers it\)$/m);
  });

  it('does not sign a published release again', async () => {
    await publish('--key', 'team.key');
    const again = await publish('--key', 'team.key');
    expect(again.exitCode).toBe(0);
    expect(again.err()).not.toContain('signed');
  });

  it('adds the signature to a release that is published without one', async () => {
    expect((await publish()).exitCode).toBe(0);
    const rehearsed = await publish('--key', 'team.key', '--dry-run');
    expect(rehearsed.out()).toMatch(/\bwould be signed\b/);
    expect(rehearsed.err()).toContain('bundles would be added to 1 existing release');
    expect((await run(['show', NAME])).out()).toMatch(/^signature +not signed/m);
    const signed = await publish('--key', 'team.key', '-o', 'json');
    expect(signed.err()).toContain('bundles added to 1 existing release');
    expect(JSON.parse(signed.out()).releases).toMatchObject([{ outcome: 'attached' }]);
    expect((await run(['show', NAME])).out()).toMatch(/^signature +signed by the key sha256:/m);
    expectEnd(await publish('--key', 'other.key'), 4, 'previous releases are signed by the key');
    expect((await publish('--key', 'team.key')).err()).toContain('1 unchanged');
  });

  it('says that a signature without the README of the published release does not count', async () => {
    await put('README.md', '# Labels');
    await publish('--readme', 'README.md');
    expectEnd(await publish('--key', 'team.key'), 4, 'for example with another README');
    expect((await publish('--key', 'team.key', '--readme', 'README.md')).exitCode).toBe(0);
    expect((await run(['show', NAME])).out()).toMatch(/^readme +\S+readme\.md$/m);
  });

  it('publishes with a bundle from `sign --release`, and adds attestations later', async () => {
    await run(['policy', 'apply', await policyFor('team')]);
    await run(['sign', '2.0.0.yaml', '--key', 'team.key', '--release', '2.0.0', '--bundle', 'release.json']);
    expect((await publish('--bundle', 'release.json')).exitCode).toBe(0);
    await put('tests.json', '{"passed": true}');
    const type = 'https://example.com/tests/v1';
    await run([
      'sign',
      '2.0.0.yaml',
      '--key',
      'team.key',
      '--predicate',
      'tests.json',
      '--type',
      type,
      '--bundle',
      'tests.bundle',
    ]);
    const attached = await run(['attach', 'tests.bundle', NAME, '-o', 'json']);
    expect(JSON.parse(attached.out()).bundles).toMatchObject([
      { claim: 'signature' },
      { claim: 'attestation', predicateType: type },
    ]);
    expect((await run(['attach', 'tests.bundle', NAME])).err()).toContain(`${NAME} already has tests.bundle`);
    expect((await run(['show', NAME])).out()).toContain(`attestation  ${type}`);
  });

  it('refuses to attach a bundle of another subject', async () => {
    await publish();
    await put('other.txt', 'other bytes');
    await run(['sign', 'other.txt', '--key', 'team.key']);
    expectEnd(await run(['attach', 'other.txt.sigstore.json', NAME]), 4, 'not for this artifact');
  });

  it('reports swapped arguments', async () => {
    expectEnd(await run(['attach', NAME, 'other.txt.sigstore.json']), 2, 'Swap the arguments: krmhub attach');
  });

  it('explains the syntax of a key if YAML folded it or it is a file name', async () => {
    const file = await policyFor('team');
    const text = await readFile(path.join(folder, file), 'utf8');
    for (const bad of [text.replace('key: |', 'key:'), text.replace(/key: \|[\s\S]*/, 'key: team.pub\n')]) {
      expectEnd(await run(['policy', 'apply', await put('bad.yaml', bad)]), 1, 'Use `key: |`');
    }
  });

  it('accepts a time without quotes', async () => {
    const io = await run([
      'policy',
      'apply',
      await policyFor('team', '    validUntil: 2031-01-01T00:00:00Z\n'),
    ]);
    expect(io.exitCode).toBe(0);
    expect(io.err()).not.toContain('warning[');
  });

  it('reports in a dry run the releases with a new verdict', async () => {
    await run(['policy', 'apply', await policyFor('team')]);
    await publish('--key', 'team.key');
    const file = await policyFor('team', '    revoked: the laptop was stolen\n');
    const io = await run(['policy', 'apply', file, '--dry-run']);
    expect(io.out()).toContain('the laptop was stolen');
    expect(io.err()).toContain('1 release changes its verdict');
    expect((await run(['show', NAME])).out()).toContain('verified as');
    await run(['policy', 'apply', file]);
    expect((await run(['show', NAME])).out()).toContain('NOT TRUSTED: it is signed by');
  });

  it('prints the added and removed signers of each group, also as JSON', async () => {
    const first = await run(['policy', 'apply', await policyFor('team'), '--dry-run']);
    expect(first.err().replaceAll(domain, 'example.com')).toMatch(
      /^group \*\.example\.com: releases now require a signature\n {2}now trusted: the key sha256:\w{64}\n/m,
    );
    expect(first.err()).not.toContain('no longer trusted');
    await run(['policy', 'apply', 'policies.yaml']);
    const exchanged = await run(['policy', 'apply', await policyFor('other'), '-o', 'json']);
    expect(exchanged.err().replaceAll(domain, 'example.com')).toMatch(
      /^group \*\.example\.com\n {2}now trusted: the key (sha256:\w{64})\n {2}no longer trusted: the key (?!\1)sha256:/m,
    );
    expect(JSON.parse(exchanged.out()).trust).toMatchObject([
      { group: `*.${domain}`, trusted: [expect.anything()], distrusted: [expect.anything()] },
    ]);
    const none = await run(['policy', 'apply', await put('none.yaml', '# nothing\n'), '--remove']);
    expect(none.err()).toContain(
      `group *.${domain}: releases no longer require a signature\n  no longer trusted: `,
    );
  });

  it('asks for confirmation in a terminal after it prints the changes', async () => {
    await run(['policy', 'apply', await policyFor('team')]);
    await publish('--key', 'team.key');
    const file = await policyFor('other');
    for (const stdin of ['', 'n\n', '\n', 'yesterday\n']) {
      const io = await answer(stdin, ['policy', 'apply', file]);
      expect(io.exitCode).toBe(2);
      expect(io.err()).toMatch(
        /now trusted: [\s\S]+no longer trusted: [\s\S]+ changes its verdict[\s\S]+\[y\/N\]/,
      );
      expect(io.out()).toContain('not trusted');
    }
    expect((await run(['show', NAME])).out()).toContain('verified as');
    expect((await answer('y\n', ['policy', 'apply', file])).err()).toContain('applied 1 policy');
    expect((await run(['show', NAME])).out()).toContain('NOT TRUSTED');
    const unasked = await answer('', ['policy', 'apply', await policyFor('team'), '--yes']);
    expect(unasked.err()).not.toContain('[y/N]');
    expect(unasked.err()).toContain('applied 1 policy');
  });

  it('warns about a policy that is too broad, and applies it', async () => {
    const file = await policyFor('team');
    const text = await readFile(path.join(folder, file), 'utf8');
    const io = await run(['policy', 'apply', await put('wide.yaml', text.replace('"*.', '"*'))]);
    expectEnd(io, 0, 'warning[policy/broad-group]');
    expect(io.err()).toContain(`attacker${domain}`);
  });

  it('shows errors of policies with their lines, and applies nothing', async () => {
    const file = await put(
      'bad.yaml',
      `apiVersion: krmhub.dev/v1alpha1
kind: SigningPolicy
metadata: {name: team}
spec:
  groups: [example.com]
  signers:
  - issuer: https://token.example.com
    subjectPattern: .*
  - key: nonsense
`,
    );
    const io = await run(['policy', 'apply', file]);
    expectEnd(io, 1, 'bad.yaml:8:');
    expect(io.err()).toContain('policy/pattern');
    expect(io.err()).toContain('policy/key');
    expect((await run(['policy', 'list'])).err()).toContain('no signing policies');
  });

  it('rejects an empty file, and warns about policies without functions', async () => {
    const first = await run(['policy', 'apply', await policyFor('team')]);
    expect(first.err()).toContain('policy team covers no function in this registry yet');
    await put('empty.yaml', '# nothing\n');
    expectEnd(await run(['policy', 'apply', 'empty.yaml']), 1, 'would remove policies: team');
    expect((await run(['policy', 'apply', 'empty.yaml', '--remove'])).err()).toContain('applied 0 policies');
  });

  it('does not send a file that is not a bundle', async () => {
    await publish();
    for (const args of [
      ['attach', 'team.key', NAME],
      ['publish', '2.0.0.yaml', '--bundle', 'team.key'],
    ]) {
      expectEnd(await run(args), 4, 'team.key is not a sigstore bundle');
    }
  });

  it('changes nothing without a terminal and without --yes', async () => {
    const file = await policyFor('team');
    const before = (await run(['policy', 'list', '--text'])).out();
    for (const args of [
      ['apply', file],
      ['add', 'new', '--group', `*.${domain}`, '--key', 'team.pub'],
      ['apply', '-'],
    ]) {
      const options = {
        cwd: folder,
        env: registry.env,
        ...(args[1] === '-' ? { stdin: '# nothing\n' } : {}),
      };
      const io = await runTest(['policy', ...args], options);
      expect([args, io.exitCode, io.err()]).toEqual([args, 2, expect.stringContaining('use --yes')]);
    }
    expect((await run(['policy', 'list', '--text'])).out()).toBe(before);
    expect(
      (await runTest(['policy', 'apply', file, '--dry-run'], { cwd: folder, env: registry.env })).exitCode,
    ).toBe(0);
  });

  it('requires the scope admin', async () => {
    const created = await run(['token', 'create', 'ci', '--scope', 'publish']);
    const io = await run(['policy', 'apply', await policyFor('team')], {
      KRMHUB_TOKEN: created.out().trim(),
    });
    expectEnd(io, 6, 'does not have the scope "admin"');
  });

  it('prints the applied text of the policies', async () => {
    const file = await policyFor('team');
    await run(['policy', 'apply', file]);
    const text = (await run(['policy', 'list', '--text'])).out();
    expect(text).toBe(await readFile(path.join(folder, file), 'utf8'));
    await put('again.yaml', text);
    expect((await run(['policy', 'apply', 'again.yaml'])).err()).toContain('unchanged: 1 policy');
  });
});

describe('policy add and remove', () => {
  const listed = async () =>
    (JSON.parse((await run(['policy', 'list', '-o', 'json'])).out()) as PolicySet).policies;

  it('add a policy by key and one by identity, and leave the others and their comments', async () => {
    const file = await policyFor('team', '# reviewed in March\n');
    await run(['policy', 'apply', file]);
    const added = await run(['policy', 'add', 'ours', '--group', domain, '--key', 'other.pub']);
    expect(added.exitCode, added.err()).toBe(0);
    expect(added.err()).toMatch(
      new RegExp(`adding policy ours:\\n  group ${domain}\\n  the key sha256:\\w{64}\\n`),
    );
    expect(added.err()).toContain(`group ${domain}: releases now require a signature\n  now trusted: `);
    expect(added.err()).toContain('applied 2 policies');
    const issuer = 'https://accounts.example.com';
    const identity = ['--issuer', issuer, '--identity', 'ci@example.com', '--releases', '>=2.0.0'];
    const ci = await run(['policy', 'add', 'ci', '--group', `ci.${domain}`, ...identity, '--yes']);
    expect(ci.exitCode, ci.err()).toBe(0);
    expect(await listed()).toMatchObject([
      { name: 'team', groups: [`*.${domain}`] },
      { name: 'ours', groups: [domain], signers: [{ fingerprint: expect.stringMatching(/^sha256:/) }] },
      { name: 'ci', releases: '>=2.0.0', signers: [{ issuer, subject: 'ci@example.com' }] },
    ]);
    expect((await run(['policy', 'list', '--text'])).out()).toContain('# reviewed in March');

    const removed = await run(['policy', 'remove', 'ours']);
    expect(removed.exitCode, removed.err()).toBe(0);
    expect(removed.err()).toMatch(/removing policy ours:[\s\S]+no longer trusted: the key sha256:/);
    expect((await listed()).map(({ name }) => name)).toEqual(['team', 'ci']);
    await run(['policy', 'remove', 'team']);
    expectEnd(await run(['policy', 'remove', 'ci']), 0);
    expect((await run(['policy', 'list'])).err()).toContain('no signing policies');
  });

  it('change nothing in a dry run, or without a yes in a terminal', async () => {
    const add = ['policy', 'add', 'team', '--group', `*.${domain}`, '--key', 'team.pub'];
    expectEnd(await run([...add, '--dry-run']), 0, 'now trusted: ');
    const declined = await answer('n\n', add);
    expect(declined.exitCode).toBe(2);
    expect(declined.err()).toMatch(/now trusted: [\s\S]+\[y\/N\]/);
    expect(await listed()).toEqual([]);
    expect((await answer('y\n', add)).exitCode).toBe(0);
    expectEnd(await answer('\n', ['policy', 'remove', 'team']), 2, 'no longer trusted: ');
    expect(await listed()).toHaveLength(1);
  });

  it('replace a policy only with --replace', async () => {
    const add = (key: string, ...more: string[]) =>
      run(['policy', 'add', 'team', '--group', domain, '--key', key, ...more]);
    await add('team.pub');
    expect((await add('team.pub')).err()).toContain('unchanged: 1 policy');
    const refused = await add('other.pub');
    expectEnd(refused, 1, 'already exists and differs');
    expect(refused.err()).toMatch(/- the key sha256:\w+\n *\+ the key sha256:/);
    const replaced = await add('other.pub', '--replace');
    expect(replaced.err()).toMatch(/replacing policy team:[\s\S]+no longer trusted: the key/);
    expect(await listed()).toHaveLength(1);
  });

  it('warn about what is too broad, and reject what is invalid', async () => {
    const wide = await run(['policy', 'add', 'wide', '--group', '*.com', '--key', 'team.pub', '--dry-run']);
    expectEnd(wide, 0, 'warning: wide: ');
    for (const [args, exitCode, message] of [
      [['team', '--group', domain], 2, 'a signer is required'],
      [['team', '--group', domain, '--issuer', 'https://a.example.com'], 2, 'is required with --issuer'],
      [['team', '--group', 'NOT A GROUP', '--key', 'team.pub'], 2, 'SigningPolicy team'],
      [['team', '--group', domain, '--key', 'missing.pub'], 3, 'missing.pub'],
    ] as const) {
      expectEnd(await run(['policy', 'add', ...args]), exitCode, message);
    }
    await run(['policy', 'add', 'team', '--group', domain, '--key', 'team.pub']);
    expectEnd(await run(['policy', 'remove', 'teams']), 3, 'Did you mean team?');
  });

  it('do not overwrite a concurrent change', async () => {
    const client = new RegistryClient({ url: registry.url, token: registry.token });
    const bytes = Buffer.from(await readFile(path.join(folder, await policyFor('team')), 'utf8'));
    const { text } = await client.policies();
    await run(['policy', 'add', 'ours', '--group', domain, '--key', 'other.pub']);
    await expect(
      client.applyPolicies(bytes, { remove: true, replaces: sha256(text!) }),
    ).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('changed meanwhile'),
    });
    expect((await listed()).map(({ name }) => name)).toEqual(['ours']);
  });
});

describe('policy list', () => {
  it('shows in a terminal what each policy covers and requires, and its signers', async () => {
    const file = await policyFor(
      'team',
      '    revoked: the laptop was stolen\n  - {issuer: "https://a.example.com", subject: ci@example.com}\n',
    );
    await run(['policy', 'apply', file]);
    const io = await answer('', ['policy', 'list']);
    expect(io.out().replaceAll(/\u001b\[\d+m/g, '')).toMatch(
      new RegExp(
        `^team\\n  group     \\*\\.${domain}\\n  releases  all\\n  requires  a signature by this signer\\n` +
          '  signer    key sha256:\\w{64}, revoked: the laptop was stolen\\n  signer    ci@example.com \\(https://a.example.com\\)\\n$',
      ),
    );
    const rows = (await run(['policy', 'list'])).out().trimEnd().split('\n');
    expect(rows).toHaveLength(2);
    expect(rows[1]).toBe(`team\t*.${domain}\tall\tci@example.com (https://a.example.com)\talways`);
  });
});

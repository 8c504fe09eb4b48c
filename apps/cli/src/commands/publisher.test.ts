import { scriptedServer } from '@krmhub/oci/testing/scripted-server';
import { describe, expect, it } from 'vitest';
import { expectEnd, fileRegistry, runTest } from '../testing/command-line.js';

const registry = fileRegistry();

const add = (...args: string[]) =>
  runTest(['publisher', 'add', ...args, '--id', 'repositoryId=1', '--workflow', 'release.yml'], {
    tty: false,
    env: registry.env,
  });

describe('publisher add', () => {
  it('warns while the registry has no public URL', async () => {
    const io = await add('warned.example.com', '--github', 'example/functions');
    expectEnd(io, 0);
    expect(io.err()).toContain('the workflow cannot publish yet. The operator sets KRMHUB_PUBLIC_URL');
  });

  it('takes the URL of a project on the server that is its issuer, and of no other one', async () => {
    const addProject = (url: string, issuer: string) =>
      runTest(
        [
          'publisher',
          'add',
          'server.example.com',
          '--gitlab',
          url,
          '--issuer',
          issuer,
          '--id',
          'projectId=1',
        ],
        { tty: false, env: registry.env },
      );
    for (const [index, issuer] of ['https://gitlab.example.com', 'https://example.com/gitlab'].entries()) {
      const added = await addProject(`${issuer}/example/functions${index}`, issuer);
      expectEnd(added, 0);
      expect(added.err()).toContain(`gitlab example/functions${index} ${issuer} may publish`);
      const site = issuer.slice('https://'.length);
      for (const other of ['https://gitlab.com', 'https://evil.example.net', 'https://example.com']) {
        const refused = await addProject(`${other}/example/functions`, issuer);
        expectEnd(refused, 2, `is not a repository of ${site}`);
        expect(refused.err()).not.toContain('set --issuer too');
      }
    }
  });

  it('takes the URL of a repository on GitHub with data residency', async () => {
    const issuer = 'https://token.actions.octocorp.ghe.com';
    const addRepository = (url: string) =>
      runTest(
        [
          ...['publisher', 'add', 'residence.example.com', '--github', url, '--workflow', 'release.yml'],
          ...['--issuer', issuer, '--id', 'repositoryId=1', '--id', 'ownerId=2'],
        ],
        { tty: false, env: registry.env },
      );
    const added = await addRepository('https://octocorp.ghe.com/o/r');
    expectEnd(added, 0);
    expect(added.err()).toContain(`github o/r release.yml ${issuer} may publish`);
    expectEnd(await addRepository('https://github.com/o/r'), 2, 'is not a repository of octocorp.ghe.com');
  });

  it('adds nothing for a name that a project had before, which another one can have next', async () => {
    const server = await scriptedServer((_, response) => response.writeHead(301).end());
    const io = await runTest(
      ['publisher', 'add', 'moved.example.com', '--gitlab', 'a/b', '--issuer', `http://${server.host}`],
      { tty: false, env: registry.env },
    );
    await server.close();
    expect([io.exitCode, io.err()]).toEqual([
      1,
      expect.stringContaining('/api/v4/projects/a/b has moved: status 301'),
    ]);
  });

  it.each([
    ['https://github.com/example/functions', 0],
    ['https://github.com/example/functions.git', 0],
    ['https://github.com/example/functions/', 0],
    ['https://example.com/example/functions', 2],
    ['https://github.com/example', 2],
    ['https://github.com/example/functions?tab=readme', 2],
  ])('takes the URL of a repository, %s', async (url, code) => {
    const io = await add(`url${url.length}.example.com`, '--github', url);
    expect([io.exitCode ?? 0, io.err()]).toEqual([
      code,
      expect.stringContaining(
        code === 0 ? 'github example/functions release.yml may publish' : 'is not a repository of github.com',
      ),
    ]);
  });
});

describe('publisher check', () => {
  const claims = JSON.stringify({
    iss: 'https://token.actions.githubusercontent.com',
    ...{ repository: 'example/one', repository_id: '1', event_name: 'push' },
    ...{ repository_owner: 'example', repository_owner_id: '2', ref: 'refs/heads/main' },
    workflow_ref: 'example/one/.github/workflows/release.yml@refs/heads/main',
  });
  const check = (target: string) =>
    runTest(['publisher', 'check', target, '-'], { env: registry.env, stdin: claims });

  it('compares with the publishers of a function, and says why a workflow that matches cannot publish yet', async () => {
    expectEnd(await add('checked.example.com', '--github', 'example/all'), 0);
    expectEnd(await add('checked.example.com/One', '--github', 'example/one'), 0);
    expectEnd(await add('checked.example.com/Two', '--github', 'example/two'), 0);
    const matched = await check('checked.example.com/one');
    expectEnd(matched, 0);
    expect(matched.out()).toContain('checked.example.com: does not match');
    expect(matched.out()).toContain('checked.example.com/One: matches');
    expect(matched.out()).not.toContain('Two');
    expect(matched.err()).toContain('the workflow cannot publish yet. The operator sets KRMHUB_PUBLIC_URL');
    const other = await check('checked.example.com/Two');
    expect([other.exitCode, other.err()]).toEqual([1, '']);
    expectEnd(await check('checked.example.com/Two/Three'), 2, 'is not GROUP or GROUP/KIND');
  });
});

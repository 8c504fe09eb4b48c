import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { untrustedCertificate } from '../testing/certificate.js';
import { asking, CATALOG, TestRepositories, text } from '../testing/repositories.js';
import { catchFailure, httpServer, rawServer } from '../testing/servers.js';

const repositories = new TestRepositories();
const { git } = { git: (...args: string[]) => repositories.git(...args) };
const at = (target: string, repository?: string) => repositories.at(target, repository);
const fetcher = (...options: Parameters<TestRepositories['fetcher']>) => repositories.fetcher(...options);

beforeAll(async () => {
  await repositories.start();
  git('tag', '-a', 'v1', '-m', 'v1');
  repositories.write('other.bin', randomBytes(3_000_000));
  repositories.commit('two');
  git('push', '--quiet', '--tags', path.join(repositories.root, 'functions.git'), 'main');
});
afterEach(() => {
  repositories.instead = undefined;
  expect(repositories.left()).toEqual([]);
});
afterAll(() => repositories.stop());

describe('a git source', () => {
  it('is read at the default branch, a branch, a tag or a commit', async () => {
    const [one, two] = [git('rev-parse', 'HEAD~1'), git('rev-parse', 'HEAD')];
    const commits = {
      '': two,
      '?ref=main': two,
      '?ref=v1': one,
      '?ref=refs/tags/v1': one,
      '?ref=tags/v1': one,
      '?ref=heads/main': two,
      '?ref=HEAD': two,
      [`?ref=${two}`]: two,
    };
    for (const [ref, commit] of Object.entries(commits)) {
      const { bytes, validators, bundles } = await fetcher().fetch(asking(at(`team/catalog.yaml${ref}`)));
      expect([ref, text(bytes), validators.commit, bundles]).toEqual([ref, CATALOG, commit, []]);
    }
  });

  it('is read from servers with git protocol version 0', async () => {
    repositories.instead = (request) => {
      delete request.headers['git-protocol'];
      return false;
    };
    for (const ref of ['', '?ref=v1', `?ref=${git('rev-parse', 'HEAD')}`]) {
      const { bytes } = await fetcher().fetch(asking(at(`team/catalog.yaml${ref}`)));
      expect([ref, text(bytes)]).toEqual([ref, CATALOG]);
    }
  });

  it('is read from SHA-256 repositories', async () => {
    const newer = new TestRepositories();
    try {
      await newer.start('sha256');
      const { bytes, validators } = await newer.fetcher().fetch(asking(newer.at('team/catalog.yaml')));
      expect([text(bytes), validators.commit]).toEqual([CATALOG, newer.git('rev-parse', 'HEAD')]);
    } finally {
      await newer.stop();
    }
  });

  it('needs one request if the commit is unchanged, and none if the ref is that commit', async () => {
    const target = at('team/catalog.yaml');
    const { asked } = repositories.server;
    const first = await fetcher().fetch(asking(target, { bundles: true }));
    const before = asked.length;
    const second = await fetcher().fetch(asking(target, { bundles: true, validators: first.validators }));
    expect(second).toEqual({ validators: first.validators, bundles: [] });
    expect(asked.slice(before).map(({ url }) => url)).toEqual([
      '/functions.git/info/refs?service=git-upload-pack',
      '/functions.git/git-upload-pack',
    ]);
    const fixed = at(`team/catalog.yaml?ref=${first.validators.commit}`);
    const third = await fetcher().fetch(asking(fixed));
    const count = asked.length;
    expect((await fetcher().fetch(asking(fixed, { validators: third.validators }))).bytes).toBeUndefined();
    expect(asked).toHaveLength(count);
  });

  it('is fetched without other files if the server supports partial clones', async () => {
    const small = fetcher({ limits: { maxRepositoryBytes: 1_000_000 } });
    expect(text((await small.fetch(asking(at('team/catalog.yaml')))).bytes)).toBe(CATALOG);
    repositories.publish('whole.git', false);
    const whole = at('team/catalog.yaml', 'whole.git');
    expect(await catchFailure(small.fetch(asking(whole)))).toMatchObject({ problem: 'too-large' });
    expect(text((await fetcher().fetch(asking(whole))).bytes)).toBe(CATALOG);
  });

  it('is read with its bundles, changed or not', async () => {
    repositories.write('team/snapshot.sigstore.json', 'snapshot');
    repositories.write('team/catalog.yaml.sigstore.json', 'file');
    repositories.commit('signed');
    repositories.publish('signed.git');
    const target = at('team/catalog.yaml', 'signed.git');
    const first = await fetcher().fetch(asking(target, { bundles: true }));
    expect([text(first.bytes), first.bundles.map(text)]).toEqual([CATALOG, ['snapshot', 'file']]);
    const second = await fetcher().fetch(asking(target, { bundles: true, validators: first.validators }));
    expect([second.bytes, second.bundles.map(text)]).toEqual([undefined, ['snapshot', 'file']]);
  });

  it('is read with credentials that other processes cannot see', async () => {
    const asked: (string | undefined)[] = [];
    repositories.instead = (request, response) => {
      asked.push(request.headers.authorization);
      if (request.headers.authorization !== undefined) return false;
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end();
      return true;
    };
    const target = at('team/catalog.yaml');
    expect(await catchFailure(fetcher().fetch(asking(target)))).toMatchObject({
      problem: 'unauthorized',
      message: `${repositories.host} denies access to the repository`,
    });
    const known = fetcher({ credentials: async () => ({ username: 'reader', password: 'secret' }) });
    expect(text((await known.fetch(asking(target))).bytes)).toBe(CATALOG);
    expect(asked.at(-1)).toBe(`Basic ${Buffer.from('reader:secret').toString('base64')}`);
  });
});

describe('a failing git source', () => {
  it('reports missing paths and refs', async () => {
    const failures = {
      'team/none.yaml': `"team/none.yaml" not found in the repository of ${repositories.host}`,
      'none/catalog.yaml': `"none/catalog.yaml" not found in the repository of ${repositories.host}`,
      'team/catalog.yaml?ref=none': `${repositories.host} has no branch or tag "none" in this repository`,
      [`team/catalog.yaml?ref=${'a'.repeat(40)}`]: `${repositories.host} does not have this branch, tag, or commit`,
    };
    for (const [target, message] of Object.entries(failures)) {
      const failure = await catchFailure(fetcher().fetch(asking(at(target))));
      expect(failure).toMatchObject({ problem: 'not-found', code: 'not-found' });
      expect(failure.message).toContain(message);
    }
    expect(await catchFailure(fetcher().fetch(asking(at('a.yaml', 'none.git'))))).toMatchObject({
      problem: 'not-found',
      message: `${repositories.host} does not have this repository`,
    });
    repositories.git('init', '--quiet', '--bare', path.join(repositories.root, 'empty.git'));
    expect(await catchFailure(fetcher().fetch(asking(at('a.yaml', 'empty.git'))))).toMatchObject({
      problem: 'not-found',
      message: `${repositories.host} has no commits in this repository`,
    });
  });

  it('reports a server without git, or with the files only', async () => {
    const page = await rawServer((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<html>\n</html>\n'),
    );
    expect(await catchFailure(fetcher().fetch(asking(`${page.origin}/x.git//catalog.yaml`)))).toMatchObject({
      problem: 'bad-answer',
      message: `127.0.0.1:${page.port} is not a git server`,
    });
    await page.close();
    const bare = path.join(repositories.root, 'functions.git');
    execFileSync('git', ['-C', bare, 'update-server-info']);
    const files = await httpServer((request, response) => {
      const file = path.join(repositories.root, request.url!.split('?')[0]!);
      if (existsSync(file)) response.end(readFileSync(file));
      else response.writeHead(404).end();
    });
    const dumb = `${files.origin}/functions.git//team/catalog.yaml`;
    expect(await catchFailure(fetcher().fetch(asking(dumb)))).toMatchObject({
      problem: 'bad-answer',
      message: `127.0.0.1:${files.port} serves the files of a repository without the git protocol`,
    });
    await files.close();
  });

  it('is retried after a temporary failure', async () => {
    let times = 0;
    repositories.instead = (_, response) => {
      if (++times > 2) return false;
      response.writeHead(503).end();
      return true;
    };
    expect(text((await fetcher().fetch(asking(at('team/catalog.yaml')))).bytes)).toBe(CATALOG);
    times = -10;
    expect(await catchFailure(fetcher().fetch(asking(at('team/catalog.yaml'))))).toMatchObject({
      problem: 'unreachable',
      message: `${repositories.host} closed the connection to git`,
    });
    expect(times).toBe(-7);
  });

  it('reports an untrusted certificate', async () => {
    const server = createServer(untrustedCertificate(repositories.folder));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    expect(
      await catchFailure(fetcher().fetch(asking(`https://127.0.0.1:${port}/x.git//c.yaml`))),
    ).toMatchObject({
      problem: 'unreachable',
      message: `127.0.0.1:${port} cannot be reached by git: the TLS handshake failed`,
    });
    server.close();
  });

  it('reports missing and outdated programs', async () => {
    const programs = path.join(repositories.folder, 'programs');
    mkdirSync(programs);
    const asked = asking(at('team/catalog.yaml'));
    expect(await catchFailure(fetcher({ programFolders: programs }).fetch(asked))).toMatchObject({
      problem: 'internal',
      message: 'cannot start git',
    });
    writeFileSync(path.join(programs, 'sh'), '#!/bin/sh\nexec /bin/sh "$@"\n');
    chmodSync(path.join(programs, 'sh'), 0o755);
    expect(await catchFailure(fetcher({ programFolders: programs }).fetch(asked))).toMatchObject({
      problem: 'internal',
      message: `${repositories.host} cannot be fetched: git is not installed`,
    });
    writeFileSync(path.join(programs, 'git'), '#!/bin/sh\necho git version 2.36.9\n');
    chmodSync(path.join(programs, 'git'), 0o755);
    expect(await catchFailure(fetcher({ programFolders: programs }).fetch(asked))).toMatchObject({
      problem: 'internal',
      message: 'git version 2.36.9 is too old',
      hint: 'Install git 2.37 or newer.',
    });
  });

  it('reports a server without ssh', async ({ skip }) => {
    if (!existsSync('/usr/bin/ssh')) skip('ssh is not installed');
    const silent = await rawServer(() => undefined);
    const target = `ssh://git@127.0.0.1:${silent.port}/x.git//catalog.yaml`;
    const hurried = fetcher({ limits: { totalMilliseconds: 3_000 } });
    expect(await catchFailure(hurried.fetch(asking(target)))).toMatchObject({ problem: 'too-slow' });
    await silent.close();
  });
});

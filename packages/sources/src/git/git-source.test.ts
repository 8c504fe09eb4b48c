import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readSourceAddress } from '@krmhub/catalog';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FetcherOptions, FetchRequest } from '../context.js';
import {
  failureOf,
  gitServer,
  rawServer,
  type TestServer,
  temporaryFolder,
  testFetcher,
} from '../testing.js';

const { folder, remove } = temporaryFolder();
const root = path.join(folder, 'repositories');
const work = path.join(root, 'work');
/** Nothing else is in it, so that what is left behind shows. */
const scratch = path.join(folder, 'scratch');
const CATALOG = 'kind: KRMFunctionCatalog\n';
const loopback = { resolve: async () => [{ address: '127.0.0.1', family: 4 }] };

let server: Awaited<ReturnType<typeof gitServer>>;
const others: TestServer[] = [];
/** Answers instead of git, where a test sets it. */
let instead: Parameters<typeof gitServer>[1];

beforeAll(async () => {
  mkdirSync(path.join(work, 'team'), { recursive: true });
  git('init', '--quiet', '--initial-branch=main');
  git('config', 'user.name', 'test');
  git('config', 'user.email', 'test@example.com');
  write('team/catalog.yaml', CATALOG);
  write('other.bin', randomBytes(3_000_000));
  symlinkSync('/etc/passwd', path.join(work, 'passwd'));
  symlinkSync('team', path.join(work, 'alias'));
  commit('one');
  git('tag', '-a', 'v1', '-m', 'v1');
  publish();
  server = await gitServer(root, (request, response) => instead?.(request, response) ?? false);
});
afterAll(async () => {
  await server.close();
  for (const other of others) await other.close();
  remove();
});

function git(...args: string[]): string {
  return execFileSync('git', args, {
    cwd: work,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}

function write(file: string, content: string | Buffer): void {
  writeFileSync(path.join(work, file), content);
}

function commit(message: string): void {
  git('add', '.');
  git('commit', '--quiet', '-m', message);
}

/** What is served, by a server that can leave out files as the forges can. */
function publish(name = 'functions.git', ...settings: string[]): void {
  const bare = path.join(root, name);
  execFileSync('rm', ['-rf', bare]);
  git('clone', '--quiet', '--bare', '.', bare);
  for (const setting of ['uploadpack.allowFilter', ...settings]) git('-C', bare, 'config', setting, 'true');
}

function asking(target: string, more: Partial<FetchRequest> = {}): FetchRequest {
  const read = readSourceAddress(`git::${target}`);
  if (!read.ok) throw new Error(read.reason);
  return { address: read.address, bundles: false, ...more };
}

function at(pathAndRef: string, repository = 'functions.git'): string {
  return `${server.origin}/${repository}//${pathAndRef}`;
}

function fetcher(options: Partial<FetcherOptions> = {}) {
  return testFetcher(scratch, options);
}

const text = (bytes: Uint8Array | undefined) =>
  bytes === undefined ? undefined : Buffer.from(bytes).toString();

/** Programs that were started with the folder of repositories as their home. */
function running(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`HOME=${scratch}`);
      } catch {
        return false;
      }
    });
}

function expectNothingLeft(): void {
  expect(running()).toEqual([]);
  expect(readdirSync(scratch)).toEqual([]);
}

describe('a catalog in a git repository', () => {
  it('is read at the default branch, a branch, a tag or a commit', async () => {
    const head = git('rev-parse', 'HEAD');
    for (const ref of ['', '?ref=main', '?ref=v1', '?ref=refs/tags/v1', `?ref=${head}`]) {
      const { bytes, validators, bundles } = await fetcher().fetch(asking(at(`team/catalog.yaml${ref}`)));
      expect([ref, text(bytes), validators.commit, bundles]).toEqual([ref, CATALOG, head, []]);
    }
    expectNothingLeft();
  });

  it('costs one question where its commit is the same, and no question where a commit is named', async () => {
    const target = at('team/catalog.yaml');
    const first = await fetcher().fetch(asking(target, { bundles: true }));
    const before = server.asked.length;
    const second = await fetcher().fetch(asking(target, { bundles: true, validators: first.validators }));
    expect(second).toEqual({ validators: first.validators, bundles: [] });
    expect(server.asked.slice(before).map(({ url }) => url)).toEqual([
      '/functions.git/info/refs?service=git-upload-pack',
      '/functions.git/git-upload-pack',
    ]);
    const fixed = at(`team/catalog.yaml?ref=${first.validators.commit}`);
    const third = await fetcher().fetch(asking(fixed));
    const asked = server.asked.length;
    expect((await fetcher().fetch(asking(fixed, { validators: third.validators }))).bytes).toBeUndefined();
    expect(server.asked).toHaveLength(asked);
  });

  it('comes without the other files of the repository, where the server can leave them out', async () => {
    const small = fetcher({ limits: { maxRepositoryBytes: 1_000_000 } });
    publish('random.git');
    expect(text((await small.fetch(asking(at('team/catalog.yaml')))).bytes)).toBe(CATALOG);
  });

  it('comes with the bundles beside it, whether or not it changed', async () => {
    write('team/snapshot.sigstore.json', 'snapshot');
    write('team/catalog.yaml.sigstore.json', 'file');
    commit('signed');
    publish('signed.git');
    const target = at('team/catalog.yaml', 'signed.git');
    const first = await fetcher().fetch(asking(target, { bundles: true }));
    expect([text(first.bytes), first.bundles.map(text)]).toEqual([CATALOG, ['snapshot', 'file']]);
    const second = await fetcher().fetch(asking(target, { bundles: true, validators: first.validators }));
    expect([second.bytes, second.bundles.map(text)]).toEqual([undefined, ['snapshot', 'file']]);
    expectNothingLeft();
  });

  it('is told by what is not there', async () => {
    const failures = {
      'team/none.yaml': 'there is no "team/none.yaml" in that repository of',
      'none/catalog.yaml': 'there is no "none/catalog.yaml" in that repository of',
      'team/catalog.yaml?ref=none': 'has no branch or tag "none" in that repository',
      [`team/catalog.yaml?ref=${'a'.repeat(40)}`]: 'has no such branch, tag or commit',
    };
    for (const [target, message] of Object.entries(failures)) {
      const failure = await failureOf(fetcher().fetch(asking(at(target))));
      expect(failure).toMatchObject({ problem: 'not-found', code: 'not-found' });
      expect(failure.message).toContain(message);
    }
    expect(await failureOf(fetcher().fetch(asking(at('a.yaml', 'none.git'))))).toMatchObject({
      problem: 'not-found',
      message: `127.0.0.1:${server.port} has no such repository`,
    });
    expectNothingLeft();
  });

  it('is read with credentials that nobody else sees', async () => {
    const asked: (string | undefined)[] = [];
    instead = (request, response) => {
      asked.push(request.headers.authorization);
      if (request.headers.authorization !== undefined) return false;
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end();
      return true;
    };
    try {
      const stranger = await failureOf(fetcher().fetch(asking(at('team/catalog.yaml'))));
      expect(stranger).toMatchObject({ problem: 'unauthorized' });
      const known = fetcher({ credentials: async () => ({ username: 'reader', password: 'secret' }) });
      expect(text((await known.fetch(asking(at('team/catalog.yaml')))).bytes)).toBe(CATALOG);
      expect(asked.at(-1)).toBe(`Basic ${Buffer.from('reader:secret').toString('base64')}`);
    } finally {
      instead = undefined;
    }
  });
});

describe('a git repository that means harm', () => {
  it('is not followed through links and submodules', async () => {
    const head = git('rev-parse', 'HEAD');
    git('update-index', '--add', '--cacheinfo', `160000,${head},module`);
    write(
      '.gitmodules',
      `[submodule "module"]\n\tpath = module\n\turl = --upload-pack=touch ${folder}/touched\n`,
    );
    git('add', '.gitmodules');
    git('commit', '--quiet', '-m', 'links');
    publish('links.git');
    const cases = {
      passwd: '"passwd" of HOST is a symbolic link, which is not followed',
      'passwd/x': '"passwd" of HOST is a symbolic link, which is not followed',
      'alias/catalog.yaml': '"alias" of HOST is a symbolic link, which is not followed',
      module: '"module" of HOST is a submodule, which is not followed',
      'module/catalog.yaml': '"module" of HOST is a submodule, which is not followed',
      team: '"team" of HOST is a folder, and no file',
    };
    for (const [target, message] of Object.entries(cases)) {
      expect(await failureOf(fetcher().fetch(asking(at(target, 'links.git'))))).toMatchObject({
        problem: 'bad-answer',
        message: message.replace('HOST', `127.0.0.1:${server.port}`),
      });
    }
    expect(readdirSync(folder)).not.toContain('touched');
    expectNothingLeft();
  });

  it.each([
    ['file:///etc', 'a.yaml', undefined],
    ['/etc', 'a.yaml', undefined],
    ['../work', 'a.yaml', undefined],
    ['--upload-pack=touch', 'a.yaml', undefined],
    ['ext::sh -c touch% /tmp/touched', 'a.yaml', undefined],
    ['git://127.0.0.1/x', 'a.yaml', undefined],
    ['ssh://-oProxyCommand=touch/x', 'a.yaml', undefined],
    ["ssh://host'$(touch)'/x", 'a.yaml', undefined],
    ['ssh://-l@127.0.0.1/x', 'a.yaml', undefined],
  ])('cannot be named as %s, even where nobody reads its address before', async (repository, file, ref) => {
    const address = { type: 'git', repository, path: file, ...(ref === undefined ? {} : { ref }) } as const;
    expect(await failureOf(fetcher().fetch({ address, bundles: false }))).toMatchObject({
      problem: 'forbidden-address',
    });
  });

  it('takes paths and refs for nothing else', async () => {
    const repository = `${server.origin}/functions.git`;
    for (const [file, ref] of [
      ['--upload-pack=touch', undefined],
      [':(glob)**', undefined],
      ['../../etc/passwd', undefined],
      ['team/catalog.yaml', '--upload-pack=touch'],
      ['team/catalog.yaml', 'main:refs/heads/x'],
      ['team/catalog.yaml', '*'],
    ]) {
      const address = {
        type: 'git',
        repository,
        path: file!,
        ...(ref === undefined ? {} : { ref }),
      } as const;
      const failure = await failureOf(fetcher().fetch({ address, bundles: false }));
      expect([file, ref, failure.problem]).toEqual([
        file,
        ref,
        expect.stringMatching(/not-found|bad-answer/),
      ]);
    }
    expectNothingLeft();
  });

  it('is not fetched by a protocol that is not allowed, nor from where nobody may go', async () => {
    const encrypted = fetcher({ protocols: ['https'] });
    expect(await failureOf(encrypted.fetch(asking(at('team/catalog.yaml'))))).toMatchObject({
      problem: 'forbidden-address',
      message: 'git may not fetch by http here',
    });
    const before = server.asked.length;
    for (const address of [
      'http://169.254.169.254',
      'http://10.0.0.1',
      'ssh://git@[::1]',
      'https://[::ffff:a00:1]',
    ]) {
      expect(await failureOf(fetcher().fetch(asking(`${address}/x.git//a.yaml`)))).toMatchObject({
        problem: 'forbidden-address',
      });
    }
    expect(await failureOf(fetcher({ allowedAddresses: [] }).fetch(asking(at('a.yaml'))))).toMatchObject({
      problem: 'forbidden-address',
    });
    expect(server.asked).toHaveLength(before);
  });

  it('is asked at the address that was judged, whatever its name means later', async () => {
    // No DNS server knows the name: git gets there because it does not look it up.
    const target = `http://functions.invalid:${server.port}/functions.git//team/catalog.yaml`;
    expect(text((await fetcher(loopback).fetch(asking(target))).bytes)).toBe(CATALOG);
    const dotted = `http://functions.invalid.:${server.port}/functions.git//team/catalog.yaml`;
    expect(text((await fetcher(loopback).fetch(asking(dotted))).bytes)).toBe(CATALOG);
    const inside = fetcher({ resolve: async () => [{ address: '10.0.0.1', family: 4 }] });
    expect(await failureOf(inside.fetch(asking(target)))).toMatchObject({ problem: 'forbidden-address' });
  });

  it('is not followed elsewhere', async () => {
    const elsewhere = await gitServer(root);
    others.push(elsewhere);
    instead = (request, response) => {
      response.writeHead(302, { Location: `${elsewhere.origin}${request.url}` }).end();
      return true;
    };
    try {
      expect(await failureOf(fetcher().fetch(asking(at('team/catalog.yaml'))))).toMatchObject({
        problem: 'bad-answer',
        message: `127.0.0.1:${server.port} redirects to another address`,
      });
      expect(elsewhere.asked).toEqual([]);
    } finally {
      instead = undefined;
    }
  });

  it('is not read past the limit of a catalog, however well it is packed', async () => {
    write('huge.yaml', Buffer.alloc(100_000_000));
    commit('huge');
    publish('huge.git');
    git('reset', '--quiet', '--hard', 'HEAD~1');
    const failure = await failureOf(fetcher().fetch(asking(at('huge.yaml', 'huge.git'))));
    expect(failure).toMatchObject({
      problem: 'too-large',
      message: `"huge.yaml" of 127.0.0.1:${server.port} is larger than 67108864 bytes`,
    });
    expectNothingLeft();
  });

  it('does not fill the disk', async () => {
    write('noise', randomBytes(20_000_000));
    commit('noise');
    publish('noise.git');
    git('-C', path.join(root, 'noise.git'), 'config', 'uploadpack.allowFilter', 'false');
    git('reset', '--quiet', '--hard', 'HEAD~1');
    const small = fetcher({ limits: { maxRepositoryBytes: 2_000_000 } });
    const failure = await failureOf(small.fetch(asking(at('team/catalog.yaml', 'noise.git'))));
    expect(failure.problem).toBe('too-large');
    expect(failure.message).toMatch(/gives a repository that is too large|larger than 2000000 bytes/);
    expectNothingLeft();
  });

  it('does not list without end', async () => {
    instead = (request, response) => {
      const line = `003f${'a'.repeat(40)} refs/heads/${'b'.repeat(7)}\n`;
      response.writeHead(200, {
        'Content-Type': `application/x-git-upload-pack-${request.method === 'GET' ? 'advertisement' : 'result'}`,
      });
      response.write('001e# service=git-upload-pack\n0000');
      const timer = setInterval(() => response.write(line.repeat(20_000)), 5);
      response.on('close', () => clearInterval(timer));
      return true;
    };
    try {
      const bounded = fetcher({
        limits: { totalMilliseconds: 3_000, maxGitMemoryBytes: 300_000_000, idleMilliseconds: 5_000 },
      });
      const failure = await failureOf(bounded.fetch(asking(at('team/catalog.yaml'))));
      expect(failure).toMatchObject({
        problem: 'too-large',
        message: `127.0.0.1:${server.port} gives a repository that takes too much memory or time to read`,
      });
    } finally {
      instead = undefined;
    }
    expectNothingLeft();
  });

  it('that stands still is killed with everything that git started, and leaves nothing behind', async () => {
    const stalled = await rawServer(() => undefined);
    others.push(stalled);
    const impatient = fetcher({ limits: { totalMilliseconds: 700, idleMilliseconds: 30_000 } });
    const fetching = failureOf(impatient.fetch(asking(`${stalled.origin}/x.git//catalog.yaml`)));
    await new Promise((resolve) => setTimeout(resolve, 400));
    // git itself and the program that it speaks http with.
    expect(running().length).toBeGreaterThanOrEqual(2);
    const started = performance.now();
    expect(await fetching).toMatchObject({
      problem: 'too-slow',
      message: `127.0.0.1:${stalled.port} took longer than 0.7 s altogether`,
    });
    expect(performance.now() - started).toBeLessThan(1_000);
    expectNothingLeft();
  });

  it('that stands still for long enough is given up before the end', async () => {
    const stalled = await rawServer((socket) => socket.write('HTTP/1.1 200 OK\r\n'));
    others.push(stalled);
    const started = performance.now();
    const failure = await failureOf(fetcher().fetch(asking(`${stalled.origin}/x.git//catalog.yaml`)));
    expect(failure).toMatchObject({ problem: 'too-slow' });
    expect(failure.message).toContain('stood still');
    expect(performance.now() - started).toBeLessThan(6_000);
    expectNothingLeft();
  });

  it('is told by an answer that is no git', async () => {
    const page = await rawServer((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<html>\n</html>\n'),
    );
    others.push(page);
    expect(await failureOf(fetcher().fetch(asking(`${page.origin}/x.git//catalog.yaml`)))).toMatchObject({
      problem: 'bad-answer',
      message: `127.0.0.1:${page.port} does not answer as a server of git does`,
    });
    const ssh = await rawServer(() => undefined);
    others.push(ssh);
    const failure = await failureOf(
      fetcher().fetch(asking(`ssh://git@127.0.0.1:${ssh.port}/x.git//catalog.yaml`)),
    );
    expect(failure.problem).toMatch(/too-slow|unreachable|unauthorized|bad-answer/);
    expectNothingLeft();
  });
});

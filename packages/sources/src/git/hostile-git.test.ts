import { randomBytes } from 'node:crypto';
import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { asking, CATALOG, read, TestRepositories, text } from '../testing/repositories.js';
import { catchFailure, gitServer, rawServer, type TestServer } from '../testing/servers.js';
import { TemporaryRepository } from './temporary-repository.js';

const repositories = new TestRepositories();
const servers: TestServer[] = [];
const git = (...args: string[]) => repositories.git(...args);
const at = (target: string, repository?: string) => repositories.at(target, repository);
const fetcher = (...options: Parameters<TestRepositories['fetcher']>) => repositories.fetcher(...options);

beforeAll(() => repositories.start());
afterEach(async () => {
  repositories.instead = undefined;
  for (const server of servers.splice(0)) await server.close();
  expect(repositories.left()).toEqual([]);
});
afterAll(() => repositories.stop());

/** Reads all of a request, and never answers. */
async function silentServer(): Promise<TestServer> {
  const server = await rawServer(() => undefined);
  servers.push(server);
  return server;
}

describe('the content of a repository', () => {
  it('is rejected if it is a link or a submodule', async () => {
    symlinkSync('/etc/passwd', path.join(repositories.work, 'passwd'));
    symlinkSync('team', path.join(repositories.work, 'alias'));
    const touched = path.join(repositories.folder, 'touched');
    repositories.write(
      '.gitmodules',
      `[submodule "module"]\n\tpath = module\n\turl = --upload-pack=touch ${touched}\n`,
    );
    repositories.write('.gitattributes', `*.yaml filter=harm\n`);
    git('add', '.');
    git('update-index', '--add', '--cacheinfo', `160000,${git('rev-parse', 'HEAD')},module`);
    git('commit', '--quiet', '-m', 'links');
    repositories.publish('links.git');
    const cases = {
      passwd: '"passwd" of HOST is a symbolic link, which is not followed',
      'passwd/x': '"passwd" of HOST is a symbolic link, which is not followed',
      'alias/catalog.yaml': '"alias" of HOST is a symbolic link, which is not followed',
      module: '"module" of HOST is a submodule, which is not followed',
      'module/catalog.yaml': '"module" of HOST is a submodule, which is not followed',
      team: '"team" of HOST is a folder',
    };
    for (const [target, message] of Object.entries(cases)) {
      expect(await catchFailure(fetcher().fetch(asking(at(target, 'links.git'))))).toMatchObject({
        problem: 'bad-answer',
        message: message.replace('HOST', repositories.host),
      });
    }
    expect(text((await fetcher().fetch(asking(at('team/catalog.yaml', 'links.git')))).bytes)).toBe(CATALOG);
    expect(readdirSync(repositories.folder)).not.toContain('touched');
  });

  it('is not used as a bundle if it is a link', async () => {
    symlinkSync('catalog.yaml', path.join(repositories.work, 'team/snapshot.sigstore.json'));
    repositories.commit('linked bundle');
    repositories.publish('linked.git');
    const { bundles } = await fetcher().fetch(
      asking(at('team/catalog.yaml', 'linked.git'), { bundles: true }),
    );
    expect(bundles).toEqual([]);
  });

  it('is read up to the size limit, also if it is compressed', async () => {
    repositories.write('huge.yaml', Buffer.alloc(100_000_000));
    repositories.commit('huge');
    repositories.publish('huge.git');
    git('reset', '--quiet', '--hard', 'HEAD~1');
    expect(await catchFailure(fetcher().fetch(asking(at('huge.yaml', 'huge.git'))))).toMatchObject({
      problem: 'too-large',
      message: `"huge.yaml" of ${repositories.host} is larger than 67108864 bytes`,
    });
  });

  it('cannot fill the disk with one file or with many', async () => {
    repositories.write('noise', randomBytes(20_000_000));
    repositories.commit('noise');
    repositories.publish('noise.git', false);
    git('reset', '--quiet', '--hard', 'HEAD~1');
    const small = fetcher({ limits: { maxRepositoryBytes: 2_000_000 } });
    const failure = await catchFailure(small.fetch(asking(at('team/catalog.yaml', 'noise.git'))));
    expect(failure.problem).toBe('too-large');
    expect(failure.message).toMatch(/has a repository that is too large|larger than 2000000 bytes/);

    const many = await TemporaryRepository.create(repositories.scratch, {
      what: 'it',
      maxBytes: 2_500,
      everyMilliseconds: 5,
    });
    for (const name of ['a', 'b']) writeFileSync(path.join(many.folder, name), Buffer.alloc(1_000));
    await sleep(50);
    expect(many.signal.aborted).toBe(false);
    writeFileSync(path.join(many.folder, 'c'), Buffer.alloc(1_000));
    await expect.poll(() => many.signal.aborted).toBe(true);
    expect(many.signal.reason).toMatchObject({
      problem: 'too-large',
      message: 'it is larger than 2500 bytes',
    });
    await many.remove();
  });
});

describe('the URL of a repository', () => {
  it.each([
    'file:///etc',
    '/etc',
    '../work',
    '--upload-pack=touch',
    'ext::sh -c touch% /tmp/touched',
    'git://127.0.0.1/x',
    'ftp://127.0.0.1/x',
    'ssh://-oProxyCommand=touch/x',
    "ssh://host'$(touch)'/x",
    'ssh://a;touch/x',
    'ssh://-l@127.0.0.1/x',
    'ssh://host%0aProxyCommand=touch/x',
  ])('cannot be %s, also if it is not read before', async (repository) => {
    const address = { type: 'git', repository, path: 'a.yaml' } as const;
    expect(await catchFailure(fetcher().fetch({ address, bundles: false }))).toMatchObject({
      problem: 'forbidden-address',
    });
  });

  it('cannot inject options with paths and refs', async () => {
    const repository = `${repositories.server.origin}/functions.git`;
    for (const [file, ref] of [
      ['--upload-pack=touch', undefined],
      [':(glob)**', undefined],
      ['../../etc/passwd', undefined],
      ['team/catalog.yaml', '--upload-pack=touch'],
      ['team/catalog.yaml', 'main:refs/heads/x'],
      ['team/catalog.yaml', '*'],
    ] as const) {
      const address = { type: 'git', repository, path: file, ...(ref === undefined ? {} : { ref }) } as const;
      const failure = await catchFailure(fetcher().fetch({ address, bundles: false }));
      expect([file, ref, failure.problem]).toEqual([
        file,
        ref,
        expect.stringMatching(/^(?:not-found|bad-answer)$/),
      ]);
    }
  });

  it('is rejected for other protocols and private addresses', async () => {
    const { asked } = repositories.server;
    const encrypted = fetcher({ protocols: ['https'] });
    expect(await catchFailure(encrypted.fetch(asking(at('team/catalog.yaml'))))).toMatchObject({
      problem: 'forbidden-address',
      message: 'git over http is not allowed',
      hint: 'Use an allowed protocol (https), or ask the operator to allow http.',
    });
    const before = asked.length;
    for (const host of [
      'http://169.254.169.254',
      'http://2130706433',
      'ssh://git@[::1]',
      'ssh://2130706433',
      'https://[::ffff:a00:1]',
    ]) {
      const strict = fetcher({ allowedAddresses: [] });
      expect([host, await catchFailure(strict.fetch(asking(`${host}/x.git//a.yaml`)))]).toMatchObject([
        host,
        { problem: 'forbidden-address' },
      ]);
    }
    expect(asked).toHaveLength(before);
  });

  it('is fetched from the checked address, also if DNS changes', async () => {
    const here = { resolve: async () => [{ address: '127.0.0.1', family: 4 }] };
    // No DNS server knows the name: git gets there because it does not look it up.
    for (const host of ['functions.invalid', 'functions.invalid.']) {
      const target = `http://${host}:${repositories.server.port}/functions.git//team/catalog.yaml`;
      expect(text((await fetcher(here).fetch(asking(target))).bytes)).toBe(CATALOG);
      const inside = fetcher({ resolve: async () => [{ address: '10.0.0.1', family: 4 }] });
      expect(await catchFailure(inside.fetch(asking(target)))).toMatchObject({
        problem: 'forbidden-address',
      });
    }
  });
});

describe('a git server', () => {
  it('cannot redirect git', async () => {
    const elsewhere = await gitServer(repositories.root);
    servers.push(elsewhere);
    repositories.instead = (request, response) => {
      response.writeHead(302, { Location: `${elsewhere.origin}${request.url}` }).end();
      return true;
    };
    expect(await catchFailure(fetcher().fetch(asking(at('team/catalog.yaml'))))).toMatchObject({
      problem: 'bad-answer',
      message: `${repositories.host} redirects to another address`,
    });
    expect(elsewhere.asked).toEqual([]);
  });

  it('cannot send an endless list', async () => {
    repositories.instead = (_, response) => {
      const line = `003f${'a'.repeat(40)} refs/heads/${'b'.repeat(7)}\n`;
      response.writeHead(200, { 'Content-Type': 'application/x-git-upload-pack-advertisement' });
      response.write('001e# service=git-upload-pack\n0000');
      const timer = setInterval(() => response.write(line.repeat(20_000)), 5);
      response.on('close', () => clearInterval(timer));
      return true;
    };
    const bounded = fetcher({ limits: { maxGitMemoryBytes: 300_000_000, idleMilliseconds: 60_000 } });
    expect(await catchFailure(bounded.fetch(asking(at('team/catalog.yaml'))))).toMatchObject({
      problem: 'too-large',
      message: `${repositories.host} has a repository that takes too much memory or time`,
    });
  });

  it('that sends no data leads to the end of git and its child processes, which show no secrets', async () => {
    const silent = await silentServer();
    /** False where the time was over before git had started all that it starts. */
    const isKilledAfter = async (seconds: number): Promise<boolean> => {
      const impatient = fetcher({
        limits: { totalMilliseconds: seconds * 1_000, idleMilliseconds: 300_000 },
        credentials: async () => ({ username: 'reader', password: 'secret' }),
      });
      let hasEnded = false;
      const fetching = catchFailure(impatient.fetch(asking(`${silent.origin}/x.git//catalog.yaml`)));
      void fetching.then(() => {
        hasEnded = true;
      });
      let running: string[] = [];
      // git itself and the program that it speaks http with.
      const hasStarted = () => {
        running = repositories.running();
        return running.length >= 2;
      };
      await expect.poll(() => hasStarted() || hasEnded, { timeout: 60_000 }).toBe(true);
      for (const pid of running) {
        const shown = read(`/proc/${pid}/cmdline`);
        expect(shown).not.toMatch(/Basic|secret|extraHeader/i);
        const environment = read(`/proc/${pid}/environ`);
        expect(environment).not.toContain(process.env.HOME);
      }
      expect(await fetching).toMatchObject({
        problem: 'too-slow',
        message: `127.0.0.1:${silent.port} took longer than ${seconds} s in total`,
      });
      return running.length >= 2;
    };
    // The busier the machine, the longer git takes to start.
    expect((await isKilledAfter(2)) || (await isKilledAfter(10)) || (await isKilledAfter(40))).toBe(true);
  });

  it('that sends no data fails at the idle timeout', async () => {
    const silent = await silentServer();
    const impatient = fetcher({ limits: { idleMilliseconds: 1_000 } });
    const failure = await catchFailure(impatient.fetch(asking(`${silent.origin}/x.git//catalog.yaml`)));
    expect(failure).toMatchObject({
      problem: 'too-slow',
      message: `127.0.0.1:${silent.port} sent no data to git`,
    });
  });

  it('is not waited for after an abort', async () => {
    const silent = await silentServer();
    const asked = asking(`${silent.origin}/x.git//catalog.yaml`, { signal: AbortSignal.timeout(300) });
    expect(await catchFailure(fetcher().fetch(asked))).toMatchObject({ message: 'the fetch was aborted' });
  });

  it('fails at the connect timeout if DNS does not respond', async () => {
    const lost = fetcher({
      limits: { connectMilliseconds: 200 },
      resolve: () => new Promise(() => undefined),
    });
    expect(
      await catchFailure(lost.fetch(asking('https://vendor.example/x.git//catalog.yaml'))),
    ).toMatchObject({
      problem: 'too-slow',
      message: 'vendor.example took longer than 0.2 s to connect',
    });
  });
});

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { catalogText } from '../../apps/cli/src/testing/catalog-build.js';
import { config } from '../../apps/cli/src/testing/package-files.js';
import { untrustedCertificate } from '../../packages/sources/src/testing/certificate.js';
import { TestRepositories } from '../../packages/sources/src/testing/repositories.js';
import { privateGitServer, type TestServer } from '../../packages/sources/src/testing/servers.js';
import { krmhubHere } from '../run-here.js';

/** Private repositories over https with an authority of their own, read with the git configuration of the user. */

const repositories = new TestRepositories();
let server: TestServer;
let authority: string;
let home: string;

function put(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(repositories.work, file)), { recursive: true });
  repositories.write(file, text);
}

beforeAll(async () => {
  await repositories.start();
  put('team/catalog.yaml', catalogText('example.com', ['Logger']));
  put('base/logger.yaml', config('Logger'));
  put('base/kustomization.yaml', 'catalogs: [../team/catalog.yaml]\ntransformers: [logger.yaml]\n');
  put('plain/logger.yaml', config('Logger'));
  put('plain/kustomization.yaml', 'transformers: [logger.yaml]\n');
  put('functions/a/metadata.yaml', 'image: gcr.io/kpt-fn/set-labels\ndescription: a\nlicense: MIT\n');
  repositories.commit('private');
  repositories.git('tag', 'v1.0.0');
  repositories.publish('private.git');
  const certificate = untrustedCertificate(repositories.folder);
  authority = path.join(repositories.folder, 'cert.pem');
  server = await privateGitServer(repositories.root, { certificate, user: 'reader:s3cret' });
});
afterAll(async () => {
  await server.close();
  await repositories.stop();
});
beforeEach(() => {
  home = mkdtempSync(path.join(repositories.folder, 'home-'));
  mkdirSync(path.join(home, 'app'));
  writeFileSync(
    path.join(home, 'app/kustomization.yaml'),
    `resources: [${server.origin}/private.git//base?ref=v1.0.0]\n`,
  );
  writeFileSync(
    path.join(home, 'recipe.yaml'),
    `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ours}
spec: {sources: [{name: theirs, catalog: {url: 'git::${server.origin}/private.git', format: kpt-metadata, releases: tags}}]}
`,
  );
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const catalog = () => `git::${server.origin}/private.git//team/catalog.yaml?ref=v1.0.0`;
const READS: [string, () => string[]][] = [
  ['a catalog', () => ['resolve', 'example.com/v1', 'Logger', '-c', catalog()]],
  ['a remote base', () => ['explain', 'app', '-c', catalog()]],
  ['a source of a build', () => ['catalog', 'build', 'recipe.yaml', '--out', 'out']],
];
const run = (args: readonly string[], env: Record<string, string> = {}) =>
  krmhubHere(args, {
    cwd: home,
    env: { PATH: process.env.PATH ?? '', KRMHUB_CACHE: path.join(home, 'cache'), ...env },
  });

/** Ways to say who can be trusted, and ways to sign in. */
const AUTHORITIES: [string, () => { config?: string; env?: Record<string, string> }][] = [
  ['http.sslCAInfo', () => ({ config: `[http]\n\tsslCAInfo = ${authority}\n` })],
  ['http.URL.sslCAInfo', () => ({ config: `[http "${server.origin}/"]\n\tsslCAInfo = ${authority}\n` })],
  ['GIT_SSL_CAINFO', () => ({ env: { GIT_SSL_CAINFO: authority } })],
  ['SSL_CERT_FILE', () => ({ env: { SSL_CERT_FILE: authority } })],
  [
    'GIT_CONFIG_COUNT',
    () => ({
      env: { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'http.sslCAInfo', GIT_CONFIG_VALUE_0: authority },
    }),
  ],
];
const stored = () => {
  writeFileSync(path.join(home, '.git-credentials'), `${server.origin.replace('//', '//reader:s3cret@')}\n`);
  return { config: '[credential]\n\thelper = store\n' };
};
const SIGN_INS: [string, () => { config?: string; env?: Record<string, string> }][] = [
  ['a credential helper', stored],
  [
    '.netrc',
    () => {
      writeFileSync(path.join(home, '.netrc'), 'machine 127.0.0.1 login reader password s3cret\n', {
        mode: 0o600,
      });
      return {};
    },
  ],
  [
    'GIT_ASKPASS',
    () => {
      const file = path.join(home, 'askpass');
      writeFileSync(file, '#!/bin/sh\ncase "$1" in User*) echo reader;; *) echo s3cret;; esac\n', {
        mode: 0o755,
      });
      return { env: { GIT_ASKPASS: file } };
    },
  ],
];

function configure(...parts: { config?: string; env?: Record<string, string> }[]): Record<string, string> {
  writeFileSync(path.join(home, '.gitconfig'), parts.map(({ config = '' }) => config).join(''));
  return Object.assign({}, ...parts.map(({ env = {} }) => env));
}

describe('a private repository over https', () => {
  it.each(READS)('is not read without a configuration, as %s', async (_, args) => {
    const untrusted = await run(args());
    expect([untrusted.code, untrusted.stdout + untrusted.stderr]).toEqual([
      expect.toSatisfy((code: number) => code !== 0),
      expect.stringContaining('the TLS handshake failed'),
    ]);
    const anonymous = await run(args(), { GIT_SSL_CAINFO: authority });
    expect(anonymous.code).not.toBe(0);
    expect(anonymous.stdout + anonymous.stderr).toContain('denies access to the repository');
  });

  it.each(READS.flatMap(([read, args]) => SIGN_INS.map(([by, signIn]) => [read, by, args, signIn] as const)))(
    'is read as %s with %s',
    async (_, __, args, signIn) => {
      const env = configure(AUTHORITIES[0]![1](), signIn());
      const { code, stderr, stdout } = await run(args(), env);
      expect(code, stderr + stdout).toBe(0);
    },
  );

  it.each(AUTHORITIES)('is read with the authority of %s', async (_, trust) => {
    const env = configure(trust(), stored());
    const { code, stderr } = await run(READS[0]![1](), env);
    expect(code, stderr).toBe(0);
  });

  it('is read with the authority of the git configuration, whatever SSL_CERT_FILE names', async () => {
    const env = configure(AUTHORITIES[0]![1](), stored());
    const { code, stderr } = await run(READS[0]![1](), { ...env, SSL_CERT_FILE: '/dev/null' });
    expect(code, stderr).toBe(0);
  });

  it('is read without hooks, other transports, and the repository that the environment names', async () => {
    const mark = path.join(home, 'ran');
    const hooks = path.join(home, 'hooks');
    mkdirSync(hooks);
    for (const hook of ['post-checkout', 'reference-transaction', 'post-merge', 'fsmonitor-watchman']) {
      writeFileSync(path.join(hooks, hook), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
    }
    const attack = `[core]\n\thooksPath = ${hooks}\n\tfsmonitor = ${hooks}/fsmonitor-watchman\n`;
    const env = configure(AUTHORITIES[0]![1](), stored(), { config: attack });
    const { code, stderr } = await run(READS[0]![1](), {
      ...env,
      GIT_DIR: '/nonexistent',
      GIT_WORK_TREE: '/x',
    });
    expect(code, stderr).toBe(0);
    // A URL that the configuration turns into a command.
    configure({
      config: `[url "ext::touch ${mark}"]\n\tinsteadOf = ${server.origin}/\n[protocol "ext"]\n\tallow = always\n`,
    });
    const turned = await run([...READS[0]![1](), '--catalog', catalog().replace('?ref=v1.0.0', '')]);
    expect(turned.code).not.toBe(0);
    expect(existsSync(mark)).toBe(false);
  });

  it('gets no secret of krmhub, and neither do the helpers of the user', async () => {
    const seen = path.join(home, 'seen');
    const helper = path.join(home, 'helper');
    writeFileSync(helper, `#!/bin/sh\nenv > ${seen}\necho username=reader\necho password=s3cret\n`, {
      mode: 0o755,
    });
    const env = configure(AUTHORITIES[0]![1](), { config: `[credential]\n\thelper = ${helper}\n` });
    const secrets = { KRMHUB_TOKEN: 'krm_secret', KRMHUB_KEY_PASSWORD: 'hidden' };
    const { code, stderr } = await run(READS[0]![1](), { ...env, ...secrets, MINE: 'mine' });
    expect(code, stderr).toBe(0);
    const text = readFileSync(seen, 'utf8');
    expect(text).toContain('MINE=mine');
    expect(text).not.toMatch(/krm_secret|hidden/);
  });
});

describe('a base of a private repository', () => {
  it('can name bases of private repositories itself, by a path and by a URL', async () => {
    const base = `${server.origin}/private.git//base?ref=v1.0.0`;
    put('middle/kustomization.yaml', `resources: ["${base}"]\n`);
    put('outer/kustomization.yaml', 'resources: [../middle]\n');
    repositories.commit('nested');
    repositories.publish('nested.git');
    writeFileSync(
      path.join(home, 'app/kustomization.yaml'),
      `resources: [${server.origin}/nested.git//outer?ref=main]\n`,
    );
    const args = ['explain', 'app', '-c', catalog(), '-o', 'json'];
    expect((await run(args, { GIT_SSL_CAINFO: authority })).code).not.toBe(0);
    for (const [by, signIn] of SIGN_INS) {
      const { code, stdout, stderr } = await run(args, configure(AUTHORITIES[0]![1](), signIn()));
      expect([by, code, stderr]).toEqual([by, 0, expect.not.stringContaining('error')]);
      expect(JSON.parse(stdout).functions).toMatchObject([{ kind: 'Logger', state: 'resolved' }]);
      rmSync(path.join(home, 'cache'), { recursive: true, force: true });
    }
  });
});

describe('a base on this disk', () => {
  it('is read from a file URL as kustomize does, but not by a base of another host', async () => {
    const { root } = repositories;
    writeFileSync(
      path.join(home, 'app/kustomization.yaml'),
      `resources: ["file://${root}/private.git//plain?ref=v1.0.0"]\n`,
    );
    writeFileSync(path.join(home, 'catalog.yaml'), catalogText('example.com', ['Logger']));
    const { code, stderr } = await run(['explain', 'app', '-c', 'catalog.yaml']);
    expect(code, stderr).toBe(0);
    put('away/kustomization.yaml', `resources: ["file://${root}/private.git//plain?ref=v1.0.0"]\n`);
    repositories.commit('away');
    repositories.publish('away.git');
    writeFileSync(
      path.join(home, 'app/kustomization.yaml'),
      `resources: [${server.origin}/away.git//away?ref=main]\n`,
    );
    const away = await run(['explain', 'app'], configure(AUTHORITIES[0]![1](), stored()));
    expect(away.code).not.toBe(0);
    expect(away.stdout + away.stderr).toContain('cannot name a repository on this disk');
  });
});

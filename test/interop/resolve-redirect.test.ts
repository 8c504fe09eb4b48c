import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { commitFiles } from '../commit-files.js';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, command, temporaryFolder } from '../running.js';

/**
 * A catalog or base on the Internet must not lead to an address of the user's own network. In a network namespace of
 * its own, a public address is one of this machine, so that a real server can have it.
 */

const PUBLIC = '11.22.33.44';
const { folder, remove } = temporaryFolder();
afterAll(remove);

function inNamespace(script: string) {
  const setUp = `ip link set lo up && ip addr add ${PUBLIC}/32 dev lo && ip addr add ${PUBLIC.replace('44', '45')}/32 dev lo`;
  return spawnSync('unshare', ['--map-root-user', '--net', 'sh', '-c', `${setUp} && ${script}`], {
    cwd: folder,
    encoding: 'utf8',
    env: cleanEnvironment(folder, { KRMHUB_CACHE: path.join(folder, 'cache') }),
  });
}

const isPossible = inNamespace('true').status === 0;

/**
 * A server at every address: `/to/ADDRESS` redirects there, `/exec/ADDRESS` is a catalog whose executable is there,
 * `/git/…` are files of repositories, and everything else is a catalog. Then runs commands, and says what each asked,
 * as ADDRESS/PATH.
 */
const SCRIPT = `
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { Worker, isMainThread, parentPort } from 'node:worker_threads';

const catalog = (runtime) => \`apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: any}
spec:
  krmFunctions:
  - group: example.com
    names: {kind: SetLabels}
    versions: [{name: v1}]
    runtime: {\${runtime}}
\`;
const digest = '${'a'.repeat(64)}';
const image = 'container: {image: a.example.com/b@sha256:' + digest + '}';
const executable = (uri) => 'exec: {platforms: [' + ['amd64', 'arm64'].map((arch) =>
  '{os: linux, arch: ' + arch + ', bin: run, uri: "' + uri + '", sha256: ' + digest + '}') + ']}';
function gitBackend(request, response, path) {
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => {
    const env = {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: 'repositories',
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      PATH_INFO: path,
      QUERY_STRING: request.url.split('?')[1] ?? '',
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      GIT_PROTOCOL: request.headers['git-protocol'] ?? '',
    };
    const { stdout } = spawnSync('git', ['http-backend'], { env, input: Buffer.concat(pieces) });
    const end = stdout.indexOf('\\r\\n\\r\\n');
    for (const line of stdout.subarray(0, end).toString('latin1').split('\\r\\n')) {
      const [name, value] = line.split(': ');
      if (name === 'Status') response.statusCode = parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.end(stdout.subarray(end + 4));
  });
}
if (!isMainThread) {
  const asked = [];
  const server = createServer((request, response) => {
    const path = request.url.split('?')[0];
    asked.push(request.socket.localAddress + path);
    const [, what, rest] = /^\\/(to|exec|git)\\/(.*)$/.exec(path) ?? [];
    if (what === 'to') response.writeHead(302, { location: 'http://' + rest + ':8080/catalog.yaml' }).end();
    else if (what === 'exec') response.end(catalog(executable('oci://' + rest + ':8080/scripts/run:v1')));
    else if (what === 'git') gitBackend(request, response, '/' + rest);
    else if (path.startsWith('/v2/')) response.writeHead(404).end();
    else response.end(catalog(image));
  });
  server.listen(8080, '0.0.0.0', () => parentPort.postMessage('ready'));
  parentPort.on('message', () => parentPort.postMessage(asked.splice(0)));
} else {
  const worker = new Worker(new URL(import.meta.url));
  const next = () => new Promise((resolve) => worker.once('message', resolve));
  await next();
  const results = [];
  for (const args of JSON.parse(process.argv[2])) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [process.argv[3], ...args], { encoding: 'utf8' });
    const answer = next();
    worker.postMessage('asked');
    results.push({ status, stdout, stderr, asked: await answer });
  }
  console.log(JSON.stringify(results));
  process.exit(0);
}
`;

interface Ran {
  status: number;
  stdout: string;
  stderr: string;
  asked: string[];
}

/** Runs commands of krmhub one after the other. */
function run(...commands: string[][]): Ran[] {
  writeFileSync(path.join(folder, 'script.mjs'), SCRIPT);
  const { stdout, stderr } = inNamespace(
    `${process.execPath} script.mjs '${JSON.stringify(commands)}' ${command}`,
  );
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

const OTHER = PUBLIC.replace('44', '45');
const PRIVATE = ['127.0.0.1', '[::ffff:127.0.0.1]', 'localhost'];
const REFUSED = 'is not an address of the public Internet';
const noNamespaces = 'this machine does not allow network namespaces (unshare, ip)';

it('is not followed from a public address to a private one', ({ skip }) => {
  skip(!isPossible, noNamespaces);
  const resolve = (from: string, to: string) => {
    const url = `http://${from}:8080/to/${to}`;
    return ['resolve', 'example.com/v1', 'SetLabels', '-c', url];
  };
  const refused = run(...PRIVATE.map((to) => resolve(PUBLIC, to)));
  for (const [at, to] of PRIVATE.entries()) {
    const { status, stderr, asked } = refused[at]!;
    expect([to, status, stderr]).toEqual([to, 6, expect.stringContaining(REFUSED)]);
    expect(asked).toEqual([`${PUBLIC}/to/${to}`]);
  }
  const followed = run(
    resolve(PUBLIC, OTHER),
    resolve('127.0.0.1', '127.0.0.2'),
    resolve('127.0.0.1', PUBLIC),
  );
  for (const one of followed) {
    expect(one).toMatchObject({ status: 0 });
    expect(one.asked).toHaveLength(2);
  }
});

it('is not where a public catalog has an executable', ({ skip }) => {
  skip(!isPossible, noNamespaces);
  const install = (from: string, to: string) => [
    'plugins',
    'install',
    ...['-c', `http://${from}:8080/exec/${to}`, '--allow-exec'],
  ];
  for (const to of ['127.0.0.1', 'localhost']) {
    const [refused] = run(install(PUBLIC, to));
    expect([refused!.status, refused!.stderr]).toEqual([6, expect.stringContaining(REFUSED)]);
    expect(refused!.stderr).toContain('A document from a public server refers to it');
    expect(new Set(refused!.asked)).toEqual(new Set([`${PUBLIC}/exec/${to}`]));
  }
  // A catalog of the user's own network may.
  const [fetched] = run(install('127.0.0.1', '127.0.0.2'));
  expect(fetched!.asked).toContain('127.0.0.2/v2/scripts/run/manifests/v1');
});

it('is neither a base nor a catalog that a public base names', ({ skip }) => {
  skip(!isPossible, noNamespaces);
  const repositories = path.join(folder, 'repositories');

  commitFiles(repositories, 'inner', { 'kustomization.yaml': 'resources: []\n' });
  commitFiles(repositories, 'bases', {
    'base/kustomization.yaml': 'resources: ["http://127.0.0.1:8080/git/inner.git"]\n',
    'catalog/kustomization.yaml':
      'catalogs: ["http://127.0.0.1:8080/catalog.yaml"]\ntransformers: [labels.yaml]\n',
    'catalog/labels.yaml': 'apiVersion: example.com/v1\nkind: SetLabels\nmetadata: {name: labels}\n',
  });
  for (const from of [PUBLIC, '127.0.0.2']) {
    for (const base of ['base', 'catalog']) {
      mkdirSync(path.join(folder, from, base), { recursive: true });
      writeFileSync(
        path.join(folder, from, base, 'kustomization.yaml'),
        `resources: ["http://${from}:8080/git/bases.git//${base}"]\n`,
      );
    }
  }
  const explain = (from: string, base: string) => ['explain', `${from}/${base}`];
  const all = run(
    ...[PUBLIC, '127.0.0.2'].flatMap((from) => ['base', 'catalog'].map((base) => explain(from, base))),
  );
  const [base, catalog, ownBase, ownCatalog] = all as [Ran, Ran, Ran, Ran];
  const toThisMachine = ({ asked }: Ran) => asked.filter((one) => one.startsWith('127.0.0.1/'));
  for (const one of [base, catalog]) {
    expect([one.status !== 0, one.stdout + one.stderr]).toEqual([true, expect.stringContaining(REFUSED)]);
    expect(toThisMachine(one)).toEqual([]);
    expect(one.asked.length).toBeGreaterThan(1);
  }
  // One of the user's own network may.
  expect(ownBase.status, ownBase.stderr).toBe(0);
  for (const one of [ownBase, ownCatalog]) expect(toThisMachine(one)).not.toEqual([]);
  expect(ownCatalog.stdout + ownCatalog.stderr).toContain('--trusted-catalog');
});

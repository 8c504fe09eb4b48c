import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildProgram, runProgram } from '../program.js';
import { type TestIo, testIo } from '../testing/command-line.js';
import { URL_DOCUMENTS } from '../testing/url-documents.js';

/**
 * A URL with a password in every argument and option of every command, in the variables, and in the files of packages:
 * nothing that a command prints or caches has the password.
 */

const SECRET = 'hunter2';
/** Usable, and not. Each ends in a host that nobody has, or a port where nobody listens. */
const URLS = [
  `https://user:${SECRET}@host.invalid:99999/x`,
  `http://user:${SECRET}@127.0.0.1:1/catalogs/default`,
  `https://user:a/${SECRET}@host.invalid/x`,
  `oci://user:${SECRET}@127.0.0.1:1/team/name:v1`,
  `git::https://user:${SECRET}@127.0.0.1:1/r.git//catalog.yaml`,
  `http://127.0.0.1:1/catalog.yaml?token=${SECRET}`,
  `user:${SECRET}@host.invalid:99999/name:v1`,
  `postgres://user:${SECRET}@127.0.0.1:1/db`,
];

/** The first of them, and another one: in each place, all of them would take minutes. */
const someUrls = (at: number) => [URLS[0]!, URLS[1 + (at % (URLS.length - 1))]!];

/** A value for each argument that is not the one with the URL, by its name in the help. */
const VALUES: Record<string, string> = {
  file: 'definition.yaml',
  files: 'definition.yaml',
  recipe: 'recipe.yaml',
  function: 'example.com/SetLabels',
  release: 'example.com/SetLabels@1.0.0',
  before: 'example.com/SetLabels@1.0.0',
  after: 'example.com/SetLabels@1.1.0',
  artifact: '127.0.0.1:1/team/name:v1',
  from: '127.0.0.1:1/team/name:v1',
  to: '127.0.0.1:1/team/name:v2',
  repository: '127.0.0.1:1/team/name',
  host: '127.0.0.1:1',
  catalog: 'default',
  name: 'default',
  apiVersion: 'example.com/v1alpha1',
  kind: 'SetLabels',
  group: 'example.com',
  target: 'example.com',
  action: 'read',
  object: 'registry',
  actor: 'anonymous',
  id: '12345678',
  path: 'app',
  folder: 'package',
  dir: 'package',
  backup: 'backup',
  definition: 'definition.yaml',
};

/** Options without which the option with the URL has no effect. */
const WITH: Record<string, readonly string[]> = {
  'sign --fulcio-url': ['--keyless', '--identity-token-file', 'definition.yaml'],
  'sign --rekor-url': ['--keyless', '--identity-token-file', 'definition.yaml'],
  'sign --timestamp-url': ['--keyless', '--identity-token-file', 'definition.yaml'],
  'move --to-database-url': ['--to-data', 'new'],
  'move --to-blob-url': ['--to-data', 'new'],
};

/** Options whose value is the name of a folder, which is data. */
const FOLDERS = ['init --out', 'plugins list --dir', 'plugins update --dir'];

/** Commands that would run until they are stopped: another option that is wrong ends them when all are read. */
const ENDED: Record<string, readonly string[]> = { serve: ['--port', '99999'] };

interface Slot {
  command: string[];
  /** The argument or option that gets the URL. */
  slot: string;
  args: (url: string) => string[];
  hasJson: boolean;
}

function leaves(command: Command, names: string[] = []): { command: Command; names: string[] }[] {
  const below = command.createHelp().visibleCommands(command);
  if (below.length === 0) return names.at(-1) === 'help' ? [] : [{ command, names }];
  return below.flatMap((one) => leaves(one, [...names, one.name()]));
}

function slotsOf({ command, names }: { command: Command; names: string[] }): Slot[] {
  const name = names.join(' ');
  const json = command.options.find(({ long }) => long === '--output');
  const hasJson = json?.argChoices?.includes('json') === true;
  const required = command.options.filter(({ mandatory }) => mandatory);
  const needed = (without: string) => [
    ...required.flatMap(({ long }) => (long === without ? [] : [long!, 'value'])),
    ...(ENDED[name] ?? []),
  ];
  const values = command.registeredArguments.map((one) => VALUES[one.name()] ?? 'value');
  const filled = command.registeredArguments.flatMap((one, at) => (one.required ? [values[at]!] : []));
  const inArguments = command.registeredArguments.map(
    (one, at): Slot => ({
      command: names,
      slot: `<${one.name()}>`,
      args: (url) => [...needed(''), ...values.slice(0, at), url, ...filled.slice(at + 1)],
      hasJson,
    }),
  );
  const inOptions = command.options
    .filter((one) => (one.required || one.optional) && one.long !== '--output')
    .map(
      ({ long, short }): Slot => ({
        command: names,
        slot: long ?? short!,
        args: (url) => [
          ...filled,
          ...needed(long!),
          ...(WITH[`${name} ${long}`] ?? []),
          `${long ?? short}=${url}`,
        ],
        hasJson,
      }),
    );
  // Usage errors quote what is too much.
  const more: Slot = {
    command: names,
    slot: 'more',
    args: (url) => [...values, url, `--no-such=${url}`],
    hasJson,
  };
  return [...inArguments, ...inOptions, more];
}

let root: string;
let server: Server;
let env: Record<string, string>;

/** Runs a command, and returns what it printed. Ends one that would wait, and removes files that the URL names. */
async function printed(args: readonly string[], more: Record<string, string> = {}): Promise<string> {
  const io: TestIo = testIo({ cwd: root, env: { ...env, ...more } });
  const before = new Set([...readdirSync(root), 'home']);
  io.stop();
  await runProgram(args, io);
  for (const name of readdirSync(root))
    if (!before.has(name)) rmSync(path.join(root, name), { recursive: true });
  return io.out() + io.err();
}

beforeAll(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'krmhub-urls-'));
  server = createServer((request, response) => {
    request.resume();
    const body = { title: 'Not Found', status: 404, code: 'not-found', detail: 'no such thing' };
    response.writeHead(404, { 'content-type': 'application/problem+json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  env = {
    HOME: path.join(root, 'home'),
    KRMHUB_CACHE: path.join(root, 'home/cache'),
    KRMHUB_REGISTRY: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    KRMHUB_TOKEN: `krmhub_${'0'.repeat(72)}`,
  };
  const write = (name: string, text: string) => {
    mkdirSync(path.join(root, path.dirname(name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  };
  write('definition.yaml', 'apiVersion: config.kubernetes.io/v1alpha1\nkind: KRMFunctionDefinition\n');
  write('recipe.yaml', 'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: a}\n');
  const config = 'apiVersion: example.com/v1alpha1\nkind: SetLabels\nmetadata: {name: a}\n';
  for (const folder of ['app', 'package']) write(`${folder}/config.yaml`, config);
  write('app/kustomization.yaml', 'transformers: [config.yaml]\n');
  write(
    'package/Kptfile',
    'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\npipeline:\n  mutators:\n  - configPath: config.yaml\n',
  );
}, 60_000);
afterAll(() => {
  server.close();
  server.closeAllConnections();
  rmSync(root, { recursive: true, force: true });
});

describe('the password of a URL', () => {
  it('is printed by no command, wherever the URL is', async () => {
    const all = leaves(await buildProgram(testIo()))
      .flatMap(slotsOf)
      .filter(({ command, slot }) => !FOLDERS.includes(`${command.join(' ')} ${slot}`));
    expect(all.length).toBeGreaterThan(500);
    const leaks: string[] = [];
    for (const [at, { command, args, hasJson }] of all.entries()) {
      for (const url of someUrls(at)) {
        const given = [...command, ...args(url)];
        const text = await printed(hasJson ? [...command, '-o', 'json', ...args(url)] : given);
        if (text.includes(SECRET)) leaks.push(`${given.join(' ')}\n${text}`);
      }
    }
    expect(leaks.slice(0, 20)).toEqual([]);
  }, 600_000);

  it.each([
    ['KRMHUB_REGISTRY', ['search']],
    ['KRMHUB_REGISTRY', ['catalog', 'pull', 'default']],
    ['KRMHUB_REGISTRY', ['resolve', 'example.com/v1', 'A', '-c', 'default']],
    ['KRMHUB_OFFICIAL_CATALOG', ['resolve', 'example.com/v1', 'A']],
    ['KRMHUB_TRUST', ['trust', 'list']],
    ['KRMHUB_CACHE', ['resolve', 'example.com/v1', 'A', '-c', 'default']],
    ['KRMHUB_PLAIN_HTTP', ['repo', 'list']],
    ['KRMHUB_TOKEN_SERVICES', ['repo', 'list', '127.0.0.1:1']],
    [
      'KRMHUB_FULCIO_URL',
      ['sign', 'definition.yaml', '--keyless', '--identity-token-file', 'definition.yaml'],
    ],
    ['KRMHUB_DATABASE_URL', ['fsck']],
    ['KRMHUB_BLOB_URL', ['fsck']],
    ['KRMHUB_PUBLIC_URL', ['serve', '--port', '99999']],
    ['KRMHUB_OIDC_ISSUER', ['serve', '--port', '99999']],
    ['HTTPS_PROXY', ['search', '--registry', 'https://host.invalid']],
    ['DOCKER_CONFIG', ['repo', 'list', '127.0.0.1:1']],
    ['NETRC', ['resolve', 'example.com/v1', 'A', '-c', 'http://127.0.0.1:1/c.yaml']],
  ])('is not printed where %s has the URL, by %j', async (name, args) => {
    for (const url of URLS) {
      for (const value of [url, `127.0.0.1:1=${url}`])
        expect([value, await printed(args, { [name]: value })]).toEqual([
          value,
          expect.not.stringContaining(SECRET),
        ]);
    }
  });

  it.each(URL_DOCUMENTS)(
    'is not printed where %s has the URL in any text',
    async (name, document, commands) => {
      const before = readFileIfExists(path.join(root, name));
      const leaks: string[] = [];
      try {
        for (const url of someUrls(name.length)) {
          for (const changed of withText(document, url)) {
            writeFileSync(path.join(root, name), JSON.stringify(changed, undefined, 1));
            for (const args of commands) {
              const text = await printed(args, { KRMHUB_TRUST: path.join(root, 'trust.yaml') });
              if (text.includes(SECRET)) leaks.push(`${args.join(' ')}\n${JSON.stringify(changed)}\n${text}`);
            }
          }
        }
      } finally {
        if (before === undefined) rmSync(path.join(root, name));
        else writeFileSync(path.join(root, name), before);
      }
      expect(leaks.slice(0, 10)).toEqual([]);
    },
    300_000,
  );

  it.each([
    ['resolve', 'example.com/v1', 'A', '-c', 'URL'],
    ['resolve', 'example.com/v1', 'A', '-c', 'URL', '-o', 'json'],
    ['explain', 'app', '--trusted-catalog', 'URL'],
    ['trust', 'add', 'URL'],
    ['search', '--registry', 'URL'],
    ['login', 'URL'],
    ['catalog', 'show', 'URL'],
    ['lint', 'URL'],
    ['pull', 'URL', '--out', 'pulled'],
    ['repo', 'list', 'URL'],
  ])('is not printed with a space in it by %s %s %s %s %s', async (...args) => {
    for (const url of [
      `https://user:a ${SECRET}@host.invalid:99999/x`,
      `oci://user:a ${SECRET}@host.invalid/x:1`,
      `git::https://user:a ${SECRET}@host.invalid/r.git//x`,
    ]) {
      const text = await printed(args.map((one) => (one === 'URL' ? url : one)));
      expect([url, text]).toEqual([url, expect.not.stringContaining(SECRET)]);
    }
  });

  it('is in no name and no file of the cache and the configuration', () => {
    const found = readdirSync(path.join(root, 'home'), { recursive: true, withFileTypes: true });
    for (const entry of found) {
      const file = path.join(entry.parentPath, entry.name);
      expect(file).not.toContain(SECRET);
      if (entry.isFile()) expect([file, readFileSync(file, 'utf8').includes(SECRET)]).toEqual([file, false]);
    }
  });
});

/** The document with the URL in place of each of its texts, or in it. */
function* withText(document: unknown, url: string): Generator<unknown> {
  if (typeof document === 'string') {
    yield document.includes('NAME') ? document.replace('NAME', url) : url;
    return;
  }
  if (typeof document !== 'object' || document === null) return;
  for (const [key, value] of Object.entries(document)) {
    for (const one of withText(value, url)) {
      const copy = structuredClone(document) as Record<string, unknown>;
      copy[key] = one;
      yield copy;
    }
  }
}

function readFileIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, fixtures, krmhub, root, startRegistry, temporaryFolder } from '../running.js';

/** Reads the completions of real shells with the scripts that `krmhub completion` prints. */

const here = path.dirname(fileURLToPath(import.meta.url));
const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];
const there = (shell: Shell) => spawnSync(shell, ['-c', 'exit 0']).status === 0;
const installed = Object.fromEntries(shells.map((shell) => [shell, there(shell)])) as Record<Shell, boolean>;

const { folder, remove } = temporaryFolder();
const home = path.join(folder, 'home');
const files = path.join(folder, 'files');
const bin = path.join(root, 'node_modules/.bin');
/** Nothing listens there. */
const absent = { KRMHUB_REGISTRY: 'http://127.0.0.1:9' };
const script = (shell: Shell) => path.join(folder, `_krmhub.${shell}`);

beforeAll(async () => {
  for (const name of [home, files, path.join(files, 'functions'), path.join(files, 'data store')])
    mkdirSync(name);
  for (const name of ['definition.yaml', 'deployment.yaml', 'functions/a.yaml', 'with blank.yaml'])
    writeFileSync(path.join(files, name), '');
  for (const shell of shells) {
    const { code, stdout, stderr } = await krmhub(['completion', shell]);
    expect([code, stderr]).toEqual([0, '']);
    writeFileSync(script(shell), stdout);
  }
});
afterAll(remove);

/** Returns the completions of a shell for the last word, which may be empty. */
function offers(shell: Shell, words: readonly string[], extra: Record<string, string> = {}): string[] {
  const line = ['krmhub', ...words].join(' ');
  const [command, args] = {
    bash: ['bash', ['--norc', path.join(here, 'offers.bash'), script('bash'), 'krmhub', ...words]],
    zsh: ['zsh', ['-f', path.join(here, 'offers.zsh'), script('zsh'), line]],
    fish: ['fish', ['--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', script('fish'), line]],
  }[shell] as [string, string[]];
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: files,
    // Zsh has no line editor on a terminal of the type "dumb".
    env: cleanEnvironment(home, { TERM: 'xterm', PATH: `${bin}:${process.env.PATH}`, ...absent, ...extra }),
    encoding: 'utf8',
    input: '',
  });
  expect([status, stderr]).toEqual([0, '']);
  // Fish prints a description behind a tab, and marks folders; zsh prints folders without the mark, and blanks quoted.
  const found = stdout.split('\n').filter((one) => one !== '');
  return found.map((one) => one.split('\t')[0]!.replace(/\/$/, '').replace('\\ ', ' ')).sort();
}

/** Every command and its options, from the help. */
const documented = [
  ...readFileSync(path.join(root, 'docs/commands.md'), 'utf8').matchAll(
    /^## krmhub ?(.*)\n([\s\S]*?)(?=^## |$(?![\s\S]))/gm,
  ),
].map(([, name, text]) => ({
  words: name === '' ? [] : name!.split(' '),
  options: [...text!.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map((match) => match[1]!),
}));

it('has the help to compare with', () => {
  expect(documented.length).toBeGreaterThan(20);
  expect(documented.find(({ words }) => words.join(' ') === 'catalog pull')!.options).toContain('--snapshot');
});

describe.each(shells)('in %s', (shell) => {
  const test = it.runIf(installed[shell]);
  if (!installed[shell]) it.skip(`(${shell} is not installed)`, () => undefined);

  test('offers exactly the commands and options of the help', () => {
    // Each completion starts a whole zsh.
    const asked = documented.filter((_, at) => shell !== 'zsh' || at % 3 === 0);
    for (const { words, options } of asked) {
      const global = words.length === 0 ? [] : ['--no-color', '--request-timeout', '--verbose'];
      expect([words, offers(shell, [...words, '--']).filter((one) => one !== '--')], words.join(' ')).toEqual(
        [words, [...new Set([...options, ...global])].sort()],
      );
    }
    const names = documented.filter(({ words }) => words.length === 1).map(({ words }) => words[0]!);
    expect(offers(shell, [''])).toEqual([...names, 'help'].sort());
    expect(offers(shell, ['catalog', ''])).toEqual([
      'apply',
      'build',
      'delete',
      'diff',
      'history',
      'inputs',
      'list',
      'pull',
      'report',
      'restore',
      'show',
      'verify',
    ]);
    expect(offers(shell, ['--no-color', 'token', 're'])).toEqual(['report-leak', 'revoke']);
  });

  test('offers the choices of options and arguments', () => {
    expect(offers(shell, ['lint', '--output', ''])).toEqual(['github', 'json', 'sarif', 'text']);
    expect(offers(shell, ['publish', '-o', 'j'])).toEqual(['json']);
    expect(offers(shell, ['lint', 'definition.yaml', '--ruleset', 'k'])).toEqual(['kep']);
    expect(offers(shell, ['completion', ''])).toEqual(['bash', 'fish', 'zsh']);
    expect(offers(shell, ['help', 'pub'])).toEqual(['publish', 'publisher']);
  });

  test('offers files for file arguments, and nothing for free text', () => {
    expect(offers(shell, ['lint', 'de'])).toEqual(['definition.yaml', 'deployment.yaml']);
    expect(offers(shell, ['publish', 'definition.yaml', '--readme', 'def'])).toEqual(['definition.yaml']);
    expect(offers(shell, ['diff', 'definition.yaml', 'dep'])).toEqual(['deployment.yaml']);
    expect(offers(shell, ['catalog', 'pull', 'default', '--out', 'dep'])).toEqual(['deployment.yaml']);
    expect(offers(shell, ['serve', '--data', 'f'])).toEqual(['functions']);
    const folders = [
      ['build'],
      ['restore'],
      ['kpt', 'sync'],
      ['fn', 'eval'],
      ['fn', 'render'],
      ['fn', 'run'],
      ['fn', 'sink'],
      ['fn', 'source'],
    ];
    for (const words of folders)
      expect([words, offers(shell, [...words, ''])]).toEqual([words, ['data store', 'functions']]);
    // The value of an option is not a command.
    expect(offers(shell, ['publish', '--release', 'lint', 'def'])).toEqual(['definition.yaml']);
    for (const words of [
      ['yank', ''],
      ['publish', '--release', ''],
      ['show', 'de'],
      ['token', 'revoke', ''],
    ])
      expect([words, offers(shell, words)]).toEqual([words, []]);
  });

  test('works when it is installed as the help describes', async () => {
    const { stdout } = await krmhub(['completion', '--help']);
    const lines = /^Install:\n((?: {2}.*\n)+)/m.exec(stdout)![1]!;
    const env = cleanEnvironment(home, { TERM: 'dumb', PATH: `${bin}:${process.env.PATH}` });
    const run = (command: string, args: string[]) =>
      spawnSync(command, args, { cwd: files, env, encoding: 'utf8', input: '' });
    expect(run('bash', ['--norc', '-euo', 'pipefail', '-c', lines]).stderr).toBe('');
    const answer = {
      bash: () =>
        run('bash', [
          '--norc',
          '-c',
          '. ~/.local/share/bash-completion/completions/krmhub; complete -p krmhub',
        ]),
      zsh: () =>
        run('zsh', [
          '-f',
          '-c',
          'fpath+=~/.zfunc; autoload -Uz compinit; compinit -u -D; print $_comps[krmhub]',
        ]),
      fish: () => run('fish', ['-c', 'complete -C "krmhub completion fi"']),
    }[shell]();
    expect([answer.status, answer.stdout.trim()]).toEqual([
      0,
      { bash: 'complete -F _krmhub krmhub', zsh: '_krmhub', fish: 'fish' }[shell],
    ]);
  });
});

describe('names of functions', () => {
  const cache = path.join(folder, 'cache');
  const seen: string[] = [];
  let registry: Awaited<ReturnType<typeof startRegistry>>;
  let front: Server;
  let env: Record<string, string>;

  beforeAll(async () => {
    registry = await startRegistry(path.join(folder, 'registry'));
    for (const [name, release] of [
      ['set-namespace', '1.4.2'],
      ['render-chart', '3.1.0'],
    ]) {
      const file = path.join(fixtures, `functions/${name}/${release}.yaml`);
      const { code, stderr } = await krmhub(['publish', file, '--release', release!], { env: registry.env });
      expect(code, stderr).toBe(0);
    }
    front = createServer((request, response) => {
      seen.push(`${request.url} ${request.headers.authorization ?? 'without token'}`);
      const forwarded = httpRequest(`${registry.url}${request.url}`, (from) => {
        response.writeHead(from.statusCode!, from.headers);
        from.pipe(response);
      });
      forwarded.on('error', () => response.destroy()).end();
    });
    await once(front.listen(0, '127.0.0.1'), 'listening');
    const { port } = front.address() as AddressInfo;
    // A token that only a read that needs one would send.
    env = { KRMHUB_REGISTRY: `http://127.0.0.1:${port}`, KRMHUB_TOKEN: registry.token, KRMHUB_CACHE: cache };
  });
  afterAll(async () => {
    front.closeAllConnections();
    front.close();
    await registry.stop();
  });
  const names = async (words: string[], extra: Record<string, string> = {}) => {
    const { code, stdout, stderr } = await krmhub(['completion', 'names', ...words], {
      env: { ...env, ...extra },
    });
    expect([code, stderr]).toEqual([0, '']);
    return stdout.split('\n').slice(0, -1);
  };

  it('are read once, without a token, and remain while the registry is away', async () => {
    const [all] = [await names([])];
    expect(all).toHaveLength(2);
    const chart = all.find((name) => name.endsWith('/RenderChart'))!;
    expect(await names(['--', 'Render'])).toEqual([chart]);
    expect(await names(['--of', 'releases', '--', chart.slice(0, -3)])).toEqual([`${chart}@3.1.0`]);
    expect(seen).toEqual([expect.stringMatching(/^\/api\/v1\/functions\?.* without token$/)]);

    const [file] = readdirSync(path.join(cache, 'completion'));
    const stored = path.join(cache, 'completion', file!);
    const old = readFileSync(stored, 'utf8').replace(/"expires":\d+/, '"expires":1');
    const away = `${env.KRMHUB_REGISTRY}/away`;
    // The file of a registry that is away is the one of this URL.
    const name = `${createHash('sha256').update(away).digest('hex')}.json`;
    writeFileSync(path.join(cache, 'completion', name), old);
    expect(await names([], { KRMHUB_REGISTRY: away })).toEqual(all);
    const asked = seen.length;
    expect(asked).toBeGreaterThan(1);
    expect(await names([], { KRMHUB_REGISTRY: away })).toEqual(all);
    expect(seen).toHaveLength(asked);
  });

  it('are no error while something is wrong', async () => {
    const bare = { KRMHUB_CACHE: path.join(folder, 'another') };
    for (const url of [absent.KRMHUB_REGISTRY, 'no url', 'ftp://example.com'])
      expect([url, await names([], { ...bare, KRMHUB_REGISTRY: url })]).toEqual([url, []]);
    writeFileSync(path.join(folder, 'no-folder'), '');
    expect(await names([], { KRMHUB_CACHE: path.join(folder, 'no-folder') })).toHaveLength(2);
  });

  it('of a hostile registry are not offered if they have other characters', async () => {
    const found = { total: 1, facets: {}, items: [] as unknown[] };
    const { items, ...rest } = (await (await fetch(`${registry.url}/api/v1/functions?sort=name`)).json()) as {
      items: Record<string, unknown>[];
    };
    const hostile = ['$(touch x)', 'A`id`', 'A B', 'A\u001b[31m', '../A'].map((kind) => ({
      ...items[0],
      kind,
    }));
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ ...found, ...rest, items: [...hostile, items[0]] }));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      expect(await names(['--registry', url])).toEqual([`${items[0]!.group}/${items[0]!.kind}`]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  describe.each(shells)('in %s', (shell) => {
    it.runIf(installed[shell])('are offered where a command takes a function or a release', async () => {
      const all = await names([]);
      const chart = all.find((name) => name.endsWith('/RenderChart'))!;
      expect(offers(shell, ['show', ''], env)).toEqual(all);
      expect(offers(shell, ['releases', chart.slice(0, -2)], env)).toEqual([chart]);
      expect(offers(shell, ['show', 'RenderC'], env)).toEqual([chart]);
      expect(offers(shell, ['yank', chart.slice(0, -2)], env)).toEqual([`${chart}@3.1.0`]);
      const elsewhere = { KRMHUB_CACHE: cache };
      const registryOption = ['--registry', env.KRMHUB_REGISTRY!];
      expect(offers(shell, ['show', ...registryOption, ''], elsewhere)).toEqual(all);
      // A new function has another name.
      expect(offers(shell, ['init', ''], env)).toEqual([]);
    });
  });

  it.runIf(installed.bash)('are completed behind the @, where bash splits', async () => {
    const chart = (await names(['--', 'RenderChart']))[0]!;
    expect(offers('bash', ['yank', chart, '@'], env)).toEqual(['3.1.0']);
    expect(offers('bash', ['yank', chart, '@', '3.'], env)).toEqual(['3.1.0']);
    expect(offers('bash', ['diff', chart, '@', '3.1.0', 'dep'], env)).toEqual(['deployment.yaml']);
  });
});

it.runIf(installed.bash)('completes --option=value, which bash splits', () => {
  expect(offers('bash', ['lint', '--output', '=', 's'])).toEqual(['sarif']);
  expect(offers('bash', ['lint', '--output', '='])).toEqual(['github', 'json', 'sarif', 'text']);
  expect(offers('bash', ['lint', '--output', '=', 'json', 'def'])).toEqual(['definition.yaml']);
  expect(offers('bash', ['lint', '--', 'def'])).toEqual(['definition.yaml']);
});

it('rejects an unknown shell', async () => {
  const { code, stderr } = await krmhub(['completion', 'tcsh']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('Allowed choices are bash, zsh, fish')]);
});

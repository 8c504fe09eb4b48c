import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentBlocks } from '../document-blocks.js';
import { spawn, spawnSync } from '../processes.js';
import { cleanEnvironment, command, root, temporaryFolder } from '../running.js';
import { missingReason, titleWithReason } from './oci-tools.js';

/** The executable, on a machine that has no Node.js, and beside the command of the checkout. */

const system = `${process.platform}-${process.arch}`;
const why = /^linux-(?:x64|arm64)$/.test(system)
  ? undefined
  : `it is built here for Linux, not for ${system}`;
const whyNoMachine = why ?? missingReason('bwrap') ?? missingReason('kustomize') ?? whyNoNamespace();
const NAME = `krmhub-0.1.0-${system}`;

function whyNoNamespace(): string | undefined {
  const args = ['--unshare-net', '--ro-bind', '/', '/', '--tmpfs', '/tmp', 'true'];
  const { status, stderr } = spawnSync('bwrap', args, { encoding: 'utf8' });
  return status === 0 ? undefined : `bubblewrap cannot make a network namespace: ${stderr.trim()}`;
}

/** Returns the commands below a heading of a served page of the documentation. */
function commandsBelow(page: string, title: string): string[] {
  const [, section] = page.split(`<h2 id="${title.toLowerCase().replaceAll(' ', '-')}">`);
  expect(section, title).toBeDefined();
  const blocks = section!.split('<h2 ')[0]!.matchAll(/<pre[^>]*><code[^>]*>([\s\S]*?)<\/code><\/pre>/g);
  return [...blocks].map(([, html]) =>
    html!
      .replace(/<[^>]*>/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&amp;', '&'),
  );
}

/** What runs in the sandbox: a registry, then the commands that are chosen from its page. */
const MACHINE = `
sudo() { "$@"; }
HOME=/tmp/operator KRMHUB_PUBLIC_URL=http://localhost:8080 KRMHUB_EXECUTABLES=/mnt/offered \\
/mnt/offered/$NAME serve --data /tmp/data >/mnt/exchange/log 2>&1 &
until [ -s /tmp/data/admin.token ] && curl -fsS http://localhost:8080/readyz >/dev/null 2>&1; do sleep 0.1; done
curl -fsS --header 'Accept: text/html' http://localhost:8080/docs/install >/mnt/exchange/page
touch /mnt/exchange/ready
until [ -e /mnt/exchange/chosen ]; do sleep 0.1; done
mkdir -p /tmp/user
cd /tmp/user
cp /mnt/exchange/releases.pub .
export HOME=/tmp/user KRMHUB_TOKEN=$(cat /tmp/data/admin.token)
. /mnt/exchange/commands
# A plugin runs with the next version too, whose program is in another folder.
krmhub plugins install -c http://localhost:8080/catalogs/default
sed -i '/^catalogs:/d' shop/kustomization.yaml
rm -r ~/.cache/krmhub/program
echo 'built by kustomize:' $(kustomize build --enable-alpha-plugins shop)
for program in node npm; do if type "$program" && "$program" --version; then exit 9; fi; done
if curl -sS http://192.0.2.1; then exit 9; fi
echo 'no node, no npm, no network'
`;

/**
 * Runs a registry and commands in a sandbox with a network of its own, without Node.js and the checkout. The commands
 * are chosen from the page /docs/install that the registry serves.
 */
async function onMachine(
  exchange: string,
  offered: string,
  choose: (page: string) => string,
): Promise<{ output: string; log: string }> {
  const programs = (process.env.PATH ?? '')
    .split(':')
    .flatMap((one) =>
      ['node', 'nodejs', 'npm', 'npx'].map((name) => path.join(one, name)).filter((file) => existsSync(file)),
    );
  const hidden = new Set(programs.map((file) => realpathSync(file)));
  const kustomize = spawnSync('sh', ['-c', 'command -v kustomize'], { encoding: 'utf8' }).stdout.trim();
  const child = spawn(
    'bwrap',
    [
      ...['--unshare-all', '--die-with-parent', '--clearenv', '--ro-bind', '/', '/', '--proc', '/proc'],
      ...['--tmpfs', '/mnt', '--bind', exchange, '/mnt/exchange', '--ro-bind', offered, '/mnt/offered'],
      ...['--tmpfs', '/usr/local/bin', '--ro-bind', realpathSync(kustomize), '/usr/local/bin/kustomize'],
      ...[...hidden].flatMap((file) => ['--ro-bind', '/dev/null', file]),
      ...['--tmpfs', root, '--dev', '/dev', '--tmpfs', '/tmp', '--chdir', '/tmp'],
      ...['--setenv', 'PATH', '/usr/local/bin:/usr/bin:/bin', '--setenv', 'NAME', NAME],
      ...['bash', '--norc', '-euo', 'pipefail', '-c', MACHINE],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => {
      output += part;
    });
  const closed = once(child, 'close');
  const ready = path.join(exchange, 'ready');
  await Promise.race([closed, until(() => existsSync(ready))]);
  if (existsSync(ready)) {
    writeFileSync(path.join(exchange, 'commands'), choose(readFileSync(path.join(exchange, 'page'), 'utf8')));
    writeFileSync(path.join(exchange, 'chosen'), '');
  }
  await closed;
  return { output, log: readFileSync(path.join(exchange, 'log'), 'utf8').slice(-2_000) };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(100);
}

describe.skipIf(why !== undefined)(titleWithReason('the executable', why), () => {
  const { folder, remove } = temporaryFolder();
  const at = (name: string) => path.join(folder, name);
  const executable = at(`build/executables/${NAME}`);
  const env = cleanEnvironment(at('home'), { TMPDIR: at('tmp') });

  beforeAll(() => {
    for (const name of ['build', 'home', 'tmp']) mkdirSync(at(name));
    const password = { KRMHUB_KEY_PASSWORD: 'a password' };
    const signer = spawnSync(process.execPath, [command, 'keygen', '--out', at('build/releases')], {
      env: { ...env, ...password },
      encoding: 'utf8',
    });
    expect(signer.status, signer.stderr).toBe(0);
    const script = path.join(root, 'scripts/package.mjs');
    const built = spawnSync(
      process.execPath,
      [script, at('build/image'), '--executables', '--system', system, '--key', at('build/releases.key')],
      { env: { ...process.env, ...password }, encoding: 'utf8' },
    );
    expect(built.status, built.stderr).toBe(0);
  });
  afterAll(remove);

  const run = (args: string[], more: NodeJS.ProcessEnv = {}, input = '') => {
    const { status, stdout, stderr } = spawnSync(executable, args, {
      cwd: folder,
      env: { ...env, ...more },
      input,
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  };

  it.each([
    [['--version'], ''],
    [['--help'], ''],
    [['nosuch'], ''],
    [['lint', '-', '-o', 'json'], 'kind: [\n'],
    [['lint', 'nosuch.yaml'], ''],
    [['help', 'fn', 'eval'], ''],
    [['docs'], ''],
    [['completion', 'bash'], ''],
    [['fn', 'sink', 'sunk'], 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n'],
  ])('does with %j what the command of the checkout does', (args, input) => {
    const options = { cwd: folder, env, input, encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], options);
    rmSync(at('sunk'), { recursive: true, force: true });
    expect(run(args, {}, input)).toEqual({ status, stdout, stderr });
  });

  it('is the credential helper of docker by a link with that name', () => {
    const link = at('docker-credential-krmhub');
    symlinkSync(executable, link);
    const token = `krmhub_${'1'.repeat(72)}`;
    const known = { KRMHUB_REGISTRY: 'https://krm.example.com', KRMHUB_TOKEN: token };
    const ask = (input: string) => {
      const options = { env: { ...env, ...known }, input, encoding: 'utf8' } as const;
      const { status, stdout } = spawnSync(link, ['get'], options);
      return { status, stdout };
    };
    expect(JSON.parse(ask('krm.example.com').stdout)).toMatchObject({ Secret: token });
    expect(ask('other.example.com')).toEqual({
      status: 1,
      stdout: 'credentials not found in native keychain\n',
    });
  });

  it('is unpacked by several processes at once, each of which works', async () => {
    const home = { HOME: at('new-home') };
    const all = Array.from({ length: 6 }, async () => {
      const child = spawn(executable, ['--version'], { env: { ...env, ...home } });
      const [code] = await once(child, 'close');
      return code;
    });
    expect(await Promise.all(all)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(readdirSync(at('new-home/.cache/krmhub/program'))).toHaveLength(1);
  });

  it('uses the folder for temporary files where it cannot write its cache, and says what to do without both', () => {
    writeFileSync(at('a-file'), '');
    const noCache = { KRMHUB_CACHE: at('a-file') };
    expect(run(['--version'], noCache)).toMatchObject({ status: 0, stdout: '0.1.0\n' });
    expect(readdirSync(at('tmp'))).toEqual([expect.stringMatching(/^krmhub-\d+$/)]);
    expect(run(['--version'], { ...noCache, TMPDIR: at('nosuch/a-file') }).status).toBe(0);
    const neither = run(['--version'], { ...noCache, TMPDIR: at('a-file') });
    expect(neither).toMatchObject({ status: 5, stdout: '' });
    expect(neither.stderr).toMatch(
      /^error: cannot unpack krmhub: .*\n {2}hint: Set KRMHUB_CACHE to a folder/,
    );
    const { HOME: _, ...noHome } = env;
    const inPasswd = spawnSync(executable, ['--version'], { env: { ...noHome, XDG_CACHE_HOME: at('xdg') } });
    expect(inPasswd.status).toBe(0);
    expect(existsSync(at('xdg/krmhub/program'))).toBe(true);
  });

  it('fails on a full disk, and leaves nothing', () => {
    const script = `mount -t tmpfs -o size=2m none "$0" && KRMHUB_CACHE="$0" TMPDIR="$0" "$1" --version; echo "code $?"; find "$0" -type f`;
    mkdirSync(at('small'));
    const { stdout, stderr } = spawnSync('unshare', ['-rm', 'sh', '-c', script, at('small'), executable], {
      env,
      encoding: 'utf8',
    });
    if (/unshare|mount/.test(stderr.split('\n', 1)[0]!)) return;
    expect(stderr).toContain('ENOSPC');
    expect(stdout).toBe('code 5\n');
  });

  it.skipIf(whyNoMachine !== undefined)(
    titleWithReason('is all that a machine needs, with the commands of /docs', whyNoMachine),
    async () => {
      mkdirSync(at('machine'));
      copyFileSync(at('build/releases.pub'), at('machine/releases.pub'));
      const { output, log } = await onMachine(at('machine'), at('build/executables'), (page) => {
        const commands = [
          'Download the executable',
          'Verify what you downloaded',
          'Connect to a registry',
          'Run and publish your first function',
        ].flatMap((title) => commandsBelow(page, title));
        const blocks = documentBlocks('docs/install.md', 'executable').map((block) => block.trimEnd());
        expect(commands.map((block) => block.trimEnd())).toEqual(expect.arrayContaining(blocks));
        return commands.join('\n');
      });
      expect(output, `${output}\n${log}`).toContain('krmhub: OK');
      expect(output).toMatch(/^ok +signature +by the key/m);
      expect(output).toContain('14 passed, 0 failed');
      expect(output).toContain('example.com/AddOwner\t0.1.0\tcreated');
      expect(output).toContain('+    example.com/owner: shop-team');
      expect(output).toContain('    example.com/owner: shop-team\n');
      expect(output).toMatch(/^built by kustomize: .*example\.com\/owner: shop-team/m);
      expect(output).toMatch(/\nno node, no npm, no network\n$/);
    },
  );

  it('takes options of Node.js from the environment, as Node.js does', () => {
    const heap = { NODE_OPTIONS: '--max-old-space-size=120 --no-deprecation' };
    expect(run(['--version'], heap)).toMatchObject({ status: 0, stdout: '0.1.0\n', stderr: '' });
  });
});

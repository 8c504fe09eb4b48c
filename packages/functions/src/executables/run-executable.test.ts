import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Digest } from '@krmhub/schema/digest';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RUN_LIMITS, FUNCTION_LIMITS } from '../limits.js';
import { findSandbox, isInside, sandboxArguments, visibleFolders } from '../sandbox/bubblewrap.js';
import { processesWith, sampleInput, type TestedRuntime, testRuntime } from '../testing/runtime-contract.js';
import { installExecutable } from './install-executable.js';
import { type ExecRun, runExecutable } from './run-executable.js';

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-functions-'));
const sample = fileURLToPath(new URL('../testing/sample-function.mjs', import.meta.url));
const fileDigest = (file: string): Digest =>
  `sha256:${createHash('sha256').update(readFileSync(file)).digest('hex')}`;

/** Installs a script under a name that no other process has. */
async function installScript(text: string): Promise<{ file: string; sha256: Digest; marker: string }> {
  // Node takes the file for a module by its name.
  const marker = `function-${randomUUID()}.mjs`;
  const source = path.join(folder, `${marker}.source`);
  writeFileSync(source, text);
  const installed = await installExecutable(
    { file: source, sha256: fileDigest(source), bin: marker },
    path.join(folder, `${marker}.installed`),
  );
  return { ...installed, marker };
}

/** The sandbox hides the home folder, where version managers have Node.js, but not the working folder. */
const node = await visibleNode();
async function visibleNode(): Promise<string> {
  const { hidden } = await visibleFolders({ cwd: '/', env: {}, network: false });
  const real = realpathSync(process.execPath);
  if (!hidden.some((one) => isInside(process.execPath, one) || isInside(real, one))) return process.execPath;
  const copy = path.join(folder, 'node');
  copyFileSync(real, copy);
  return copy;
}

const installSample = () => installScript(`#!${node}\n${readFileSync(sample, 'utf8')}`);

const sandbox = await findSandbox({ PATH: process.env.PATH });

async function openRuntime(more: Pick<ExecRun, 'sandbox'>): Promise<TestedRuntime> {
  const { file, sha256, marker } = await installSample();
  return {
    run: ({ input, limits, env, network, signal }) =>
      runExecutable({ file, sha256, cwd: folder, env, network, ...more }, input, limits, signal),
    leftovers: async () => [
      ...processesWith(marker),
      ...readdirSync(path.dirname(file)).filter((name) => name !== marker),
    ],
    endEscaped: () => {
      for (const found of processesWith(marker)) process.kill(Number.parseInt(found, 10), 'SIGKILL');
    },
    // The shell that sets limits, and bubblewrap, set where they are.
    ownEnvironment: ['PWD', 'OLDPWD', 'SHLVL', '_'],
    holds: {
      network: more.sandbox !== undefined,
      escapedProcesses: more.sandbox !== undefined,
      files: true,
      signals: true,
    },
    close: async () => undefined,
  };
}

testRuntime('an executable', () => openRuntime({}));
testRuntime(
  'an executable in a sandbox',
  () => openRuntime(sandbox.ok ? { sandbox: sandbox.sandbox } : {}),
  sandbox.ok ? undefined : sandbox.reason,
);

describe('an executable', () => {
  const run = (file: string, sha256: Digest, more: Partial<ExecRun> = {}) =>
    runExecutable(
      { file, sha256, cwd: folder, env: {}, network: false, ...more },
      sampleInput('echo'),
      DEFAULT_RUN_LIMITS,
    );

  it('never runs if it was swapped after its installation', async () => {
    const { file, sha256 } = await installSample();
    const evidence = path.join(folder, 'evidence');
    const evil = path.join(folder, 'evil');
    writeFileSync(evil, `#!/bin/sh\ntouch ${evidence}\n`);
    chmodSync(file, 0o700);
    copyFileSync(evil, file);
    await expect(run(file, sha256)).rejects.toMatchObject({ code: 'digest-mismatch' });
    expect(readdirSync(folder)).not.toContain('evidence');
    expect(readdirSync(path.dirname(file))).toEqual([path.basename(file)]);
  });

  it('never runs other bytes while it is being swapped', async () => {
    const { file, sha256 } = await installSample();
    const evidence = path.join(folder, 'evidence');
    const good = `${file}.good`;
    const evil = `${file}.evil`;
    copyFileSync(file, good);
    writeFileSync(evil, `#!/bin/sh\ntouch ${evidence}\n`, { mode: 0o700 });
    const swapper = spawn('/bin/sh', [
      '-c',
      'while :; do cp "$1" "$3.new"; mv -f "$3.new" "$3"; cp "$2" "$3.new"; mv -f "$3.new" "$3"; done',
      'sh',
      good,
      evil,
      file,
    ]);
    try {
      let mismatches = 0;
      for (let count = 0; count < 25; count++) {
        const ran = await run(file, sha256).catch((error: { code: string }) => error.code);
        if (ran === 'digest-mismatch') mismatches++;
        else expect(ran).toMatchObject({ exitCode: 0 });
      }
      expect(mismatches).toBeGreaterThan(0);
    } finally {
      swapper.kill('SIGKILL');
    }
    expect(readdirSync(folder)).not.toContain('evidence');
  });

  it('gets arguments, a working directory, and its own name', async () => {
    const { file, sha256, marker } = await installScript(
      `#!/bin/sh\necho "$0 $* $PWD $(cat note)" >&2\ncat\n`,
    );
    const cwd = mkdtempSync(path.join(folder, 'cwd-'));
    writeFileSync(path.join(cwd, 'note'), 'a note');
    const env = { PATH: '/usr/bin:/bin' };
    for (const more of [{}, ...(sandbox.ok ? [{ sandbox: sandbox.sandbox }] : [])]) {
      const { stderr } = await run(file, sha256, { args: ['one', 'two three'], cwd, env, ...more });
      const text = Buffer.from(stderr).toString();
      expect(text).toContain(`${marker} one two three ${cwd} a note`);
    }
  });

  it.skipIf(!sandbox.ok)('in a sandbox cannot write, and sees no keys, sockets, and processes', async () => {
    if (!sandbox.ok) return;
    const home = mkdtempSync(path.join(folder, 'home-'));
    const cwd = mkdtempSync(path.join(folder, 'cwd-'));
    writeFileSync(path.join(home, 'key'), 'secret');
    mkdirSync(path.join(home, 'tools'));
    writeFileSync(path.join(home, 'tools/tool'), '#!/bin/sh\necho tool runs\n', { mode: 0o755 });
    const { file, sha256 } = await installScript(
      [
        '#!/bin/sh',
        'exec >&2',
        `cat ${home}/key`,
        'echo run: $(ls -A /run)',
        'echo tmp: $(ls -A /tmp)',
        'echo x >/etc/krmhub-test',
        'echo x >note',
        'tool',
        'mktemp >/dev/null && echo temporary',
        'echo x >/dev/krmhub-test',
        'echo x >/dev/null && echo x >/dev/shm/x && echo devices work',
        'echo processes: $(ls -d /proc/[0-9]*)',
        'grep CapBnd /proc/self/status',
        'exit 1',
        '',
      ].join('\n'),
    );
    const env = { PATH: `/usr/bin:/bin:${home}/tools`, TMPDIR: folder };
    const { stderr } = await run(file, sha256, { sandbox: sandbox.sandbox, env, cwd, home });
    const text = Buffer.from(stderr).toString();
    expect(text).not.toContain('secret');
    expect(text).toMatch(/^run:( \S+)?$/m);
    expect(text).not.toContain('docker.sock');
    expect(text).toMatch(/krmhub-test: Read-only file system/);
    expect(text).toMatch(/note: Read-only file system/);
    expect(text).toContain('tool runs');
    expect(text).toContain('temporary');
    expect(text).toMatch(/\/dev\/krmhub-test: Read-only file system/);
    expect(text).toContain('devices work');
    expect(text.match(/\/proc\/\d+/g)!.length).toBeLessThan(6);
    expect(text).toMatch(/CapBnd:\s+0+$/m);
  });

  it.each(['', '/', '/.', '/tools/..'])('in a sandbox has no home that PATH names as HOME%s', async (end) => {
    const home = mkdtempSync(path.join(folder, 'home-'));
    const env = { PATH: `/usr/bin:${home}${end}` };
    const { shown } = await visibleFolders({ cwd: '/', env, network: false, home });
    expect(shown.filter((one) => isInside(path.resolve(one), home))).toEqual([]);
  });

  it.skipIf(!sandbox.ok)(
    'in a sandbox sees no other folder with secrets, but its working folder',
    async () => {
      if (!sandbox.ok) return;
      const secrets = mkdtempSync(path.join(process.cwd(), '.secrets-'));
      const cwd = path.join(secrets, 'work');
      mkdirSync(cwd);
      for (const place of [secrets, cwd]) writeFileSync(path.join(place, 'key'), place);
      const { file, sha256 } = await installScript('#!/bin/sh\ncat ../key key >&2\nexit 1\n');
      const env = { PATH: '/usr/bin:/bin' };
      const { stderr } = await run(file, sha256, {
        sandbox: sandbox.sandbox,
        env,
        cwd,
        secrets: [secrets, ''],
      });
      rmSync(secrets, { recursive: true });
      expect(Buffer.from(stderr).toString()).toMatch(new RegExp(`key.*No such file[^\n]*\n${cwd}$`));
    },
  );

  it.skipIf(!sandbox.ok)('in a sandbox sees no home of the account, whatever HOME is', async () => {
    if (!sandbox.ok) return;
    const { file, sha256 } = await installScript(`#!/bin/sh\necho home: $(ls -A "$ACCOUNT") >&2\nexit 1\n`);
    const account = userInfo().homedir;
    // A home that is empty anyway shows nothing.
    expect(readdirSync(account)).not.toEqual([]);
    const env = { PATH: '/usr/bin:/bin', ACCOUNT: account };
    for (const home of ['/', '/nonexistent', mkdtempSync(path.join(folder, 'home-')), '/usr', '/etc']) {
      const { stderr } = await run(file, sha256, { sandbox: sandbox.sandbox, env, home });
      expect([home, Buffer.from(stderr).toString()]).toEqual([home, 'home:\n']);
    }
  });

  it.skipIf(!sandbox.ok)('in a sandbox has no further user namespaces', async () => {
    if (!sandbox.ok) return;
    const { file, sha256 } = await installScript(
      `#!/bin/sh\nunshare --user true >&2 || echo refused >&2\nexit 1\n`,
    );
    const env = { PATH: '/usr/bin:/bin' };
    const { stderr } = await run(file, sha256, { sandbox: sandbox.sandbox, env });
    expect(Buffer.from(stderr).toString().includes('refused')).toBe(sandbox.sandbox.forbidsNamespaces);
  });

  it.skipIf(!sandbox.ok).each([
    ['an absolute path', (bin: string) => `#!${bin}/tool`, undefined],
    ['env', () => '#!/usr/bin/env tool', undefined],
    ['env with options', () => '#!/usr/bin/env -S A=b tool', undefined],
    ['env and a folder of PATH', () => '#!/usr/bin/env tool', 'link'],
  ])('in a sandbox says that it hides the interpreter of a script: %s', async (_, first, searched) => {
    if (!sandbox.ok) return;
    const home = mkdtempSync(path.join(folder, 'home-'));
    const bin = path.join(home, '.versions/bin');
    mkdirSync(bin, { recursive: true });
    copyFileSync('/bin/sh', path.join(bin, 'tool'));
    // As shims do: the folder of PATH has a link to a program in another folder.
    mkdirSync(path.join(home, 'link'));
    symlinkSync(path.join(bin, 'tool'), path.join(home, 'link/tool'));
    const { file, sha256 } = await installScript(`${first(bin)}\nexit 3\n`);
    const env = { PATH: `/usr/bin:/bin:${path.join(home, searched ?? 'link')}` };
    const cwd = mkdtempSync(path.join(folder, 'cwd-'));
    await expect(run(file, sha256, { sandbox: sandbox.sandbox, env, cwd, home })).rejects.toMatchObject({
      code: 'function-failed',
      message: expect.stringMatching(/is a script whose interpreter the sandbox hides: .*\/tool$/),
      hint: expect.stringContaining('outside of your home folder'),
    });
    // Without a sandbox, nothing is hidden.
    expect(await run(file, sha256, { env, cwd, home })).toMatchObject({ exitCode: 3 });
  });

  it.skipIf(!sandbox.ok)(
    'in a sandbox runs with an interpreter in a folder of PATH, and says what it hides if that fails',
    async () => {
      if (!sandbox.ok) return;
      const home = mkdtempSync(path.join(folder, 'home-'));
      const bin = path.join(home, 'bin');
      mkdirSync(bin);
      copyFileSync('/bin/sh', path.join(bin, 'tool'));
      writeFileSync(path.join(bin, 'shim'), `#!/bin/sh\nexec ${home}/libexec/tool\n`, { mode: 0o755 });
      const env = { PATH: `/usr/bin:/bin:${bin}` };
      const more = { sandbox: sandbox.sandbox, env, cwd: mkdtempSync(path.join(folder, 'cwd-')), home };
      const works = await installScript('#!/usr/bin/env tool\ncat\n');
      expect((await run(works.file, works.sha256, more)).exitCode).toBe(0);
      const fails = await installScript('#!/usr/bin/env shim\n');
      await expect(run(fails.file, fails.sha256, more)).rejects.toMatchObject({
        message: expect.stringMatching(/interpreter the sandbox hides: .*\/shim$/),
        exitCode: 127,
      });
    },
  );

  it.each(['with', 'without'])('has a limit of its memory %s a sandbox', async (which) => {
    if (which === 'with' && !sandbox.ok) return;
    const { file, sha256 } = await installScript(
      `#!${node}\nconst blocks = [];\ntry {\n  for (;;) blocks.push(new ArrayBuffer(2 ** 30));\n} catch {\n  process.stderr.write(\`GiB: \${blocks.length}\`);\n}\nprocess.exit(1);\n`,
    );
    const more = which === 'with' && sandbox.ok ? { sandbox: sandbox.sandbox } : {};
    const { stderr } = await run(file, sha256, more);
    const blocks = Number(/GiB: (\d+)/.exec(Buffer.from(stderr).toString())?.[1]);
    expect(blocks).toBeGreaterThan(1);
    expect(blocks * 2 ** 30).toBeLessThanOrEqual(FUNCTION_LIMITS.maxMemoryBytes);
  });

  it.skipIf(!sandbox.ok)('in a sandbox ends if the process that started it is killed', async () => {
    if (!sandbox.ok) return;
    const { file, marker } = await installScript('#!/bin/sh\nsetsid sleep 600 &\nsleep 600\n');
    const env = { PATH: '/usr/bin:/bin' };
    const unfiltered = { ...sandbox.sandbox, filtersCalls: false };
    const args = await sandboxArguments(unfiltered, { file, args: [], cwd: '/', env, network: false });
    const command = JSON.stringify([sandbox.sandbox.program, args, { detached: true, stdio: 'ignore' }]);
    const script = `require('node:child_process').spawn(...${command}); setInterval(() => undefined, 1000)`;
    const parent = spawn(process.execPath, ['-e', script, marker]);
    // Once the function runs: bubblewrap has bound itself to its parent.
    await expect.poll(() => processesWith(marker).join('\n')).toMatch(/^\d+ \/bin\/sh /m);
    parent.kill('SIGKILL');
    await expect.poll(() => processesWith(marker)).toEqual([]);
  });

  it('reports a missing interpreter as the failure of the function', async () => {
    const { file, sha256 } = await installScript('#!/no/such/interpreter\n');
    const { exitCode, stderr } = await run(file, sha256);
    expect(exitCode).not.toBe(0);
    expect(Buffer.from(stderr).toString()).toMatch(/not found|no such file/i);
  });

  it('ends a function that uses more processor time than its timeout allows', async () => {
    // In its own session, which the timeout does not reach.
    const { file, sha256, marker } = await installScript(
      '#!/bin/sh\ncat\nsetsid sh -c "echo >started; while :; do :; done" spinning-$(basename "$0") </dev/null >/dev/null 2>&1 &\nuntil [ -e started ]; do :; done\n',
    );
    const env = { PATH: '/usr/bin:/bin' };
    const input = sampleInput('echo');
    const cwd = mkdtempSync(path.join(folder, 'cwd-'));
    await runExecutable({ file, sha256, cwd, env, network: false }, input, {
      ...DEFAULT_RUN_LIMITS,
      timeout: 1_000,
    });
    expect(processesWith(`spinning-${marker}`)).toHaveLength(1);
    await expect.poll(() => processesWith(`spinning-${marker}`)).toEqual([]);
  });
});

import { chmod, lstat, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { PreviewReport } from '../preview/preview-report.js';
import { runProgram } from '../program.js';
import {
  expectEnd,
  fileRegistry,
  runTest,
  type TestIo,
  type TestIoOptions,
  testIo,
} from '../testing/command-line.js';
import { DEPLOYMENT, SERVICE } from '../testing/fn-package.js';
import { config, type TestPackage, testPackage } from '../testing/package-files.js';
import { type RecordingProxy, recordingProxy } from '../testing/recording-proxy.js';
import { kptPipeline, publishScript, type ScriptRelease } from '../testing/script-functions.js';

const registry = fileRegistry();
let proxy: RecordingProxy;
let catalog: string;
let pack: TestPackage;
let count = 0;
beforeAll(async () => {
  proxy = await recordingProxy(registry.url);
  catalog = `${proxy.url}/catalogs/default`;
  return () => proxy.close();
});
afterEach(() => pack.remove());

const run = (args: readonly string[], options: TestIoOptions = {}): Promise<TestIo> =>
  runTest(args, { cwd: pack.folder, ...options, env: { ...environment(), ...options.env } });
const environment = () => ({
  PATH: process.env.PATH ?? '',
  KRMHUB_CACHE: path.join(pack.folder, '.cache'),
  TMPDIR: path.join(pack.folder, 'tmp'),
});
const trust = () => ['--trusted-catalog', catalog];
const lock = (...args: string[]) => run(['lock', 'app', ...trust(), ...args]);
const preview = (...args: string[]) => lock('--upgrade', '--preview', '--allow-exec', ...args);
const report = async (...args: string[]): Promise<PreviewReport & { exitCode: number }> => {
  const io = await preview('-o', 'json', ...args);
  expect(io.out(), io.err()).toMatch(/^\{/);
  return { ...JSON.parse(io.out()), exitCode: io.exitCode };
};

const annotate = (value: string, more = '') => `
for item in ctx.resource_list["items"]:
    if item["kind"] == "Deployment":
        item["metadata"].setdefault("annotations", {})["team"] = "${value}"
${more}`;
const shell = (text: string) => `#!/bin/sh\n${text}\n`;

type Script = Pick<ScriptRelease, 'runtime' | 'script' | 'properties'>;

/** Locks a package whose functions have two releases each, by kind, at the first ones, and publishes the second ones. */
async function upgradable(
  functions: Record<string, [Script, Script]>,
  files: Record<string, string> = { 'app/deployment.yaml': DEPLOYMENT, 'app/service.yaml': SERVICE },
): Promise<string[]> {
  count++;
  const kinds = Object.keys(functions).map((kind) => `${kind}${count}`);
  const publish = async (which: 0 | 1) => {
    for (const [at, scripts] of Object.values(functions).entries()) {
      await publishScript(registry, { kind: kinds[at]!, release: `${which + 1}.0.0`, ...scripts[which] });
    }
  };
  await publish(0);
  pack = await testPackage({ 'tmp/.keep': '', ...kptPipeline(catalog, kinds), ...files });
  expectEnd(await lock(), 0);
  await publish(1);
  return kinds;
}
const team = (value: string, more = ''): Script => ({ runtime: 'starlark', script: annotate(value, more) });
const exec = (script: string): Script => ({ runtime: 'exec', script: shell(script) });

/** Every file and folder of the package, with what shows that it was touched. */
async function state(): Promise<unknown[]> {
  const app = path.join(pack.folder, 'app');
  const names = ['.', ...(await readdir(app, { recursive: true }))];
  return Promise.all(
    names.sort().map(async (name) => {
      const file = path.join(app, name);
      const { mtimeMs, ctimeMs, mode, ino } = await lstat(file);
      const isFile = (await lstat(file)).isFile();
      return [name, mtimeMs, ctimeMs, mode, ino, isFile ? await readFile(file, 'utf8') : ''];
    }),
  );
}

describe('a preview of an upgrade', () => {
  it('shows changes of definitions and manifests, and touches nothing in a folder that cannot be written', async () => {
    const [kind] = await upgradable({ SetTeam: [team('one'), team('two')] });
    await chmod(path.join(pack.folder, 'app'), 0o555);
    const before = await state();
    const io = await preview();
    expectEnd(io, 0, 'app/krmhub.lock: nothing was written\n');
    expect(io.out()).toContain(`Upgrade ${kind} from 1.0.0 to 2.0.0\n1 of 4 resources changes.\n`);
    expect(io.out()).toContain('~ apps/v1 Deployment web\n@@ -3,6 +3,6 @@\n');
    expect(io.out()).toContain('-    team: one\n+    team: two\n');
    expect(io.out()).toMatch(/compatible +the release changed from 1.0.0 to 2.0.0 \(upgraded\)/);
    expect(await preview('-o', 'markdown')).toMatchObject({ exitCode: 0 });
    expect(await state()).toEqual(before);
    expect(await readdir(path.join(pack.folder, 'tmp'))).toEqual(['.keep']);
    await chmod(path.join(pack.folder, 'app'), 0o755);
  });

  it('plans what `--upgrade` writes then', async () => {
    const [first, second] = await upgradable({
      A: [team('one'), team('two')],
      B: [team('one'), team('three')],
    });
    const { functions, manifests } = await report('--upgrade', second!);
    expect(functions.map(({ kind }) => kind)).toEqual([second]);
    expect(manifests.changes[0]!.diff).toContain('+    team: three');
    const io = await lock('--upgrade', second!, '-o', 'json');
    const strip = ({ type, kind, before, after, changes }: PreviewReport['functions'][number]) =>
      JSON.stringify({ type, kind, before, after, changes });
    expect(JSON.parse(io.out()).changes.map(strip)).toEqual(functions.map(strip));
    const after = await report('--upgrade', second!);
    expect([after.isChanged, after.manifests.changes]).toEqual([false, []]);
    expect((await report()).functions.map(({ kind }) => kind)).toEqual([first]);
  });

  it('needs no network if both releases are in the cache', async () => {
    await upgradable({ A: [team('one'), team('two')], B: [exec('cat'), exec('sed s/web/shop/')] });
    const online = await report();
    proxy.requests.length = 0;
    const offline = await report('--offline');
    expect([offline, proxy.requests]).toEqual([online, []]);
    expect(offline.manifests.changes.map(({ type, name }) => [type, name])).toEqual([
      ['added', 'shop'],
      ['added', 'shop'],
      ['removed', 'web'],
      ['removed', 'web'],
    ]);
  });

  it('runs no executable that was not allowed, and no program of the package', async () => {
    await upgradable({ A: [exec('cat'), exec('cat')] });
    const io = await lock('--upgrade', '--preview');
    expect([io.exitCode, io.out()]).toEqual([4, expect.stringContaining('you did not allow executables')]);
    await pack.write({
      'app/Kptfile': `${await readFile(path.join(pack.folder, 'app/Kptfile'), 'utf8')}  validators:\n    - exec: touch ${path.join(pack.folder, 'ran')}\n`,
    });
    expect((await preview()).out()).toContain('--allow-package-exec');
    await expect(lstat(path.join(pack.folder, 'ran'))).rejects.toThrow('ENOENT');
  });

  it('shows results that appear and disappear', async () => {
    const result = (message: string) =>
      exec(`cat; printf 'results:\\n- message: both\\n  severity: info\\n- message: ${message}\\n'`);
    const [kind] = await upgradable({ A: [result('old one'), result('new one')] });
    const { results, manifests } = await report();
    const name = `example.com/v1 ${kind}`;
    expect(results).toEqual({
      appeared: [{ function: name, message: 'new one' }],
      disappeared: [{ function: name, message: 'old one' }],
    });
    expect(manifests.changes).toEqual([]);
    expect((await preview()).out()).toContain(`\nResults\n+ ${name}: new one\n- ${name}: old one\n`);
  });

  it('names a function that is not deterministic instead of its differences', async () => {
    const random =
      'value=$(od -An -N8 -tx8 /dev/urandom | tr -d " "); sed "s/^  *replicas:.*/&\\n    nonce: n$value/"';
    const [unstable] = await upgradable({ R: [exec(random), exec(random)], A: [team('one'), team('two')] });
    const { notDeterministic, manifests } = await report();
    expect(notDeterministic).toEqual([`example.com/v1 ${unstable}`]);
    expect(manifests.unstable).toEqual([
      expect.objectContaining({ kind: 'Deployment', fields: ['spec.nonce'] }),
    ]);
    const changed = manifests.changes.map(({ diff }) => diff.filter((line) => /^[+-]/.test(line)));
    expect(changed).toEqual([['-    team: one', '+    team: two']]);
    const text = (await preview('-o', 'markdown')).out();
    expect(text).toContain(`- \`example.com/v1 ${unstable} gives another output for the same input\``);
    expect(text).not.toMatch(/^[+-] .*nonce:/m);
  });

  it('hides values of Secrets in all formats, also in results and failures', async () => {
    const secret =
      'apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\nstringData:\n  password: hunter2-is-old\n';
    const leak = (value: string) => `
for item in ctx.resource_list["items"]:
    if item["kind"] == "Secret":
        item["stringData"]["password"] = "${value}"
        item["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{\\"kind\\":\\"Secret\\",\\"stringData\\":{\\"p\\":\\"${value}\\"}}"}
        ctx.resource_list["results"] = [{"message": "weak: ${value}", "tags": {"${value}": "${value}"}, "resourceRef": {"kind": "Secret", "name": "db"}, "field": {"path": "x", "currentValue": "${value}-x"}}]
`;
    const script = (value: string): Script => ({ runtime: 'starlark', script: leak(value) });
    await upgradable(
      { A: [script('correct-horse'), script('battery-staple')] },
      { 'app/secret.yaml': secret },
    );
    for (const format of ['table', 'json', 'yaml', 'markdown']) {
      const io = await preview('-o', format);
      expect([io.exitCode, io.out() + io.err()]).toEqual([
        0,
        expect.stringMatching(/\+ +password: .*secret [0-9a-f]{12}/),
      ]);
      expect(io.out() + io.err()).not.toMatch(/correct-horse|battery-staple|hunter2/);
      expect(io.out()).toMatch(/weak: \(secret [0-9a-f]{12}\)/);
    }
  });

  it('hides values of Secrets that the message of a failure quotes', async () => {
    const generated =
      'apiVersion: v1\nkind: Secret\nmetadata:\n  name: made\nstringData:\n  b: made-of-steel\n';
    const first = `sed '/^functionConfig:/,$d'; printf '${generated.trimEnd().replaceAll('\n', '\\n  ')}\\n' | sed '1s/^/- /'`;
    await upgradable(
      { A: [exec(first), exec(first)], B: [exec('cat'), exec('cat >&2; exit 1')] },
      {
        'app/secret.yaml':
          'apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\nstringData:\n  a: correct-horse\n',
      },
    );
    for (const format of ['table', 'json', 'markdown']) {
      const io = await preview('-o', format);
      expect([io.exitCode, io.out()]).toEqual([1, expect.stringMatching(/cannot be rendered|"exitCode": 1/)]);
      expect(io.out()).toMatch(/secret [0-9a-f]{12}/);
      expect(io.out() + io.err()).not.toMatch(/correct-horse|made-of-steel/);
    }
  });

  it('says who signed the releases, if a policy requires a signature', async () => {
    const properties = { team: { type: 'string', description: 'A name.', maxLength: 5 } };
    const [kind] = await upgradable({ A: [team('one'), { ...team('one'), properties }] });
    const env = { HOME: pack.folder, KRMHUB_KEY_PASSWORD: 'a password', ...registry.env };
    const signing = [
      ['keygen'],
      ['sign', `example.com/${kind}@1.0.0`, '--key', 'krmhub.key'],
      ['sign', `example.com/${kind}@2.0.0`, '--key', 'krmhub.key'],
      ['trust', 'add', 'ours', '--group', 'example.com', '--key', 'krmhub.pub'],
    ];
    for (const args of signing) expectEnd(await run(args, { env }), 0);
    const io = await run(['lock', 'app', ...trust(), '--upgrade', '--preview', '-o', 'json'], { env });
    const [fn] = (JSON.parse(io.out()) as PreviewReport).functions;
    expect([fn!.isPartial, fn!.changes.map((one) => one.class)]).toEqual([
      false,
      expect.arrayContaining(['schema-review']),
    ]);
    expect(fn!.signedBy).toEqual({
      before: expect.stringContaining('(policy ours)'),
      after: expect.stringContaining('(policy ours)'),
    });
  });

  it('hides values of a Secret that no output has', async () => {
    const secret =
      'apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\nstringData:\n  password: hunter2-is-old\n';
    const remove = (message: string) =>
      team(
        message,
        `
ctx.resource_list["items"] = [one for one in ctx.resource_list["items"] if one["kind"] != "Secret"]
ctx.resource_list["results"] = [{"message": "${message}"}]
`,
      );
    await upgradable(
      { A: [remove('removed'), remove('removed hunter2-is-old')] },
      { 'app/deployment.yaml': DEPLOYMENT, 'app/secret.yaml': secret },
    );
    const io = await preview();
    expect([io.exitCode, io.out()]).toEqual([
      0,
      expect.stringMatching(/team: removed \(secret \w{12}\)[\s\S]*: removed \(secret \w{12}\)/),
    ]);
  });

  it('is no failure of the package where the user stopped it', async () => {
    await upgradable({ A: [exec('cat'), exec('sleep 600')] });
    const io = testIo({ cwd: pack.folder, env: environment() });
    const running = runProgram(['lock', 'app', ...trust(), '--upgrade', '--preview', '--allow-exec'], io);
    io.stop();
    await running;
    expect([io.exitCode, io.out(), io.err()]).toEqual([
      5,
      '',
      expect.stringContaining('the preview was stopped, and nothing was written'),
    ]);
  });

  it('says why the package cannot be rendered with one of the locks', async () => {
    await upgradable({ A: [exec('cat'), exec('echo broken >&2; exit 3')] });
    const after = await preview();
    expect([after.exitCode, after.out()]).toEqual([
      1,
      expect.stringMatching(
        /The package cannot be rendered with the new lock\.[\s\S]*krmhub fn render app failed with the new lock:\n[\s\S]*broken/,
      ),
    ]);
    await pack.remove();
    await upgradable({ A: [exec('exit 3'), exec('cat')] });
    const before = await report();
    expect([before.exitCode, before.failures.after, before.failures.before]).toMatchObject([
      0,
      undefined,
      { command: 'krmhub fn render app', exitCode: 1 },
    ]);
  });

  it('blames the upgrade only if the package can be rendered without it', async () => {
    await upgradable({ A: [exec('exit 3'), exec('exit 4')] });
    expect((await preview()).out()).toContain('cannot be rendered, neither with the lock as it is nor with');
  });

  it('shows warnings with the lock that they are about, also in Markdown', async () => {
    const [kind] = await upgradable({ A: [team('one'), team('one')], B: [team('one'), team('one')] });
    const yank = ['yank', `example.com/${kind}@1.0.0`, '--reason', 'it hurts'];
    expectEnd(await run(yank, { env: registry.env }), 0);
    const yanked = `with the lock as it is: example.com/v1 ${kind}: example.com/${kind}@1.0.0 was yanked: it hurts`;
    await expect
      .poll(async () => (await preview('-o', 'markdown')).out())
      .toContain(`## Warnings\n\n- \`${yanked}\`\n`);
    expect((await preview()).err()).toContain(`warning: ${yanked}\n`);
    expect((await report()).warnings).toMatchObject([{ lock: 'before' }]);
  });

  it('leaves out what rejects its functionConfig, and says how to go on', async () => {
    const script = annotate('one');
    const number = { type: 'integer', description: 'How many.' };
    const [kind, other] = await upgradable({
      A: [
        { runtime: 'starlark', script, properties: { size: number } },
        { runtime: 'starlark', script, properties: { count: number } },
      ],
      B: [team('one'), team('two')],
    });
    const file = `app/${kind!.toLowerCase()}.yaml`;
    await pack.write({ [file]: config(kind!, 'size: 1\n') });
    const io = await preview();
    expect(io.exitCode).toBe(1);
    expect(io.out()).toContain(`Upgrade ${other} from 1.0.0 to 2.0.0\n`);
    expect(io.out()).toContain(`${kind} stays at 1.0.0: 2.0.0 rejects its functionConfig, ${file}:1:1: `);
    const hint = `Change it for release 2.0.0: krmhub show example.com/${kind}@2.0.0. To stay at 1.0.0, name the other`;
    expect(io.out()).toContain(`hint: ${hint}`);
    expect(io.out()).toContain('-    team: one\n+    team: two\n');
    const markdown = (await preview('-o', 'markdown')).out();
    expect(markdown).toMatch(
      /\n## Not upgraded\n\n- `.* stays at 1\.0\.0: .*unknown field "size".*`\n {2}`Change /,
    );
    const { rejected, functions, exitCode } = await report();
    expect([exitCode, functions.map((one) => one.kind)]).toEqual([1, [other]]);
    expect(rejected).toMatchObject([{ kind, before: '1.0.0', after: '2.0.0', place: `${file}:1:1` }]);
    // Without a preview, nothing is written that the user did not ask for.
    const written = await lock('--upgrade');
    expect([written.exitCode, written.err()]).toEqual([1, expect.stringContaining(`hint: ${hint}`)]);
    // What is left may be nothing.
    const alone = await preview('--upgrade', kind!);
    expect([alone.exitCode, alone.out()]).toEqual([
      1,
      expect.stringContaining('The lock file would not change.'),
    ]);
  });

  it('fails with --check if the lock would change', async () => {
    await upgradable({ A: [team('one'), team('two')] });
    expect((await report('--check')).exitCode).toBe(1);
    expectEnd(await lock('--upgrade'), 0);
    expect((await report('--check')).exitCode).toBe(0);
    expect((await preview()).out()).toContain('The lock file is up to date.\n');
  });

  it('compares a package that is not locked with what runs without a lock', async () => {
    const [kind] = await upgradable({ A: [team('one'), team('two')] });
    await rm(path.join(pack.folder, 'app/krmhub.lock'));
    const io = await lock('--preview');
    expectEnd(io, 0);
    expect(io.out()).toContain(`Lock ${kind} 2.0.0\nNone of 4 resources changes.\n`);
  });

  it('leaves an interrupted write alone', async () => {
    await upgradable({ A: [team('one'), team('two')] });
    await pack.write({ 'app/.krmhub-fn/x': '' });
    const names = await readdir(path.join(pack.folder, 'app'));
    const io = await preview();
    expect(names).toEqual(await readdir(path.join(pack.folder, 'app')));
    expectEnd(io, 1, 'a write of the package was interrupted');
  });

  it.each([
    [['--interactive'], '--interactive asks about upgrades'],
    [['--upgrade', '--interactive', '--check'], '--interactive asks about upgrades'],
    [['--upgrade', '--interactive'], '--interactive needs a terminal to ask at'],
    [['-o', 'markdown'], '-o markdown requires --preview'],
    [['--allow-exec'], '--allow-exec requires --preview'],
    [['--env', 'A=b'], '--env requires --preview'],
    [['--', '--enable-helm'], '-- requires --preview'],
  ])('refuses %j', async (args, message) => {
    await upgradable({ A: [team('one'), team('one')] });
    expectEnd(await lock(...args), 2, message);
  });
});

describe('an interactive upgrade', () => {
  /** Answers each question when it is asked. */
  async function answer(answers: readonly string[], ...args: string[]): Promise<TestIo> {
    const io = testIo({ cwd: pack.folder, tty: true, env: { ...environment(), NO_COLOR: '1' } });
    const stdin = Object.assign(new Readable({ read: () => undefined }), { isTTY: true });
    const rest = [...answers];
    const stderr = io.stderr;
    const write = stderr.write.bind(stderr) as (...all: unknown[]) => boolean;
    stderr.write = ((chunk: string, ...more: unknown[]) => {
      if (String(chunk).includes('[y/N]')) setImmediate(() => stdin.push(`${rest.shift()}\n`));
      return write(chunk, ...more);
    }) as typeof stderr.write;
    const asked = { ...io, stdin };
    await runProgram(['lock', 'app', ...trust(), ...args], asked);
    return Object.assign(io, { exitCode: asked.exitCode });
  }

  it('asks for each function, and writes what was accepted', async () => {
    const [first, second] = await upgradable({
      A: [team('one'), team('two')],
      B: [team('one'), team('three')],
    });
    const io = await answer(['y', 'n'], '--upgrade', '--interactive');
    expectEnd(io, 0, `Upgrade ${first}? [y/N] `);
    expect(io.err()).toContain(`Upgrade ${second}? [y/N] `);
    const text = await readFile(path.join(pack.folder, 'app/krmhub.lock'), 'utf8');
    const releases = [...text.matchAll(/kind: (\S+)\n(?: {2}serial: .*\n)? {2}release: "(.*)"/g)].map(
      ([, kind, release]) => [kind, release],
    );
    expect(releases).toEqual([
      [first, '2.0.0'],
      [second, '1.0.0'],
    ]);
  });

  it('with --preview writes nothing, and shows what was accepted', async () => {
    const [, second] = await upgradable({ A: [team('one'), team('two')], B: [team('one'), team('three')] });
    const before = await state();
    const io = await answer(['n', 'y'], '--upgrade', '--interactive', '--preview');
    expect(io.out()).toContain(`Upgrade ${second} from 1.0.0 to 2.0.0`);
    expect(await state()).toEqual(before);
  });
});

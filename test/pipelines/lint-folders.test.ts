import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawn, spawnSync } from '../processes.js';
import { cleanEnvironment, fixtures, krmhub, root, temporaryFolder } from '../running.js';

/** Lint of enough files to run in threads; few files run in one. */

const MANY = 230;
/** The last one with an error. */
const LAST = 224;
const { folder, remove } = temporaryFolder();
afterAll(remove);

const good = readFileSync(path.join(fixtures, 'functions/set-labels/1.0.0.yaml'), 'utf8');
/** Every file differs; every seventh has an error, every eleventh has another document as well. */
function content(at: number): string {
  const named = good.replace('kind: SetLabels', `kind: SetLabels${at}`);
  const text = at % 7 === 0 ? named.replace('type: object', `type: object${at}`) : named;
  return at % 11 === 0 ? `apiVersion: v1\nkind: Secret\n---\n${text}` : text;
}
const nameOf = (at: number) => `many/${at % 5}/f${String(at).padStart(4, '0')}.yaml`;

beforeAll(() => {
  for (let at = 0; at < MANY; at++) {
    mkdirSync(path.dirname(path.join(folder, nameOf(at))), { recursive: true });
    writeFileSync(path.join(folder, nameOf(at)), content(at));
  }
  writeFileSync(path.join(folder, 'many/0/other.yaml'), 'a: b\n');
});

const lint = (...args: string[]) => krmhub(['lint', ...args], { cwd: folder });
interface Report {
  files: number;
  errors: number;
  warnings: number;
  diagnostics: { file: string }[];
}

describe('many files', () => {
  it('give the same result as each alone, in the order of the names, however often', async () => {
    const expected: Report = { files: 0, errors: 0, warnings: 0, diagnostics: [] };
    for (const part of ['0', '1', '2', '3', '4']) {
      const one = JSON.parse((await lint(`many/${part}`, '--output', 'json')).stdout) as Report;
      expected.files += one.files;
      expected.errors += one.errors;
      expected.warnings += one.warnings;
      expected.diagnostics.push(...one.diagnostics);
    }
    const [first, second] = await Promise.all([
      lint('many', '--output', 'json'),
      lint('many', '--output', 'json'),
    ]);
    expect(first.stderr).toBe('');
    expect(first.code).toBe(1);
    expect(JSON.parse(first.stdout)).toEqual(expected);
    expect(expected).toMatchObject({ files: MANY, errors: Math.ceil(MANY / 7) });
    expect(second.stdout).toBe(first.stdout);
  });

  it('are shown with their lines, and skipped documents are counted', async () => {
    const { stdout } = await lint('many');
    expect(stdout.match(/^error\[schema\/unknown-type\]/gm)).toHaveLength(Math.ceil(MANY / 7));
    expect(stdout).toContain(`\n29 |           type: object${LAST}\n`);
    expect(stdout).toMatch(
      new RegExp(
        `\\n${MANY} files: ${Math.ceil(MANY / 7)} errors; 1 file and ${Math.ceil(MANY / 11)} documents of other kinds skipped\\n$`,
      ),
    );
    const github = await lint('many', '--output', 'github');
    expect(github.stdout.match(/^::error /gm)).toHaveLength(Math.ceil(MANY / 7));
  });

  it('may be recipes with keys beside them', async () => {
    const recipe = (name: string, key: string) => `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${name}}
spec:
  sources: [{name: ours, functions: {}}]
  policy: {requireSignature: [{groups: [example.com], key: ${key}}]}
`;
    mkdirSync(path.join(folder, 'recipes'));
    const { publicKey } = generateKeyPairSync('ed25519');
    writeFileSync(path.join(folder, 'recipes/our.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
    for (let at = 0; at < 220; at++) {
      const text = recipe(`r${at}`, at === 100 ? 'their.pub' : 'our.pub');
      writeFileSync(path.join(folder, `recipes/${String(at).padStart(3, '0')}.yaml`), text);
    }
    const report = JSON.parse((await lint('recipes', '--output', 'json')).stdout);
    expect(report).toMatchObject({
      files: 220,
      errors: 1,
      diagnostics: [{ code: 'policy/key', file: 'recipes/100.yaml', line: 6, column: 60 }],
    });
  });

  // Root may read everything, so it lints as another user.
  it.runIf(userInfo().uid !== 0 || spawnSync('setpriv', ['--version']).status === 0)(
    'end with the error of a file that cannot be read',
    async () => {
      const secret = path.join(folder, nameOf(LAST));
      const text = readFileSync(secret);
      rmSync(secret);
      writeFileSync(secret, text, { mode: 0 });
      try {
        const args = [path.join(root, 'apps/cli/bin/krmhub.js'), 'lint', folder];
        const [command, given] =
          userInfo().uid === 0
            ? ['setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, ...args]]
            : [process.execPath, args];
        chmodSync(folder, 0o755);
        const { status, stderr } = spawnSync(command as string, given as string[], {
          cwd: '/',
          env: cleanEnvironment(folder),
          encoding: 'utf8',
        });
        expect([status, stderr]).toEqual([
          5,
          expect.stringMatching(/^error: cannot read .*f0224\.yaml: permission denied\n$/),
        ]);
      } finally {
        chmodSync(secret, 0o644);
      }
    },
  );

  it('end at once when they are interrupted', async () => {
    const child = spawn(process.execPath, [path.join(root, 'apps/cli/bin/krmhub.js'), 'lint', 'many'], {
      cwd: folder,
      env: cleanEnvironment(folder),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(child, 'close') as Promise<[number | null, string | null]>;
    // It is at work once it prints.
    await once(child.stdout, 'data');
    child.stdout.resume();
    child.kill('SIGINT');
    expect((await closed)[1]).toBe('SIGINT');
  });

  it('show the progress of lint on a terminal, on stderr, and remove it afterwards', () => {
    const program = path.join(root, 'node_modules/.bin/krmhub');
    const { status, stdout } = spawnSync(
      'script',
      ['-qec', `${program} lint many >report.txt`, '/dev/null'],
      {
        cwd: folder,
        env: cleanEnvironment(folder, { TERM: 'xterm' }),
        encoding: 'utf8',
        input: '',
      },
    );
    expect(status).toBe(1);
    expect(stdout).toMatch(/\r\u001b\[2Klinting \d+\/231 many\/\S*f\d+\.yaml\r/);
    expect(stdout.endsWith('\r\u001b[2K')).toBe(true);
    expect(readFileSync(path.join(folder, 'report.txt'), 'utf8')).not.toContain('\u001b');
  });
});

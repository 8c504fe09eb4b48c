import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MAX_KEY_LENGTH } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testIo } from '../../testing/command-line.js';
import { readRecipeFile } from './read-recipe-file.js';

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const PUBLIC = String(publicKey.export({ type: 'spki', format: 'pem' }));
const PRIVATE = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));

let above: string;
let folder: string;
beforeEach(async () => {
  above = await mkdtemp(path.join(tmpdir(), 'krmhub-recipe-'));
  folder = path.join(above, 'recipes');
  await mkdir(path.join(folder, 'keys'), { recursive: true });
});
afterEach(() => rm(above, { recursive: true, force: true }));

const recipe = (...items: string[]) => `# A comment that stays.
apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: platform}   # and this one
spec:
  sources: [{name: ours, functions: {}}]
  policy:
    requireSignature:
${items.map((item) => `    - ${item}\n`).join('')}`;

async function read(text: string, stdin = false) {
  await writeFile(path.join(folder, 'recipe.yaml'), text);
  return stdin
    ? readRecipeFile(testIo({ cwd: folder, stdin: text }), '-')
    : readRecipeFile(testIo({ cwd: above }), 'recipes/recipe.yaml');
}

describe('key files next to a recipe', () => {
  it('are inserted, without other changes to the recipe', async () => {
    await writeFile(path.join(folder, 'banana.pub'), `who: somebody\r\n${PUBLIC}`);
    await writeFile(path.join(folder, 'keys/other key.pub'), PUBLIC);
    const text = recipe(
      '{groups: [banana.co], key: banana.pub}  # theirs',
      '{groups: [a.co], signers: [{key: "keys/other key.pub"}, {issuer: https://a, subject: b}]}',
    );
    for (const stdin of [false, true]) {
      const file = await read(text, stdin);
      expect(file.diagnostics).toEqual([]);
      const key = JSON.stringify(PUBLIC);
      expect(file.text).toBe(text.replace('banana.pub', key).replace('"keys/other key.pub"', key));
      expect(Buffer.from(file.bytes).toString()).toBe(text);
      expect(file.recipe!.policy!.requireSignature!.map(({ signers }) => signers[0])).toEqual([
        expect.objectContaining({ key: PUBLIC }),
        expect.objectContaining({ key: PUBLIC }),
      ]);
    }
  });

  it('keep the positions of other diagnostics', async () => {
    await writeFile(path.join(folder, 'a.pub'), PUBLIC);
    const line = '{groups: [a.co], key: a.pub, validFrom: now}';
    const { recipe: found, diagnostics } = await read(recipe(line));
    expect(found).toBeUndefined();
    expect(diagnostics).toMatchObject([
      {
        code: 'policy/time',
        file: 'recipes/recipe.yaml',
        range: { start: { line: 9, column: 7 + line.indexOf('now') } },
      },
    ]);
  });

  it.each([
    ['nothing', 'nope.pub', 'no such file'],
    ['a folder', 'keys', 'is not a regular file'],
    ['a file above', '../above.pub', 'is outside the folder of the recipe'],
    ['a way back', 'keys/../../recipes/../above.pub', 'is outside the folder of the recipe'],
    ['an absolute path', '/etc/hosts', 'is outside the folder of the recipe'],
    ['the folder itself', '.', 'is outside the folder of the recipe'],
    ['a link that leads out', 'link.pub', 'is outside the folder of the recipe'],
    ['a link of a folder that leads out', 'out/above.pub', 'is outside the folder of the recipe'],
    ['a link to itself', 'loop.pub', 'ELOOP'],
    ['a private key', 'private.key', 'is a private key, expected a public key'],
    ['text', 'text.pub', 'is not a public key'],
    ['a large file', 'large.pub', 'is too long'],
    ['a pipe', 'pipe', 'is not a regular file'],
    ['a name that is too long', 'a'.repeat(2_000), 'ENAMETOOLONG'],
    ['a URL', 'https://banana.co/banana.pub', 'no such file'],
  ])('that are %s are refused where they are named', async (_, name, message) => {
    await writeFile(path.join(above, 'above.pub'), PUBLIC);
    await symlink('../above.pub', path.join(folder, 'link.pub'));
    await symlink('..', path.join(folder, 'out'));
    await symlink('loop.pub', path.join(folder, 'loop.pub'));
    await writeFile(path.join(folder, 'private.key'), PRIVATE);
    await writeFile(path.join(folder, 'text.pub'), 'password: hunter2');
    await writeFile(path.join(folder, 'large.pub'), `${PUBLIC}${' '.repeat(MAX_KEY_LENGTH)}`);
    execFileSync('mkfifo', [path.join(folder, 'pipe')]);
    const text = recipe(`{groups: [banana.co], key: ${name}}`);
    const { recipe: found, diagnostics, ...file } = await read(text);
    expect(found).toBeUndefined();
    expect(diagnostics).toMatchObject([
      {
        code: 'policy/key',
        path: 'spec.policy.requireSignature[0].key',
        range: { start: { line: 9, column: 34 }, end: { line: 9, column: 34 + name.length } },
        message: expect.stringContaining(message),
        hint: expect.stringMatching(/./),
      },
    ]);
    expect(file.text).toBe(text);
    expect(JSON.stringify(diagnostics)).not.toMatch(/hunter2|BEGIN PRIVATE/);
  });

  it('can be a symbolic link within the folder, or in a linked folder', async () => {
    await writeFile(path.join(folder, 'keys/a.pub'), PUBLIC);
    await symlink('keys/a.pub', path.join(folder, 'newest.pub'));
    await symlink('recipes', path.join(above, 'linked'));
    await writeFile(path.join(folder, 'recipe.yaml'), recipe('{groups: [a.co], key: newest.pub}'));
    const { diagnostics } = await readRecipeFile(testIo({ cwd: above }), 'linked/recipe.yaml');
    expect(diagnostics).toEqual([]);
  });

  it('are not read for a file that is too large or not YAML', async () => {
    for (const text of ['a: [', '', `${recipe('{key: a}')}#${' '.repeat(300_000)}`, '\xff']) {
      const { recipe: found, diagnostics } = await read(text);
      expect([found, diagnostics.length > 0]).toEqual([undefined, true]);
    }
  });
});

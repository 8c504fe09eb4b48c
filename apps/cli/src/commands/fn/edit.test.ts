import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { expectEnd } from '../../testing/command-line.js';
import { ENGINE, type FnPackage, fnPackage } from '../../testing/fn-package.js';

/** Files are edited: what a function does not change keeps its bytes. */

let pack: FnPackage;
afterEach(() => pack.remove());

const YAML = pathToFileURL(createRequire(import.meta.url).resolve('yaml')).href;
/** A program that loses comments, quotes, and styles. `change` is JavaScript for each resource `r`. */
const program = (change = '') => `import { readFileSync } from 'node:fs';
import { parse, stringify } from ${JSON.stringify(YAML)};
const list = parse(readFileSync(0, 'utf8'), { merge: true });
for (const r of list.items) { ${change} }
process.stdout.write(stringify(list, { aliasDuplicateObjects: false }));
`;
const EXEC = `${process.execPath} fn.mjs`;
const CONFIG = `apiVersion: example.com/v1
kind: Touch
metadata:
  name: touch
  annotations:
    config.kubernetes.io/local-config: "true"
    config.kubernetes.io/function: |
      starlark: {name: touch, path: touch.star}
`;
/** A script that changes all but its own functionConfig. */
const starlark = (change = 'pass') =>
  `for r in ctx.resource_list["items"]:\n    if r["kind"] != "Touch":\n        ${change}\n`;

type Runtime = 'exec' | 'starlark' | 'container';
const RUNTIMES: Runtime[] = ['exec', 'starlark', 'container'];

/** Runs a function on the files of a package, and returns them. */
async function run(
  runtime: Runtime,
  files: Record<string, string>,
  { js = '', star = 'pass' }: { js?: string; star?: string } = {},
  flags: readonly string[] = [],
): Promise<Record<string, string>> {
  const inside = Object.fromEntries(Object.entries(files).map(([name, text]) => [`app/${name}`, text]));
  pack = await fnPackage({
    ...inside,
    'fn.mjs': program(js),
    'bin/docker': ENGINE,
    'images/fn.sh': `exec ${process.execPath} "$FN_FOLDER/fn.mjs"`,
    ...(runtime === 'starlark' ? { 'app/fn.yaml': CONFIG, 'app/touch.star': starlark(star) } : {}),
  });
  const args = {
    exec: ['eval', 'app', '--exec', EXEC],
    starlark: ['run', 'app'],
    container: ['eval', 'app', '-i', 'example.com/fn:v1'],
  };
  const io = await pack.fn([...args[runtime], ...flags]);
  expect([io.exitCode, io.err()]).toEqual([0, expect.stringContaining('[PASS]')]);
  const { 'fn.yaml': config = CONFIG, 'touch.star': _, ...after } = pack.all();
  expect(config).toBe(CONFIG);
  return after;
}

const MAP = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n';
const LICENSE = '# Copyright 2026 Example Co\n#\n# Licensed under the Apache License, Version 2.0\n\n---\n';

const FILES: Record<string, string> = {
  'CRLF line breaks': `${MAP}data:\n  s: |\n    one\n    two\n---\n${MAP}`.replaceAll('\n', '\r\n'),
  'a byte order mark, and documents of comments': `\ufeff---\n# only a comment\n---\n\n---\n${MAP}---\n---\n# at the end\n`,
  'a license header': `${LICENSE}${MAP}---\n${MAP.replace('a\n', 'b\n')}`,
  'empty annotations': `${MAP}  annotations: {}\nspec:\n  ports: []\n`,
  'annotations that are null': `${MAP}  annotations:\nspec: {}\n`,
  'annotations of the orchestrator': `${MAP}  annotations:\n    config.kubernetes.io/index: '7'\n    x: y\n`,
  'lists with two indentations': `${MAP}spec:\n  containers:\n  - name: app\n    drop:\n      - ALL\n  - name: sidecar\n`,
  'a script with a trailing space': `${MAP}data:\n  run.sh: |\n    #!/bin/sh\n    set -e \n    for i in 1 2; do\n      echo "$i"\n    done\n`,
  'a script with tabs': `${MAP}data:\n  run.sh: |-\n    a\n    \tb\n`,
  'folded and wrapped text': `${MAP}data:\n  a: >\n    one\n    two\n\n    three\n  b: "one\n    two"\n  c: one\n    two\n`,
  'compact JSON': '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"b":"1","a":"2"}}',
  'flow style with spaces': `${MAP}data: { a: "1",  b : [ x, y ] }\n`,
  'a merge key': `${MAP}base: &b {x: 1}\nown:\n  <<: *b\n  y: 2\n`,
  'blank lines and comments between fields': `# top\n\n${MAP}\n\n# data\ndata:   # here\n\n  a: '1'\n\n  # end\n`,
  'a comment beside a list': `${MAP}args: [serve, --port=80] # kpt-set: \${args}\nenv: []   # later\ntty: true\n`,
  'the end of a document': `${MAP}...\n`,
  'no line end': MAP.trimEnd(),
  'numbers in other notations': `${MAP}spec: {a: 0x10, b: 1.50, c: 1e3, d: ~, e: True}\n`,
  'an annotation in several lines': `${MAP}  annotations:\n    a: 'line one\n\n      '\n    z: z\ndata: {}\n`,
  'a last annotation in several lines': `${MAP}  annotations:\n    a: 'line one\n\n      '\n`,
  'quotes at the start of a line': `${MAP}  annotations:\n    a: 'x\n\n'\n    b: "y\n\n"\n`,
};

describe.each(RUNTIMES)('a function that changes nothing (%s)', (runtime) => {
  it('leaves every file as it was', async () => {
    const files = Object.fromEntries(
      Object.entries(FILES).map(([what, text], at) => [`f${at}-${what.replaceAll(' ', '-')}.yaml`, text]),
    );
    expect(await run(runtime, files)).toEqual(files);
  });
});

describe.each(RUNTIMES)('a new label (%s)', (runtime) => {
  it.each(Object.entries(FILES))('is all that changes in a file with %s', async (_, text) => {
    const change = { js: "r.metadata.labels = { x: 'y' };", star: 'r["metadata"]["labels"] = {"x": "y"}' };
    const after = (await run(runtime, { 'a.yaml': text }, change))['a.yaml']!;
    const added = after.match(/[,\s]*"?labels"?:\s*(?:\{\s*)?"?x"?:\s*"?y"?\s*?\}?/g) ?? [];
    expect(added).toHaveLength(text.split('name').length - 1 - (text.includes('sidecar') ? 2 : 0));
    const rest = added.reduce((all, piece) => all.replace(piece, ''), after);
    expect(rest.replaceAll('\r', '').trim()).toBe(text.replaceAll('\r', '').trim());
    expect(/[^\r]\n/.test(after)).toBe(/[^\r]\n/.test(text));
  });
});

/** The fields of a resource before, the change, and the fields after. */
const COMMENTS: [what: string, before: string, key: string, value: string, after: string][] = [
  ['an empty list becomes a list', 'a: [] # c\nb: 1\n', 'a', '["1"]', 'a: # c\n- "1"\nb: 1\n'],
  ['null becomes a text', 'a: # c\nb: 1\n', 'a', '"set"', 'a: set # c\nb: 1\n'],
  ['null becomes an empty list', 'a: # c\nb: 1\n', 'a', '[]', 'a: [] # c\nb: 1\n'],
  ['a list becomes empty', 'a: # c\n- p\n- q\nb: 1\n', 'a', '[]', 'a: [] # c\nb: 1\n'],
  ['a map becomes empty', 'a: # c\n  p: q\nb: 1\n', 'a', '{}', 'a: {} # c\nb: 1\n'],
  ['a map becomes a list', 'a: # c\n  p: q\nb: 1\n', 'a', '[]', 'a: [] # c\nb: 1\n'],
  [
    'a nested list becomes empty',
    'x:\n  a: # c\n  - p\n  b: 1\n',
    'x',
    '{"a": [], "b": 1}',
    'x:\n  a: [] # c\n  b: 1\n',
  ],
  ['the last list becomes empty', 'b: 1\na: # c\n- p\n', 'a', '[]', 'b: 1\na: [] # c\n'],
  ['a text changes', "a: 'x' # c\nb: 1\n", 'a', '"y"', "a: 'y' # c\nb: 1\n"],
  ['an empty map becomes a map', 'a: {} # c\nb: 1\n', 'a', '{"p": "q"}', 'a: # c\n  p: q\nb: 1\n'],
  [
    'an item is removed',
    'a:\n# one\n- p\n# two\n- q # 2\nb: 1\n',
    'a',
    '["q"]',
    'a:\n# two\n- q # 2\nb: 1\n',
  ],
];

describe.each(RUNTIMES)('a comment (%s)', (runtime) => {
  it.each(COMMENTS)('stays on its field if %s', async (_, before, key, value, after) => {
    const head = 'apiVersion: v1\nkind: MyKind\nmetadata:\n  name: foo\n';
    const change = { js: `r.${key} = ${value};`, star: `r["${key}"] = ${value}` };
    expect(await run(runtime, { 'r.yaml': head + before }, change)).toEqual({ 'r.yaml': head + after });
    expect(await run(runtime, { 'r.yaml': head + after }, change)).toEqual({ 'r.yaml': head + after });
  });
});

describe('krmhub fn', () => {
  it('shows the next function of a chain a comment on its own field', async () => {
    const before = `${MAP}args: [a] # kpt-set: \${args}\nenv: []\n`;
    pack = await fnPackage({
      'fn.mjs': program(),
      'see.sh': '#!/bin/sh\ntee "$FN_FOLDER/seen"\n',
      'app/Kptfile': `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n    - exec: ${EXEC}\n    - exec: ./see.sh\n`,
      'app/a.yaml': before,
    });
    const io = await pack.fn(['render', 'app', '--allow-package-exec']);
    expect([io.exitCode, pack.read('app/a.yaml')]).toEqual([0, before]);
    expect(pack.read('seen')).toContain(`  args: # kpt-set: $\{args}\n  - a\n  env: []\n`);
  });

  it('writes as kpt does with --format kpt', async () => {
    const text = FILES['CRLF line breaks']!;
    const after = await run('exec', { 'a.yaml': text }, {}, ['--format', 'kpt']);
    expect(after).toEqual({ 'a.yaml': text.replaceAll('\r', '') });
  });

  it('prints the smallest patch in a dry run', async () => {
    const text = `${LICENSE}${MAP}data:  {a: '1'}   # kept\n`;
    await run('exec', { 'a.yaml': text }, { js: "r.data.a = '2';" }, ['--dry-run']);
    const io = await pack.fn(['eval', 'app', '--exec', EXEC, '--dry-run']);
    expect(
      io
        .out()
        .match(/^[-+] ?\S.*$/gm)
        ?.slice(2),
    ).toEqual(["-data:  {a: '1'}   # kept", "+data:  {a: '2'}   # kept"]);
    expect(pack.read('app/a.yaml')).toBe(text);
  });

  it('removes, adds, and moves documents with their text', async () => {
    const js = `
      if (r.metadata.name === 'b') { list.items = list.items.filter((one) => one !== r); continue; }
      if (r.metadata.name !== 'c') continue;
      for (const prefix of ['internal.config', 'config']) r.metadata.annotations[prefix + '.kubernetes.io/path'] = 'other.yaml';
      list.items.push({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'new', annotations: { 'internal.config.kubernetes.io/path': 'a.yaml' } } });`;
    const named = (name: string) => MAP.replace('name: a', `name:   ${name} # ${name}`);
    const files = {
      'a.yaml': `${LICENSE}${named('a')}\n---\n${named('b')}---\n${named('c')}`,
      'other.yaml': '{"apiVersion": "v1", "kind": "A", "metadata": {"name": "o"}}\n',
    };
    const added = MAP.replace('name: a', 'name: new');
    expect(await run('exec', files, { js })).toEqual({
      'a.yaml': `${LICENSE}${named('a')}\n---\n${added}`,
      'other.yaml': `${files['other.yaml']}---\n${named('c')}`,
    });
  });

  it('moves a file as a whole', async () => {
    const js = `for (const prefix of ['internal.config', 'config']) r.metadata.annotations[prefix + '.kubernetes.io/path'] = 'sub/b.yaml';`;
    const text = `${LICENSE}${MAP}\n---\n# only a comment\n`.replaceAll('\n', '\r\n');
    expect(await run('exec', { 'a.yaml': text }, { js })).toEqual({ 'sub/b.yaml': text });
  });

  it('leaves files alone of which a function got nothing', async () => {
    const files = {
      'a.yaml': `${MAP}data:  {}\n`,
      'b.yaml': 'apiVersion:   v1\nkind: B\nmetadata: {name: b }\n',
    };
    const after = await run('exec', files, { js: 'r.data = { a: 1 };' }, ['--match-kind', 'B']);
    expect(after).toEqual({ ...files, 'b.yaml': `${files['b.yaml']}data:\n  a: 1\n` });
  });

  it('says once for each file what could not be edited', async () => {
    const text = `${MAP}base: &b {x: 1}\none: *b\ntwo: *b\n`;
    await run('exec', { 'a.yaml': text }, { js: 'r.one = { x: 2 }; r.two = { x: 3 };' });
    expect(pack.read('app/a.yaml')).toBe(
      text.replace('one: *b', 'one:\n  x: 2').replace('two: *b', 'two:\n  x: 3'),
    );
    const io = await (async () => {
      await pack.remove();
      pack = await fnPackage({
        'app/a.yaml': text,
        'fn.mjs': program('r.one = { x: 2 }; r.two = { x: 3 };'),
      });
      return pack.fn(['eval', 'app', '--exec', EXEC]);
    })();
    expectEnd(io, 0, 'warning: a.yaml: line 6: wrote one in place of an alias, and 1 other note\n');
  });

  it('edits the files of a folder that sink gets, and leaves the others', async () => {
    const text = `${LICENSE}${MAP}data:  {a: '1'}   # kept\n`;
    const other = 'kind:  A\napiVersion: v1\nmetadata: {name: o }\n';
    pack = await fnPackage({ 'app/a.yaml': text, 'app/sub/o.yaml': other });
    const source = (await pack.fn(['source', 'app'])).out();
    const same = await pack.fn(['sink', 'app'], { stdin: source });
    expect([same.exitCode, pack.all()]).toEqual([0, { 'a.yaml': text, 'sub/o.yaml': other }]);
    const list = source.replace("'1'", "'2'").replace(/- kind: {2}?A[\s\S]*/, '');
    expect((await pack.fn(['sink', 'app'], { stdin: list })).exitCode).toBe(0);
    expect(pack.all()).toEqual({ 'a.yaml': text.replace("'1'", "'2'"), 'sub/o.yaml': other });
    const taken = await pack.fn(['sink', 'app', '--format', 'kpt'], { stdin: list });
    expect([taken.exitCode, taken.err()]).toEqual([1, expect.stringContaining('already exists')]);
  });
});

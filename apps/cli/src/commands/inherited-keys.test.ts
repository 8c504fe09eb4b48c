import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { catalogText, definitionText, recipeText, sourceText } from '../testing/catalog-build.js';
import { runTest } from '../testing/command-line.js';
import { type TestPackage, testPackage } from '../testing/package-files.js';

/**
 * Names that every object of JavaScript has are keys like all others, in every mapping of every document that commands
 * read: no lookup in a table takes an inherited value for an entry.
 */

const KEYS = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'];

let pack: TestPackage;
afterEach(() => pack.remove());

const LOCK = `apiVersion: krmhub.dev/v1alpha1
kind: Lock
catalogs:
- reference: ./catalog.yaml
functions:
- catalog: ./catalog.yaml
  apiVersion: example.com/v1
  kind: SetLabels
  definition: sha256:${'a'.repeat(64)}
  container:
    image: example.com/a@sha256:${'a'.repeat(64)}
    platforms:
      linux/amd64: sha256:${'a'.repeat(64)}
images:
- image: example.com/a:v1
  digest: sha256:${'a'.repeat(64)}
`;
const FN = `apiVersion: example.com/v1
kind: SetLabels
metadata:
  name: fn
  annotations:
    a: b
runtime:
  container:
    image: localhost:9/a@sha256:${'a'.repeat(64)}
    mounts:
    - type: bind
labels:
  a: b
`;
const KPTFILE = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
  annotations:
    krmhub.dev/catalogs: ../catalog.yaml
pipeline:
  mutators:
  - configPath: fn.yaml
    selectors:
    - kind: A
      labels:
        a: b
`;
const COMPOSITION = `kind: Composition
metadata:
  name: app
catalogs:
- ../catalog.yaml
modules:
- apiVersion: example.com/v1
  kind: SetLabels
  metadata:
    name: a
  labels:
    a: b
moduleOrder:
- name: a
`;
const KUSTOMIZATION = 'catalogs:\n- ../catalog.yaml\ntransformers:\n- fn.yaml\nlabels:\n- pairs:\n    a: b\n';
const CONFIG_FILE = 'port: 8080\nhost: localhost\n';
const CATALOG = catalogText('example.com', ['SetLabels']);

/** By document: its file, its text, and the commands that read it. */
const DOCUMENTS: [file: string, text: string, commands: string[][]][] = [
  [
    'definition.yaml',
    definitionText({ kind: 'SetLabels' }),
    [
      ['lint', 'definition.yaml'],
      ['test', 'definition.yaml', '--exec', 'false'],
    ],
  ],
  [
    'catalog.yaml',
    CATALOG,
    [
      ['explain', 'app', '-c', 'catalog.yaml'],
      ['catalog', 'show', 'catalog.yaml'],
      ['catalog', 'diff', 'catalog.yaml', 'catalog.yaml'],
    ],
  ],
  [
    'recipe.yaml',
    recipeText(sourceText('theirs', './catalog.yaml')),
    [
      ['catalog', 'build', 'recipe.yaml', '-o', 'out.yaml'],
      ['lint', 'recipe.yaml'],
    ],
  ],
  [
    'app/krmhub.lock',
    LOCK,
    [
      ['explain', 'app'],
      ['lock', 'app', '--offline'],
    ],
  ],
  [
    'app/fn.yaml',
    FN,
    [
      ['explain', 'app'],
      ['fn', 'run', 'app'],
      ['lock', 'app', '--offline'],
    ],
  ],
  [
    'app/Kptfile',
    KPTFILE,
    [
      ['explain', 'app'],
      ['kpt', 'sync', 'app', '--check'],
      ['fn', 'render', 'app', '--dry-run'],
      ['convert', 'app/Kptfile'],
    ],
  ],
  ['composition/composition.yaml', COMPOSITION, [['explain', 'composition', '-c', 'catalog.yaml']]],
  ['kustomization/kustomization.yaml', KUSTOMIZATION, [['explain', 'kustomization', '-c', 'catalog.yaml']]],
  [
    'trust.yaml',
    'apiVersion: krmhub.dev/v1alpha1\nkind: TrustPolicy\nmetadata:\n  name: a\nspec:\n  functions: {}\n',
    [
      ['explain', 'app', '-c', 'catalog.yaml'],
      ['lint', 'trust.yaml'],
    ],
  ],
  ['config.yaml', CONFIG_FILE, [['serve', '--config', 'config.yaml', '--data', '/dev/null/x']]],
];

/** Every document with a key added to one of its mappings, with a text, a mapping, and a list as value. */
function* withKey(text: string, key: string): Generator<string> {
  const lines = text.trimEnd().split('\n');
  for (const [index, line] of lines.entries()) {
    const [, indent, dash] = /^( *)(- )?[\w./"$-]+:(?: |$)/.exec(line) ?? [];
    if (indent === undefined) continue;
    const inner = `${indent}${dash === undefined ? '' : '  '}`;
    for (const value of ['x', '{a: 1}', '[a]']) {
      const added = `${inner}${key}: ${value}`;
      const kept = dash === undefined ? [added, line] : [line, added];
      // A key below a mapping or a block would belong to another one.
      if (dash !== undefined && /:$/.test(line)) continue;
      yield [...lines.slice(0, index), ...kept, ...lines.slice(index + 1)].join('\n').concat('\n');
    }
  }
}

it.each(DOCUMENTS)(
  'reads keys of every object in %s as any other key',
  { timeout: 300_000 },
  async (file, text, commands) => {
    pack = await testPackage({
      'catalog.yaml': CATALOG,
      'app/Kptfile': KPTFILE,
      'app/fn.yaml': FN,
      'kustomization/fn.yaml': FN,
    });
    const env = {
      PATH: '/usr/bin:/bin',
      KRMHUB_CACHE: path.join(pack.folder, '.cache'),
      ...(file === 'trust.yaml' ? { KRMHUB_TRUST: path.join(pack.folder, 'trust.yaml') } : {}),
    };
    let variants = 0;
    for (const key of KEYS) {
      for (const changed of withKey(text, key)) {
        await pack.write({ [file]: changed });
        variants += 1;
        for (const command of commands) {
          const io = await runTest(command, { cwd: pack.folder, env });
          const said = `${io.out()}${io.err()}`;
          expect(said, `${command.join(' ')}\n${changed}`).not.toMatch(
            /internal error|\[native code\]|\[object Object\]|TypeError/,
          );
        }
      }
    }
    expect(variants).toBeGreaterThan(5);
  },
);

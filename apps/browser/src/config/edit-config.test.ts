import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { exampleConfig, type FunctionDefinition, lint } from '@krmhub/schema';
import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import { isObject } from '@krmhub/schema/json/access';
import { fromJson, readResources, toJson, writeDocument } from '@krmhub/schema/resource-yaml';
import { describe, expect, it } from 'vitest';
import { editConfig, readConfig } from './edit-config.js';

type Path = (string | number)[];

const fixtures = fileURLToPath(new URL('../../../../test/fixtures/', import.meta.url));

/** Every API version of the functions of the tests. */
function definitions(): FunctionDefinition[] {
  const folder = `${fixtures}functions/`;
  return readdirSync(folder).flatMap((name) =>
    readdirSync(folder + name)
      .filter((file) => file.endsWith('.yaml'))
      .flatMap((file) => {
        const { documents } = lint(readFileSync(`${folder}${name}/${file}`), { file });
        return documents.flatMap((document) => ('definition' in document ? [document.definition] : []));
      }),
  );
}

const yaml = (value: JsonObject) => writeDocument(fromJson(value));

/** Every scalar with its path. */
function scalars(value: JsonValue, path: Path = []): [Path, JsonValue][] {
  if (Array.isArray(value)) return value.flatMap((item, at) => scalars(item, [...path, at]));
  if (!isObject(value)) return [[path, value]];
  return Object.entries(value).flatMap(([key, inner]) => scalars(inner, [...path, key]));
}

const TEXT = `# A comment above.
apiVersion: example.com/v1
kind: SetLabels
metadata: {name: labels} # in one line

labels:
  # about the team
  team: 'platform' # in quotes
  "on": "yes"
  tier: >-
    folded
    text
unknown: &anchor
- a: 1
  b: [x, y]
-   a: 2
copy: *anchor
`;

describe('a change of a functionConfig', () => {
  it.each([...scalars(toJson(readResources(TEXT, 'x')[0]!.node))])(
    'of %j changes nothing if the value is the same',
    (path, value) => {
      // The alias has values, but none of its own.
      if (path[0] === 'copy') return;
      expect(editConfig(TEXT, path, value)).toBe(TEXT);
    },
  );

  it.each<[Path, JsonValue]>([
    [['metadata', 'name'], 'other'],
    [['labels', 'team'], 'shop'],
    [['labels', 'on'], 'no'],
    [['unknown', 0, 'a'], 7],
    [['unknown', 0, 'b', 1], 'z'],
    [['unknown', 1, 'a'], true],
  ])('of %j changes its line only', (path, value) => {
    const after = editConfig(TEXT, path, value);
    const lines = after.split('\n');
    const changed = TEXT.split('\n').filter((line, at) => line !== lines[at]);
    expect([lines.length, changed.length]).toEqual([TEXT.split('\n').length, 1]);
    const read = scalars(toJson(readResources(after, 'x')[0]!.node));
    expect(read).toContainEqual([path, value]);
    // The comment at the end of its line stays.
    for (const comment of TEXT.match(/#.*/g) ?? []) expect(after).toContain(comment);
  });

  it('adds what is missing, and removes what becomes empty', () => {
    const added = editConfig(TEXT, ['spec', 'list', 0, 'name'], 'a');
    expect(added).toBe(`${TEXT}spec:\n  list:\n  - name: a\n`);
    expect(editConfig(added, ['spec', 'list', 0, 'name'], undefined)).toBe(TEXT);
  });

  it('of what an alias refers to leaves the other value as it is', () => {
    const after = toJson(readResources(editConfig(TEXT, ['copy', 0, 'a'], 9), 'x')[0]!.node) as JsonObject;
    expect([after.copy, after.unknown]).toMatchObject([
      [{ a: 9 }, { a: 2 }],
      [{ a: 1 }, { a: 2 }],
    ]);
  });

  it('builds every example field by field, and the check accepts it', () => {
    const all = definitions();
    expect(all.length).toBeGreaterThan(5);
    for (const definition of all) {
      for (const { name } of definition.versions) {
        const { value, check } = exampleConfig(definition, name);
        const { apiVersion, kind } = value;
        let text = yaml({ apiVersion: apiVersion!, kind: kind! });
        for (const [path, scalar] of scalars(value)) text = editConfig(text, path, scalar);
        const own = { ...definition, versions: definition.versions.filter((one) => one.name === name) };
        const state = readConfig(text, own);
        expect(state.value).toEqual(value);
        if (check === 'valid') expect(state.problems).toEqual([]);
      }
    }
  });
});

describe('a functionConfig', () => {
  const definition = {
    group: 'example.com',
    names: { kind: 'A' },
    versions: [
      {
        name: 'v1',
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { size: { type: 'integer', maximum: 3 } },
          } as JsonObject,
        },
      },
    ],
  };
  const config = (rest: string) => `apiVersion: example.com/v1\nkind: A\n${rest}`;

  it.each([
    ['size: 4\n', { path: 'size', message: 'must be <= 3' }],
    ['size: a\n', { path: 'size', message: 'must be an integer, not a string' }],
    ['sizes: 4\n', { path: '', message: expect.stringContaining('did you mean "size"?') }],
  ])('has the messages of the check: %j', (rest, problem) => {
    expect(readConfig(config(rest), definition).problems).toEqual([problem]);
  });

  it.each(['a: [', '- a\n', '', 'a: 1\n---\na: 2\n'])('that cannot be read has no value: %j', (text) => {
    const { value, problems } = readConfig(text, definition);
    expect([value, problems.length]).toEqual([undefined, 1]);
  });
});

it.each(['null', '~', '<<', 'yes', '1'])(
  'quotes a new key that readers take for another value: %s',
  (key) => {
    const text = 'apiVersion: a/v1\nkind: A\n';
    expect(editConfig(text, ['m', key], 'x')).toMatch(`${text}m:\n  "${key}": `);
  },
);

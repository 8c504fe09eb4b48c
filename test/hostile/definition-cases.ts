import { apiVersion, caseOf, definition, type Fields, jsonBytes, list, objectSchema } from './definition.js';
import type { HostileCase } from './hostile-case.js';

/** Text that every reader accepts, and that harms programs that act on its content. */

const fields = (count: number, make: (index: number) => unknown): Fields =>
  Object.fromEntries(list(count, (index) => [`field${index}`, make(index)]));
const textField = (more: Fields): Fields =>
  objectSchema({ text: { type: 'string', description: 'A text.', ...more } });
function nested(depth: number, make: (inner: Fields) => Fields): Fields {
  let schema: Fields = { type: 'string', description: 'The innermost.' };
  for (let level = 0; level < depth; level++) schema = make(schema);
  return schema;
}

const EXPLODING = [
  '^(a+)+$',
  '^(a|a)*$',
  '^(a|aa)+$',
  '^([a-zA-Z]+)*$',
  '^(.*)*$',
  '^(.*a){20}$',
  '(x+x+)+y',
  '^((ab)*)*c$',
  '(?:(?:(?:a{1,10}){1,10}){1,10})',
  '^\\s+$|^(\\d+)+$',
];

const patterns: HostileCase[] = [
  ...EXPLODING.map((pattern, index) =>
    caseOf(`the pattern ${pattern} and a default that it may not match`, 'either', () => ({
      kind: `Exploding${index}`,
      schema: textField({ pattern, default: `${'a'.repeat(9_000)}!` }),
    })),
  ),
  ...[
    'a{1000}',
    '(a{1000}){1000}',
    '((a{100}){100}){100}',
    'a{999999999}',
    '(',
    '[',
    '(?=a)b',
    '(a)\\1',
    '(?P<',
  ].map((pattern) => caseOf(`the pattern ${pattern}`, 'either', () => ({ schema: textField({ pattern }) }))),
  caseOf('2,000 costly patterns', 'either', () => ({
    schema: objectSchema(
      fields(1_999, (n) => ({ type: 'string', description: 'x', pattern: `(a{0,30}){0,30}${n}` })),
    ),
  })),
  caseOf('a pattern of a megabyte', 'refused', () => ({
    schema: textField({ pattern: '(a|b)*'.repeat(160_000) }),
  })),
  caseOf('a pattern of 900 nested groups', 'either', () => ({
    schema: textField({ pattern: `${'('.repeat(499)}a${')'.repeat(499)}` }),
  })),
  caseOf('500 alternatives and a long default', 'either', () => ({
    schema: textField({
      pattern: `^(${list(240, (n) => n.toString(36)).join('|')})*$`.slice(0, 1_000),
      default: '0'.repeat(9_000),
    }),
  })),
  caseOf('40 patterns that no automaton is small enough for, each with a default', 'taken', () => ({
    kind: 'Matching',
    schema: objectSchema(
      fields(40, (n) => ({
        type: 'string',
        description: 'x',
        pattern: `(a|b)*a(a|b){${900 + n}}`,
        default: list(9_000, (at) => ((at * at * 7_919 + n) % 11 < 5 ? 'a' : 'b')).join(''),
      })),
    ),
  })),
  caseOf('the same patterns for the items of a list', 'either', () => ({
    schema: objectSchema({
      texts: {
        type: 'array',
        description: 'x',
        items: { type: 'string', allOf: list(90, (n) => ({ pattern: `(a|b)*a(a|b){${900 + n}}` })) },
        default: list(90, () => list(9_000, (at) => ((at * at * 7_919) % 11 < 5 ? 'a' : 'b')).join('')),
      },
    }),
  })),
  caseOf('900 patterns of Unicode classes', 'refused', () => ({
    schema: objectSchema(
      fields(900, (n) => ({ type: 'string', description: 'x', pattern: `${'\\pL'.repeat(320)}${n}` })),
    ),
  })),
  caseOf('200 patterns with a default of 9,000 characters each', 'either', () => ({
    schema: objectSchema(
      fields(100, (n) => ({
        type: 'string',
        description: 'x',
        pattern: `^(a|b|ab|ba|${'a?'.repeat(40)})*${n}$`,
        default: 'ab'.repeat(4_000),
      })),
    ),
  })),
];

const references: HostileCase[] = [
  ...[
    '#',
    '#/properties/text',
    'https://evil.example.com/schema.json',
    'http://127.0.0.1:1/schema.json',
    'http://169.254.169.254/latest/meta-data/',
    'file:///etc/passwd',
    '\\\\evil.example.com\\share',
    '../../../../etc/passwd',
    'data:application/json,{}',
  ].map((target) =>
    caseOf(`a $ref to ${target}`, 'refused', () => ({
      schema: objectSchema(
        { text: { $ref: target }, self: { $ref: '#' } },
        { definitions: { a: { $ref: '#/definitions/a' } } },
      ),
    })),
  ),
  caseOf('a $schema, an $id and a $dynamicRef with remote URLs', 'refused', () => ({
    schema: objectSchema(
      {},
      {
        $schema: 'https://evil.example.com/meta',
        $id: 'https://evil.example.com/',
        $dynamicRef: '#x',
        $recursiveRef: '#',
      },
    ),
  })),
];

const schemas: HostileCase[] = [
  caseOf('a schema of 25 nested objects', 'refused', () => ({
    schema: nested(40, (inner) => objectSchema({ a: inner })),
  })),
  caseOf('a schema of 20 nested objects', 'taken', () => ({
    kind: 'Deep',
    schema: nested(20, (inner) => objectSchema({ a: inner })),
  })),
  caseOf('junctors inside junctors', 'either', () => ({
    schema: nested(11, (inner) => ({ allOf: [inner], anyOf: [inner], not: { required: ['a'] } })),
  })),
  caseOf('junctors that double 12 times', 'either', () => ({
    schema: { type: 'object', description: 'x', ...nested(12, (inner) => ({ anyOf: [inner, inner] })) },
  })),
  caseOf('defaults at every level', 'either', () => ({
    schema: nested(20, (inner) => objectSchema({ a: inner }, { default: {} })),
  })),
  caseOf('1,999 fields with defaults', 'taken', () => ({
    kind: 'Wide',
    schema: objectSchema(
      fields(1_999, (n) => ({ type: 'array', description: 'x', items: { type: 'integer' }, default: [n] })),
    ),
  })),
  caseOf('an object of 60 fields of 60 fields', 'taken', () => ({
    kind: 'Square',
    schema: objectSchema(
      fields(60, () => objectSchema(fields(60, () => ({ type: 'string', description: 'x' })))),
    ),
  })),
  caseOf('an enum of 100,000 values', 'either', () => ({
    kind: 'Enum',
    schema: textField({ enum: list(90_000, (n) => `v${n}`) }),
  })),
  caseOf('an enum of 90,000 equal values', 'either', () => ({
    schema: textField({ enum: list(90_000, () => 'v') }),
  })),
  caseOf('an enum of 30,000 objects', 'either', () => ({
    schema: objectSchema({
      a: { type: 'object', description: 'x', enum: list(30_000, (n) => ({ a: n, b: [n] })) },
    }),
  })),
  caseOf('60,000 names in required', 'either', () => ({
    schema: objectSchema({}, { required: list(60_000, (n) => `f${n}`) }),
  })),
  caseOf('60,000 equal names in required', 'either', () => ({
    schema: objectSchema({ a: { type: 'string', description: 'x' } }, { required: list(60_000, () => 'a') }),
  })),
  caseOf('20,000 branches of anyOf', 'either', () => ({
    schema: objectSchema(
      { a: { type: 'string', description: 'x' } },
      { anyOf: list(20_000, () => ({ required: ['a'] })) },
    ),
  })),
  caseOf('5,000 list map keys', 'either', () => ({
    schema: objectSchema({
      a: {
        type: 'array',
        description: 'x',
        items: objectSchema({ name: { type: 'string', description: 'x' } }),
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': list(50_000, (n) => `k${n}`),
      },
    }),
  })),
  caseOf('every wrong type in every keyword', 'refused', () => ({
    schema: objectSchema(
      Object.fromEntries(
        [
          'type',
          'properties',
          'items',
          'required',
          'enum',
          'allOf',
          'not',
          'pattern',
          'minimum',
          'format',
          'nullable',
        ].map((keyword, index) => [
          keyword,
          { type: 'object', [keyword]: [null, {}, [], '', 1, false][index % 6] },
        ]),
      ),
    ),
  })),
  caseOf('30,000 faults', 'refused', () => ({
    schema: objectSchema(fields(1_900, () => objectSchema(fields(15, () => ({ type: 'bool', wrong: 1 }))))),
  })),
];

const wide: HostileCase[] = [
  caseOf('10,000 API versions without anything', 'refused', () => ({
    spec: { versions: list(10_000, (n) => ({ name: `v${n + 1}` })) },
  })),
  caseOf('10,000 API versions that are only names', 'refused', () => ({
    spec: { versions: list(10_000, (n) => `v${n + 1}`) },
  })),
  caseOf('2,000 API versions', 'either', () => ({
    kind: 'Versions',
    spec: { versions: list(2_000, (n) => apiVersion(`v${n + 1}`)) },
  })),
  caseOf('10,000 equal API versions', 'refused', () => ({
    spec: { versions: list(10_000, () => ({ name: 'v1' })) },
  })),
  caseOf('60,000 tags', 'either', () => ({ kind: 'Tags', spec: { tags: list(60_000, (n) => `tag${n}`) } })),
  caseOf('90,000 equal tags', 'either', () => ({ spec: { tags: list(90_000, () => 'tag') } })),
  caseOf('40,000 maintainers', 'either', () => ({
    kind: 'Maintainers',
    spec: { maintainers: list(40_000, (n) => `m${n}@example.com`) },
  })),
  caseOf('20,000 examples', 'either', () => ({
    kind: 'Examples',
    version: { examples: list(20_000, (n) => `https://example.com/${n}`) },
  })),
  caseOf('10,000 platforms', 'either', () => ({
    version: {
      runtime: {
        exec: {
          platforms: list(6_000, (n) => ({
            os: `os${n}`,
            arch: 'amd64',
            uri: 'https://x.example.com/a',
            bin: 'a',
            sha256: 'a'.repeat(64),
          })),
        },
      },
    },
  })),
  caseOf('1,900 unknown fields', 'refused', () => ({ spec: fields(1_900, () => 'x') })),
  caseOf('40,000 labels in a license', 'refused', () => ({
    version: { license: `${'MIT OR '.repeat(40_000)}MIT` },
  })),
  caseOf('40,000 brackets in a license', 'refused', () => ({
    version: { license: `${'('.repeat(40_000)}MIT${')'.repeat(40_000)}` },
  })),
  caseOf('an image reference of 500,000 separators', 'refused', () => ({
    version: {
      runtime: {
        container: { image: `registry.example.com/${'a-'.repeat(500_000)}`, sha256: 'a'.repeat(64) },
      },
    },
  })),
  caseOf('links of 100,000 characters', 'refused', () => ({
    spec: { home: `https://example.com/${'a'.repeat(100_000)}` },
    version: { usage: `git::${'git::'.repeat(20_000)}`, examples: [`https://${'a.'.repeat(50_000)}com`] },
  })),
  caseOf('a group of 100,000 labels', 'refused', () => ({ spec: { group: `${'a.'.repeat(100_000)}com` } })),
  caseOf('a group of 100,000 dashes', 'refused', () => ({ spec: { group: `a${'-'.repeat(100_000)}.com` } })),
  caseOf('a kind of 100,000 characters', 'refused', () => ({
    spec: { names: { kind: 'K'.repeat(100_000) } },
  })),
  caseOf('a digest of 100,000 characters', 'refused', () => ({
    version: { runtime: { container: { image: 'registry.example.com/a:v1', sha256: 'a'.repeat(100_000) } } },
  })),
];

const catalogs: HostileCase[] = [
  {
    name: 'a catalog of 1,500 equal entries',
    verdict: 'either',
    make: () => {
      const { spec } = definition() as { spec: unknown };
      return jsonBytes({
        apiVersion: 'config.kubernetes.io/v1alpha1',
        kind: 'Catalog',
        metadata: { name: 'x' },
        spec: { krmFunctions: list(1_500, () => spec) },
      });
    },
  },
  {
    name: 'a catalog of 200,000 empty entries',
    verdict: 'refused',
    make: () =>
      jsonBytes({
        apiVersion: 'config.kubernetes.io/v1alpha1',
        kind: 'Catalog',
        metadata: { name: 'x' },
        spec: { krmFunctions: list(200_000, () => ({})) },
      }),
  },
];

export const DEFINITION_CASES: readonly HostileCase[] = [
  ...patterns,
  ...references,
  ...schemas,
  ...wide,
  ...catalogs,
];

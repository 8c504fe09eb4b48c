import {
  apiVersion,
  bytesOf,
  definition,
  type Fields,
  HERE,
  jsonBytes,
  type Parts,
  spliced,
} from './definition.js';
import type { HostileCase } from './hostile-case.js';

/** Text that any reader takes, and that harms whoever acts on what it says. */

type Verdict = HostileCase['verdict'];

const of = (name: string, verdict: Verdict, parts: () => Parts): HostileCase => ({
  name,
  verdict,
  make: () => jsonBytes(definition(parts())),
});
const list = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));
const fields = (count: number, make: (index: number) => unknown): Fields =>
  Object.fromEntries(list(count, (index) => [`field${index}`, make(index)]));
const object = (properties: Fields, more: Fields = {}): Fields => ({
  type: 'object',
  description: 'A schema.',
  properties,
  ...more,
});
const textField = (more: Fields): Fields =>
  object({ text: { type: 'string', description: 'A text.', ...more } });
function nested(depth: number, make: (inner: Fields) => Fields): Fields {
  let schema: Fields = { type: 'string', description: 'The innermost.' };
  for (let level = 0; level < depth; level++) schema = make(schema);
  return schema;
}

/** In text fields: each must be refused, or never reach a terminal as it is. */
const TERMINAL: readonly [string, string][] = [
  ['clears the screen', '\u001b[2J\u001b[H'],
  ['names the window', '\u001b]0;owned\u0007'],
  ['writes the clipboard', '\u001b]52;c;ZXZpbA==\u0007'],
  ['is a link to elsewhere', '\u001b]8;;https://evil.example.com\u0007text\u001b]8;;\u0007'],
  ['asks the terminal to type', '\u001b[6n\u001b[c'],
  ['goes back over the line', 'good\rbad\b\b\b'],
  ['is a C1 introducer', '\u009b31m\u009d0;x\u009c'],
  ['is NUL', 'a\u0000b'],
  ['is DEL', 'a\u007fb'],
  ['reads from right to left', 'safe\u202egnp.exe'],
  ['is an isolate that never ends', '\u2066\u2067\u2068x'],
];
const HIDDEN: readonly [string, string][] = [
  ['has no width', 'Set\u200bLa\u200cbe\u200dls\u2060\ufeff'],
  ['has marks of direction', '\u200ea\u200fb\u061cc'],
  ['has tag characters', 'a\u{e0041}\u{e0042}b'],
  ['has line separators', 'a\u2028b\u2029c\u0085d'],
  ['has a thousand accents', `Z${'\u0301'.repeat(1_000)}`],
  ['is half of a pair', 'a\ud800b'],
];

const terminal: HostileCase[] = [
  ...TERMINAL.flatMap(([what, text]): HostileCase[] => [
    of(`a description that ${what}`, 'refused', () => ({ spec: { description: text } })),
    of(`a group, kind, tag and publisher that ${what}`, 'refused', () => ({
      spec: { group: text, names: { kind: text }, tags: [text], publisher: text, maintainers: [text] },
    })),
    of(`a property and a default that ${what}`, 'refused', () => ({
      schema: object({
        [text]: { type: 'string', description: text, default: text, enum: [text], pattern: text },
      }),
    })),
    of(`an unknown field that ${what}`, 'refused', () => ({
      spec: { [text]: text },
      version: { [text]: text },
    })),
  ]),
  ...HIDDEN.flatMap(([what, text]): HostileCase[] => [
    of(`a description that ${what}`, 'either', () => ({ spec: { description: text } })),
    of(`a kind, group and licence that ${what}`, 'refused', () => ({
      spec: { group: text, names: { kind: text } },
      version: { license: text, name: text },
    })),
    of(`a tag and a property that ${what}`, 'either', () => ({
      spec: { tags: [text] },
      schema: object({ [text]: { type: 'string', description: text } }),
    })),
  ]),
];

const PROTOTYPE = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
/** `__proto__` is written out: as a key of a literal it would set the prototype. */
const entry = (name: string, value: unknown): Fields =>
  JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`);

const prototypes: HostileCase[] = PROTOTYPE.flatMap((name): HostileCase[] => [
  of(`${name} as a field of everything`, 'refused', () => ({
    spec: { ...entry('x', 1), names: { kind: 'Hostile', extra: 1 } },
    version: { runtime: { container: { image: name, ...{ extra: name } } } },
  })),
  {
    name: `${name} as a key of spec`,
    verdict: 'refused',
    make: () =>
      bytesOf(JSON.stringify(definition()).replace('"spec":{', `"spec":{"${name}":{"group":"x.y"},`)),
  },
  {
    name: `${name} as a key of the document`,
    verdict: 'either',
    make: () => bytesOf(JSON.stringify(definition()).replace('{', `{"${name}":{"kind":"Catalog"},`)),
  },
  {
    name: `${name} as a property`,
    verdict: 'either',
    make: () =>
      spliced(
        { schema: object({ text: HERE }) },
        `{"type":"object","description":"x","required":["${name}"],"properties":{"${name}":{"type":"string","description":"x","default":1}}}`,
      ),
  },
  {
    name: `${name} as a keyword of a schema`,
    verdict: 'either',
    make: () => spliced({ schema: HERE }, `{"type":"object","description":"x","${name}":{"type":"string"}}`),
  },
  of(`${name} as a tag, publisher, type, licence and version`, 'refused', () => ({
    spec: { tags: [name], publisher: name, maintainers: [name] },
    version: { name, license: name },
    schema: { type: name, description: name },
  })),
  of(`${name} as a group`, 'refused', () => ({ spec: { group: name } })),
  of(`${name} as a tag, publisher and maintainer`, 'taken', () => ({
    kind: `Named${PROTOTYPE.indexOf(name)}`,
    spec: { tags: [name], publisher: name, maintainers: [name] },
  })),
]);

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
    of(`the pattern ${pattern} and a default that it may not match`, 'either', () => ({
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
  ].map((pattern) => of(`the pattern ${pattern}`, 'either', () => ({ schema: textField({ pattern }) }))),
  of('2,000 costly patterns', 'either', () => ({
    schema: object(
      fields(1_999, (n) => ({ type: 'string', description: 'x', pattern: `(a{0,30}){0,30}${n}` })),
    ),
  })),
  of('a pattern of a megabyte', 'refused', () => ({
    schema: textField({ pattern: '(a|b)*'.repeat(160_000) }),
  })),
  of('a pattern of 900 nested groups', 'either', () => ({
    schema: textField({ pattern: `${'('.repeat(499)}a${')'.repeat(499)}` }),
  })),
  of('500 alternatives and a long default', 'either', () => ({
    schema: textField({
      pattern: `^(${list(240, (n) => n.toString(36)).join('|')})*$`.slice(0, 1_000),
      default: '0'.repeat(9_000),
    }),
  })),
  of('40 patterns that no automaton is small enough for, each with a default', 'taken', () => ({
    kind: 'Matching',
    schema: object(
      fields(40, (n) => ({
        type: 'string',
        description: 'x',
        pattern: `(a|b)*a(a|b){${900 + n}}`,
        default: list(9_000, (at) => ((at * at * 7_919 + n) % 11 < 5 ? 'a' : 'b')).join(''),
      })),
    ),
  })),
  of('the same patterns for the items of a list', 'either', () => ({
    schema: object({
      texts: {
        type: 'array',
        description: 'x',
        items: { type: 'string', allOf: list(90, (n) => ({ pattern: `(a|b)*a(a|b){${900 + n}}` })) },
        default: list(90, () => list(9_000, (at) => ((at * at * 7_919) % 11 < 5 ? 'a' : 'b')).join('')),
      },
    }),
  })),
  of('900 patterns of Unicode classes', 'refused', () => ({
    schema: object(
      fields(900, (n) => ({ type: 'string', description: 'x', pattern: `${'\\pL'.repeat(320)}${n}` })),
    ),
  })),
  of('200 patterns with a default of 9,000 characters each', 'either', () => ({
    schema: object(
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
    of(`a $ref to ${target}`, 'refused', () => ({
      schema: object(
        { text: { $ref: target }, self: { $ref: '#' } },
        { definitions: { a: { $ref: '#/definitions/a' } } },
      ),
    })),
  ),
  of('a $schema, an $id and a $dynamicRef from elsewhere', 'refused', () => ({
    schema: object(
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
  of('a schema of 25 nested objects', 'refused', () => ({
    schema: nested(40, (inner) => object({ a: inner })),
  })),
  of('a schema of 20 nested objects', 'taken', () => ({
    kind: 'Deep',
    schema: nested(20, (inner) => object({ a: inner })),
  })),
  of('junctors inside junctors', 'either', () => ({
    schema: nested(11, (inner) => ({ allOf: [inner], anyOf: [inner], not: { required: ['a'] } })),
  })),
  of('junctors that double 12 times', 'either', () => ({
    schema: { type: 'object', description: 'x', ...nested(12, (inner) => ({ anyOf: [inner, inner] })) },
  })),
  of('defaults at every level', 'either', () => ({
    schema: nested(20, (inner) => object({ a: inner }, { default: {} })),
  })),
  of('1,999 fields with defaults', 'taken', () => ({
    kind: 'Wide',
    schema: object(
      fields(1_999, (n) => ({ type: 'array', description: 'x', items: { type: 'integer' }, default: [n] })),
    ),
  })),
  of('an object of 60 fields of 60 fields', 'taken', () => ({
    kind: 'Square',
    schema: object(fields(60, () => object(fields(60, () => ({ type: 'string', description: 'x' }))))),
  })),
  of('an enum of 100,000 values', 'either', () => ({
    kind: 'Enum',
    schema: textField({ enum: list(90_000, (n) => `v${n}`) }),
  })),
  of('an enum of 90,000 equal values', 'either', () => ({
    schema: textField({ enum: list(90_000, () => 'v') }),
  })),
  of('an enum of 30,000 objects', 'either', () => ({
    schema: object({
      a: { type: 'object', description: 'x', enum: list(30_000, (n) => ({ a: n, b: [n] })) },
    }),
  })),
  of('60,000 names in required', 'either', () => ({
    schema: object({}, { required: list(60_000, (n) => `f${n}`) }),
  })),
  of('60,000 equal names in required', 'either', () => ({
    schema: object({ a: { type: 'string', description: 'x' } }, { required: list(60_000, () => 'a') }),
  })),
  of('20,000 branches of anyOf', 'either', () => ({
    schema: object(
      { a: { type: 'string', description: 'x' } },
      { anyOf: list(20_000, () => ({ required: ['a'] })) },
    ),
  })),
  of('5,000 list map keys', 'either', () => ({
    schema: object({
      a: {
        type: 'array',
        description: 'x',
        items: object({ name: { type: 'string', description: 'x' } }),
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': list(50_000, (n) => `k${n}`),
      },
    }),
  })),
  of('every wrong type in every keyword', 'refused', () => ({
    schema: object(
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
  of('30,000 faults', 'refused', () => ({
    schema: object(fields(1_900, () => object(fields(15, () => ({ type: 'bool', wrong: 1 }))))),
  })),
];

const wide: HostileCase[] = [
  of('10,000 API versions without anything', 'refused', () => ({
    spec: { versions: list(10_000, (n) => ({ name: `v${n + 1}` })) },
  })),
  of('10,000 API versions that are only names', 'refused', () => ({
    spec: { versions: list(10_000, (n) => `v${n + 1}`) },
  })),
  of('2,000 API versions', 'either', () => ({
    kind: 'Versions',
    spec: { versions: list(2_000, (n) => apiVersion(`v${n + 1}`)) },
  })),
  of('10,000 equal API versions', 'refused', () => ({
    spec: { versions: list(10_000, () => ({ name: 'v1' })) },
  })),
  of('60,000 tags', 'either', () => ({ kind: 'Tags', spec: { tags: list(60_000, (n) => `tag${n}`) } })),
  of('90,000 equal tags', 'either', () => ({ spec: { tags: list(90_000, () => 'tag') } })),
  of('40,000 maintainers', 'either', () => ({
    kind: 'Maintainers',
    spec: { maintainers: list(40_000, (n) => `m${n}@example.com`) },
  })),
  of('20,000 examples', 'either', () => ({
    kind: 'Examples',
    version: { examples: list(20_000, (n) => `https://example.com/${n}`) },
  })),
  of('10,000 platforms', 'either', () => ({
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
  of('1,900 unknown fields', 'refused', () => ({ spec: fields(1_900, () => 'x') })),
  of('40,000 labels in a licence', 'refused', () => ({
    version: { license: `${'MIT OR '.repeat(40_000)}MIT` },
  })),
  of('40,000 brackets in a licence', 'refused', () => ({
    version: { license: `${'('.repeat(40_000)}MIT${')'.repeat(40_000)}` },
  })),
  of('an image reference of 500,000 separators', 'refused', () => ({
    version: {
      runtime: {
        container: { image: `registry.example.com/${'a-'.repeat(500_000)}`, sha256: 'a'.repeat(64) },
      },
    },
  })),
  of('links of 100,000 characters', 'refused', () => ({
    spec: { home: `https://example.com/${'a'.repeat(100_000)}` },
    version: { usage: `git::${'git::'.repeat(20_000)}`, examples: [`https://${'a.'.repeat(50_000)}com`] },
  })),
  of('a group of 100,000 labels', 'refused', () => ({ spec: { group: `${'a.'.repeat(100_000)}com` } })),
  of('a group of 100,000 dashes', 'refused', () => ({ spec: { group: `a${'-'.repeat(100_000)}.com` } })),
  of('a kind of 100,000 characters', 'refused', () => ({ spec: { names: { kind: 'K'.repeat(100_000) } } })),
  of('a digest of 100,000 characters', 'refused', () => ({
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
  ...terminal,
  ...prototypes,
  ...patterns,
  ...references,
  ...schemas,
  ...wide,
  ...catalogs,
];

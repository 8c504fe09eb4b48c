import {
  bytesOf,
  caseOf,
  definition,
  type Fields,
  objectSchema,
  PLACEHOLDER,
  withSource,
} from './definition.js';
import type { HostileCase } from './hostile-case.js';

/** Text that acts on the program that shows it, and names that act on the program that looks them up. */

/** In text fields: each must be refused, or never reach a terminal unescaped. */
const TERMINAL: readonly [string, string][] = [
  ['clears the screen', '\u001b[2J\u001b[H'],
  ['names the window', '\u001b]0;owned\u0007'],
  ['writes the clipboard', '\u001b]52;c;ZXZpbA==\u0007'],
  ['is a link to another site', '\u001b]8;;https://evil.example.com\u0007text\u001b]8;;\u0007'],
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
    caseOf(`a description that ${what}`, 'refused', () => ({ spec: { description: text } })),
    caseOf(`a group, kind, tag and publisher that ${what}`, 'refused', () => ({
      spec: { group: text, names: { kind: text }, tags: [text], publisher: text, maintainers: [text] },
    })),
    caseOf(`a property and a default that ${what}`, 'refused', () => ({
      schema: objectSchema({
        [text]: { type: 'string', description: text, default: text, enum: [text], pattern: text },
      }),
    })),
    caseOf(`an unknown field that ${what}`, 'refused', () => ({
      spec: { [text]: text },
      version: { [text]: text },
    })),
  ]),
  ...HIDDEN.flatMap(([what, text]): HostileCase[] => [
    caseOf(`a description that ${what}`, 'either', () => ({ spec: { description: text } })),
    caseOf(`a kind, group and license that ${what}`, 'refused', () => ({
      spec: { group: text, names: { kind: text } },
      version: { license: text, name: text },
    })),
    caseOf(`a tag and a property that ${what}`, 'either', () => ({
      spec: { tags: [text] },
      schema: objectSchema({ [text]: { type: 'string', description: text } }),
    })),
  ]),
];

const PROTOTYPE = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
/** `__proto__` is written out: as a key of a literal it would set the prototype. */
const entry = (name: string, value: unknown): Fields =>
  JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`);

const prototypes: HostileCase[] = PROTOTYPE.flatMap((name): HostileCase[] => [
  caseOf(`${name} as a field of everything`, 'refused', () => ({
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
      withSource(
        { schema: objectSchema({ text: PLACEHOLDER }) },
        `{"type":"object","description":"x","required":["${name}"],"properties":{"${name}":{"type":"string","description":"x","default":1}}}`,
      ),
  },
  {
    name: `${name} as a keyword of a schema`,
    verdict: 'either',
    make: () =>
      withSource({ schema: PLACEHOLDER }, `{"type":"object","description":"x","${name}":{"type":"string"}}`),
  },
  caseOf(`${name} as a tag, publisher, type, license and version`, 'refused', () => ({
    spec: { tags: [name], publisher: name, maintainers: [name] },
    version: { name, license: name },
    schema: { type: name, description: name },
  })),
  caseOf(`${name} as a group`, 'refused', () => ({ spec: { group: name } })),
  caseOf(`${name} as a tag, publisher and maintainer`, 'taken', () => ({
    kind: `Named${PROTOTYPE.indexOf(name)}`,
    spec: { tags: [name], publisher: name, maintainers: [name] },
  })),
]);

export const TEXT_CASES: readonly HostileCase[] = [...terminal, ...prototypes];

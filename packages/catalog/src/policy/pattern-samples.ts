/**
 * Parses a regular expression to generate matching texts. Unknown syntax gives no samples: they are only for warnings.
 */

/** A part of a pattern that matches any text of some characters. */
export interface Wildcard {
  /** Reports whether the part can match this text. */
  allows(text: string): boolean;
  /** A dot that matches exactly one character, as without its backslash. */
  isLoneDot: boolean;
  min: number;
}

/** One path through the alternatives of a pattern. */
export type PatternPath = readonly (string | Wildcard)[];

/** Limits on the samples of a pattern. */
const MAX_PATHS = 16;
const MAX_PIECES = 512;

class UnknownSyntax extends Error {}

/** Returns paths through a pattern that have each alternative at least once; none for unknown syntax. */
export function patternPaths(pattern: string): PatternPath[] {
  try {
    return new PatternReader(pattern).read();
  } catch (error) {
    if (error instanceof UnknownSyntax) return [];
    throw error;
  }
}

/** Names of classes in brackets (RE2, "ASCII character classes"). */
const ASCII_CLASSES: Record<string, string> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  digit: '0-9',
  lower: 'a-z',
  upper: 'A-Z',
  word: '\\w',
  space: '\\s',
  xdigit: '0-9A-Fa-f',
};

/** An atom without its quantifier: paths, or the source of a character class. */
type Atom = { paths: PatternPath[] } | { characters: string; isDot: boolean };

class PatternReader {
  #at = 0;

  constructor(private readonly pattern: string) {}

  read(): PatternPath[] {
    const paths = this.#choice();
    if (this.#at < this.pattern.length) throw new UnknownSyntax();
    return paths;
  }

  #choice(): PatternPath[] {
    const paths = this.#sequence();
    while (this.#take('|')) paths.push(...this.#sequence());
    return paths.slice(0, MAX_PATHS);
  }

  /** Combines the first path of each part, and each other path with the first paths of the other parts. */
  #sequence(): PatternPath[] {
    let paths: PatternPath[] = [[]];
    while (this.#at < this.pattern.length && !/[|)]/.test(this.pattern[this.#at]!)) {
      const [first, ...others] = this.#repeated();
      const [begun] = paths;
      paths = [
        ...paths.map((path) => [...path, ...first!]),
        ...others.map((other) => [...begun!, ...other]),
      ].slice(0, MAX_PATHS);
      if (paths.some(({ length }) => length > MAX_PIECES)) throw new UnknownSyntax();
    }
    return paths;
  }

  #repeated(): PatternPath[] {
    const atom = this.#atom();
    const [min, max] = this.#quantifier();
    if ('paths' in atom) {
      const times = Math.min(max, Math.max(1, min));
      const paths = atom.paths.map((path) => {
        if (path.length * times > MAX_PIECES) throw new UnknownSyntax();
        return Array.from({ length: times }, () => path).flat();
      });
      return min === 0 ? [...paths.slice(0, MAX_PATHS - 1), []] : paths;
    }
    const characters = compile(atom.characters);
    return [
      [
        {
          allows: (text) => text.length >= min && text.length <= max && characters.test(text),
          isLoneDot: atom.isDot && min === 1 && max === 1,
          min,
        },
      ],
    ];
  }

  #atom(): Atom {
    const character = this.pattern[this.#at]!;
    if (character === '(') return { paths: this.#group() };
    if (character === '[') return { characters: this.#class(), isDot: false };
    this.#at += 1;
    if (character === '^' || character === '$') return { paths: [[]] };
    if (character === '.') return { characters: '[^\\n]', isDot: true };
    return character === '\\' ? this.#escape() : { paths: [[character]] };
  }

  #group(): PatternPath[] {
    const [opening] = /^\((?:\?(?:P?<\w+>|[a-zA-Z-]*:|[a-zA-Z-]+(?=\))))?/.exec(
      this.pattern.slice(this.#at),
    )!;
    this.#at += opening.length;
    const paths = this.#choice();
    if (!this.#take(')')) throw new UnknownSyntax();
    return paths;
  }

  #class(): string {
    const found = /^\[(\^?)(\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*)\]/s.exec(this.pattern.slice(this.#at));
    if (found === null) throw new UnknownSyntax();
    this.#at += found[0].length;
    const body = found[2]!
      .replace(/^\]/, '\\]')
      .replace(/\[:(\^?\w+):\]|\\.|\[/gs, (part: string, name?: string) => {
        if (part.startsWith('\\')) return part;
        if (name === undefined) return '\\[';
        const characters = Object.hasOwn(ASCII_CLASSES, name) ? ASCII_CLASSES[name] : undefined;
        if (characters === undefined) throw new UnknownSyntax();
        return characters;
      });
    return `[${found[1]}${body}]`;
  }

  #escape(): Atom {
    const character = this.pattern[this.#at] ?? '';
    this.#at += 1;
    if (/[dDwWsS]/.test(character)) return { characters: `\\${character}`, isDot: false };
    if (/[AzbB]/.test(character)) return { paths: [[]] };
    if (/^[^0-9A-Za-z]$/.test(character)) return { paths: [[character]] };
    throw new UnknownSyntax();
  }

  #quantifier(): [min: number, max: number] {
    const found = /^(?:([*+?])|\{(\d{1,4})(,?)(\d{0,4})\})\??/.exec(this.pattern.slice(this.#at));
    if (found === null) return [1, 1];
    const [text, sign, least, comma, most] = found;
    this.#at += text.length;
    if (sign !== undefined) return [sign === '+' ? 1 : 0, sign === '?' ? 1 : Number.POSITIVE_INFINITY];
    const min = Number(least);
    if (comma === '') return [min, min];
    return [min, most === '' ? Number.POSITIVE_INFINITY : Number(most)];
  }

  #take(character: string): boolean {
    if (this.pattern[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }
}

function compile(characters: string): RegExp {
  try {
    return new RegExp(`^(?:${characters})*$`);
  } catch {
    throw new UnknownSyntax();
  }
}

/** Returns a text for a part, if its characters allow it. */
const USUAL_TEXTS: readonly (readonly [after: string, text: string])[] = [
  ['refs/heads/', 'main'],
  ['refs/tags/', 'v1.0.0'],
  ['@refs/', 'heads/main'],
  ['@', 'refs/heads/main'],
  ['workflows/', 'release.yaml'],
];
const PLAIN_TEXTS = ['x', '1', 'A', '-'];

/**
 * Generates a text for a path with `text` in the part `at`, and ordinary text in the others; undefined if impossible.
 */
export function sampleText(path: PatternPath, at: number, text: string): string | undefined {
  let written = '';
  for (const [index, piece] of path.entries()) {
    if (typeof piece === 'string') written += piece;
    else if (index === at) written += text;
    else {
      const usual = usualText(written, piece);
      if (usual === undefined) return undefined;
      written += usual;
    }
  }
  return written;
}

function usualText(before: string, place: Wildcard): string | undefined {
  // A literal dot.
  if (place.isLoneDot) return '.';
  const known = USUAL_TEXTS.filter(([after]) => before.endsWith(after)).map(([, text]) => text);
  const plain = PLAIN_TEXTS.map((character) => character.repeat(Math.max(1, place.min)));
  return [...known, ...plain, ''].find((text) => place.allows(text));
}

/** Reports whether the ignore file of a package excludes a path. The path is relative to the folder of the file. */
export type IgnoreRules = (path: string, isFolder: boolean) => boolean;

interface Rule {
  pattern: RegExp;
  isFolderOnly: boolean;
  isNegated: boolean;
}

/** Characters with a meaning in regular expressions and none in patterns. */
const SPECIAL = /[.+^${}()|\\/]/;

/**
 * Reads a `.krmignore` file: the patterns of `.gitignore`, where the last one that matches decides. As in git, a file
 * inside of an ignored folder cannot be included again.
 */
export function readIgnoreRules(text: string): IgnoreRules {
  const rules = text.split(/\r?\n/).flatMap((line) => readRule(line) ?? []);
  return (path, isFolder) => {
    const rule = rules.findLast((one) => (isFolder || !one.isFolderOnly) && one.pattern.test(path));
    return rule !== undefined && !rule.isNegated;
  };
}

function readRule(line: string): Rule | undefined {
  let text = line.replace(/(?<!\\)\s+$/, '');
  if (text === '' || text.startsWith('#')) return undefined;
  const isNegated = text.startsWith('!');
  if (isNegated) text = text.slice(1);
  const isFolderOnly = text.endsWith('/');
  if (isFolderOnly) text = text.slice(0, -1);
  // A slash at the start or in the middle ties a pattern to the folder of its file.
  const isAnchored = text.includes('/');
  const source = patternSource(text.replace(/^\//, ''));
  return { pattern: new RegExp(`^${isAnchored ? '' : '(?:.*/)?'}${source}$`, 's'), isFolderOnly, isNegated };
}

function patternSource(glob: string): string {
  let source = '';
  for (let at = 0; at < glob.length; ) {
    const rest = glob.slice(at);
    const [part, length] = nextPart(rest, at === 0 || glob[at - 1] === '/');
    source += part;
    at += length;
  }
  return source;
}

/** Returns the regular expression for the start of a pattern, and how much of the pattern it is for. */
function nextPart(rest: string, isSegmentStart: boolean): [source: string, length: number] {
  const char = rest[0]!;
  if (isSegmentStart && rest.startsWith('**/')) return ['(?:.*/)?', 3];
  if (isSegmentStart && rest === '**') return ['.*', 2];
  if (char === '*') return ['[^/]*', /^\*+/.exec(rest)![0].length];
  if (char === '?') return ['[^/]', 1];
  if (char === '\\' && rest.length > 1) return [escaped(rest[1]!), 2];
  const set = /^\[([!^]?)(\]?[^\]]*)\]/.exec(rest);
  if (set !== null) {
    const members = set[2]!.replace(/[\\[\]^]/g, '\\$&');
    if (isValidSet(members)) return [`(?!/)[${set[1] === '' ? '' : '^'}${members}]`, set[0].length];
  }
  return [escaped(char), 1];
}

function escaped(char: string): string {
  return SPECIAL.test(char) || '*?[]'.includes(char) ? `\\${char}` : char;
}

function isValidSet(members: string): boolean {
  try {
    return new RegExp(`[${members}]`).source !== '';
  } catch {
    return false;
  }
}

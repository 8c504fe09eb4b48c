import { KrmhubError } from '@krmhub/schema/error';

/**
 * Splits a command line into words as a POSIX shell does ("Quoting"), without expansion: kpt runs `exec` of a Kptfile
 * like this. Throws `invalid-request` for an open quote, and for a line without a word.
 */
export function splitCommandLine(line: string): [program: string, ...args: string[]] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < line.length; at++) {
    const character = line[at]!;
    if (quote === "'") {
      if (character === "'") quote = '';
      else word += character;
    } else if (character === '\\') {
      const next = line[++at];
      if (next === undefined) throw unreadable(line, 'it ends with a backslash');
      // In double quotes, a backslash is only special before these characters.
      word = `${word ?? ''}${quote === '"' && !'"\\$`'.includes(next) ? '\\' : ''}${next}`;
    } else if (quote === '"') {
      if (character === '"') quote = '';
      else word += character;
    } else if (character === "'" || character === '"') {
      quote = character;
      word ??= '';
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? '') + character;
    }
  }
  if (quote !== '') throw unreadable(line, `a ${quote} is not closed`);
  if (word !== undefined) words.push(word);
  const [program, ...args] = words;
  if (program === undefined || program === '') throw unreadable(line, 'it names no program');
  return [program, ...args];
}

function unreadable(line: string, reason: string): KrmhubError {
  return new KrmhubError('invalid-request', `cannot read the command line "${line}": ${reason}`);
}

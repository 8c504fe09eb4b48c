const SPACE = 0x20;
/** A line with one simple value: what is before it, its quotes, the value, and a comment. */
const LINE = /^( *(?:- +)*(?:[\w./-]+: )?)(["']?)([\w./:@-]+)\2((?: +#.*)?)$/;

/**
 * Returns the text of a document in which only values of single lines changed, without parsing it. `before` and `after`
 * are what kyaml writes, with other indentation of lists. Undefined if the text is written otherwise, or more changed.
 */
export function replaceLines(text: string, before: string, after: string): string | undefined {
  let result = '';
  let kept = 0;
  let at = 0;
  let from = 0;
  let to = 0;
  while (at < text.length && from < before.length && to < after.length) {
    const [end, oldEnd, newEnd] = [lineEnd(text, at), lineEnd(before, from), lineEnd(after, to)];
    const content = passSpaces(before, from);
    const start = passSpaces(text, at);
    if (end - start !== oldEnd - content || !text.startsWith(before.slice(content, oldEnd), start))
      return undefined;
    if (newEnd - to !== oldEnd - from || !after.startsWith(before.slice(from, oldEnd), to)) {
      const wanted = after.slice(to, newEnd);
      if (!isReplaced(before.slice(from, oldEnd), wanted)) return undefined;
      result += text.slice(kept, start) + wanted.trimStart();
      kept = end;
    }
    at = end + 1;
    from = oldEnd + 1;
    to = newEnd + 1;
  }
  return at === text.length && from === before.length && to === after.length
    ? result + text.slice(kept)
    : undefined;
}

/** The offset of the line break. */
function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
}

function passSpaces(text: string, at: number): number {
  let end = at;
  while (text.charCodeAt(end) === SPACE) end++;
  return end;
}

/** Reports whether one line is another one with another value. */
function isReplaced(before: string, after: string): boolean {
  const [found, changed] = [LINE.exec(before), LINE.exec(after)];
  if (found === null || changed === null || [1, 2, 4].some((part) => found[part] !== changed[part]))
    return false;
  return found[2] !== '' || (isDistinct(found[3]!) && isDistinct(changed[3]!));
}

/** Reports whether no other text without quotes has the same value. */
function isDistinct(value: string): boolean {
  return /^-?(?:0|[1-9]\d*)$/.test(value) || /^(?!(?:true|false|null)$)[a-z/][\w./-]*$/i.test(value);
}

import type { SequenceIndent } from '../write/document-writer.js';

const DASH = /^ *- $/;

/**
 * How the lists of a document are indented: by the first list whose key is alone in the line above it. `compact` if
 * there is none.
 */
export function detectSequenceIndent(text: string): SequenceIndent {
  let end = 0;
  // The first dash of each line.
  for (let at = text.indexOf('- '); at !== -1; at = text.indexOf('- ', end)) {
    const start = text.lastIndexOf('\n', at) + 1;
    end = text.indexOf('\n', at);
    if (end === -1) end = text.length;
    if (!DASH.test(text.slice(start, at + 2))) continue;
    const key = keyLine(text, start);
    const trimmed = key.replace(/^ +| +$/g, '');
    if (trimmed.indexOf(':') !== trimmed.length - 1 || trimmed === '') continue;
    const indent = at - start - (key.length - key.trimStart().length);
    if (indent === 0) return 'compact';
    if (indent === 2) return 'wide';
  }
  return 'compact';
}

/** The line above that is not a comment, without the comment at its end. */
function keyLine(text: string, before: number): string {
  for (let end = before - 1; end > 0; ) {
    const start = text.lastIndexOf('\n', end - 1) + 1;
    const line = text.slice(start, end);
    if (!line.trimStart().startsWith('#')) return line.split('#', 1)[0]!;
    end = start - 1;
  }
  return '';
}

import { RESOURCE_LIMITS } from './limits.js';
import { TEXT_STYLES } from './nodes/node.js';
import { YamlProblem } from './parse/invalid.js';
import { Scanner } from './parse/scanner.js';
import { TOKEN } from './parse/tokens.js';

/** A part of a text that a page colors. Offsets are UTF-16 code units. */
export interface YamlMark {
  type: 'comment' | 'key' | 'quoted' | 'plain' | 'property';
  start: number;
  end: number;
}

/** The scanner looks at all open brackets for each token. */
const MAX_BRACKETS = 100;

/**
 * Returns the comments, keys, values, and properties (anchors, aliases, and tags) of a text in order, up to the first
 * syntax error. A block of several lines counts as quoted.
 */
export function yamlMarks(text: string): YamlMark[] {
  const marks: YamlMark[] = [];
  const strict = {
    comment: (start: number, end: number) => void marks.push({ type: 'comment', start, end }),
    directive: () => undefined,
  };
  const scanner = new Scanner(text, { limits: RESOURCE_LIMITS, strict, start: 0 });
  let isKey = false;
  let brackets = 0;
  try {
    for (let token = scanner.next(); token.type !== TOKEN.streamEnd; token = scanner.next()) {
      const { type, start, end, style } = token;
      if (type === TOKEN.flowSequenceStart || type === TOKEN.flowMappingStart) brackets += 1;
      if (type === TOKEN.flowSequenceEnd || type === TOKEN.flowMappingEnd) brackets -= 1;
      if (brackets > MAX_BRACKETS) break;
      if (type === TOKEN.scalar) {
        const value = (style & TEXT_STYLES) === 0 ? 'plain' : 'quoted';
        marks.push({ type: isKey ? 'key' : value, start, end });
      } else if (type === TOKEN.anchor || type === TOKEN.alias || type === TOKEN.tag) {
        marks.push({ type: 'property', start, end });
      }
      if (type === TOKEN.key) isKey = true;
      else if (type !== TOKEN.anchor && type !== TOKEN.tag) isKey = false;
      scanner.take();
    }
  } catch (error) {
    if (!(error instanceof YamlProblem)) throw error;
  }
  return marks.sort((a, b) => a.start - b.start);
}

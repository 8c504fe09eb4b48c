import { quote } from '../../diagnostics/quote.js';
import { keyword } from '../../json-schema/open-api.js';
import { MAX_PATTERN_LENGTH } from '../../json-schema/pattern-set.js';
import type { SchemaCheck } from './nodes.js';

/** Checks that patterns are RE2, which Go can compile and match in linear time. */
export const patterns: SchemaCheck = (nodes, report, { patterns: set }) => {
  for (const { schema, path } of nodes) {
    const pattern = keyword(schema, 'pattern');
    if (typeof pattern !== 'string') continue;
    const compiled = set.compile(pattern);
    if ('expression' in compiled) continue;
    const at = [...path, 'pattern'];
    if (compiled.refused === 'syntax') {
      const message = `the pattern ${quote(pattern)} is not a valid RE2 regular expression: ${compiled.reason}`;
      const perl = /\(\?<?[=!]|\\[1-9]/.test(pattern);
      report(
        'schema/pattern',
        at,
        message,
        perl ? { hint: 'RE2 does not support look-arounds and backreferences.' } : {},
      );
    } else if (compiled.refused === 'length') {
      const message = `the pattern has ${pattern.length} characters; the limit is ${MAX_PATTERN_LENGTH}`;
      report('schema/pattern-cost', at, message);
    } else {
      const message =
        'the patterns of this schema are too complex to compile: this pattern and later ones are not checked';
      report('schema/pattern-cost', at, message);
      return;
    }
  }
};

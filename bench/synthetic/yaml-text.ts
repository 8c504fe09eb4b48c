import type { JsonValue } from '@krmhub/schema';

/** Block YAML in the layout of authors, with plain scalars where possible. */
export function toYaml(value: JsonValue): string {
  return `${block(value, '')}\n`.slice(1);
}

/** With the line break before it. */
function block(value: JsonValue, indent: string): string {
  if (Array.isArray(value)) {
    return value
      .map((item) => {
        if (item === null || typeof item !== 'object') return `\n${indent}- ${scalar(item)}`;
        // A collection begins on the line of its dash.
        return `\n${indent}- ${block(item, `${indent}  `).slice(indent.length + 3)}`;
      })
      .join('');
  }
  if (value === null || typeof value !== 'object') return ` ${scalar(value)}`;
  return Object.entries(value)
    .map(([name, item]) => `\n${indent}${name}:${block(item, Array.isArray(item) ? indent : `${indent}  `)}`)
    .join('');
}

const PLAIN = /^[A-Za-z^/][\w ./@^\-,()]*$/;
const RESERVED = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

function scalar(value: JsonValue): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  const plain = (PLAIN.test(value) || /^https:\/\/[\w./-]+$/.test(value)) && !RESERVED.test(value);
  return plain && value.trim() === value ? value : JSON.stringify(value);
}

import type { CelInput } from '@bufbuild/cel';
import type { Path } from '../diagnostics/diagnostic.js';
import type { JsonObject, JsonValue } from '../documents/definition.js';
import {
  isSet,
  keyword,
  schemaProperties,
  schemaProperty,
  schemaType,
  subschema,
} from '../json-schema/open-api.js';
import { loadCel } from '../libraries/lazy-libraries.js';
import { toCelValue } from './expression.js';

/** Names that are no identifiers of the language (Kubernetes, "Escaping"). */
const KEYWORDS = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);
const SYMBOLS: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
};

/**
 * Converts a value of a resource by its schema, as Kubernetes does: fields get their defaults and names that expressions
 * can write, numbers are doubles, and texts with a format of a time are times.
 */
export function toSchemaValue(
  schema: JsonObject,
  value: JsonValue,
  context: { at: Path; exact?: ((at: Path) => bigint | undefined) | undefined },
): CelInput {
  const { at, exact } = context;
  const inside = (inner: JsonObject | undefined, item: JsonValue, step: string | number) =>
    inner === undefined ? toCelValue(item) : toSchemaValue(inner, item, { at: [...at, step], exact });
  if (typeof value === 'number') {
    if (schemaType(schema) === 'number') return value;
    return Number.isSafeInteger(value) ? BigInt(value) : (exact?.(at) ?? toCelValue(value));
  }
  if (typeof value === 'string') return textValue(schema, value);
  if (Array.isArray(value)) {
    const items = subschema(schema, 'items');
    return value.map((item, index) => inside(items, item, index));
  }
  if (typeof value !== 'object' || value === null) return value;
  const fields = new Map<string, CelInput>();
  const declared = schemaProperties(schema);
  for (const [name, item] of Object.entries(value)) {
    const property = schemaProperty(schema, name);
    const inner = property ?? subschema(schema, 'additionalProperties');
    if (item === null && property !== undefined && !isSet(property, 'nullable')) continue;
    fields.set(property === undefined ? name : escapedName(name), inside(inner, item, name));
  }
  for (const name of Object.keys(declared)) {
    const property = schemaProperty(schema, name);
    const fallback = property && keyword(property, 'default');
    if (fallback === undefined || fields.has(escapedName(name))) continue;
    fields.set(escapedName(name), toSchemaValue(property!, fallback, { at: [] }));
  }
  return fields;
}

function textValue(schema: JsonObject, value: string): CelInput {
  if (isSet(schema, 'x-kubernetes-int-or-string')) return value;
  const format = keyword(schema, 'format');
  if (format === 'byte') return Uint8Array.from(Buffer.from(value, 'base64'));
  if (format === 'date-time' || format === 'datetime')
    return timeValue(`timestamp('${value.toUpperCase()}')`, value);
  if (format === 'date') return timeValue(`timestamp('${value}T00:00:00Z')`, value);
  if (format === 'duration') return timeValue(`duration('${value}')`, value);
  return value;
}

/** The library makes times only of expressions. */
function timeValue(expression: string, value: string): CelInput {
  if (!/^[\w:.+-]+$/.test(value)) return value;
  const { isCelError, run } = loadCel();
  const time = run(expression);
  return isCelError(time) ? value : time;
}

/** Returns the name of a field in expressions: `a-b` is `a__dash__b`. */
export function escapedName(name: string): string {
  if (KEYWORDS.has(name)) return `__${name}__`;
  return name.replace(/__|[./-]/g, (symbol) => SYMBOLS[symbol]!);
}

/** Reads the `fieldPath` of a rule, such as `.spec.names['a.b'][0]`. */
export function readFieldPath(text: string): Path {
  const steps = text.matchAll(/\.([A-Za-z_][\w-]*)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]/g);
  return [...steps].map(([, name, index, quoted]) =>
    index === undefined ? (name ?? quoted ?? '').replace(/\\(.)/g, '$1') : Number(index),
  );
}

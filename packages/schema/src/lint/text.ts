import type { Path } from '../diagnostics/diagnostic.js';
import type { JsonObject, JsonValue } from '../documents/definition.js';
import { MAX_FILTER_LENGTH } from '../documents/limits.js';
import { listField, listVersions } from '../json/access.js';
import type { Report, Rule } from './rule.js';

const MAX_TEXT_LENGTH = 10_000;
const MAX_NAME_LENGTH = 500;
const UNPAIRED_SURROGATE = /\p{Surrogate}/u;
/** C0 without tab and line breaks, DEL, and C1, which contains the one-character escape introducer. */
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;
/** Embeddings, overrides, and isolates (Unicode TR 9). Marks are allowed, because right-to-left languages use them. */
const BIDI_CONTROL = /[\u202a-\u202e\u2066-\u2069]/;

/** Checks that every string and name of the definition, including its schemas, is safe to print and can be stored. */
export const text: Rule = (draft, report) => {
  checkFilters(draft.spec, report);
  const rest: { value: JsonValue; path: Path }[] = [{ value: draft.spec, path: [] }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { value, path } = next;
    if (typeof value === 'string') checkText(value, path, MAX_TEXT_LENGTH, report);
    else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) rest.push({ value: item, path: [...path, index] });
    } else if (value !== null && typeof value === 'object') {
      for (const name of Object.keys(value)) {
        const at = [...path, name];
        checkText(name, at, MAX_NAME_LENGTH, report, 'key');
        rest.push({ value: value[name]!, path: at });
      }
    }
  }
};

/** Checks the length of texts that are search filters. Groups and kinds are shorter by definition. */
function checkFilters(spec: JsonObject, report: Report): void {
  const check = (value: JsonValue | undefined, path: Path): void => {
    if (typeof value !== 'string' || value.length <= MAX_FILTER_LENGTH) return;
    const message = `the text has ${value.length} characters; the limit of search filters is ${MAX_FILTER_LENGTH}`;
    report('text/filter-too-long', path, message);
  };
  check(spec.publisher, ['publisher']);
  listField(spec, 'tags').forEach((tag, index) => {
    check(tag, ['tags', index]);
  });
  for (const { version, path } of listVersions(spec)) check(version.license, [...path, 'license']);
}

function checkText(
  value: string,
  path: Path,
  limit: number,
  report: Report,
  target: 'key' | 'value' = 'value',
): void {
  const what = target === 'key' ? 'the name' : 'the text';
  if (value.length > limit) {
    const message = `${what} has ${value.length} characters; the limit is ${limit}`;
    report('text/too-long', path, message, { target });
  }
  const control = CONTROL.exec(value)?.[0];
  if (control !== undefined) {
    report('text/control-character', path, `${what} contains the control character ${codePoint(control)}`, {
      target,
    });
  }
  const surrogate = UNPAIRED_SURROGATE.exec(value)?.[0];
  if (surrogate !== undefined) {
    const message = `${what} contains ${codePoint(surrogate)}, an unpaired surrogate`;
    report('text/unpaired-surrogate', path, message, { target });
  }
  const bidi = BIDI_CONTROL.exec(value)?.[0];
  if (bidi !== undefined) {
    const message = `${what} contains ${codePoint(bidi)}, a bidirectional control character`;
    report('text/bidi-control', path, message, { target });
  }
}

function codePoint(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

import type { DirectoryFilter } from '../store/directory-store.js';
import { ScimError } from './scim-error.js';

/** A path of an operation (RFC 7644, section 3.5.2). Names are in lower case: SCIM ignores it. */
export interface ScimPath {
  attribute: string;
  /** Which values of a list: those whose sub-attribute has this value. */
  filter?: { sub: string; value: unknown } | undefined;
  sub?: string | undefined;
}

const MAX_PATH_LENGTH = 1_000;
const CORE = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/i;
const NAME = '[a-z$_][\\w$-]*';
const QUOTED = '"(?:[^"\\\\]|\\\\.)*"';
const PATH = new RegExp(`^(${NAME})(?:\\[((?:[^\\]"]|${QUOTED})*)\\])?(?:\\.(${NAME}))?$`, 'i');
const EQUALS = new RegExp(`^ *(${NAME}) +eq +(${QUOTED}|true|false) *$`, 'i');

/**
 * Reads a path. Returns undefined for an attribute of another schema, whose paths have a form of their own. Throws
 * `invalidPath`.
 */
export function readPath(text: string, isKnown: (attribute: string) => boolean): ScimPath | undefined {
  if (text.length > MAX_PATH_LENGTH) throw new ScimError('invalidPath', 'the path is too long');
  const path = text.trim().replace(CORE, '');
  if (/^urn:/i.test(path)) return undefined;
  const match = PATH.exec(path);
  if (match === null) throw invalid(text, 'Use a path such as active or emails[type eq "work"].value.');
  const [, name = '', condition, sub] = match;
  const attribute = name.toLowerCase();
  if (!isKnown(attribute)) return undefined;
  return {
    attribute,
    filter: condition === undefined ? undefined : readCondition(condition, text),
    sub: sub?.toLowerCase(),
  };
}

function readCondition(condition: string, path: string): NonNullable<ScimPath['filter']> {
  const match = EQUALS.exec(condition);
  if (match === null) throw invalid(path, 'A filter in a path compares one value with eq.');
  return { sub: match[1]!.toLowerCase(), value: readValue(match[2]!, path) };
}

function readValue(text: string, where: string): unknown {
  try {
    return JSON.parse(text.startsWith('"') ? text : text.toLowerCase());
  } catch {
    throw invalid(where, 'A text has quotes and escapes as in JSON.');
  }
}

function invalid(path: string, hint: string): ScimError {
  return new ScimError('invalidPath', `cannot read the path ${JSON.stringify(path)}`, hint);
}

/** Attributes by which lists are filtered, with what the store has instead. */
export type Filterable = Readonly<Record<string, DirectoryFilter['by']>>;

/** Reads a filter of a list: one comparison. Throws `invalidFilter`. */
export function readFilter(text: string, filterable: Filterable): DirectoryFilter {
  const match = text.length > MAX_PATH_LENGTH ? null : EQUALS.exec(text.trim().replace(CORE, ''));
  const name = match?.[1]?.toLowerCase() ?? '';
  const by = Object.entries(filterable).find(([attribute]) => attribute.toLowerCase() === name)?.[1];
  const value = match === null || by === undefined ? undefined : readValue(match[2]!, text);
  if (by !== undefined && typeof value === 'string') return { by, value };
  throw new ScimError(
    'invalidFilter',
    'unsupported filter',
    `Filters are of the form: ATTRIBUTE eq "VALUE", with one of the attributes ${Object.keys(filterable).join(', ')}.`,
  );
}

import type { YamlCode } from './codes.js';

/** The first characters of plain scalars that some parsers do not read as strings. */
const SUSPICIOUS_START = /^[-+.0-9yYnNoO~tTfF<]/;

/** YAML 1.1 booleans that Go parsers (goyaml.v2, used by Kubernetes) still support. */
const GO_BOOLEAN = /^(?:[yY]|[nN]|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$/;
/** Octal in Go, decimal in YAML 1.2. */
const LEADING_ZERO = /^[-+]?0[0-9_]+$/;
/** Numbers in Go, strings in YAML 1.2: a sign or capital letter before another base, binary. */
const GO_INTEGER = /^(?:(?:[-+]0[xXoO]|0[XO])[0-9a-fA-F_]+|[-+]?0[bB][01_]+)$/;
/** Numbers in Go, which ignores underscores; strings in YAML 1.2. */
const UNDERSCORES =
  /^[-+]?(?:0[xo][0-9a-fA-F_]*_[0-9a-fA-F_]*|(?=[^_]*_)[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9_]+)?)$/;
/** Octal in YAML 1.2 and Go, strings in YAML 1.1. */
const OCTAL = /^0o[0-7]+$/;
/** Base 60 in YAML 1.1. */
const SEXAGESIMAL = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
/** Dates in YAML 1.1 and in some Go parsers. */
const TIMESTAMP =
  /^\d{4}-\d\d?-\d\d?(?:(?:[Tt]|[ \t]+)\d\d?:\d\d?:\d\d?(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::?\d\d)?))?)?$/;

const INTEGER = /^(?:[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const NOT_FINITE = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const NULL = /^(?:~|null|Null|NULL)$/;
const BOOLEAN = /^(?:true|True|TRUE|false|False|FALSE)$/;

export interface ScalarProblem {
  code: YamlCode;
  message: string;
}

/** Reports how parsers disagree about a plain (unquoted) scalar. */
export function checkPlainScalar(source: string): ScalarProblem | undefined {
  if (!SUSPICIOUS_START.test(source)) return undefined;
  const shown = shorten(source);
  if (GO_BOOLEAN.test(source))
    return ambiguous(`"${shown}" is a boolean in Go parsers and a string in others`);
  if (LEADING_ZERO.test(source))
    return ambiguous(`"${shown}" is an octal number in Go parsers and a decimal number in others`);
  if (GO_INTEGER.test(source) || UNDERSCORES.test(source)) {
    return ambiguous(`"${shown}" is a number in Go parsers and a string in others`);
  }
  if (NOT_FINITE.test(source))
    return { code: 'yaml/not-finite', message: `"${shown}" is not a finite number` };
  if (INTEGER.test(source)) {
    if (!Number.isSafeInteger(Number(source))) return inexact(shown);
  } else if (FLOAT.test(source)) {
    const number = Number(source);
    if (!Number.isFinite(number)) {
      return { code: 'yaml/not-finite', message: `"${shown}" is read as a number and is not finite` };
    }
    if (isInexactInteger(number)) return inexact(shown);
  }
  if (OCTAL.test(source))
    return legacy(`"${shown}" is the number ${Number(source)} here and a string in YAML 1.1 parsers`);
  if (SEXAGESIMAL.test(source))
    return legacy(`"${shown}" is a string here and a base 60 number in YAML 1.1 parsers`);
  if (TIMESTAMP.test(source)) return legacy(`"${shown}" is a string here and a date in YAML 1.1 parsers`);
  return undefined;
}

/** Reports whether a plain scalar is a number, a boolean or null in the YAML 1.2 core schema. */
export function isPlainNonString(source: string): boolean {
  if (source === '') return true;
  if (!SUSPICIOUS_START.test(source)) return false;
  return (
    INTEGER.test(source) ||
    FLOAT.test(source) ||
    NOT_FINITE.test(source) ||
    NULL.test(source) ||
    BOOLEAN.test(source)
  );
}

/** Reports whether the text of a scalar has the type of a tag of the core schema, such as `!!int`. */
export function hasType(text: string, tag: string): boolean {
  switch (tag) {
    case '!!str':
      return true;
    case '!!int':
      return INTEGER.test(text);
    case '!!float':
      return (FLOAT.test(text) && !INTEGER.test(text)) || NOT_FINITE.test(text);
    case '!!bool':
      return BOOLEAN.test(text);
    default:
      return tag === '!!null' && (text === '' || NULL.test(text));
  }
}

/**
 * Reports whether JSON writes the number as an integer above the exact range of a double. From 1e21 on, JSON writes it
 * with an exponent, and all parsers read it as a floating-point number.
 */
export function isInexactInteger(number: number): boolean {
  return Number.isInteger(number) && !Number.isSafeInteger(number) && Math.abs(number) < 1e21;
}

function inexact(shown: string): ScalarProblem {
  return {
    code: 'yaml/integer-precision',
    message: `the integer ${shown} is too large to represent exactly`,
  };
}

function ambiguous(message: string): ScalarProblem {
  return { code: 'yaml/ambiguous-scalar', message };
}

function legacy(message: string): ScalarProblem {
  return { code: 'yaml/legacy-scalar', message };
}

const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Shortens text to one line of 40 characters without control characters, for messages. */
export function shorten(text: string): string {
  const short = text.length <= 80 ? text : `${text.slice(0, 38)}...${text.slice(-39)}`;
  return short.replace(UNPRINTABLE, (character) =>
    character === '\n' ? ' ' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const WORD = /^(?:y|n|yes|no|on|off|true|false|null|~|=|<<)$/i;
const SPECIAL_NUMBER = /^[-+]?\.(?:inf|nan)$/i;
const BASED = /^[-+]?0(?:x[0-9a-f]+|o?[0-7]+|b[01]+)$/i;
const DECIMAL = /^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?$/i;
/** Digits in base 60, such as `1:30`. */
const SEXAGESIMAL = /^[-+]?[0-9]+(?::[0-5]?[0-9])+(?:\.[0-9]*)?$/;
const TIME =
  /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:t|[ \t]+)[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]*)?(?:[ \t]*(?:z|[-+][0-9]{1,2}(?::?[0-9]{2})?))?)?$/i;

/**
 * Reports whether a reader of YAML takes a text without quotes for something else: a boolean, a number, null, a time, or
 * a merge key. The words and numbers of YAML 1.1 are among them, which sigs.k8s.io/yaml and PyYAML read.
 */
export function isAmbiguous(value: string): boolean {
  if (value === '' || WORD.test(value)) return true;
  if (!/^[-+.0-9]/.test(value)) return false;
  const digits = value.charAt(0) + value.slice(1).replaceAll('_', '');
  return [SPECIAL_NUMBER, BASED, DECIMAL, SEXAGESIMAL, TIME].some((form) => form.test(digits));
}

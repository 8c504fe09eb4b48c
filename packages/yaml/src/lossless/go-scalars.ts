/**
 * Whether go-yaml 2 takes plain text for text: not for a number, a boolean (of YAML 1.1 too), null or a time. Follows
 * its `resolve`, and `isBase60Float`.
 */
export function isTextInGo(text: string): boolean {
  if (WORDS.test(text) || BASE_60.test(text)) return false;
  if (text.startsWith('.')) return !(/^\.\d+(?:[eE][-+]?\d+)?$/.test(text) && Number.isFinite(Number(text)));
  return !/^[-+\d]/.test(text) || !(isTime(text) || isNumber(text.replaceAll('_', '')));
}

const WORDS =
  /^(?:|~|null|Null|NULL|[yYnN]|yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF|\.nan|\.NaN|\.NAN|[-+]?(?:\.inf|\.Inf|\.INF))$/;
const BASE_60 = /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/;
const FLOAT = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;

function isNumber(text: string): boolean {
  return (
    // Everything that Go's ParseInt reads as a decimal or octal number matches here too.
    (FLOAT.test(text) && Number.isFinite(Number(text))) || isInteger(text)
  );
}

/** Integers of other bases, which have 64 bits. */
function isInteger(text: string): boolean {
  const found =
    /^([-+]?)0(?:[xX]([\da-fA-F]+)|[oO]([0-7]+)|[bB]([01]+))$/.exec(text) ??
    /^0b([-+])()()([01]+)$/.exec(text);
  if (found === null) return false;
  const [, sign, hexadecimal, octal, binary] = found;
  const value = BigInt(hexadecimal ? `0x${hexadecimal}` : octal ? `0o${octal}` : `0b${binary}`);
  if (sign === '-') return value <= 2n ** 63n;
  return value < (sign === '+' ? 2n ** 63n : 2n ** 64n);
}

/** Formats of Go's `time.Parse`: a date, or a date and a time, with short fields too. */
export function isTime(text: string): boolean {
  const found =
    /^(\d{4})-(\d{1,2})-(\d{1,2})(?:([Tt ])(\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(Z|[-+]\d\d:\d\d)?)?$/.exec(
      text,
    );
  if (found === null) return false;
  const [, year, month, day, separator, hour = '0', minute = '0', second = '0', zone] = found;
  // With a space there is no zone, and with a letter there has to be one.
  if (separator !== undefined && (separator === ' ') !== (zone === undefined)) return false;
  const [zoneHour, zoneMinute] =
    zone === undefined || zone === 'Z' ? [0, 0] : zone.slice(1).split(':').map(Number);
  const lastDay = new Date(Date.UTC(2000 + (Number(year) % 400), Number(month), 0)).getUTCDate();
  return (
    Number(month) >= 1 &&
    Number(month) <= 12 &&
    Number(day) >= 1 &&
    Number(day) <= lastDay &&
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) < 60 &&
    zoneHour! <= 24 &&
    zoneMinute! < 60
  );
}

/**
 * The formats of strings that Kubernetes enforces (kube-openapi, `strfmt`), and those of numbers. It ignores all others.
 */

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`);
const UUID = (version = '[0-9a-f]', variant = '[0-9a-f]') =>
  new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, 'i');
const LABEL = '[\\p{L}\\p{S}0-9](?:[\\p{L}\\p{S}0-9-]{0,61}[\\p{L}\\p{S}0-9])?';
/** A name of one label has one hyphen at most. */
const HOSTNAME = new RegExp(
  `^(?:[\\p{L}\\p{S}0-9]-?[\\p{L}\\p{S}0-9]{0,62}|(?:${LABEL}\\.)+\\p{L}{2,63})$`,
  'u',
);
const DNS_NAME = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:z|[+-]\d{2}:\d{2})$/;
const GO_DURATION = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
const WORD_DURATION =
  /^(?:\d+\s*(?:ns|nanos?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)\s*)+$/i;
const ATOM = '[^\\s()<>\\[\\]:;@\\\\,."\\x00-\\x1f\\x7f]+';
const ADDRESS = new RegExp(`^${ATOM}(?:\\.${ATOM})*@${ATOM}(?:\\.${ATOM})*$`);

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  bsonobjectid: (text) => /^[0-9a-f]{24}$/i.test(text),
  byte: (text) =>
    /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/.test(text),
  cidr: isCidr,
  date: isDate,
  'date-time': isDateTime,
  duration: (text) => GO_DURATION.test(text) || WORD_DURATION.test(text.trim()),
  email: (text) => ADDRESS.test(/^[^<>]*<([^<>]*)>\s*$/.exec(text)?.[1] ?? text.trim()),
  hexcolor: (text) => /^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(text),
  hostname: (text) => text.length <= 255 && HOSTNAME.test(text),
  ipv4: (text) => (IPV4.test(text) || isIpv6(text)) && text.includes('.'),
  ipv6: isIpv6,
  'k8s-long-name': (text) => text.length <= 253 && DNS_NAME.test(text),
  'k8s-short-name': (text) => text.length <= 63 && !text.includes('.') && DNS_NAME.test(text),
  mac: isMac,
  rgbcolor: (text) => {
    const part = '\\s*(?:0|[1-9]\\d?|1\\d\\d|2[0-4]\\d|25[0-5])\\s*';
    return new RegExp(`^rgb\\(${part},${part},${part}\\)$`).test(text);
  },
  ssn: (text) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text),
  uri: isUri,
  uuid: (text) => UUID().test(text),
  uuid3: (text) => UUID('3').test(text),
  uuid4: (text) => UUID('4', '[89ab]').test(text),
  uuid5: (text) => UUID('5', '[89ab]').test(text),
};

/** Kubernetes enforces them; krmhub does not. */
const UNCHECKED_FORMATS = new Set(['creditcard', 'isbn', 'isbn10', 'isbn13']);
/** Names that Kubernetes also accepts. */
const ALIASES: Readonly<Record<string, string>> = { datetime: 'date-time' };

/** Reports whether a text has a format; true for one that Kubernetes ignores. */
export function hasFormat(format: string, text: string): boolean {
  const name = Object.hasOwn(ALIASES, format) ? ALIASES[format]! : format;
  return !Object.hasOwn(FORMATS, name) || FORMATS[name]!(text);
}

/** Reports whether Kubernetes enforces a format that krmhub does not check. */
export function isUncheckedFormat(format: string): boolean {
  return UNCHECKED_FORMATS.has(format);
}

const INTEGERS: Readonly<Record<string, [bigint, bigint]>> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
};

/** Reports whether an integer is in the range of a format. Without one, it must be an int64, as in Kubernetes. */
export function isInRange(format: string | undefined, value: bigint): boolean {
  const known = format !== undefined && Object.hasOwn(INTEGERS, format) ? format : 'int64';
  const [low, high] = INTEGERS[known]!;
  return low <= value && value <= high;
}

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  if (year === undefined) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return (
    !Number.isNaN(date.getTime()) &&
    date.getUTCMonth() + 1 === Number(month) &&
    date.getUTCDate() === Number(day)
  );
}

function isDateTime(text: string): boolean {
  const [date = '', time = ''] = text.toLowerCase().split('t');
  return isDate(date) && TIME.test(time);
}

export function isIpv4(text: string): boolean {
  return IPV4.test(text);
}

export function isIpv6(text: string): boolean {
  const halves = text.split('::');
  if (halves.length > 2 || !text.includes(':')) return false;
  let groups = 0;
  for (const [index, half] of halves.entries()) {
    const parts = half === '' ? [] : half.split(':');
    for (const [at, part] of parts.entries()) {
      const isLast = index === halves.length - 1 && at === parts.length - 1;
      if (isLast && part.includes('.')) {
        if (!IPV4.test(part)) return false;
        groups += 2;
      } else if (/^[0-9a-f]{1,4}$/i.test(part)) groups++;
      else return false;
    }
  }
  return halves.length === 2 ? groups < 8 : groups === 8;
}

function isCidr(text: string): boolean {
  const [, address = '', bits = ''] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  return (IPV4.test(address) && Number(bits) <= 32) || (isIpv6(address) && Number(bits) <= 128);
}

/** 6, 8, or 20 octets in one of three notations (Go, `net.ParseMAC`). */
function isMac(text: string): boolean {
  const octets = /^[0-9a-f]{2}(?:([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2})*)$/i.test(text)
    ? (text.length + 1) / 3
    : 0;
  const pairs = /^[0-9a-f]{4}(?:\.[0-9a-f]{4})+$/i.test(text) ? ((text.length + 1) / 5) * 2 : 0;
  return [6, 8, 20].includes(octets || pairs);
}

/** An absolute URI or path (Go, `url.ParseRequestURI`). */
export function isUri(text: string): boolean {
  if (text === '' || /[\x00-\x1f\x7f]|%(?![0-9a-f]{2})/i.test(text)) return false;
  if (text.startsWith('/')) return true;
  const [, authority] = /^[a-z][a-z0-9+.-]*:(?:\/\/([^/?#]*))?/i.exec(text) ?? [];
  if (authority === undefined) return /^[a-z][a-z0-9+.-]*:/i.test(text);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  return /^(?:\[[0-9a-f:.%]*\]|[^\s"<>[\]\\^`{|}:]*)(?::\d*)?$/i.test(host);
}

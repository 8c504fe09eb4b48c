import type { Diagnostic } from '@krmhub/yaml/diagnostic';
import { defined } from '../defined.js';

/** Query parameters that contain credentials. */
const SECRET_NAMES =
  'access_?token|private_?token|auth_?token|token|api_?key|password|secret|sig|signature|x-(?:amz|goog)-signature';
const SECRET_PARAMETER = new RegExp(`^(?:${SECRET_NAMES})$`, 'i');
const SECRET_VALUE = new RegExp(`([?&](?:${SECRET_NAMES})=)([^&#\\s"'\`<>]+)`, 'gi');

/** Where the host of a URL begins. A path that was resolved has one slash. */
const SCHEME = /([a-z][a-z0-9+.-]{1,30}):\/+/gi;
/** Schemes in which a name alone is often a token. Of ssh and of databases, it is a user. */
const TOKEN_SCHEME = /^(?:.*\+)?(?:https?|oci)$/i;
/** Limited, so that a hostile text takes no time. No token is longer. */
const AUTHORITY = /[^\s/?#\\]{0,4096}/y;
const WORD = /\S{0,4096}/y;
/** The same where only a line ends a value, which begins with a URL, maybe of a repository. */
const VALUE = /^(?:[a-z]{1,10}::)?[a-z][a-z0-9+.-]{1,30}:\/+/i;
const SPACED_AUTHORITY = /[^\n/?#\\]{0,4096}/y;
const LINE = /[^\n]{0,4096}/y;
const HOST_AND_PORT = /^(?:\[[^\]]*\]|[^:@[\]]*)(?::\d*)?$/;
const DIGEST = /^sha(?:256|512):/;
/** `user:password@host/…` without a scheme, also as a part of a path. The digest of an image is not a host. */
const BARE =
  /(^|[\s"'`(=,/])([^\s/:@"'`(=,]{1,200}:[^\s/@]{1,500})(?=@(?!sha(?:256|512):)[a-z0-9[][^\s/@:]*(?:\/|:\S))/gi;

/** Reports whether a query parameter of a URL has credentials. */
export function isSecretParameter(name: string): boolean {
  return SECRET_PARAMETER.test(name);
}

/**
 * Hides the user names, passwords, and tokens of URLs in a text for people, also of URLs that are not valid: logs of
 * pipelines have messages. `mark` returns the replacement of a secret.
 */
export function hidePasswords(text: string, mark: (secret: string) => string = () => '…'): string {
  const hasUser = text.includes('@') || text.includes('…');
  const shown = hasUser ? hideUsers(text, mark) : text;
  if (!shown.includes('=')) return shown;
  return shown.replace(SECRET_VALUE, (_, name: string, value: string) => name + mark(value));
}

/**
 * The same for a text that is one value, such as a field or an argument. If that is a URL that is not valid, its password
 * can have spaces, which end it in a sentence.
 */
export function hideInValue(text: string, mark: (secret: string) => string = () => '…'): string {
  const start = text.includes('@') ? (VALUE.exec(text)?.[0].length ?? 0) : 0;
  const end = start === 0 ? undefined : spacedEnd(text, start);
  if (end === undefined) return hidePasswords(text, mark);
  return text.slice(0, start) + mark(text.slice(start, end)) + hidePasswords(text.slice(end), mark);
}

/** More than a message shows. */
const MAX_HIDDEN = 8_192;

/** The same for a value that is shortened afterwards, which can be as long as a document. */
export function hideBeginning(text: string, mark?: (secret: string) => string): string {
  return hideInValue(text.length > MAX_HIDDEN ? `${text.slice(0, MAX_HIDDEN)}…` : text, mark);
}

/** Hides what the message and the hint of a diagnostic quote. */
export function withoutPasswords(diagnostic: Diagnostic): Diagnostic {
  const { message, hint } = diagnostic;
  const shown = { message: hidePasswords(message), hint: hint && hidePasswords(hint) };
  if (shown.message === message && shown.hint === hint) return diagnostic;
  return { ...diagnostic, ...defined(shown) };
}

function hideUsers(text: string, mark: (secret: string) => string): string {
  let shown = '';
  let done = 0;
  for (const { 0: start, 1: scheme = '', index } of text.matchAll(SCHEME)) {
    const from = index + start.length;
    // It is part of a secret that was hidden.
    if (from < done) continue;
    const end = secretEnd(scheme, text, from);
    if (end === undefined) continue;
    shown += text.slice(done, from) + mark(text.slice(from, end));
    done = end;
  }
  shown += text.slice(done);
  return shown.replace(BARE, (_, before: string, secret: string) => before + mark(secret));
}

/** Where the user name and password end that begin at `from`; undefined if there are none. */
function secretEnd(scheme: string, text: string, from: number): number | undefined {
  const authority = matchAt(AUTHORITY, text, from);
  const at = authority.lastIndexOf('@');
  if (at === 0) return undefined;
  if (at > 0) {
    const isSecret = authority.slice(0, at).includes(':') || TOKEN_SCHEME.test(scheme);
    return isSecret && !DIGEST.test(authority.slice(at + 1)) ? from + at : undefined;
  }
  if (HOST_AND_PORT.test(authority)) return undefined;
  // A password with a slash is not valid, and a message may end inside one.
  const word = matchAt(WORD, text, from);
  const end = word.includes('@') ? word.lastIndexOf('@') : word.indexOf('…') + 1;
  return end === 0 ? undefined : from + end;
}

/** Where a user name and a password with spaces end; undefined if there are none. */
function spacedEnd(text: string, from: number): number | undefined {
  const first = matchAt(AUTHORITY, text, from);
  if (HOST_AND_PORT.test(first) && !first.endsWith(':')) return undefined;
  const authority = matchAt(SPACED_AUTHORITY, text, from);
  const all = authority.includes('@') ? authority : matchAt(LINE, text, from);
  const at = all.lastIndexOf('@');
  return /\s/.test(all.slice(0, Math.max(at, 0))) ? from + at : undefined;
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
}

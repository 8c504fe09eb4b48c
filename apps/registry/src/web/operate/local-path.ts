import { OPERATE, SIGN_IN, SIGN_OUT } from '../addresses.js';

/** Safe characters only: no `//`, `..`, backslash, scheme or percent-encoding can lead to another site. */
const SEGMENT = '[A-Za-z0-9](?:[A-Za-z0-9-]|\\.(?!\\.)){0,252}';
const OWN_PATH = new RegExp(
  `^/(?:operate|login|functions|catalogs|policies|events)(?:/${SEGMENT}){0,5}(?:\\?[a-z]{1,20}=${SEGMENT}(?:&[a-z]{1,20}=${SEGMENT}){0,3})?$`,
);

/** Returns the path to open after signing in: a page, and for any other path the first page of operators. */
export function localPath(from: string | undefined): string {
  if (from === undefined || !OWN_PATH.test(from)) return OPERATE;
  const [path] = from.split('?');
  return path === SIGN_IN || path === SIGN_OUT ? OPERATE : from;
}

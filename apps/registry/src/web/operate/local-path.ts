import { OPERATE, SIGN_IN, SIGN_OUT } from '../addresses.js';

/** Safe characters only: no `//`, dot, backslash, scheme or percent-encoding can lead to another site. */
const OWN_PATH =
  /^\/operate(?:\/[A-Za-z0-9-]{1,100}){0,4}(?:\?[a-z]{1,20}=[A-Za-z0-9-]{1,100}(?:&[a-z]{1,20}=[A-Za-z0-9-]{1,100}){0,3})?$/;

/** Returns the path to open after signing in: a page of operators; the first of them for any other path. */
export function localPath(from: string | undefined): string {
  if (from === undefined || !OWN_PATH.test(from)) return OPERATE;
  const [path] = from.split('?');
  return path === SIGN_IN || path === SIGN_OUT ? OPERATE : from;
}

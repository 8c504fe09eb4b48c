import { OPERATE, SIGN_IN, SIGN_OUT } from '../addresses.js';

/** Characters that need no thought: no `//`, dot, backslash, scheme or percent-encoding leads anywhere else. */
const OWN_PATH =
  /^\/operate(?:\/[A-Za-z0-9-]{1,100}){0,4}(?:\?[a-z]{1,20}=[A-Za-z0-9-]{1,100}(?:&[a-z]{1,20}=[A-Za-z0-9-]{1,100}){0,3})?$/;

/** Where to go on after signing in: one of the operators' pages, the first of them where something else is asked for. */
export function localPath(from: string | undefined): string {
  if (from === undefined || !OWN_PATH.test(from)) return OPERATE;
  const [path] = from.split('?');
  return path === SIGN_IN || path === SIGN_OUT ? OPERATE : from;
}

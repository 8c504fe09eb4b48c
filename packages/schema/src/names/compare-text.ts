/** Orders texts by UTF-16 code units, which is the same in every locale: for `sort`. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

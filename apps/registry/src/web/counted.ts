/** Returns a number with its noun: `1 function`, `1,234 functions`. */
export function counted(count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'];

/** Formats bytes in powers of 1,000, for example `1.50 MB`. */
export function sizeText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1_000 && unit < UNITS.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toPrecision(3)} ${UNITS[unit]}`;
}

export type Duration = { ok: true; seconds: number } | { ok: false; reason: string; hint?: string };

/** Seconds per unit, largest first. */
const UNITS = { d: 86_400, h: 3_600, m: 60, s: 1 } as const;
type Unit = keyof typeof UNITS;

const DURATION = /^(\d{1,9})([dhms])$/;
/** Matches a duration as in Go and Prometheus. */
const COMPOUND_DURATION = /^(?:\d{1,9}[wdhms]){1,5}$/;
const SECONDS_OF_WEEK = 604_800;

/** Parses `90s`, `30m`, `72h`, or `7d`: an integer and one unit. */
export function readDuration(text: string): Duration {
  const [, count, unit] = DURATION.exec(text) ?? [];
  if (count !== undefined) return { ok: true, seconds: Number(count) * UNITS[unit as Unit] };
  if (/^\d{1,9}$/.test(text)) {
    return { ok: false, reason: `"${text}" has no unit`, hint: `Use \`${text}s\` for seconds.` };
  }
  const reason = `"${text}" is not a duration`;
  if (!COMPOUND_DURATION.test(text)) return { ok: false, reason };
  const seconds = [...text.matchAll(/(\d+)([wdhms])/g)].reduce(
    (sum, [, part, of]) => sum + Number(part) * (of === 'w' ? SECONDS_OF_WEEK : UNITS[of as Unit]),
    0,
  );
  return { ok: false, reason, hint: `Use one unit: \`${formatDuration(seconds)}\`.` };
}

/** Formats seconds in the largest exact unit. */
export function formatDuration(seconds: number): string {
  const units = Object.entries(UNITS);
  const [unit, length] = units.find(([, length]) => seconds % length === 0) ?? ['s', 1];
  return `${seconds / length}${unit}`;
}

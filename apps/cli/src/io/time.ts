const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Formats the distance from now: `3h ago`, `in 89d`; a date if it is more than a year. */
export function relativeTime(time: string, now: Date): string {
  const milliseconds = Date.parse(time);
  if (Number.isNaN(milliseconds)) return time;
  const seconds = Math.round((now.getTime() - milliseconds) / 1000);
  const distance = Math.abs(seconds);
  if (distance < 5) return 'now';
  if (distance >= 365 * DAY) return new Date(milliseconds).toISOString().slice(0, 10);
  const [size, unit] =
    distance < MINUTE
      ? [1, 's']
      : distance < HOUR
        ? [MINUTE, 'm']
        : distance < DAY
          ? [HOUR, 'h']
          : [DAY, 'd'];
  const text = `${Math.floor(distance / size)}${unit}`;
  return seconds >= 0 ? `${text} ago` : `in ${text}`;
}

/** Formats how long something is still possible: `within 29d`; `before 2032-06-15` if it is more than a year. */
export function timeLeft(until: string, now: Date): string {
  const text = relativeTime(until, now);
  return text.startsWith('in ') ? `with${text}` : `before ${text}`;
}

/** Parses `90d`, `12w` or `1y` to days; undefined for anything else. */
export function parseDays(text: string): number | undefined {
  const match = /^(\d{1,5})\s*(d|w|y)?$/.exec(text);
  if (match === null) return undefined;
  const factor = match[2] === 'w' ? 7 : match[2] === 'y' ? 365 : 1;
  return Number(match[1]) * factor;
}

/** Parses an age such as `7d` or `12h`, a date, or a time, to RFC 3339 in UTC; undefined for anything else. */
export function parseMoment(text: string, now: Date): string | undefined {
  const [, count, unit] = /^([1-9]\d{0,5})([dhm])$/.exec(text) ?? [];
  const seconds = unit === 'd' ? DAY : unit === 'h' ? HOUR : MINUTE;
  if (count !== undefined) return new Date(now.getTime() - Number(count) * seconds * 1_000).toISOString();
  const time = /^\d{4}-\d\d-\d\d(T\S+)?$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

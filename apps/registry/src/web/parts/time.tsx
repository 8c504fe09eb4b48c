/** A time of RFC 3339 in UTC: the day, or the minute where that matters; the whole is in the title. */
export function Time({ at, isPrecise = false }: { at: string; isPrecise?: boolean }) {
  return (
    <time datetime={at} title={at}>
      {isPrecise ? `${at.slice(0, 10)} ${at.slice(11, 16)} UTC` : at.slice(0, 10)}
    </time>
  );
}

/** An RFC 3339 time in UTC: the day, or the minute if `isPrecise`; the complete time is in the title. */
export function Time({ at, isPrecise = false }: { at: string; isPrecise?: boolean }) {
  return (
    <time datetime={at} title={at}>
      {isPrecise ? `${at.slice(0, 10)} ${at.slice(11, 16)} UTC` : at.slice(0, 10)}
    </time>
  );
}

/** An RFC 3339 time in UTC to the minute; the complete time is in the title. */
export function Time({ at }: { at: string }) {
  return (
    <time datetime={at} title={at}>
      {`${at.slice(0, 10)} ${at.slice(11, 16)} UTC`}
    </time>
  );
}

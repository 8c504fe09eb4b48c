import { Message } from './text.js';

/** An RFC 3339 time in UTC to the minute; the complete time is in the title. */
export function Time({ at }: { at: string }) {
  return (
    <time datetime={at} title={at}>
      {`${at.slice(0, 10)} ${at.slice(11, 16)} UTC`}
    </time>
  );
}

const TIME = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** A message whose RFC 3339 times are shown as on the rest of the page. */
export function TextWithTimes({ value, max }: { value: string; max: number }) {
  const parts = value.slice(0, max).split(TIME);
  return <>{parts.map((part, index) => (index % 2 === 1 ? <Time at={part} /> : <Message value={part} />))}</>;
}

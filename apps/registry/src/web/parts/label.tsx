import type { Child } from 'hono/jsx';

/** How something stands; said by the words, and only stressed by the colour. */
export type Tone = 'plain' | 'good' | 'warning' | 'danger';

/** One or two words on what it stands beside. */
export function Label({
  tone = 'plain',
  title,
  children,
}: {
  tone?: Tone;
  title?: string;
  children?: Child;
}) {
  return (
    <span class={`label label-${tone}`} title={title}>
      {children}
    </span>
  );
}

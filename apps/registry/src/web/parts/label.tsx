import type { Child } from 'hono/jsx';

/** The severity of a state. The words say it; the color only stresses it. */
export type Tone = 'plain' | 'good' | 'warning' | 'danger';

/** One or two words about the element next to it. */
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

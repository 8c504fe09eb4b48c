import type { Child } from 'hono/jsx';
import type { Tone } from './label.js';

/** A notice that readers must see before the rest of the page. */
export function Banner({
  tone = 'plain',
  title,
  children,
}: {
  tone?: Tone;
  title: string;
  children?: Child;
}) {
  return (
    <div class={`banner banner-${tone}`} role="note">
      <p class="banner-title">{title}</p>
      {children}
    </div>
  );
}

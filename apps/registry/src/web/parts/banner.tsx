import type { Child } from 'hono/jsx';
import type { Tone } from './label.js';

/** What a reader has to know before anything else on the page. */
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

import type { Child } from 'hono/jsx';

/** In the place of what is not there: that it is not, and what to do. */
export function Empty({ title, children }: { title: string; children?: Child }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

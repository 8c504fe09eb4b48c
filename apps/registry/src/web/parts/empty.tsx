import type { Child } from 'hono/jsx';

/** Placeholder for missing content: what is missing, and what to do. */
export function Empty({ title, children }: { title: string; children?: Child }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

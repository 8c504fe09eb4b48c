import type { Child } from 'hono/jsx';

/**
 * Text to copy, such as commands, with a visible caption or only a label. The script adds a button above the text,
 * which copies the content of `code`.
 */
export function CopySnippet({ code, label, caption }: { code: Child; label: string; caption?: Child }) {
  return (
    <figure class="snippet" data-copy={label}>
      <figcaption class={caption === undefined ? 'unseen' : undefined}>{caption ?? label}</figcaption>
      <pre tabindex={0}>
        <code>{code}</code>
      </pre>
    </figure>
  );
}

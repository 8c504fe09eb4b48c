import type { Child } from 'hono/jsx';

/** Text to copy, such as commands. The script adds a button that copies the content of `code`. */
export function CopySnippet({ code, label }: { code: Child; label: string }) {
  return (
    <figure class="snippet" data-copy={label}>
      <figcaption class="unseen">{label}</figcaption>
      <pre tabindex={0}>
        <code>{code}</code>
      </pre>
    </figure>
  );
}

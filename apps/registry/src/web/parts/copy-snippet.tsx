import type { Child } from 'hono/jsx';

/** Text to be taken as it is, such as commands. The button comes with the script, which copies what `code` holds. */
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

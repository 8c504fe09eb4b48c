import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import { highlightCode } from '../highlight.js';

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

/** YAML to copy, with colors. */
export function CopyYaml({ text, ...shown }: { text: string; label: string; caption?: Child }) {
  return <CopySnippet {...shown} code={raw(highlightCode(text, 'yaml'))} />;
}

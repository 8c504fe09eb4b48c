/** `sha256:…`, complete, or shortened with the complete digest in the title. */
export function Digest({ value, isShort = false }: { value: string; isShort?: boolean }) {
  if (!isShort) return <code class="digest">{value}</code>;
  return (
    <code class="digest" title={value}>
      {value.slice(0, SHORT)}…
    </code>
  );
}

const SHORT = 'sha256:'.length + 12;

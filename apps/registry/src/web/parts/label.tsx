import type { Visibility } from '@krmhub/catalog';
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

/** Says that not everybody sees what it is next to; nothing of what is public. */
export function VisibilityLabel({ visibility = 'public' }: { visibility?: Visibility | undefined }) {
  if (visibility === 'public') return null;
  const title =
    visibility === 'internal' ? 'Only for users who sign in' : 'Only for those with the right to read it';
  return <Label title={title}>{visibility}</Label>;
}

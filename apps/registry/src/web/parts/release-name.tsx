import { QualifiedName } from './text.js';

/** Name of a release in a heading, which breaks after its group. */
export function ReleaseName({ name }: { name: { group: string; kind: string; release: string } }) {
  return <QualifiedName name={name} groupClass="function-group" />;
}

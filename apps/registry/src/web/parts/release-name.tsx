import { NamePart } from './text.js';

/** Name of a release in a heading, which breaks after its group. */
export function ReleaseName({
  name: { group, kind, release },
}: {
  name: { group: string; kind: string; release: string };
}) {
  return (
    <>
      <span class="function-group">
        <NamePart value={`${group}/`} />
      </span>
      <wbr />
      <NamePart value={`${kind}@`} />
      <wbr />
      {release}
    </>
  );
}

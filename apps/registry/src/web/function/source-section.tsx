import { fillPath } from '@krmhub/api/paths';
import { CopyYaml } from '../parts/copy-snippet.js';
import { Digest } from '../parts/digest.js';
import { useSite } from '../site.js';
import type { FunctionView } from './read-function.js';

/** Shows the definition: of a release its exact bytes, of an upstream function the entry of the catalog. */
export function SourceSection({ view: { name, known, text, entries } }: { view: FunctionView }) {
  const { at } = useSite();
  const [entry] = entries;
  const file =
    known !== undefined
      ? fillPath('definition', { ...name, release: known.release.release })
      : entry === undefined
        ? undefined
        : fillPath('catalogEntry', { name: entry.catalog, group: name.group, kind: name.kind });
  const link =
    file === undefined ? null : (
      <a href={at(file)}>{known === undefined ? 'the entry' : 'definition.yaml'}</a>
    );
  const digest = known === undefined ? entry?.versions[0]?.definition : known.release.digest;
  const origin = (
    <>
      {link}
      {digest === undefined ? null : (
        <>
          , <Digest value={digest} />
        </>
      )}
    </>
  );
  return (
    <section aria-labelledby="definition">
      <h2 id="definition">Definition</h2>
      {text === undefined ? (
        <p>{origin}</p>
      ) : (
        <CopyYaml label="Definition" caption={origin} text={text.text} />
      )}
      {text?.isCut === true ? <p class="quiet">The definition is too long to show in full: {link}.</p> : null}
    </section>
  );
}

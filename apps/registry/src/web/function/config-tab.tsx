import { fillPath } from '@krmhub/api/paths';
import { functionTabPath } from '../addresses.js';
import { Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { ConfigFields } from './config-section.js';
import type { FunctionView } from './read-function.js';

/** Describes the functionConfig of one API version. */
export function ConfigTab({ view: { name, known, version, versions, asked } }: { view: FunctionView }) {
  const { at } = useSite();
  const { description } = version;
  const path = functionTabPath({ ...name, release: asked }, 'configuration');
  // The schema URL has the newest release with this API version; for other releases, the definition has the schema.
  const schema =
    known === undefined || known.release.release === known.shown
      ? at(fillPath('functionConfigSchema', { ...name, version: version.version.name }))
      : at(fillPath('definition', { ...name, release: known.release.release }));
  return (
    <section aria-labelledby="config">
      <h2 id="config">Configuration</h2>
      {versions.length < 2 ? null : (
        <nav class="versions" aria-label="API versions">
          <ul>
            {versions.slice(0, 20).map((one) => (
              <li>
                <a
                  href={at(`${path}?${new URLSearchParams({ version: one })}`)}
                  aria-current={one === version.version.name ? 'true' : undefined}
                >
                  {one}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      )}
      <p>
        <code>
          <Text value={`apiVersion: ${description.apiVersion}`} />
        </code>
        , <code>kind: {description.kind}</code>
        {version.version.configMap === true
          ? '. The function also accepts a ConfigMap with its settings under data'
          : ''}
        . {description.description === undefined ? null : <Text value={description.description} />}
      </p>
      <ConfigFields description={description} schema={schema} />
      <p>
        <a href={schema}>
          {known === undefined || known.release.release === known.shown
            ? 'JSON Schema, for editors'
            : 'The definition, with the schema'}
        </a>
      </p>
    </section>
  );
}

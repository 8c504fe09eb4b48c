import { readScriptReference } from '@krmhub/schema/script-reference';
import { raw } from 'hono/html';
import { DefinitionList } from '../parts/definition-list.js';
import { Digest } from '../parts/digest.js';
import { Reference, Text } from '../parts/text.js';
import type { LoadedModule, ScriptView } from './view-script.js';

/** Longer scripts are shown on demand. */
const MAX_OPEN_LINES = 100;
/** Maximum number of listed modules, and of names of one; the script has all. */
const MAX_LOADS = 20;

/** Shows a Starlark runtime: its reference, and the script if the registry has it. */
export function Script({ reference, script }: { reference: string; script: ScriptView | undefined }) {
  const { digest } = readScriptReference(reference);
  return (
    <>
      <p>
        A Starlark script that the orchestrator interprets. It has access only to its input: no files, no
        network.
      </p>
      <DefinitionList
        items={[
          [
            'Script',
            <code>
              <Reference value={reference} max={1_000} />
            </code>,
          ],
          [
            'Digest',
            digest === undefined ? (
              'Not set: the script behind the reference can change.'
            ) : (
              <Digest value={`sha256:${digest}`} />
            ),
          ],
          ...(script === undefined ? [] : facts(script)),
        ]}
      />
      {script === undefined ? null : <Source script={script} />}
    </>
  );
}

function facts({ size, loads, problem }: ScriptView) {
  return [
    ['Size', `${size.toLocaleString('en')} ${size === 1 ? 'byte' : 'bytes'}`],
    ['Loads', loads === undefined ? undefined : loads.length === 0 ? 'nothing' : <Loads loads={loads} />],
    [
      'Error',
      problem === undefined ? undefined : (
        <strong>
          <Text value={problem} max={500} />
        </strong>
      ),
    ],
  ] as const;
}

function Loads({ loads }: { loads: readonly LoadedModule[] }) {
  return (
    <ul class="plain-list">
      {loads.slice(0, MAX_LOADS).map(({ module, names }) => (
        <li>
          <code>
            <Text value={module} max={200} />
          </code>
          :{' '}
          <Text
            value={`${names.slice(0, MAX_LOADS).join(', ')}${names.length > MAX_LOADS ? ', …' : ''}`}
            max={300}
          />
        </li>
      ))}
      {loads.length > MAX_LOADS ? <li class="quiet">and {loads.length - MAX_LOADS} more</li> : null}
    </ul>
  );
}

function Source({ script: { html, lines, isCut } }: { script: ScriptView }) {
  const numbers = Array.from({ length: lines }, (_, index) => index + 1).join('\n');
  const count = `${lines.toLocaleString('en')} ${lines === 1 ? 'line' : 'lines'}`;
  return (
    <details class="script" open={lines <= MAX_OPEN_LINES}>
      <summary>{isCut ? `The first ${count} of the script` : `The script: ${count}`}</summary>
      <figure class="snippet" data-copy="Starlark script">
        <figcaption class="unseen">Starlark script</figcaption>
        <pre class="script-numbers" aria-hidden="true">
          {numbers}
        </pre>
        <pre tabindex={0}>
          <code dir="ltr">{raw(html)}</code>
        </pre>
      </figure>
      {isCut ? <p class="quiet">The script is too long to show in full.</p> : null}
    </details>
  );
}

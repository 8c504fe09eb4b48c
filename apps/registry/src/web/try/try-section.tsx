import { eachRuntime } from '@krmhub/catalog';
import { RUNTIMES } from '@krmhub/schema';
import type { TryItExample } from '@krmhub/schema/documents/try-it';
import { docsPath, functionPath, releasePath } from '../addresses.js';
import type { FunctionView } from '../function/read-function.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { visibleText } from '../visible-text.js';

/** Offers to try a function, where a script can add the form. A yanked release is not offered. */
export function TryItSection({ view }: { view: FunctionView }) {
  const { at, assets } = useSite();
  const { name, asked, version, versions } = view;
  if (!isOffered(view)) return null;
  const base = asked === undefined ? functionPath(name) : releasePath({ ...name, release: asked });
  const { name: shown } = version.version;
  const query = shown === versions[0] ? '' : `?${new URLSearchParams({ version: shown })}`;
  const runs = view.isScriptHere === true;
  return (
    <section
      aria-labelledby="try"
      class="try-it"
      data-try={at(`${base}/try.json${query}`)}
      data-try-script={at(assets.path('try.js'))}
      data-try-label={tryLabel(view)}
    >
      <h2 id="try">Try it</h2>
      <p>{runs ? RUNS : reason(view)}</p>
      <p class="try-start">
        The form needs JavaScript. <a href={at(docsPath('fn'))}>krmhub fn eval</a> runs the function in a
        terminal.
      </p>
      <RecordedExamples examples={view.examples ?? []} />
    </section>
  );
}

/** Returns what "Try it" offers: a run, or only a form. */
export function tryLabel({ isScriptHere }: FunctionView): string {
  return isScriptHere === true ? 'Try it in this browser' : 'Fill in the functionConfig';
}

/** Characters of examples on the page itself; the form shows all. */
const MAX_EXAMPLES_LENGTH = 8_000;

/** Examples for readers without scripts. The form replaces them. */
function RecordedExamples({ examples }: { examples: readonly TryItExample[] }) {
  let left = MAX_EXAMPLES_LENGTH;
  const shown = examples.filter((one) => {
    left -= JSON.stringify(one).length;
    return left >= 0;
  });
  if (examples.length === 0) return null;
  return (
    <div class="try-examples">
      <p class="quiet">
        A tester recorded {examples.length === 1 ? 'an example' : `${examples.length} examples`}:
      </p>
      {shown.map(({ name, functionConfig, input, output = {}, messages }) => (
        <details>
          <summary>
            <Text value={name} max={100} />
          </summary>
          {functionConfig === undefined ? null : <File title="functionConfig" text={functionConfig} />}
          {Object.entries(input).map(([path, text]) => (
            <File title={`${path} before`} text={text} />
          ))}
          {Object.entries(output).map(([path, text]) => (
            <File title={`${path} after`} text={text} />
          ))}
          {messages.length === 0 ? null : <File title="Messages" text={messages.join('\n')} />}
        </details>
      ))}
    </div>
  );
}

function File({ title, text }: { title: string; text: string }) {
  return (
    <CopySnippet
      label={visibleText(title)}
      caption={<Text value={title} max={200} />}
      code={visibleText(text)}
    />
  );
}

const RUNS =
  'The function is a Starlark script. It runs in this browser, in a worker without network and storage; nothing that you enter is sent.';

function reason({ version: { version } }: FunctionView): string {
  const nouns = eachRuntime(version.runtime, (_, __, kind) =>
    kind === 'starlark' ? undefined : RUNTIMES[kind].noun,
  );
  if (nouns.includes(undefined)) {
    return 'This registry does not have the script of the function, so it does not run here. The form writes a functionConfig for it.';
  }
  const articles = nouns.map((noun) => `${/^[aeiou]/.test(noun!) ? 'an' : 'a'} ${noun}`);
  return `The function is ${articles.join(' or ')}, which a browser cannot run. The form writes a functionConfig for it.`;
}

/** Reports whether a release can be tried. A page of a release that was taken down does not exist. */
export function isOffered({ known }: Pick<FunctionView, 'known'>): boolean {
  return known?.release.yanked === undefined;
}

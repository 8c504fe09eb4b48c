import { eachRuntime } from '@krmhub/catalog';
import { RUNTIMES } from '@krmhub/schema';
import { docsPath, functionPath, releasePath } from '../addresses.js';
import type { FunctionView } from '../function/read-function.js';
import { useSite } from '../site.js';

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
      data-try-label={runs ? 'Try it in this browser' : 'Fill in the functionConfig'}
    >
      <h2 id="try">Try it</h2>
      <p>{runs ? RUNS : reason(view)}</p>
      <p class="try-start">
        The form needs JavaScript. <a href={at(docsPath('fn'))}>krmhub fn eval</a> runs the function in a
        terminal.
      </p>
    </section>
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

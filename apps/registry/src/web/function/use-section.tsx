import type { UsageSection, UsageTopic } from '@krmhub/catalog';
import { type ConfigExample, kebabCase } from '@krmhub/schema';
import { CopySnippet } from '../parts/copy-snippet.js';
import { Text } from '../parts/text.js';
import { visibleText } from '../visible-text.js';
import type { FunctionView } from './read-function.js';
import { Commands, useAddresses } from './registry-commands.js';

const TITLES: Record<UsageTopic, string> = {
  config: 'The functionConfig',
  kustomize: 'With kustomize',
  kpt: 'With kpt',
  container: 'Container',
  executables: 'Executables',
  starlark: 'Starlark script',
};
/** Executables for platforms; nobody has more, and the definition has all. */
const MAX_PARTS = 20;

/** Snippets that work as they stand, of one release. */
export function UseSection({ view }: { view: FunctionView }) {
  const { known, version } = view;
  const { usage } = version;
  const container = version.version.runtime.container;
  const isPinned =
    container === undefined || container.sha256 !== undefined || container.image.includes('@sha256:');
  return (
    <section aria-labelledby="use">
      <h2 id="use">Use it</h2>
      {usage.sections.map((section) => (
        <>
          <Topic section={section} />
          {section.topic === 'config' ? <ExampleNote example={usage.example} /> : null}
        </>
      ))}
      {isPinned ? null : (
        <p class="quiet">
          The definition names no digest of the image, so what the tag stands for can change after it was
          looked at.
        </p>
      )}
      {known === undefined ? null : <KrmhubCommands view={view} />}
    </section>
  );
}

function ExampleNote({ example: { check, problem, partly } }: { example: ConfigExample }) {
  if (check === 'invalid' && problem !== undefined) {
    return (
      <p class="quiet">
        The schema does not take it as it is: <Text value={problem} max={400} />.
      </p>
    );
  }
  if (check !== 'valid' || !partly) return null;
  return (
    <p class="quiet">
      Expressions (CEL) and lists without duplicates were not looked at when it was checked.
    </p>
  );
}

function Topic({ section: { topic, parts } }: { section: UsageSection }) {
  return (
    <>
      <h3 id={`use-${topic}`}>{TITLES[topic]}</h3>
      {parts.slice(0, MAX_PARTS).map(({ text: words, snippet }) => (
        <>
          <p>
            <Text value={words} max={500} />
          </p>
          {snippet === undefined ? null : (
            <CopySnippet
              code={visibleText(snippet.replace(/\n$/, ''))}
              label={`${TITLES[topic]}: ${visibleText(words)}`}
            />
          )}
        </>
      ))}
      {parts.length > MAX_PARTS ? (
        <p class="quiet">{parts.length - MAX_PARTS} more are in the definition.</p>
      ) : null}
    </>
  );
}

function KrmhubCommands({ view: { name, known } }: { view: FunctionView }) {
  const { release } = known!.release;
  const { url, reference } = useAddresses({ ...name, release });
  return (
    <>
      <h3 id="use-krmhub">With krmhub</h3>
      <p>
        Read it in a terminal, or fetch its definition and README, held against their digests and against
        those whom <code>krmhub trust</code> names:
      </p>
      <Commands
        label="Commands of krmhub"
        lines={[
          <>
            krmhub show {name.group}/{name.kind}@{release} --registry {url}
          </>,
          ...(reference === undefined
            ? []
            : [
                <>
                  krmhub pull {reference} --out {kebabCase(name.kind)}
                </>,
              ]),
        ]}
      />
    </>
  );
}

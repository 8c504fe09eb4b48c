import type { UsageSection, UsageTopic } from '@krmhub/catalog';
import { type ConfigExample, kebabCase } from '@krmhub/schema';
import { type Choice, ChoiceTabs } from '../parts/choice-tabs.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { Text } from '../parts/text.js';
import { visibleText } from '../visible-text.js';
import type { FunctionView } from './read-function.js';
import { Commands, useAddresses } from './registry-commands.js';

const TITLES: Record<UsageTopic, string> = {
  config: 'The functionConfig',
  kustomize: 'kustomize',
  kpt: 'kpt',
  container: 'Container',
  executables: 'Executables',
  starlark: 'Starlark script',
};
/** Maximum number of listed executables for platforms; the definition has all. */
const MAX_PARTS = 20;

/** Commands that run as they are, for one release. */
export function UseSection({ view }: { view: FunctionView }) {
  const { known, version } = view;
  const { usage } = version;
  const container = version.version.runtime.container;
  const isPinned =
    container === undefined || container.sha256 !== undefined || container.image.includes('@sha256:');
  const [config, ...others] = usage.sections;
  const choices: Choice[] = others.map((section) => ({
    id: `use-${section.topic}`,
    title: TITLES[section.topic],
    body: <Parts section={section} />,
  }));
  if (known !== undefined) {
    choices.push({ id: 'use-krmhub', title: 'krmhub', body: <KrmhubCommands view={view} /> });
  }
  return (
    <section aria-labelledby="use">
      <h2 id="use">Use it</h2>
      {config === undefined ? null : (
        <div id="use-config">
          <Parts section={config} />
          <ExampleNote example={usage.example} />
        </div>
      )}
      {choices.length === 0 ? null : <ChoiceTabs name="use-with" legend="Use it with" choices={choices} />}
      {isPinned ? null : (
        <p class="quiet">
          The definition does not pin the image by digest, so the image behind the tag can change.
        </p>
      )}
    </section>
  );
}

function ExampleNote({ example: { check, problem, partial: partly } }: { example: ConfigExample }) {
  if (check === 'invalid' && problem !== undefined) {
    return (
      <p class="quiet">
        The schema rejects it: <Text value={problem} max={400} />.
      </p>
    );
  }
  if (check !== 'valid' || !partly) return null;
  return <p class="quiet">CEL expressions and list uniqueness were not checked.</p>;
}

function Parts({ section: { topic, parts } }: { section: UsageSection }) {
  return (
    <>
      {parts.slice(0, MAX_PARTS).map(({ text: words, snippet }) => (
        <>
          {snippet === undefined ? (
            <p>
              <Text value={words} max={500} />
            </p>
          ) : (
            <CopySnippet
              code={visibleText(snippet.replace(/\n$/, ''))}
              label={`${TITLES[topic]}: ${visibleText(words)}`}
              caption={<Text value={words} max={500} />}
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

function KrmhubCommands({ view: { name, known, version } }: { view: FunctionView }) {
  const { release, yanked } = known!.release;
  // The default catalog has the newest release. A script needs no permission, so the command runs as it is.
  const isRunnable =
    version.version.runtime.starlark !== undefined && release === known!.shown && yanked === undefined;
  const { url, reference } = useAddresses({ ...name, release });
  return (
    <>
      <p>
        Show the function in a terminal, or pull its definition and README. The pull verifies the digests and
        the signers in <code>krmhub trust</code>:
      </p>
      <Commands
        label="krmhub commands"
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
      {isRunnable ? (
        <>
          <p>Run it once on the package in this folder:</p>
          <Commands
            label="Run with krmhub"
            lines={[
              <>
                krmhub fn eval . --fn-config {kebabCase(name.kind)}.yaml --catalog {url}/catalogs/default
              </>,
            ]}
          />
        </>
      ) : null}
    </>
  );
}

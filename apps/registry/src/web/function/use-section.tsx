import type { UsageSection, UsageTopic } from '@krmhub/catalog';
import { type ConfigExample, kebabCase } from '@krmhub/schema';
import { functionTabPath, INSTALL } from '../addresses.js';
import { type Choice, ChoiceTabs } from '../parts/choice-tabs.js';
import { CopySnippet, CopyYaml } from '../parts/copy-snippet.js';
import { WithAddress } from '../parts/registry-address.js';
import { Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { isOffered, tryLabel } from '../try/try-section.js';
import { visibleText } from '../visible-text.js';
import { fieldId } from './config-section.js';
import type { FunctionView } from './read-function.js';
import { Commands, useAddresses } from './registry-commands.js';

const TOOLS: readonly UsageTopic[] = ['kustomize', 'kpt', 'krmhub'];

/** Commands that run as they are, for one release, and a functionConfig for them. */
export function UseSection({ view }: { view: FunctionView }) {
  const { known, version } = view;
  const { usage } = version;
  const container = version.version.runtime.container;
  const isPinned =
    container === undefined || container.sha256 !== undefined || container.image.includes('@sha256:');
  const config = usage.sections.find(({ topic }) => topic === 'config');
  const choices = TOOLS.flatMap((tool): Choice[] => {
    const section = usage.sections.find(({ topic }) => topic === tool);
    const isKnown = tool === 'krmhub' && known !== undefined;
    if (section === undefined && !isKnown) return [];
    const body = (
      <>
        {section === undefined ? null : <Parts section={section} />}
        {isKnown ? <KrmhubCommands view={view} /> : null}
      </>
    );
    return [{ id: `use-${tool}`, title: tool, body }];
  });
  return (
    <section aria-labelledby="use" class="use">
      <h2 id="use">Use it</h2>
      {isOffered(view) ? (
        <p>
          <a href="#try">{tryLabel(view)}</a>
        </p>
      ) : null}
      {config === undefined ? null : (
        <div id="use-config">
          <Parts section={config} />
          <ExampleNote example={usage.example} />
          <Fields view={view} />
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

/** Maximum number of listed fields; the tab has all. */
const MAX_FIELDS = 30;

/** Names the fields. Their fragments are those that the page had before it had tabs. */
function Fields({ view: { name, asked, version, versions } }: { view: FunctionView }) {
  const { at } = useSite();
  const { fields } = version.description;
  if (fields.length === 0) return null;
  const shown = version.version.name;
  const query = shown === versions[0] ? '' : `?${new URLSearchParams({ version: shown })}`;
  const tab = at(functionTabPath({ ...name, release: asked }, 'configuration')) + query;
  const more = fields.length - MAX_FIELDS;
  return (
    <p class="field-names">
      Fields:{' '}
      {fields.slice(0, MAX_FIELDS).map(({ name: field, path, required }, index) => (
        <>
          {index === 0 ? '' : ', '}
          <a id={fieldId(path)} href={`${tab}#${encodeURIComponent(fieldId(path))}`} data-moved="">
            <code>
              <Text value={field === '' ? '""' : field} max={60} />
            </code>
          </a>
          {required ? <span class="quiet"> required</span> : null}
        </>
      ))}
      {more > 0 ? (
        <>
          , and <a href={tab}>{more} more</a>
        </>
      ) : null}
    </p>
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
  const title = topic === 'config' ? 'The functionConfig' : topic;
  return (
    <>
      {parts.map(({ text: words, snippet }) => {
        const caption = <Text value={words} max={500} />;
        if (snippet === undefined) return <p>{caption}</p>;
        const text = snippet.replace(/\n$/, '');
        const label = `${title}: ${visibleText(words)}`;
        return topic === 'config' ? (
          <CopyYaml text={text} label={label} caption={caption} />
        ) : (
          <CopySnippet code={<WithAddress text={visibleText(text)} />} label={label} caption={caption} />
        );
      })}
    </>
  );
}

function KrmhubCommands({ view: { name, known } }: { view: FunctionView }) {
  const { at } = useSite();
  const { release } = known!.release;
  const { url, reference } = useAddresses({ ...name, release });
  return (
    <Commands
      caption={
        <>
          With the <a href={at(INSTALL)}>command line</a>, show the function, or pull its definition and
          README. The pull verifies the digests and the signers in <code>krmhub trust</code>:
        </>
      }
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
  );
}

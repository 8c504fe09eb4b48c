import { IMPORTED, runtimeAccess } from '@krmhub/catalog';
import type { FunctionVersion } from '@krmhub/schema';
import type { Child } from 'hono/jsx';
import { catalogPath, functionTabPath } from '../addresses.js';
import { Digest } from '../parts/digest.js';
import { Label, type Tone } from '../parts/label.js';
import { PublisherLine } from '../parts/publisher-line.js';
import { ShortSigner } from '../parts/signer.js';
import { ExternalLink, Reference } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { PolicyLink } from './policy-link.js';
import type { FunctionView, KnownRelease } from './read-function.js';
import type { UpstreamOriginView } from './read-origins.js';
import { runFacts } from './runs.js';
import { signatureLabel } from './signature-states.js';
import { TestSummary } from './test-reports.js';

/** Maximum number of characters of an image; the tab has the whole. */
const MAX_PROGRAM = 120;

/** Shows first who signed the release, who owns the group, what it may touch, and what runs. Each leads to the details. */
export function Summary({ view }: { view: FunctionView }) {
  const { at } = useSite();
  const { name, owner, known, version, origins, asked, definition } = view;
  const touched = permissions(version.version);
  const source = `${at(functionTabPath({ ...name, release: asked }, 'source'))}#runtime`;
  return (
    <dl class="summary">
      {known === undefined ? (
        <Origins origins={origins} />
      ) : (
        <Fact name={<a href={at(functionTabPath({ ...name, release: asked }, 'signatures'))}>Signature</a>}>
          <Signature known={known} />
        </Fact>
      )}
      <Fact name="Owner">
        <PublisherLine owner={owner} publisher={definition.publisher} />
      </Fact>
      {known === undefined || known.tests.length === 0 ? null : (
        <Fact
          name={<a href={`${at(functionTabPath({ ...name, release: asked }, 'signatures'))}#tests`}>Tests</a>}
        >
          <TestSummary reports={known.tests} />
        </Fact>
      )}
      <Fact name={<a href={source}>May touch</a>}>
        <Label tone={touched.tone}>{touched.words}</Label>
      </Fact>
      <Fact name={<a href={source}>Runs</a>}>
        {runFacts(version.version).map(({ words, tone, digest, name: program }) => (
          <span class="run">
            <code>
              <Reference value={program} max={MAX_PROGRAM} />
            </code>{' '}
            <Label tone={tone}>{words}</Label>{' '}
            {digest === undefined ? null : <Digest value={digest} isShort />}
          </span>
        ))}
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { name: Child; children?: Child }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Signature({ known: { verdict } }: { known: KnownRelease }) {
  const { tone, title, words, by } = signatureLabel(verdict);
  return (
    <>
      <Label tone={tone} title={title}>
        {words}
      </Label>
      {by === undefined ? null : (
        <>
          {' by '}
          <ShortSigner value={by} />
        </>
      )}
      {verdict.policy === undefined ? null : ', '}
      <PolicyLink name={verdict.policy} />
    </>
  );
}

/** Of a function that only upstream catalogs have: its sources, who signed them, and when it was seen. */
function Origins({ origins }: { origins: readonly UpstreamOriginView[] }) {
  const { at } = useSite();
  return (
    <>
      {origins.map(({ catalog, source, url, signers, trusted, firstSeen }) => (
        <>
          <Fact name="Source">
            <strong>{source}</strong> of the catalog <a href={at(catalogPath(catalog))}>{catalog}</a>
            {url === undefined ? null : (
              <>
                : <ExternalLink url={url} />
              </>
            )}
          </Fact>
          <Fact name="Signer">
            {trusted !== undefined ? (
              <>
                <Label tone="good">trusted by the recipe</Label> <ShortSigner value={trusted} />
              </>
            ) : signers.length === 0 ? (
              <Label>{IMPORTED}</Label>
            ) : (
              <>
                <Label>signed</Label> <ShortSigner value={signers.join(', ')} />
              </>
            )}
          </Fact>
          {firstSeen === undefined ? null : (
            <Fact name="Seen since">
              <Time at={firstSeen} />
            </Fact>
          )}
        </>
      ))}
    </>
  );
}

/** Returns in a few words what a function can access besides its input. */
export function permissions(version: FunctionVersion): {
  words: string;
  tone: Tone;
} {
  const access = runtimeAccess(version);
  if (access === 'everything') return { words: 'everything your user can access', tone: 'warning' };
  const words = [
    ...(access.network ? ['the network'] : []),
    ...(access.storage ? ['folders that you mount'] : []),
  ];
  return words.length === 0
    ? { words: 'only its input', tone: 'plain' }
    : { words: words.join(' and '), tone: 'warning' };
}

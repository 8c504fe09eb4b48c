import { fillPath } from '@krmhub/api/paths';
import type { SigningPolicy } from '@krmhub/catalog';
import { functionPath, releasePath } from '../addresses.js';
import { Label } from '../parts/label.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { AboutSection } from './about-section.js';
import { Banners } from './banners.js';
import { ConfigFields } from './config-section.js';
import type { FunctionView } from './read-function.js';
import { ReadmeSection } from './readme-section.js';
import { ReleasesSection } from './releases-section.js';
import { RuntimeSection } from './runtime-section.js';
import { SignatureSection } from './signature-section.js';
import { Summary } from './summary.js';
import { UseSection } from './use-section.js';

export function FunctionPage({ view, policies }: { view: FunctionView; policies: readonly SigningPolicy[] }) {
  const isYanked = view.known?.release.yanked !== undefined;
  return (
    <div class="function">
      <div class="function-head">
        <Banners view={view} />
        <Header view={view} />
        <nav class="contents" aria-label="On this page">
          <ul>
            {isYanked ? null : <ContentsEntry to="use" name="Use it" />}
            <ContentsEntry to="config" name="Configuration" />
            <ContentsEntry to="runtime" name="Runtime" />
            <ContentsEntry to="signatures" name="Signatures" />
            <ContentsEntry to="readme" name="README" />
            <ContentsEntry to="releases" name="Releases" />
            <ContentsEntry to="about" name="About" />
          </ul>
        </nav>
      </div>
      <div class="function-main">
        {isYanked ? null : <UseSection view={view} />}
        <ConfigSection view={view} />
        <RuntimeSection version={view.version.version} script={view.script} />
        <SignatureSection view={view} />
        <ReadmeSection view={view} />
        <ReleasesSection view={view} policies={policies} />
      </div>
      <AboutSection view={view} />
    </div>
  );
}

function ContentsEntry({ to, name }: { to: string; name: string }) {
  return (
    <li>
      <a href={`#${to}`}>{name}</a>
    </li>
  );
}

function Header({ view }: { view: FunctionView }) {
  const { name, definition, known, version } = view;
  const { at } = useSite();
  const isShown = known?.release.release === known?.shown;
  return (
    <header>
      <div class="function-name" data-copy="Name of the function">
        <h1>
          <code>
            <span class="function-group">{name.group}/</span>
            <wbr />
            {name.kind}
          </code>
        </h1>
      </div>
      <p class="lead">
        <Text value={definition.description} max={2_000} />
      </p>
      <ul class="function-facts">
        <li>
          {known === undefined ? (
            <Label>release unknown</Label>
          ) : (
            <>
              <strong>{known.release.release}</strong>{' '}
              {isShown ? (
                <span class="quiet">newest</span>
              ) : (
                <a href={at(functionPath(name))}>go to newest, {known.shown}</a>
              )}
            </>
          )}
        </li>
        {known === undefined ? null : (
          <li>
            published <Time at={known.release.publishedAt} /> by{' '}
            <Text value={known.release.publishedBy} max={60} />
          </li>
        )}
        <li>
          <Text value={version.version.license} max={60} />
        </li>
        <li>
          <Text value={definition.publisher} max={100} />
        </li>
      </ul>
      <Summary view={view} />
    </header>
  );
}

function ConfigSection({ view: { name, known, version, versions } }: { view: FunctionView }) {
  const { at } = useSite();
  const { description } = version;
  const path =
    known === undefined || known.release.release === known.shown
      ? functionPath(name)
      : releasePath({ ...name, release: known.release.release });
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
                  href={at(`${path}?${new URLSearchParams({ version: one })}#config`)}
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

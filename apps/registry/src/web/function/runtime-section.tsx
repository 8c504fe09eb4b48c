import { pinnedImage } from '@krmhub/catalog';
import {
  type ContainerRuntime,
  type ExecRuntime,
  type FunctionVersion,
  RUNTIME_KINDS,
  type RuntimeKind,
} from '@krmhub/schema';
import type { Child } from 'hono/jsx';
import { DefinitionList } from '../parts/definition-list.js';
import { ExternalLink, Reference, Text } from '../parts/text.js';
import { Script } from './script.js';
import type { ScriptView } from './view-script.js';

const MAX_PLATFORMS = 50;

/** How a version runs, by kind: nothing for a runtime that it does not have. */
const RUNTIMES: Record<RuntimeKind, (version: FunctionVersion, script: ScriptView | undefined) => Child> = {
  container: ({ runtime: { container } }) => container && <Container container={container} />,
  exec: ({ runtime: { exec } }) => exec && <Executables exec={exec} />,
  starlark: ({ runtime: { starlark } }, script) =>
    starlark === undefined ? null : <Script reference={starlark} script={script} />,
};

/** Shows how the function runs and what it can access. */
export function RuntimeSection({
  version,
  script,
}: {
  version: FunctionVersion;
  script?: ScriptView | undefined;
}) {
  return (
    <section aria-labelledby="runtime">
      <h2 id="runtime">Runtime and permissions</h2>
      {RUNTIME_KINDS.map((kind) => RUNTIMES[kind](version, script))}
      <p>
        {version.idempotent
          ? 'Idempotent according to its publisher: a second run on its output changes nothing.'
          : 'Not declared idempotent: a second run on its output can change the output.'}
      </p>
    </section>
  );
}

function Container({ container }: { container: ContainerRuntime }) {
  const { image, sha256, requireNetwork, requireStorageMount } = container;
  const pinned = pinnedImage(container);
  return (
    <>
      <p>A container. kustomize and kpt run it with only these permissions:</p>
      <DefinitionList
        items={[
          [
            'Network',
            requireNetwork === true ? (
              <strong>Required. The function can send its input to other hosts.</strong>
            ) : (
              'None.'
            ),
          ],
          [
            'Files',
            requireStorageMount === true ? (
              <strong>Required. You choose the folders to mount when you run it.</strong>
            ) : (
              'None. It has access only to its input.'
            ),
          ],
          [
            'Image',
            <code>
              <Reference value={image} max={1_100} />
            </code>,
          ],
          [
            'Digest',
            sha256 === undefined ? (
              image.includes('@') ? undefined : (
                'Not set: the image behind the tag can change.'
              )
            ) : (
              <code class="digest">
                <Text value={`sha256:${sha256}`} max={100} />
              </code>
            ),
          ],
          [
            'Note',
            pinned === undefined
              ? 'The image reference is not valid, so this page cannot show commands.'
              : undefined,
          ],
        ]}
      />
    </>
  );
}

function Executables({ exec: { platforms } }: { exec: ExecRuntime }) {
  return (
    <>
      <p>
        An executable that runs on your machine <strong>with all permissions of your user</strong>, including
        files and the network.
      </p>
      <table class="stacked">
        <caption class="unseen">Executables by platform</caption>
        <thead>
          <tr>
            <th scope="col">Platform</th>
            <th scope="col">Download</th>
            <th scope="col">Digest</th>
          </tr>
        </thead>
        <tbody>
          {platforms.slice(0, MAX_PLATFORMS).map(({ os, arch, bin, uri, sha256 }) => (
            <tr>
              <th scope="row" class="unbroken">
                <Text value={`${os}/${arch}`} max={40} />
              </th>
              <td>
                <ExternalLink url={uri} text={bin} />
                <br />
                <span class="quiet">
                  <Reference value={uri} max={300} />
                </span>
              </td>
              <td>
                {sha256 === undefined ? (
                  'in the address'
                ) : (
                  <code class="digest">
                    <Text value={`sha256:${sha256}`} max={100} />
                  </code>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {platforms.length > MAX_PLATFORMS ? (
        <p class="quiet">{platforms.length - MAX_PLATFORMS} more are in the definition.</p>
      ) : null}
    </>
  );
}
